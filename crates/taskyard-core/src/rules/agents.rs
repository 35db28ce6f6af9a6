//! Which names mean one agent.

/// Tells whether two names mean one agent: `bob` is `bob@alpha`, and `bob@alpha` is not `bob@beta`.
///
/// The client writes a teammate's name with its team in some places and without it in others. A name without a team
/// therefore means that agent of whatever team. The empty name is nobody, not even itself; what has a team and no name before
/// it is only what is written the same.
pub fn is_same_agent(one: &str, two: &str) -> bool {
    let ((name, team), (other_name, other_team)) = (parts(one), parts(two));
    if name.is_empty() {
        return !one.is_empty() && one == two;
    }
    name == other_name && (team.is_empty() || other_team.is_empty() || team == other_team)
}

/// Returns an agent's name without its team.
pub fn name_of(agent: &str) -> &str {
    parts(agent).0
}

fn parts(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

#[cfg(test)]
mod tests {
    use super::is_same_agent;

    #[test]
    fn a_name_without_a_team_is_that_agent_of_any_team() {
        for (one, two) in [("bob", "bob"), ("bob", "bob@alpha"), ("bob@alpha", "bob@alpha"), ("bob@", "bob@alpha")] {
            assert!(is_same_agent(one, two), "{one} {two}");
            assert!(is_same_agent(two, one), "{two} {one}");
        }
    }

    #[test]
    fn the_empty_name_is_nobody() {
        for (one, two) in [("", ""), ("", "@alpha"), ("", "@"), ("", "bob"), ("@alpha", "@beta"), ("@alpha", "@")] {
            assert!(!is_same_agent(one, two), "{one} {two}");
            assert!(!is_same_agent(two, one), "{two} {one}");
        }
        assert!(is_same_agent("@alpha", "@alpha"), "whoever is called so has what it has claimed");
    }

    #[test]
    fn other_names_and_other_teams_are_other_agents() {
        for (one, two) in [
            ("bob", "bo"),
            ("bob", "Bob"),
            ("bob@alpha", "bob@beta"),
            ("bob@alpha", "alpha"),
            ("bob", ""),
            ("bob", "bobby@alpha"),
        ] {
            assert!(!is_same_agent(one, two), "{one} {two}");
            assert!(!is_same_agent(two, one), "{two} {one}");
        }
    }
}

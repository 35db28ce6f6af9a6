//! Which names mean one agent.

use crate::{AgentName, ProcessMark};

/// Tells whether two names mean one agent: `bob` is `bob@alpha`, and `bob@alpha` is not `bob@beta`.
///
/// The client writes a teammate's name with its team in some places and without it in others. A name without a team therefore means that
/// agent of whatever team. The empty name is no agent, not even itself; what has a team and no name before it is only what is written the
/// same.
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

/// Returns the name of a subagent of the client, which calls over the connection of the session that started it: the id that the client
/// gives it, and the name of the session.
pub fn subagent_name(id: &str, session: &AgentName) -> Option<AgentName> {
    AgentName::new(format!("{id}@{session}")).ok()
}

/// Tells whether a name is that of the client's subagent with this id, in whatever session. Members of teams have an `@`, too.
pub fn is_subagent(name: &str, id: &str) -> bool {
    let (own, session) = parts(name);
    !id.is_empty() && own == id && session.starts_with(CLIENT)
}

/// What the names of clients begin with, also those that older releases gave (`claude-code-0198ffff`).
const CLIENT: &str = "claude-";

/// Returns the name of a client: `claude-7f3a`.
pub fn client_name(digits: &str) -> AgentName {
    AgentName::new(format!("{CLIENT}{digits}")).unwrap_or_else(|_| AgentName::elsewhere())
}

/// Tells whether a name is one that a client has if it was given no other.
pub fn is_client_name(name: &str) -> bool {
    name.starts_with(CLIENT) && !name.contains('@')
}

/// Returns the names that older releases gave the agents of a client: after its session, and after its process.
pub fn earlier_names(client: &ProcessMark, session: Option<&str>) -> Vec<AgentName> {
    let of_session = session.and_then(|session| session.get(..8)).map(|session| format!("{CLIENT}code-{session}"));
    let names = of_session.into_iter().chain([format!("{CLIENT}code-{}", client.pid)]);
    names.filter_map(|name| AgentName::new(name).ok()).collect()
}

/// Returns what the id of a session begins with, by the name that older releases gave its agents; `None` for other names.
pub fn session_beginning(agent: &str) -> Option<&str> {
    let beginning = client_of(agent).strip_prefix(CLIENT)?.strip_prefix("code-")?;
    let is_hexadecimal = |byte: u8| byte.is_ascii_hexdigit();
    (beginning.len() >= 8 && beginning.bytes().all(is_hexadecimal)).then_some(beginning)
}

/// Returns the id that the client gives a subagent, by the name that the subagent has here; `None` if it is no subagent's.
pub fn subagent_id(agent: &str) -> Option<&str> {
    let (id, session) = parts(agent);
    // Anybody may write a name: it must not lead to another file.
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (is_id && session.starts_with(CLIENT)).then_some(id)
}

/// Returns the client that an agent belongs to, by the agent's name: `claude-7f3a` of `claude-7f3a` and of its subagents.
pub fn client_of(agent: &str) -> &str {
    match parts(agent) {
        (name, "") => name,
        (_, client) => client,
    }
}

fn parts(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

#[cfg(test)]
mod tests {
    use super::{is_same_agent, is_subagent, session_beginning, subagent_id, subagent_name};
    use crate::AgentName;

    #[test]
    fn a_subagent_is_known_by_its_id_in_whatever_session() {
        let session = AgentName::new("claude-code-0198ffff").unwrap();
        let name = subagent_name("acd2cc6", &session).unwrap();
        assert_eq!(name.as_str(), "acd2cc6@claude-code-0198ffff");
        assert!(is_subagent(name.as_str(), "acd2cc6"));
        for (name, id) in
            [("bob@alpha", "bob"), ("acd2cc6", "acd2cc6"), (name.as_str(), "acd2cc"), ("@claude-code-1", "")]
        {
            assert!(!is_subagent(name, id), "{name} {id}");
        }
    }

    #[test]
    fn a_name_may_tell_its_session() {
        assert_eq!(session_beginning("claude-code-0198ffff"), Some("0198ffff"));
        assert_eq!(session_beginning("acd2cc6@claude-code-0198ffff"), Some("0198ffff"));
        // Where no session was known, the name has the number of a process.
        assert_eq!(["claude-code-4711", "ana", "bob@alpha"].map(session_beginning), [None; 3]);
        assert_eq!(subagent_id("acd2cc6@claude-code-0198ffff"), Some("acd2cc6"));
        assert_eq!(["bob@alpha", "claude-code-0198ffff", "../x@claude-code-0198ffff"].map(subagent_id), [None; 3]);
    }

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
        assert!(is_same_agent("@alpha", "@alpha"), "an agent called so has what it has claimed");
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

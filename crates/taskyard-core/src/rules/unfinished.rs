//! What an agent still has in hand.

use crate::{Status, Task};

/// Returns the tasks in progress that belong to an agent known by any of these names.
pub fn unfinished_of<'a>(names: &[&str], tasks: &'a [Task]) -> Vec<&'a Task> {
    let in_hand = |task: &&Task| task.status == Status::InProgress && !task.is_internal();
    let is_theirs =
        |task: &&Task| task.owner().is_some_and(|owner| names.iter().any(|name| is_same_agent(name, owner)));
    tasks.iter().filter(in_hand).filter(is_theirs).collect()
}

/// Tells whether two names mean one agent: `bob` and `bob@team` do, `bob@team` and `bob@other` do not.
pub fn is_same_agent(one: &str, two: &str) -> bool {
    let short = |name: &str, full: &str| {
        !name.is_empty() && full.strip_prefix(name).is_some_and(|rest| rest.starts_with('@')) && !name.contains('@')
    };
    one == two || short(one, two) || short(two, one)
}

#[cfg(test)]
mod tests {
    use super::{is_same_agent, unfinished_of};
    use crate::{Status, Task, TaskId};

    #[test]
    fn an_agent_is_known_with_and_without_its_team() {
        for (one, two, same) in [
            ("bob", "bob", true),
            ("bob", "bob@alpha", true),
            ("bob@alpha", "bob", true),
            ("bob@alpha", "bob@beta", false),
            ("bob", "bobby@alpha", false),
            ("", "@alpha", false),
        ] {
            assert_eq!(is_same_agent(one, two), same, "{one} {two}");
        }
    }

    #[test]
    fn only_work_in_progress_of_this_agent_is_unfinished() {
        let task = |number, owner: &str, status| Task {
            owner: Some(owner.to_owned()),
            status,
            ..Task::new(TaskId::number(number), "x")
        };
        let tasks = [
            task(1, "bob@alpha", Status::InProgress),
            task(2, "bob", Status::Pending),
            task(3, "bob", Status::Completed),
            task(4, "ana", Status::InProgress),
        ];
        let found: Vec<&str> = unfinished_of(&["x", "bob"], &tasks).iter().map(|task| task.id.as_str()).collect();
        assert_eq!(found, ["1"]);
    }
}

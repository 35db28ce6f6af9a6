//! What an agent still has in hand.

use super::naming::is_same_agent;
use crate::{Status, Task};

/// Returns the tasks in progress that belong to an agent known by any of these names.
pub fn unfinished_of<'a>(names: &[&str], tasks: &'a [Task]) -> Vec<&'a Task> {
    let in_hand = |task: &&Task| task.status == Status::InProgress && !task.is_internal();
    let is_theirs =
        |task: &&Task| task.owner().is_some_and(|owner| names.iter().any(|name| is_same_agent(name, owner)));
    tasks.iter().filter(in_hand).filter(is_theirs).collect()
}

#[cfg(test)]
mod tests {
    use super::unfinished_of;
    use crate::{Status, Task, TaskId};

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

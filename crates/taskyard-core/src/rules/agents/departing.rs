//! What becomes of an agent's tasks when it goes, and the words for it.

use super::naming::{is_same_agent, name_of};
use crate::{AgentName, Status, Task};

/// Why an agent is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Departure {
    /// It ended in order.
    #[default]
    Shutdown,
    /// It was ended, or showed no more sign of life.
    Terminated,
}

/// Returns the tasks a departing agent leaves behind, each as it will be: pending, and without an owner.
pub fn left_behind<'a>(tasks: impl IntoIterator<Item = &'a Task>, agent: &AgentName) -> Vec<Task> {
    let is_left =
        |task: &&Task| task.status.is_open() && task.owner().is_some_and(|owner| is_same_agent(owner, agent.as_str()));
    tasks.into_iter().filter(is_left).map(given_back).collect()
}

/// Returns a task as it is when it has no owner any more.
pub fn given_back(task: &Task) -> Task {
    Task { owner: None, status: Status::Pending, ..task.clone() }
}

/// Returns the notice for the members that remain.
pub fn departure_notice<'a>(
    agent: &AgentName,
    departure: Departure,
    tasks: impl ExactSizeIterator<Item = &'a Task>,
) -> String {
    let what = match departure {
        Departure::Shutdown => "has shut down",
        Departure::Terminated => "was terminated",
    };
    let mut notice = format!("{} {what}.", name_of(agent.as_str()));
    let count = tasks.len();
    if count > 0 {
        let names: Vec<String> = tasks.map(|task| format!("#{} \"{}\"", task.shown_id(), task.subject)).collect();
        notice.push_str(&format!(
            " {count} task(s) were unassigned: {}. Use TaskList to check availability and TaskUpdate with owner to \
             reassign them to idle teammates.",
            names.join(", ")
        ));
    }
    notice
}

#[cfg(test)]
mod tests {
    use super::{Departure, departure_notice, left_behind};
    use crate::{AgentName, Status, Task, TaskId};

    fn task(number: u64, owner: &str, status: Status) -> Task {
        Task { owner: Some(owner.into()), status, ..Task::new(TaskId::number(number), format!("task {number}")) }
    }

    #[test]
    fn the_open_tasks_of_both_spellings_are_left_behind() {
        let tasks = [
            task(1, "bob", Status::InProgress),
            task(2, "bob@team", Status::Pending),
            task(3, "bob", Status::Completed),
            task(4, "bobby", Status::InProgress),
        ];
        let bob = AgentName::new("bob").unwrap();
        let left = left_behind(&tasks, &bob);
        assert_eq!(left.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(left.iter().all(|task| task.owner.is_none() && task.status == Status::Pending));
    }

    #[test]
    fn the_notice_is_worded_as_the_client_words_it() {
        let tasks = [task(1, "bob", Status::InProgress), task(2, "bob", Status::Pending)];
        let bob = AgentName::new("bob@team").unwrap();
        assert_eq!(
            departure_notice(&bob, Departure::Terminated, tasks.iter()),
            "bob was terminated. 2 task(s) were unassigned: #1 \"task 1\", #2 \"task 2\". Use TaskList to check availability \
             and TaskUpdate with owner to reassign them to idle teammates."
        );
        assert_eq!(departure_notice(&bob, Departure::Shutdown, [].iter()), "bob has shut down.");
    }
}

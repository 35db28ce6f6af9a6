//! What a line that is always in view says of a list, and how little of each task that takes.

use serde_json::json;

use super::listing::count;
use crate::rules::graph::open_tasks::OpenTasks;
use crate::{Rules, Status, Task};

/// A list in a few numbers, and what is being done in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What is being done: of the first task in progress its active form, or its title.
    pub doing: Option<String>,
    /// How many tasks the list holds: pending, in progress, completed. Internal ones are not counted.
    pub counts: [usize; 3],
    /// How many of those pending wait for others.
    pub blocked: usize,
}

/// Counts the tasks of a list, which are given by rising number.
pub fn summarize(tasks: &[Task], rules: Rules) -> Summary {
    let open = OpenTasks::of(tasks, rules);
    let shown = || tasks.iter().filter(|task| !task.is_internal());
    let is_blocked = |task: &&Task| task.status == Status::Pending && !open.blockers(task).is_empty();
    Summary {
        doing: shown().find(|task| task.status == Status::InProgress).map(doing),
        counts: count(tasks),
        blocked: shown().filter(is_blocked).count(),
    }
}

/// Returns as much of a task as a summary needs: of most that is next to nothing. The summary of a list is that of the outlines of its tasks.
pub fn outline(task: &Task) -> Task {
    let mut outline = Task { status: task.status, ..Task::new(task.id.clone(), "") };
    let mut metadata = serde_json::Map::new();
    if task.is_internal() {
        metadata.insert("_internal".to_owned(), json!(true));
    }
    if task.status.is_open() {
        outline.blocked_by.clone_from(&task.blocked_by);
        metadata.extend(task.parent().map(|parent| ("parent".to_owned(), json!(parent.as_str()))));
    }
    if task.status == Status::InProgress {
        outline.active_form = Some(doing(task));
    }
    outline.metadata = (!metadata.is_empty()).then_some(metadata);
    outline
}

fn doing(task: &Task) -> String {
    let form = task.active_form.as_deref().filter(|form| !form.is_empty());
    form.map_or_else(|| task.shown_subject().into_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Summary, outline, summarize};
    use crate::{Rules, Status, Task, TaskId};

    fn task(number: u64, status: Status) -> Task {
        let description = "long".repeat(100);
        Task { status, description, ..Task::new(TaskId::number(number), format!("Task {number}")) }
    }

    fn busy() -> Vec<Task> {
        let mut tasks = vec![
            task(1, Status::Completed),
            task(2, Status::InProgress),
            task(3, Status::InProgress),
            task(4, Status::Pending),
            task(5, Status::Pending),
            task(6, Status::Pending),
            task(7, Status::InProgress),
            task(8, Status::Pending),
        ];
        tasks[2].active_form = Some("Doing the third".into());
        tasks[3].blocked_by = vec![TaskId::number(1)];
        tasks[4].blocked_by = vec![TaskId::number(1), TaskId::number(2)];
        // A part of what waits waits, too.
        tasks[5].metadata = json!({ "parent": "5" }).as_object().cloned();
        tasks[6].metadata = json!({ "_internal": true }).as_object().cloned();
        tasks[7].blocked_by = vec![TaskId::number(99)];
        tasks
    }

    #[test]
    fn a_summary_counts_and_says_what_is_being_done() {
        let expected = Summary { doing: Some("Task 2".into()), counts: [4, 2, 1], blocked: 2 };
        assert_eq!(summarize(&busy(), Rules::Strict), expected);
        assert_eq!(summarize(&busy()[2..], Rules::Strict).doing.as_deref(), Some("Doing the third"));
        assert_eq!(summarize(&[], Rules::Strict), Summary::default());
    }

    #[test]
    fn outlines_have_the_summary_of_their_tasks() {
        for rules in [Rules::Strict, Rules::Client(crate::ClientVersion::default())] {
            for begin in 0..busy().len() {
                let tasks = &busy()[begin..];
                let outlines: Vec<Task> = tasks.iter().map(outline).collect();
                assert_eq!(summarize(&outlines, rules), summarize(tasks, rules));
                assert!(outlines.iter().all(|outline| outline.description.is_empty()));
            }
        }
    }
}

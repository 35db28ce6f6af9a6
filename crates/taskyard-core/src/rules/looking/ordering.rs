//! In which order tasks are shown.

use std::cmp::Ordering;

use crate::{ClientVersion, Status, Task, TaskId};

/// Puts tasks into display order: in progress, pending, completed, each by number; those without one in the order of the store.
pub(crate) fn sort_for_display(tasks: &mut [Task]) {
    tasks.sort_by_cached_key(|task| (rank(task.status), NumberOrder::of(&task.id)));
}

/// Puts tasks into the order of the client's `TaskList`: by file name in 2.1.34; in 2.1.325 names that are no number first,
/// then by number.
pub(crate) fn sort_as_the_client(tasks: &mut [Task], version: ClientVersion) {
    match version {
        ClientVersion::V2_1_34 => tasks.sort_by_cached_key(|task| format!("{}.json", task.id.file_stem())),
        ClientVersion::V2_1_325 => tasks.sort_by(|one, two| compare_as_numbers(&one.id, &two.id)),
    }
}

const fn rank(status: Status) -> u8 {
    match status {
        Status::InProgress => 0,
        Status::Pending => 1,
        Status::Completed => 2,
    }
}

/// Where an id stands among others: numbers rise, and other names come after them in the order they are given in, which is the store's.
/// So it is only for sorts that keep the order of equals.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberOrder {
    /// A number.
    Number(u64),
    /// Another name.
    Name,
}

impl NumberOrder {
    /// Returns the place of an id.
    pub fn of(id: &TaskId) -> Self {
        id.as_number().map_or(Self::Name, Self::Number)
    }
}

fn compare_as_numbers(one: &TaskId, two: &TaskId) -> Ordering {
    match (javascript_number(one), javascript_number(two)) {
        (Some(first), Some(second)) => first.total_cmp(&second),
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => one.as_str().cmp(two.as_str()),
    }
}

/// Returns what JavaScript's `Number` makes of an id, where that is a number.
fn javascript_number(id: &TaskId) -> Option<f64> {
    let digits = id.as_str().strip_prefix('-').unwrap_or(id.as_str());
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    id.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{sort_as_the_client, sort_for_display};
    use crate::{ClientVersion, Status, Task, TaskId};

    fn tasks(ids: &[&str]) -> Vec<Task> {
        ids.iter().map(|id| Task::new(TaskId::stored(*id), "x")).collect()
    }

    fn ids(tasks: &[Task]) -> Vec<&str> {
        tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn what_is_in_progress_is_shown_first_and_each_state_by_number() {
        let mut list = tasks(&["2", "10", "abc", "1", "3", "4"]);
        list[0].status = Status::Completed;
        list[3].status = Status::InProgress;
        sort_for_display(&mut list);
        assert_eq!(ids(&list), ["1", "3", "4", "10", "abc", "2"]);
    }

    #[test]
    fn the_older_client_lists_by_file_name() {
        let mut list = tasks(&["1", "2", "10", "abc", "1-x", "12x"]);
        sort_as_the_client(&mut list, ClientVersion::V2_1_34);
        assert_eq!(ids(&list), ["1-x", "1", "10", "12x", "2", "abc"]);
    }

    #[test]
    fn the_newer_client_lists_by_number_after_names_that_are_none() {
        let mut list = tasks(&["1", "10", "12x", "2", "abc", "-3"]);
        sort_as_the_client(&mut list, ClientVersion::V2_1_325);
        assert_eq!(ids(&list), ["12x", "abc", "-3", "1", "2", "10"]);
    }
}

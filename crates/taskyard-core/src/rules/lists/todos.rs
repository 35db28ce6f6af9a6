//! What becomes of a todo list when another is given.

use crate::{Status, Todo};

/// Returns what is kept of a list that was given: all of it, or nothing once everything in it is completed.
pub fn kept(given: &[Todo]) -> &[Todo] {
    if given.iter().all(|todo| todo.status == Status::Completed) { &[] } else { given }
}

#[cfg(test)]
mod tests {
    use super::kept;
    use crate::{Status, Todo};

    fn todos(statuses: &[Status]) -> Vec<Todo> {
        let todo = |status: &Status| Todo { content: "a".into(), status: *status, active_form: "b".into() };
        statuses.iter().map(todo).collect()
    }

    #[test]
    fn a_list_is_cleared_once_everything_in_it_is_completed() {
        assert_eq!(kept(&todos(&[Status::Completed, Status::Completed])), []);
        assert_eq!(kept(&[]), []);
        let open = todos(&[Status::Completed, Status::Pending]);
        assert_eq!(kept(&open), open);
        let begun = todos(&[Status::InProgress, Status::InProgress]);
        assert_eq!(kept(&begun), begun);
    }
}

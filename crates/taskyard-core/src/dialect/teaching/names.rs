//! How tasks and their files are named.

use crate::{TaskId, Timestamp};

/// Returns the id of a task made at this moment: the seconds since 1970, and four hexadecimal digits of random.
pub fn new_id(at: Timestamp, random: u16) -> TaskId {
    TaskId::stored(format!("task_{}_{random:04x}", at.0.div_euclid(1000)))
}

/// Returns the task a file belongs to: any name that a task can have, so that those made by hand are seen, too.
pub fn task_of(file: &str) -> Option<TaskId> {
    let stem = file.strip_suffix(".json").filter(|stem| !stem.starts_with(['.', '#']))?;
    stem.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{new_id, task_of};
    use crate::Timestamp;

    #[test]
    fn an_id_is_the_second_and_four_digits() {
        let id = new_id(Timestamp(1_738_950_000_999), 0xa);
        assert_eq!(id.as_str(), "task_1738950000_000a");
        assert_eq!(task_of("task_1738950000_000a.json"), Some(id));
    }

    #[test]
    fn our_own_file_is_no_task() {
        assert_eq!(task_of(".taskyard.json"), None);
        assert_eq!(task_of("notes.txt"), None);
        assert_eq!(task_of("task_schema.json").unwrap().as_str(), "task_schema");
    }
}

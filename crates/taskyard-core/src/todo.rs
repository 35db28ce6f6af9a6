//! An item of an agent's todo list.

use crate::Status;
use crate::list::sanitize;

/// One item of an agent's todo list. It has no name of its own: the list is always replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What there is to do.
    pub content: String,
    /// Where in its life it is.
    pub status: Status,
    /// What is being done, while it is being done.
    pub active_form: String,
}

impl Todo {
    /// Returns the name of the file in which a client keeps the list of one agent of a session, safe whatever the names hold.
    pub fn file_name(session: &str, agent: &str) -> String {
        format!("{}-agent-{}.json", sanitize(session), sanitize(agent))
    }
}

#[cfg(test)]
mod tests {
    use super::Todo;

    #[test]
    fn a_file_is_named_for_session_and_agent_and_stays_in_its_folder() {
        assert_eq!(Todo::file_name("s-1", "s-1"), "s-1-agent-s-1.json");
        assert_eq!(Todo::file_name("../x", "a/b"), "---x-agent-a-b.json");
    }
}

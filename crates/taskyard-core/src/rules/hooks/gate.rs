//! Which of the client's two systems is on: tasks or todos.

/// One of the client's two ways to keep track of work, or the words of another dialect. There is never more than one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `TaskCreate` and its sisters, on disk.
    Tasks,
    /// `TodoWrite`.
    Todos,
    /// `TodoWrite` and `TodoRead` on a document.
    Document,
    /// `create_task` and its sisters on a teaching folder.
    Teaching,
    /// `TaskCreate`, `TaskUpdate` and `TaskList` in the words of an export.
    Export,
}

impl System {
    /// Tells whether it is one of the client's two, rather than another dialect's.
    pub fn is_the_clients(self) -> bool {
        matches!(self, Self::Tasks | Self::Todos)
    }

    /// Tells whether agents share tasks in it, rather than each keeping todos.
    pub fn has_tasks(self) -> bool {
        self != Self::Todos
    }
}

/// Reads a word for yes (1, true, yes, on) or no (0, false, no, off), in any case, trimmed. Anything else says nothing.
pub fn yes_or_no(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Says which system is on, given `CLAUDE_CODE_ENABLE_TASKS`, in an interactive session.
pub fn system_when_interactive(enable_tasks: Option<&str>) -> System {
    system(enable_tasks, System::Tasks)
}

/// Says which system is on, given `CLAUDE_CODE_ENABLE_TASKS`, where no person sits before the terminal.
pub fn system_when_not_interactive(enable_tasks: Option<&str>) -> System {
    system(enable_tasks, System::Todos)
}

fn system(enable_tasks: Option<&str>, otherwise: System) -> System {
    match enable_tasks.and_then(yes_or_no) {
        Some(true) => System::Tasks,
        Some(false) => System::Todos,
        None => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::{System, system_when_interactive, system_when_not_interactive, yes_or_no};

    #[test]
    fn words_for_yes_and_no_are_taken_in_any_case_and_trimmed() {
        for word in ["1", "true", "YES", " On "] {
            assert_eq!(yes_or_no(word), Some(true), "{word}");
        }
        for word in ["0", "False", "no", "\tOFF\n"] {
            assert_eq!(yes_or_no(word), Some(false), "{word}");
        }
        for word in ["", "2", "enabled", "y"] {
            assert_eq!(yes_or_no(word), None, "{word}");
        }
    }

    #[test]
    fn unset_means_tasks_for_a_person_and_todos_for_a_program() {
        for unset in [None, Some(""), Some("perhaps")] {
            assert_eq!(system_when_interactive(unset), System::Tasks);
            assert_eq!(system_when_not_interactive(unset), System::Todos);
        }
    }

    #[test]
    fn the_variable_decides_where_it_says_something() {
        assert_eq!(system_when_interactive(Some("off")), System::Todos);
        assert_eq!(system_when_not_interactive(Some("true")), System::Tasks);
    }
}

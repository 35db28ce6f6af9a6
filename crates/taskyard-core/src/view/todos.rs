//! What agents work through by themselves: the lists that TodoWrite keeps.

use crate::render::{Line, Look, Tone, escaping};
use crate::rules::graph::parts::Progress;
use crate::{Status, Todo};

/// The todo list of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodosShown {
    /// Whose it is.
    pub agent: String,
    /// What is on it.
    pub todos: Vec<Todo>,
}

impl TodosShown {
    /// Returns what is being done at the moment.
    pub fn doing(&self) -> Option<&Todo> {
        self.todos.iter().find(|todo| todo.status == Status::InProgress)
    }

    /// Returns how far it is.
    pub(crate) fn progress(&self) -> Progress {
        let done = self.todos.iter().filter(|todo| todo.status == Status::Completed).count();
        Progress { done, total: self.todos.len() }
    }
}

/// Returns a todo list on one line: what turns, what is being done, how far it is, whose it is; none where nothing is being done.
pub fn todos_line(shown: &TodosShown, spinner: &str, look: &Look) -> Option<Line> {
    let doing = shown.doing()?;
    let text = [&doing.active_form, &doing.content].into_iter().find(|text| !text.trim().is_empty())?;
    let text = escaping::one_line(text.trim_end_matches('…').trim_end_matches("..."));
    let mut line = Line::new().with(Tone::Active, &format!("{spinner} {text}{}", look.ellipsis()));
    line.push(Tone::Dim, &format!("  {} of its todos{}{}", shown.progress(), look.dot(), shown.agent));
    Some(look.fitted(line))
}

#[cfg(test)]
mod tests {
    use super::{TodosShown, todos_line};
    use crate::render::Look;
    use crate::{Status, Todo};

    fn todo(content: &str, status: Status) -> Todo {
        Todo { content: content.into(), status, active_form: format!("{content}ing") }
    }

    #[test]
    fn what_is_being_done_is_told_with_how_far_it_is() {
        let todos =
            vec![todo("read", Status::Completed), todo("test", Status::InProgress), todo("ship", Status::Pending)];
        let shown = TodosShown { agent: "ana".into(), todos };
        assert_eq!(todos_line(&shown, "⠋", &Look::PIPE).unwrap().to_string(), "⠋ testing…  1/3 of its todos · ana");
        let idle = TodosShown { todos: vec![todo("read", Status::Completed)], ..shown };
        assert_eq!(todos_line(&idle, "⠋", &Look::PIPE), None);
    }
}

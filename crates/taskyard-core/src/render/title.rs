//! The title of a task as people and agents see it.
//!
//! A title is data. Only the marks that `create --kind` puts before it are left out or drawn dim; everything else that could steer
//! a terminal is shown escaped. What is stored does not change.

use std::borrow::Cow;

use super::escaping;
use crate::dialect::macf::{Block, Subject};
use crate::{Task, TaskId};

/// Returns a subject as displays show it, given the task it belongs to: without the task's own number, which some tools put before
/// it, and on one line, with everything escaped that could steer a terminal.
pub fn shown_subject<'a>(id: &TaskId, subject: &'a str) -> Cow<'a, str> {
    if !subject.contains('\x1b') {
        // Nothing in it is dim.
        return escaping::one_line(subject);
    }
    match Subject::of(id, subject) {
        Subject { parent: Some(parent), title, .. } => {
            Cow::Owned(format!("[^#{parent}] {}", escaping::one_line(title)))
        }
        Subject { title, .. } => escaping::one_line(title),
    }
}

impl Task {
    /// Returns the subject as displays show it; see [`shown_subject`].
    pub fn shown_subject(&self) -> Cow<'_, str> {
        shown_subject(&self.id, &self.subject)
    }

    /// Returns the subject that is meant by what somebody made of [`Task::shown_subject`] in an editor: where characters of the
    /// stored title are escaped there, they are themselves again.
    pub fn subject_typed(&self, typed: &str) -> String {
        let mut subject = typed.to_owned();
        for character in Subject::of(&self.id, &self.subject).title.chars().filter(|one| escaping::is_unsafe(*one)) {
            let character = character.to_string();
            subject = subject.replace(&*escaping::one_line(&character), &character);
        }
        subject
    }

    /// Returns the description without the block of facts in it, if the block can be read: displays show the facts with the others.
    pub fn shown_description(&self) -> Cow<'_, str> {
        match Block::find(&self.description).filter(|block| block.facts().is_ok()) {
            Some(block) => {
                let (before, after) = block.around();
                Cow::Owned(format!("{}{after}", before.trim_end()))
            }
            None => Cow::Borrowed(&self.description),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Task, TaskId};

    fn titled(subject: &str) -> Task {
        Task::new(TaskId::number(5), subject)
    }

    #[test]
    fn only_the_marks_of_a_kind_are_left_out() {
        for (stored, shown) in [
            ("\x1b[2m  #5\x1b[22m \x1b[2m[^#67]\x1b[22m \u{1f4cb} Phase", "[^#67] \u{1f4cb} Phase"),
            ("\x1b[2m#5\x1b[0m Fix", "Fix"),
            ("\x1b[2m#6\x1b[0m Fix", "\\x1b[2m#6\\x1b[0m Fix"),
            ("\x1b[2m#5\x1b[0m a \x1b[2mb\x1b[22m", "a \\x1b[2mb\\x1b[22m"),
            ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
            ("one\ntwo\u{9b}2m\u{202e}", "one\\ntwo\\x9b2m\\u{202e}"),
            ("#5 plain \\x1b", "#5 plain \\x1b"),
        ] {
            assert_eq!(titled(stored).shown_subject(), shown, "{stored:?}");
        }
    }

    #[test]
    fn edited_title_keeps_the_characters_it_had() {
        let task = titled("\x1b[2m#5\x1b[0m a\x1b[31mb\u{202e}\n");
        assert_eq!(task.subject_typed("new a\\x1b[31mb\\u{202e}\\n"), "new a\x1b[31mb\u{202e}\n");
        assert_eq!(titled("\x1b[2m#5\x1b[0m plain").subject_typed("about \\x1b"), "about \\x1b");
    }
}

//! Why a configuration file cannot be edited.

/// Why a configuration file is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It cannot be read.
    #[error("line {line}: {why}")]
    Unreadable {
        /// Where reading it failed.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// Something in it is not what its readers need.
    #[error("line {line}: `{key}` is no {expected}")]
    Shape {
        /// Where it stands.
        line: usize,
        /// Its name, with those around it; empty for the whole file.
        key: String,
        /// What it would have to be.
        expected: &'static str,
    },
    /// It is written in a way in which nothing can be added or taken out without touching the rest.
    #[error("line {line}: `{key}` is written in a way that cannot be edited safely")]
    Odd {
        /// Where it stands.
        line: usize,
        /// Its name, with those around it.
        key: String,
    },
}

/// Returns the line, counted from one, that a place of a text is in.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

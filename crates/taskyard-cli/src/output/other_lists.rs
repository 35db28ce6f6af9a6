//! Naming the list that a command wrote to where that is not the one of the directory.

use std::fmt;

use taskyard::core::ListId;
use taskyard::core::render::{Line, Tone};

/// The lists that a command wrote to besides that of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherLists {
    /// The lists, in the order in which they were first written to; there is one at least.
    pub(crate) lists: Vec<ListId>,
    /// The list of the directory.
    pub(crate) own: ListId,
}

impl OtherLists {
    /// Returns the line that names them.
    pub(super) fn line(&self) -> Line {
        let mut line = Line::new().with(Tone::Dim, "  in ");
        for (number, list) in self.lists.iter().enumerate() {
            line.push(Tone::Dim, if number == 0 { "" } else { ", " });
            line.push(Tone::Strong, list.as_str());
        }
        line.push(Tone::Dim, &format!("; the list of this directory is {}", self.own));
        line
    }
}

/// Returns a list's name as one word of a shell.
pub(crate) fn quoted(list: &ListId) -> String {
    let name = list.as_str();
    if name == list.directory() { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// Finds out which other lists were written to, once a command wants to know.
pub(super) struct LookForOtherLists(pub(super) Box<dyn Fn() -> Option<OtherLists>>);

impl fmt::Debug for LookForOtherLists {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LookForOtherLists")
    }
}

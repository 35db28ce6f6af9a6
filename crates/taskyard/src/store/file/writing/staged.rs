//! What becomes of one file.

use taskyard_core::Image;

use crate::store::locks::fingerprint::Look;

/// What is to become of one file.
#[derive(Clone, Debug)]
pub(in crate::store) struct Staged {
    pub(in crate::store) before: Option<(Image, Look)>,
    pub(in crate::store) after: Option<Image>,
    /// Whether the journal is to have an entry of it though it neither was nor will be there.
    pub(in crate::store) is_noted: bool,
    /// The mode that the file had when it was last there, where it comes back.
    pub(in crate::store) former_mode: Option<u32>,
}

impl Staged {
    /// Returns what is to become of a task, in the place of what was there.
    pub(in crate::store) fn over(before: Option<(Image, Look)>, after: Option<Image>) -> Self {
        Self { before, after, is_noted: false, former_mode: None }
    }

    /// Tells whether the journal is to have an entry of it.
    pub(in crate::store) fn is_change(&self) -> bool {
        self.before.as_ref().map(|(image, _)| image) != self.after.as_ref() || (self.is_noted && self.after.is_none())
    }
}

//! What becomes of one file.

use taskyard_core::Image;

use super::fingerprint::Look;

/// What is to become of one file.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    pub(super) before: Option<(Image, Look)>,
    pub(super) after: Option<Image>,
    /// Whether the journal is to have an entry of it though it neither was nor will be there.
    pub(super) is_noted: bool,
    /// The mode that the file had when it was last there, where it comes back.
    pub(super) former_mode: Option<u32>,
}

impl Staged {
    /// Returns what is to become of a task, in the place of what was there.
    pub(super) fn over(before: Option<(Image, Look)>, after: Option<Image>) -> Self {
        Self { before, after, is_noted: false, former_mode: None }
    }

    /// Tells whether the journal is to have an entry of it.
    pub(super) fn is_change(&self) -> bool {
        self.before.as_ref().map(|(image, _)| image) != self.after.as_ref() || (self.is_noted && self.after.is_none())
    }
}

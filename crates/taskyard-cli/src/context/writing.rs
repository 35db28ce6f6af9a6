//! Which lists a command wrote to, so that its answer can name one that is not the directory's own.

use taskyard::core::ListId;

use super::Context;
use crate::output::OtherLists;

impl Context {
    /// Takes note that a command wrote to a list in a way that its journal does not tell of: a lease began anew.
    pub(crate) fn note_write(&self, list: &ListId) {
        self.written.add(list);
    }

    /// Takes it that what was written so far was none of the command's doing.
    pub(crate) fn forget_writes(&self) {
        self.written.clear();
    }

    /// Tells whether the command wrote to a list.
    pub(crate) fn has_written(&self) -> bool {
        !self.written.all().is_empty()
    }

    /// Tells whether the command wrote to this list.
    pub(crate) fn has_written_to(&self, list: &ListId) -> bool {
        self.written.all().contains(list)
    }

    /// Returns the lists that the command wrote to besides that of the directory; none where there are none, or where it cannot be
    /// told which list the directory has.
    pub(crate) fn other_lists_written(&self) -> Option<OtherLists> {
        let mut lists = self.written.all();
        if lists.is_empty() {
            return None;
        }
        let own = self.list_of_directory().ok()?.list;
        lists.retain(|list| *list != own);
        (!lists.is_empty()).then_some(OtherLists { lists, own })
    }
}

//! What is gone from lists of which no task file is left.

use std::path::PathBuf;

use taskyard_core::rules::history::vanishing::{Gone, KeptIn, gone};
use taskyard_core::{ListId, Task};

use crate::clock;
use crate::store::ListInfo;
use crate::{Error, StoreError, Yard};

/// A list that lost its open tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoneList {
    /// The list.
    pub list: ListId,
    /// Where it is or was kept, where that is a place.
    pub path: Option<PathBuf>,
    /// What is gone.
    pub gone: Gone,
}

impl Yard {
    /// Tells what is gone from the list where no task file is left, though no agent deleted it on purpose.
    pub fn gone(&self) -> Result<Option<Gone>, Error> {
        Ok(self.look()?.gone)
    }

    /// Returns those of some lists that lost open tasks and have no task file left, then all whose place is gone.
    pub(super) fn gone_among(&self, lists: &[ListInfo]) -> Result<Vec<GoneList>, Error> {
        // Where there are no files, no program removes a task without meaning to.
        let Some(care) = self.store().care() else { return Ok(Vec::new()) };
        let mut candidates = Vec::new();
        for info in lists.iter().filter(|info| info.counts == [0; 3]) {
            // A list that no process of ours ever worked on is looked at without remembering anything of it.
            if care.glance(&info.list)?.is_empty() {
                candidates.push((info.list.clone(), info.path.clone()));
            }
        }
        candidates.extend(care.lists_without_a_place()?.into_iter().map(|(list, path)| (list, Some(path))));
        let mut lists = Vec::new();
        for (list, path) in candidates {
            if let Some(gone) = self.on(list.clone()).gone()?.filter(Gone::is_loss) {
                lists.push(GoneList { list, path, gone });
            }
        }
        Ok(lists)
    }

    /// Tells what is gone from a list that was just found without a task file, given what it is kept in where that is gone, too.
    ///
    /// A reader is not troubled by a journal that cannot be read.
    pub(super) fn gone_with(&self, with: Option<KeptIn>) -> Option<Gone> {
        let missing = self.missing(&[], &[]);
        let missing = missing.inspect_err(|error| tracing::debug!(%error, "what is gone is not known")).ok()?;
        if missing.is_empty() {
            return None;
        }
        let last_look = self.store().care().and_then(|care| care.last_look(self.list_id()));
        gone(&missing, with, last_look, clock::now())
    }

    /// Returns the readable tasks of a list, for looking through many: nothing of the look is remembered, where the store can do so.
    pub(super) fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        match self.store().care() {
            Some(care) => care.glance(list),
            None => self.store().read(list)?.tasks(),
        }
    }
}

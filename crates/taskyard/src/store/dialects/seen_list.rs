//! What one look at a list saw, and what of it may be believed for longer.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::{Revision, TaskId};

use super::dialect_files::DialectFiles;
use super::present_tasks::FoundChange;
use crate::store::kit::{Kept, ListState};

/// A list as it was seen.
#[derive(Debug)]
pub(super) struct SeenList<F: DialectFiles> {
    pub(super) state: ListState,
    pub(super) files: ReadFiles<F>,
    /// What other programs did and is not yet recorded.
    pub(super) outside: Vec<FoundChange>,
    /// Whether a commit of ours may not be in the files yet.
    pub(super) is_unsettled: bool,
}

impl<F: DialectFiles> SeenList<F> {
    /// Tells whether there is nothing to record.
    pub(super) fn is_quiet(&self) -> bool {
        self.outside.is_empty() && !self.is_unsettled
    }
}

/// The files of a list, read, and the form of everything in them.
#[derive(Debug)]
pub(super) struct ReadFiles<F: DialectFiles> {
    pub(super) raw: Option<Arc<F::Raw>>,
    pub(super) forms: Arc<BTreeMap<TaskId, Vec<u8>>>,
}

/// A list that was at rest when it was seen: as long as its files and our journal are the same, so are its tasks.
#[derive(Debug)]
pub(super) struct RestingList<F: DialectFiles> {
    pub(super) raw: Arc<F::Raw>,
    pub(super) forms: Arc<BTreeMap<TaskId, Vec<u8>>>,
    pub(super) newest: Revision,
    pub(super) applied: Revision,
    pub(super) tasks: BTreeMap<TaskId, Arc<Kept>>,
}

impl<F: DialectFiles> ReadFiles<F> {
    /// Returns what was read; none where there are no files.
    pub(super) fn raw(&self) -> Option<&F::Raw> {
        self.raw.as_deref()
    }
}

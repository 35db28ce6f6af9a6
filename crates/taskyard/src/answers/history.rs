//! The journal: what happened, what was taken back and what came back.

use std::cell::RefCell;

use serde::ser::{Error as _, Serialize, SerializeSeq as _, Serializer};
use taskyard_core::answers::history::{Restorable, RestorableTask, Restored, Undone};
use taskyard_core::answers::values;
use taskyard_core::answers::values::Shape;
use taskyard_core::{Entry, TaskId};

use crate::StoreError;
use crate::operations::{self, Absence};

/// Entries of the journal as one JSON array. Each page is read when the one before it has been written, so that a long journal is never in
/// memory as a whole.
#[derive(Debug)]
pub struct StreamedEntries<P> {
    pages: RefCell<P>,
    failure: RefCell<Option<StoreError>>,
}

impl<P: Iterator<Item = Result<Vec<Entry>, StoreError>>> StreamedEntries<P> {
    /// Takes the pages; none is read yet.
    pub fn of(pages: P) -> Self {
        Self { pages: RefCell::new(pages), failure: RefCell::default() }
    }

    /// Returns why the writing ended before the end of the journal, if a page could not be read.
    pub fn into_failure(self) -> Option<StoreError> {
        self.failure.into_inner()
    }
}

impl<P: Iterator<Item = Result<Vec<Entry>, StoreError>>> Serialize for StreamedEntries<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(None)?;
        for page in &mut *self.pages.borrow_mut() {
            match page {
                Ok(page) => page.iter().try_for_each(|entry| array.serialize_element(&values::Entry::from(entry)))?,
                Err(error) => {
                    let message = error.to_string();
                    self.failure.replace(Some(error));
                    return Err(S::Error::custom(message));
                }
            }
        }
        array.end()
    }
}

impl<'a> From<&'a operations::Undone> for Undone<'a> {
    fn from(undone: &'a operations::Undone) -> Self {
        Self {
            undone: undone.revisions.iter().map(|signed| signed.revision.0).collect(),
            actors: undone.revisions.iter().map(|signed| signed.actor.as_str()).collect(),
            revision: undone.revision.0,
            tasks: undone.tasks.iter().filter_map(|(_, task)| task.as_ref().map(Shape)).collect(),
            removed: undone.tasks.iter().filter(|(_, task)| task.is_none()).map(|(id, _)| id.as_str()).collect(),
        }
    }
}

/// Returns what could be brought back.
pub fn restorable(tasks: &[operations::Restorable]) -> Restorable<'_> {
    fn answer(operations::Restorable { task, absence, removed }: &operations::Restorable) -> RestorableTask<'_> {
        let (deleted, replaced) = (*absence == Absence::Deleted, *absence == Absence::Replaced);
        RestorableTask { task: Shape(task), deleted, replaced, removed: removed.into() }
    }
    Restorable { restorable: tasks.iter().map(answer).collect() }
}

impl<'a> From<&'a operations::Restored> for Restored<'a> {
    fn from(restored: &'a operations::Restored) -> Self {
        Self {
            tasks: restored.tasks.iter().map(Shape).collect(),
            dropped_edges: edges(&restored.dropped_edges),
            nothing_is_open: restored.nothing_is_open,
            revision: restored.revision.map(|revision| revision.0),
        }
    }
}

/// Returns edges, each as the task that waits and the one it waits for.
pub(super) fn edges(edges: &[(TaskId, TaskId)]) -> Vec<[&str; 2]> {
    edges.iter().map(|(waiting, on)| [waiting.as_str(), on.as_str()]).collect()
}

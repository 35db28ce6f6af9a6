//! Saving what a user made of a task in an editor.

use std::cell::RefCell;

use taskyard_core::rules::changes::editing::{Draft, DraftChanges, MergedDraft, merge_drafts};
use taskyard_core::{Task, TaskId};

use super::{Update, Updated};
use crate::{Error, Outcome, Yard};

/// What came of saving a draft.
#[derive(Clone, Debug, PartialEq)]
pub enum Edited {
    /// It is saved, with what other agents changed meanwhile.
    Saved(Box<Updated>),
    /// Another agent changed the same in another way, and nothing is saved.
    AtOdds {
        /// The task as it is now.
        now: Box<Draft>,
        /// Both, as far as they can be merged.
        merged: Box<MergedDraft>,
    },
}

impl Yard {
    /// Saves what was made of a task that stood there as `base`, merged with what other agents made of it meanwhile.
    pub fn save_draft(&self, id: &TaskId, base: &Draft, mine: &Draft) -> Result<Outcome<Edited>, Error> {
        let at_odds = RefCell::new(None);
        let outcome = self.change(id, |task: &Task| {
            let now = Draft::of(task);
            let merged = merge_drafts(base, mine, &now);
            if merged.conflicts.is_empty() {
                at_odds.replace(None);
                let mut changes = merged.draft.changes_from(&now);
                changes.patch.subject = changes.patch.subject.map(|typed| task.subject_typed(&typed));
                return update(changes);
            }
            at_odds.replace(Some((now, merged)));
            Update::default()
        })?;
        Ok(outcome.map(|updated| match at_odds.take() {
            Some((now, merged)) => Edited::AtOdds { now: Box::new(now), merged: Box::new(merged) },
            None => Edited::Saved(Box::new(updated)),
        }))
    }
}

fn update(changes: DraftChanges) -> Update {
    let DraftChanges { patch, add_blocked_by, remove_blocked_by, add_blocks, remove_blocks } = changes;
    Update { patch, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by, ..Update::default() }
}

//! Mending the journal of a list.

use std::collections::BTreeSet;

use taskyard_core::TaskId;

use super::dialect_files::DialectFiles;
use super::dialect_turn::DialectTurn;
use super::open_list::OpenList;
use super::recording;
use crate::store::journal::{self, Beside};
use crate::store::{JournalDamage, StoreError};

/// Looks the journal over from end to end.
pub(super) fn examine<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Option<JournalDamage>, StoreError> {
    journal::examine(&open_list.sidecar, 0)
}

/// Puts a whole journal in the place of a damaged one.
pub(super) fn mend<F: DialectFiles>(open_list: &OpenList<F>) -> Result<(), StoreError> {
    let turn = DialectTurn::take(&*open_list.dialect, &open_list.path, &open_list.queue())?;
    let beside = Beside { present: present(open_list)?, written: 0, has_forms: true };
    journal::mend(&open_list.sidecar, &open_list.path, &beside)?;
    open_list.journals.forget();
    *open_list.remembered() = None;
    drop(turn);
    // What other programs did while we could not record it.
    recording::observe(open_list).map(drop)
}

fn present<F: DialectFiles>(open_list: &OpenList<F>) -> Result<BTreeSet<TaskId>, StoreError> {
    let raw = open_list.dialect.load(&open_list.path)?;
    Ok(raw.map(|raw| open_list.dialect.forms(&raw).into_keys().collect()).unwrap_or_default())
}

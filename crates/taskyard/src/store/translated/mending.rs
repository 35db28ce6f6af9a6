//! Mending the journal of a list.

use std::collections::BTreeSet;

use taskyard_core::TaskId;

use super::form::Form;
use super::handle::Handle;
use super::observe;
use super::turn::TranslatedTurn;
use crate::store::sidecar::{self, Beside};
use crate::store::{JournalDamage, StoreError};

/// Looks the journal over from end to end.
pub(super) fn examine<F: Form>(handle: &Handle<F>) -> Result<Option<JournalDamage>, StoreError> {
    sidecar::examine(&handle.sidecar, 0)
}

/// Puts a whole journal in the place of a damaged one.
pub(super) fn mend<F: Form>(handle: &Handle<F>) -> Result<(), StoreError> {
    let turn = TranslatedTurn::take(&*handle.form, &handle.path, &handle.queue())?;
    let beside = Beside { present: present(handle)?, written: 0, has_forms: true };
    sidecar::mend(&handle.sidecar, &handle.path, &beside)?;
    handle.journals.forget();
    *handle.remembered() = None;
    drop(turn);
    // What other programs did while nobody could record it.
    observe::observe(handle).map(drop)
}

fn present<F: Form>(handle: &Handle<F>) -> Result<BTreeSet<TaskId>, StoreError> {
    let raw = handle.form.load(&handle.path)?;
    Ok(raw.map(|raw| handle.form.forms(&raw).into_keys().collect()).unwrap_or_default())
}

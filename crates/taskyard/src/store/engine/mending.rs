//! Mending the journal of a list.

use super::open_list::{ListFiles, OpenList};
use crate::store::journal::{self, Beside};
use crate::store::{JournalDamage, StoreError};

/// Looks the journal over from end to end.
pub(super) fn examine<F: ListFiles>(list: &OpenList<F>) -> Result<Option<JournalDamage>, StoreError> {
    let Ok(sidecar) = list.sidecar() else { return Ok(None) };
    journal::examine(sidecar, list.files.followed_up_to())
}

/// Puts a whole journal in the place of a damaged one.
pub(super) fn mend<F: ListFiles>(list: &OpenList<F>) -> Result<(), StoreError> {
    let turn = list.files.take_bare_turn(&list.queue_file()?)?;
    let (present, written) = (list.files.present()?, list.files.followed_up_to());
    journal::mend(list.sidecar()?, list.files.place(), &Beside { present, written, has_forms: F::HAS_FORMS })?;
    list.journals.forget();
    list.files.let_go();
    let Some(at_files) = turn.at_files else { return Ok(()) };
    let (turn, journal) = list.settled(at_files, list.journal()?)?;
    drop(turn);
    list.give_back(journal);
    // What other programs did while we could not record it.
    F::observe(list).map(drop)
}

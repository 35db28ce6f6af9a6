//! Copying a list out while others write to it: its files and the moment of the journal are taken in one turn.

use std::fs::Metadata;
use std::path::Path;

use super::form::Form;
use super::handle::Handle;
use super::observe::record_in_turn;
use crate::failpoint::reach;
use crate::store::list_copy::is_lock;
use crate::store::sidecar::install;
use crate::store::{FileLayout, ListCopy, ListCopyTarget, StoreError};

/// Copies the list.
pub(super) fn copy_out<F: Form>(handle: &Handle<F>, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
    handle.must_not_be_foreign()?;
    let (turn, journal) = match handle.take_turn() {
        Err(error @ (StoreError::JournalDamaged { .. } | StoreError::NewerJournal { .. })) => {
            let mut copy = ListCopy { journal_problem: Some(error.to_string()), ..ListCopy::default() };
            copy_files(handle, to, &mut copy)?;
            return Ok(copy);
        }
        taken => taken?,
    };
    record_in_turn(handle, &journal)?;
    let moment = journal.begin_to_read()?;
    let mut copy = ListCopy { revision: journal.newest()?, has_journal: true, ..ListCopy::default() };
    copy_files(handle, to, &mut copy)?;
    drop(turn);
    reach("backup: the moment of a list");
    to.take_journal(&mut |path| journal.copy_to(path))?;
    drop(moment);
    handle.give_back(journal);
    Ok(copy)
}

/// Puts a copied journal where the list has none.
pub(super) fn take_memory<F: Form>(handle: &Handle<F>, copy: &Path) -> Result<bool, StoreError> {
    let installed = install(&handle.sidecar, &handle.path, copy)?;
    handle.journals.forget();
    *handle.remembered() = None;
    Ok(installed)
}

fn copy_files<F: Form>(handle: &Handle<F>, to: &mut dyn ListCopyTarget, copy: &mut ListCopy) -> Result<(), StoreError> {
    copy.exists = handle.path.symlink_metadata().is_ok();
    if !copy.exists {
        return Ok(());
    }
    if F::LAYOUT == FileLayout::OneFile {
        let name = handle.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return copy.add_as_it_is(to, &handle.path, &name);
    }
    let temporary = handle.form.temporary(&handle.path);
    let is_passed_over = |name: &str, found: &Metadata| name.starts_with(&temporary) || is_lock(name, found);
    copy.add_folder(to, &handle.path, &is_passed_over)
}

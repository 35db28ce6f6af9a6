//! Copying a list out while writers are at work: its files and the moment of the journal are taken in one turn.

use std::fs::Metadata;

use super::dialect_files::DialectFiles;
use super::open_list::OpenList;
use super::recording::record_in_turn;
use crate::failpoint::reach;
use crate::store::list_copy::is_lock;
use crate::store::{FileLayout, ListCopy, ListCopyTarget, StoreError};

/// Copies the list.
pub(super) fn copy_out<F: DialectFiles>(
    open_list: &OpenList<F>,
    to: &mut dyn ListCopyTarget,
) -> Result<ListCopy, StoreError> {
    open_list.files.must_not_be_foreign()?;
    let (turn, journal) = match open_list.take_turn() {
        Err(error @ (StoreError::JournalDamaged { .. } | StoreError::NewerJournal { .. })) => {
            let mut copy = ListCopy { journal_problem: Some(error.to_string()), ..ListCopy::default() };
            copy_files(open_list, to, &mut copy)?;
            return Ok(copy);
        }
        taken => taken?,
    };
    record_in_turn(open_list, &journal)?;
    let moment = journal.begin_to_read()?;
    let mut copy = ListCopy { revision: journal.newest()?, has_journal: true, ..ListCopy::default() };
    copy_files(open_list, to, &mut copy)?;
    drop(turn);
    reach("backup: the moment of a list");
    to.take_journal(&mut |path| journal.copy_to(path))?;
    drop(moment);
    open_list.give_back(journal);
    Ok(copy)
}

fn copy_files<F: DialectFiles>(
    open_list: &OpenList<F>,
    to: &mut dyn ListCopyTarget,
    copy: &mut ListCopy,
) -> Result<(), StoreError> {
    copy.exists = open_list.files.path.symlink_metadata().is_ok();
    if !copy.exists {
        return Ok(());
    }
    if F::LAYOUT == FileLayout::OneFile {
        let name = open_list.files.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return copy.add_as_it_is(to, &open_list.files.path, &name);
    }
    let temporary = open_list.files.dialect.temporary(&open_list.files.path);
    let is_passed_over = |name: &str, found: &Metadata| name.starts_with(&temporary) || is_lock(name, found);
    copy.add_folder(to, &open_list.files.path, &is_passed_over)
}

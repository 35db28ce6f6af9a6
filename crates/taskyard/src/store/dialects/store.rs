//! The store itself, and copying a list out while writers are at work: its files and the moment of the journal are taken in one turn.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use taskyard_core::{Entry, Lease, ListId, Moment, Rules, Task, TaskId, Timestamp};

use super::dialect_files::DialectFiles;
use super::open_list::{DialectList, OpenList, open_list};
use super::recording::{self, record_in_turn};
use super::writer::DialectWriter;
use super::{looking, temporary_files};
use crate::clock;
use crate::failpoint::reach;
use crate::store::directories::changed;
use crate::store::engine::{OpenLists, OpensLists};
use crate::store::kit::{StagedPair, StateSnapshot};
use crate::store::list_copy::is_lock;
use crate::store::{
    Capabilities, FileCare, FileLayout, HistoryQuery, LastEntry, ListCopy, ListCopyTarget, ListInfo, ListWatch, Litter,
    Moved, Snapshot, Store, StoreError, Txn, TxnPair, Watch, following,
};

/// Lists in the files of another dialect.
#[derive(Debug)]
pub(in crate::store) struct DialectStore<F: DialectFiles> {
    dialect: Arc<F>,
    data: PathBuf,
    rules: Rules,
    open_lists: OpenLists<DialectList<F>>,
}

impl<F: DialectFiles> DialectStore<F> {
    /// Opens a store. Nothing is read or made until a list is asked for.
    pub(in crate::store) fn open(dialect: F, data: PathBuf, rules: Rules) -> Self {
        Self { dialect: Arc::new(dialect), data, rules, open_lists: OpenLists::new() }
    }
}

impl<F: DialectFiles> OpensLists for DialectStore<F> {
    type Files = DialectList<F>;

    fn open_list(&self, list: &ListId) -> Arc<OpenList<F>> {
        let open = || open_list(Arc::clone(&self.dialect), list.clone(), &self.data, self.rules);
        self.open_lists.get(list, open)
    }

    fn open_lists(&self) -> Vec<Arc<OpenList<F>>> {
        self.open_lists.all()
    }

    fn data(&self) -> Option<&Path> {
        Some(&self.data)
    }

    fn places_gone(&self, data: &Path) -> Vec<(ListId, PathBuf)> {
        self.dialect.lists_without_a_place(data)
    }
}

impl<F: DialectFiles> Store for DialectStore<F> {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(clock::moment())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let mut lists = Vec::new();
        for (list, path) in self.dialect.lists()? {
            let state = recording::look_and_record(&self.open_list(&list))?;
            let changed = changed(&path);
            lists.push(ListInfo { list, path: Some(path), counts: state.counts(), changed });
        }
        lists.sort_by(|one, two| one.list.cmp(&two.list));
        Ok(lists)
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: recording::look_and_record(&self.open_list(list))? }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(DialectWriter::begin(self.open_list(list))?))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        Ok(DialectWriter::try_begin(self.open_list(list))?.map(|txn| Box::new(txn) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        let (from, into) = (self.open_list(from), self.open_list(into));
        let open = |path: &PathBuf| {
            let open_list = if *path == from.files.path { &from } else { &into };
            DialectWriter::begin(Arc::clone(open_list))
        };
        Ok(Box::new(StagedPair::open((&from.files.path, &into.files.path), open)?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.open_list(list).history(query)
    }

    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        self.open_list(list).last_entries()
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        self.open_list(list).watch(moved)
    }

    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        Ok(self.dialect.lists()?.into_iter().map(|(list, _)| list).collect())
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        let dialect = Arc::clone(&self.dialect);
        Ok(following::watch_directories(move || dialect.directories_of_lists(), moved))
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.open_list(list).renew(leases)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { files: Some(self), ..Capabilities::default() }
    }
}

impl<F: DialectFiles> FileCare for DialectStore<F> {
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        let mut lists = self.places_gone(&self.data);
        lists.sort();
        Ok(lists)
    }

    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        self.read(list)?.tasks()
    }

    fn layout(&self) -> FileLayout {
        F::LAYOUT
    }

    fn file_name(&self, list: &ListId, task: &TaskId) -> String {
        let path = self.dialect.home(&self.open_list(list).files.path).path_of(task);
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn written_at(&self, list: &ListId, task: &TaskId) -> Option<Timestamp> {
        changed(&self.dialect.home(&self.open_list(list).files.path).path_of(task))
    }

    fn elements(&self, list: &ListId) -> Result<Vec<Value>, StoreError> {
        let raw = looking::read_files(&self.open_list(list))?;
        Ok(raw.map(|raw| self.dialect.elements(&raw)).unwrap_or_default())
    }

    fn litter(&self, list: &ListId) -> Result<Vec<Litter>, StoreError> {
        temporary_files::find(&self.open_list(list))
    }

    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
        temporary_files::sweep(&self.open_list(list), litter)
    }

    fn lists_with_a_place(&self) -> Result<Vec<ListId>, StoreError> {
        let mut lists: Vec<_> = self.dialect.lists()?.into_iter().map(|(list, _)| list).collect();
        lists.sort();
        Ok(lists)
    }

    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
        copy_out(&self.open_list(list), to)
    }

    fn place_of(&self, list: &ListId) -> PathBuf {
        self.open_list(list).files.path.clone()
    }
}

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

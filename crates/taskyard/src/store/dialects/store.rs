//! The store for lists in another dialect, and copying a list: its files and its journal are copied during one turn.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use taskyard_core::{Entry, Lease, ListId, Moment, Rules, Task, TaskId, Timestamp};

use super::dialect_files::DialectFiles;
use super::writer::DialectWriter;
use crate::failpoint::reach;
use crate::store::dialects::dialect_files::{DialectList, DialectTurn, OpenList, open_list};
use crate::store::dialects::looking::record_in_turn;
use crate::store::dialects::{finishing, looking};
use crate::store::engine::{ListFiles, OpenLists, OpensLists};
use crate::store::file_care::is_lock;
use crate::store::journal::{Journal, Move, MovePeer, changed};
use crate::store::kit::{StagedPair, StateSnapshot};
use crate::store::{
    Capabilities, FileCare, FileLayout, HistoryQuery, LastEntry, ListCopy, ListCopyTarget, ListInfo, ListWatch, Litter,
    Moved, Snapshot, Store, StoreError, Txn, TxnPair, Watch, waiting,
};
use crate::system;

/// Lists in the files of another dialect.
#[derive(Debug)]
pub(in crate::store) struct DialectStore<F: DialectFiles> {
    dialect: Arc<F>,
    data: PathBuf,
    rules: Rules,
    open_lists: OpenLists<DialectList<F>>,
}

impl<F: DialectFiles> DialectStore<F> {
    /// Opens a store. Nothing is read or created until a list is used.
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
        Ok(system::moment())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let mut lists = Vec::new();
        for (list, path) in self.dialect.lists()? {
            let state = looking::look_and_record(&self.open_list(&list))?;
            let changed = changed(&path);
            lists.push(ListInfo { list, path: Some(path), counts: state.counts(), changed });
        }
        lists.sort_by(|one, two| one.list.cmp(&two.list));
        Ok(lists)
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: looking::look_and_record(&self.open_list(list))? }))
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
        Ok(waiting::watch_directories(move || dialect.directories_of_lists(), moved))
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
        finishing::find(&self.open_list(list))
    }

    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
        finishing::sweep(&self.open_list(list), litter)
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

impl<F: DialectFiles> ListFiles for DialectList<F> {
    type Turn = DialectTurn<F>;

    const HAS_FORMS: bool = true;

    fn place(&self) -> &Path {
        &self.path
    }

    fn directory(&self) -> &Path {
        self.dialect.directory(&self.path)
    }

    fn beside(&self, peer: &MovePeer, _rules: Rules) -> Self {
        Self::at(Arc::clone(&self.dialect), peer.place.clone())
    }

    fn take_turn(&self, queue: &Path) -> Result<DialectTurn<F>, StoreError> {
        DialectTurn::take(&*self.dialect, &self.path, queue)
    }

    fn try_take_turn(&self, queue: &Path) -> Result<Option<DialectTurn<F>>, StoreError> {
        DialectTurn::try_take(&*self.dialect, &self.path, queue)
    }

    fn present(&self) -> Result<BTreeSet<TaskId>, StoreError> {
        let raw = self.dialect.load(&self.path)?;
        Ok(raw.map(|raw| self.dialect.forms(&raw).into_keys().collect()).unwrap_or_default())
    }

    fn let_go(&self) {
        *self.remembered() = None;
    }

    fn observe(list: &OpenList<F>) -> Result<bool, StoreError> {
        looking::observe(list)
    }

    fn follow_move(
        _list: &OpenList<F>,
        _turn: &mut DialectTurn<F>,
        journal: &Journal,
        noted: &Move,
    ) -> Result<(), StoreError> {
        finishing::follow_move(journal, noted)
    }

    fn finish(
        list: &OpenList<F>,
        turn: &mut DialectTurn<F>,
        journal: &mut Journal,
        _has_followed: bool,
    ) -> Result<(), StoreError> {
        finishing::repair(list, turn, journal)
    }
}

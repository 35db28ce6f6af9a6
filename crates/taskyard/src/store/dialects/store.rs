//! The store itself.

use crate::store::dialects::recording;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use taskyard_core::{Entry, Lease, ListId, Moment, Revision, Rules, Task, TaskId, Timestamp};

use super::dialect_files::DialectFiles;
use super::open_list::{OpenList, open_list};
use super::writer::DialectWriter;
use super::{copying, looking, temporary_files};
use crate::clock;
use crate::store::directories::changed;
use crate::store::engine;
use crate::store::following::{self, Followed};
use crate::store::journal::{Journal, has_memory, journal_size, memory_size, sidecar_of};
use crate::store::kit::{StagedPair, StateSnapshot};
use crate::store::{
    ArrivingList, Capabilities, FileCare, FileLayout, HistoryQuery, JournalDamage, LastEntry, ListCopy, ListCopyTarget,
    ListInfo, ListWatch, Litter, Moved, Snapshot, StaleWrite, Store, StoreError, Txn, TxnPair, Watch,
};

/// How many lists stay in memory that nobody uses. Callers ask for any name, and for names of lists that do not exist.
const MOST: usize = 256;

/// Lists in the files of another dialect.
#[derive(Debug)]
pub(in crate::store) struct DialectStore<F: DialectFiles> {
    dialect: Arc<F>,
    data: PathBuf,
    rules: Rules,
    open_lists: Mutex<HashMap<ListId, Arc<OpenList<F>>>>,
}

impl<F: DialectFiles> DialectStore<F> {
    /// Opens a store. Nothing is read or made until a list is asked for.
    pub(in crate::store) fn open(dialect: F, data: PathBuf, rules: Rules) -> Self {
        Self { dialect: Arc::new(dialect), data, rules, open_lists: Mutex::default() }
    }

    fn open_list(&self, list: &ListId) -> Arc<OpenList<F>> {
        let mut open_lists = self.open_lists.lock().unwrap_or_else(PoisonError::into_inner);
        if open_lists.len() >= MOST && !open_lists.contains_key(list) {
            // A caller that comes back to one of them reads it anew.
            open_lists.retain(|_, unused| Arc::strong_count(unused) > 1);
        }
        let open_list = open_lists
            .entry(list.clone())
            .or_insert_with(|| Arc::new(open_list(Arc::clone(&self.dialect), list.clone(), &self.data, self.rules)));
        Arc::clone(open_list)
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
        let open_list = self.open_list(list);
        if !open_list.journals.ask(|journal| journal.covers(query))? {
            open_list.observe()?;
        }
        open_list.entries(query)
    }

    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        let open_list = self.open_list(list);
        open_list.observe()?;
        open_list.journals.ask(Journal::last_entries)
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        let open_list = self.open_list(list);
        // A follower of a damaged journal would wait in vain.
        open_list.entries(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Ok(following::watch(open_list, moved))
    }

    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        Ok(self.dialect.lists()?.into_iter().map(|(list, _)| list).collect())
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        let dialect = Arc::clone(&self.dialect);
        Ok(following::watch_directories(move || dialect.directories_of_lists(), moved))
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        let open_list = self.open_list(list);
        let journal = open_list.journal()?;
        let renewed = journal.renew(leases);
        open_list.give_back(journal);
        renewed
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { files: Some(self), ..Capabilities::default() }
    }
}

impl<F: DialectFiles> FileCare for DialectStore<F> {
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        let mut lists = self.dialect.lists_without_a_place(&self.data);
        lists.sort();
        Ok(lists)
    }

    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        self.read(list)?.tasks()
    }

    fn last_look(&self, list: &ListId) -> Option<Timestamp> {
        let open_list = self.open_list(list);
        let journal = open_list.journal_to_read()?;
        let last = journal.last_look().ok().flatten();
        open_list.give_back(journal);
        last
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

    fn take_stale_writes(&self, list: &ListId) -> Vec<StaleWrite> {
        self.open_list(list).journals.take_stale_writes()
    }

    fn examine_journal(&self, list: &ListId) -> Result<Option<JournalDamage>, StoreError> {
        engine::examine(&self.open_list(list))
    }

    fn unfinished_move(&self, list: &ListId) -> Result<Option<StoreError>, StoreError> {
        engine::unfinished_move(&self.open_list(list))
    }

    fn mend_journal(&self, list: &ListId) -> Result<(), StoreError> {
        engine::mend(&self.open_list(list))
    }

    fn damaged_journals(&self) -> Vec<(ListId, JournalDamage)> {
        let open_lists = self.open_lists.lock().unwrap_or_else(PoisonError::into_inner);
        let damaged =
            open_lists.values().filter_map(|open_list| Some((open_list.list.clone(), open_list.journals.damage()?)));
        damaged.collect()
    }

    fn journal_size(&self, list: &ListId) -> u64 {
        self.open_list(list).sidecar().map_or(0, |sidecar| journal_size(sidecar))
    }

    fn gone_memories(&self) -> Result<Vec<(ListId, u64)>, StoreError> {
        let gone = self.lists_without_a_place()?.into_iter();
        Ok(gone.map(|(list, path)| (list, memory_size(&sidecar_of(&self.data, &path)))).collect())
    }

    fn newer_journals(&self) -> Vec<(ListId, i64)> {
        let open_lists = self.open_lists.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = open_lists
            .values()
            .filter_map(|open_list| Some((open_list.list.clone(), open_list.journals.newer_format()?)));
        newer.collect()
    }

    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError> {
        self.open_list(list).journals.thinned()
    }

    fn memory_of(&self, list: &ListId) -> Option<PathBuf> {
        self.open_list(list).sidecar().ok().cloned()
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
        copying::copy_out(&self.open_list(list), to)
    }

    fn take_memory(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
        copying::take_memory(&self.open_list(list), arriving)
    }

    fn has_memory(&self, list: &ListId) -> bool {
        self.open_list(list).sidecar().is_ok_and(|sidecar| has_memory(sidecar))
    }

    fn place_of(&self, list: &ListId) -> PathBuf {
        self.open_list(list).files.path.clone()
    }
}

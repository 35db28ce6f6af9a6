//! The store itself.

use crate::store::translated::observe;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use taskyard_core::{Entry, Lease, ListId, Moment, Revision, Rules, Task, TaskId, Timestamp};

use super::form::Form;
use super::handle::Handle;
use super::writer::TranslatedWriter;
use super::{copying, litter, looking, mending};
use crate::clock;
use crate::store::directories::changed;
use crate::store::following::{self, Followed};
use crate::store::kit::{StagedPair, StateSnapshot};
use crate::store::sidecar::{Journal, has_memory, journal_size, memory_size, sidecar_of};
use crate::store::{
    FileCare, FileLayout, HistoryQuery, JournalDamage, LastEntry, ListCopy, ListCopyTarget, ListInfo, ListWatch,
    Litter, Moved, Snapshot, StaleWrite, Store, StoreError, Txn, TxnPair, Watch,
};

/// Lists in the files of another dialect.
#[derive(Debug)]
pub(in crate::store) struct TranslatedStore<F: Form> {
    form: Arc<F>,
    data: PathBuf,
    rules: Rules,
    handles: Mutex<HashMap<ListId, Arc<Handle<F>>>>,
}

impl<F: Form> TranslatedStore<F> {
    /// Opens a store. Nothing is read or made until a list is asked for.
    pub(in crate::store) fn open(form: F, data: PathBuf, rules: Rules) -> Self {
        Self { form: Arc::new(form), data, rules, handles: Mutex::default() }
    }

    fn handle(&self, list: &ListId) -> Arc<Handle<F>> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = handles
            .entry(list.clone())
            .or_insert_with(|| Arc::new(Handle::new(Arc::clone(&self.form), list.clone(), &self.data, self.rules)));
        Arc::clone(handle)
    }
}

impl<F: Form> Store for TranslatedStore<F> {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(clock::moment())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let mut lists = Vec::new();
        for (list, path) in self.form.lists()? {
            let state = observe::look_and_record(&self.handle(&list))?;
            let changed = changed(&path);
            lists.push(ListInfo { list, path: Some(path), counts: state.counts(), changed });
        }
        lists.sort_by(|one, two| one.list.cmp(&two.list));
        Ok(lists)
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: observe::look_and_record(&self.handle(list))? }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(TranslatedWriter::begin(self.handle(list))?))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        Ok(TranslatedWriter::try_begin(self.handle(list))?.map(|txn| Box::new(txn) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        let (from, into) = (self.handle(from), self.handle(into));
        let open = |path: &PathBuf| {
            let handle = if *path == from.path { &from } else { &into };
            TranslatedWriter::begin(Arc::clone(handle))
        };
        Ok(Box::new(StagedPair::open((&from.path, &into.path), open)?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        let handle = self.handle(list);
        if !handle.journals.ask(|journal| journal.covers(query))? {
            handle.observe()?;
        }
        handle.entries(query)
    }

    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        let handle = self.handle(list);
        handle.observe()?;
        handle.journals.ask(Journal::last_entries)
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        let handle = self.handle(list);
        // Whoever follows a journal that is damaged would wait in vain.
        handle.entries(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Ok(following::watch(handle, moved))
    }

    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        Ok(self.form.lists()?.into_iter().map(|(list, _)| list).collect())
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        let form = Arc::clone(&self.form);
        Ok(following::watch_directories(move || form.places_of_lists(), moved))
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        let handle = self.handle(list);
        let journal = handle.journal()?;
        let renewed = journal.renew(leases);
        handle.give_back(journal);
        renewed
    }

    fn care(&self) -> Option<&dyn FileCare> {
        Some(self)
    }
}

impl<F: Form> FileCare for TranslatedStore<F> {
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        let mut lists = self.form.lists_without_a_place(&self.data);
        lists.sort();
        Ok(lists)
    }

    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        self.read(list)?.tasks()
    }

    fn last_look(&self, list: &ListId) -> Option<Timestamp> {
        let handle = self.handle(list);
        let journal = handle.journal_to_read()?;
        let last = journal.last_look().ok().flatten();
        handle.give_back(journal);
        last
    }

    fn layout(&self) -> FileLayout {
        F::LAYOUT
    }

    fn file_name(&self, list: &ListId, task: &TaskId) -> String {
        let path = self.form.home(&self.handle(list).path).path_of(task);
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn written_at(&self, list: &ListId, task: &TaskId) -> Option<Timestamp> {
        changed(&self.form.home(&self.handle(list).path).path_of(task))
    }

    fn elements(&self, list: &ListId) -> Result<Vec<Value>, StoreError> {
        let raw = looking::read_files(&self.handle(list))?;
        Ok(raw.map(|raw| self.form.elements(&raw)).unwrap_or_default())
    }

    fn take_stale_writes(&self, list: &ListId) -> Vec<StaleWrite> {
        self.handle(list).journals.take_stale_writes()
    }

    fn examine_journal(&self, list: &ListId) -> Result<Option<JournalDamage>, StoreError> {
        mending::examine(&self.handle(list))
    }

    fn mend_journal(&self, list: &ListId) -> Result<(), StoreError> {
        mending::mend(&self.handle(list))
    }

    fn damaged_journals(&self) -> Vec<(ListId, JournalDamage)> {
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let damaged = handles.values().filter_map(|handle| Some((handle.list.clone(), handle.journals.damage()?)));
        damaged.collect()
    }

    fn journal_size(&self, list: &ListId) -> u64 {
        journal_size(&self.handle(list).sidecar)
    }

    fn gone_memories(&self) -> Result<Vec<(ListId, u64)>, StoreError> {
        let gone = self.lists_without_a_place()?.into_iter();
        Ok(gone.map(|(list, path)| (list, memory_size(&sidecar_of(&self.data, &path)))).collect())
    }

    fn newer_journals(&self) -> Vec<(ListId, i64)> {
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = handles.values().filter_map(|handle| Some((handle.list.clone(), handle.journals.newer_format()?)));
        newer.collect()
    }

    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError> {
        self.handle(list).journals.thinned()
    }

    fn memory_of(&self, list: &ListId) -> Option<PathBuf> {
        Some(self.handle(list).sidecar.clone())
    }

    fn litter(&self, list: &ListId) -> Result<Vec<Litter>, StoreError> {
        litter::find(&self.handle(list))
    }

    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
        litter::sweep(&self.handle(list), litter)
    }

    fn lists_with_a_place(&self) -> Result<Vec<ListId>, StoreError> {
        let mut lists: Vec<_> = self.form.lists()?.into_iter().map(|(list, _)| list).collect();
        lists.sort();
        Ok(lists)
    }

    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
        copying::copy_out(&self.handle(list), to)
    }

    fn take_memory(&self, list: &ListId, copy: &Path) -> Result<bool, StoreError> {
        copying::take_memory(&self.handle(list), copy)
    }

    fn has_memory(&self, list: &ListId) -> bool {
        has_memory(&self.handle(list).sidecar)
    }

    fn place_of(&self, list: &ListId) -> PathBuf {
        self.handle(list).path.clone()
    }
}

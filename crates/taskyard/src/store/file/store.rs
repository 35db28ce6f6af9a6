//! The file store: Claude Code's own task files, with our records of their history.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::rules::looking::statistics::Summary;
use taskyard_core::{Entry, Lease, ListId, Moment, Revision, Rules, Status, Task, TaskId, Timestamp};

use crate::store::engine::{OpenLists, OpensLists};
use crate::store::file::client_files::{ClientFiles, Handle};
use crate::store::file::reading::snapshot::FileSnapshot;
use crate::store::file::reading::{outlines, scan};
use crate::store::file::txn::FileTxn;
use crate::store::file::writer::FilePair;
use crate::store::file::{departing, flush, litter};
use crate::store::journal::{arrived_by, changed, departure_in, is_leaving};
use crate::store::list_directories::{directories_gone, list_directories, must_not_be_foreign, named};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::queue::held;
use crate::store::store_contract::wait_for_turn;
use crate::store::{
    Capabilities, Closed, Departure, FileCare, FileLayout, HistoryQuery, LastEntry, ListCopy, ListCopyTarget, ListInfo,
    ListMoving, ListWatch, Litter, Moved, Sighting, Snapshot, Store, StoreClock, StoreError, Txn, TxnPair, Watch,
    waiting,
};

/// Options for opening a file store.
#[derive(Clone, Debug)]
pub struct FileStoreOptions {
    /// The directory of lists, for example `~/.claude/tasks`.
    pub tasks: PathBuf,
    /// Our own data directory; without it, lists are read-only.
    pub data: Option<PathBuf>,
    /// The rules for writing files.
    pub rules: Rules,
}

/// Lists as directories of task files, shared with running Claude Code processes.
#[derive(Debug)]
pub struct FileStore {
    options: FileStoreOptions,
    clock: StoreClock,
    handles: OpenLists<ClientFiles>,
}

impl FileStore {
    /// Opens a store. Nothing is read or created until a list is used.
    pub fn open(options: FileStoreOptions) -> Self {
        Self { options, clock: StoreClock::default(), handles: OpenLists::new() }
    }

    /// Replaces this machine's clock for lease times.
    #[must_use]
    pub fn with_clock(self, clock: StoreClock) -> Self {
        Self { clock, ..self }
    }

    /// Sets how long an unused list is kept in memory; five minutes by default. It is read again when it is next used.
    #[must_use]
    pub fn letting_go_after(self, keeps: Duration) -> Self {
        Self { handles: self.handles.letting_go_after(keeps), ..self }
    }

    /// Returns the lists kept in memory, with the size of their tasks in bytes.
    pub fn lists_in_memory(&self) -> Vec<(ListId, usize)> {
        let kept = |handle: &Arc<Handle>| Some((handle.list.clone(), handle.files.live().size()?));
        self.handles.all().iter().filter_map(kept).collect()
    }

    /// Returns the directory of a list's task files.
    pub(crate) fn directory_of(&self, list: &ListId) -> PathBuf {
        self.handle(list).files.place.directory.clone()
    }

    /// Returns our data directory for a list; `None` if there is none.
    pub fn sidecar_of(&self, list: &ListId) -> Option<PathBuf> {
        self.handle(list).files.place.sidecar.clone()
    }

    fn handle(&self, list: &ListId) -> Arc<Handle> {
        self.handles.get(list, || {
            let place = ListPaths::of(&self.options.tasks, self.options.data.as_deref(), list, self.options.rules);
            Handle::of(list.clone(), place, self.options.rules, self.clock.clone())
        })
    }

    /// Returns a list, or an error if it has moved to another store.
    fn handle_here(&self, list: &ListId) -> Result<Arc<Handle>, StoreError> {
        let handle = self.handle(list);
        handle.files.must_be_here()?;
        Ok(handle)
    }
}

impl OpensLists for FileStore {
    type Files = ClientFiles;

    fn open_list(&self, list: &ListId) -> Arc<Handle> {
        self.handle(list)
    }

    fn open_lists(&self) -> Vec<Arc<Handle>> {
        self.handles.all()
    }

    fn data(&self) -> Option<&Path> {
        self.options.data.as_deref()
    }

    fn places_gone(&self, data: &Path) -> Vec<(ListId, PathBuf)> {
        let directories = directories_gone(data, &self.options.tasks).into_iter();
        directories.filter_map(|path| Some((named(&path)?, path))).collect()
    }
}

impl Store for FileStore {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(self.clock.now())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let mut lists =
            self.lists_here()?.into_iter().map(|(list, path)| self.info(list, path)).collect::<Result<Vec<_>, _>>()?;
        lists.sort_by(|one, two| one.list.cmp(&two.list));
        Ok(lists)
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(FileSnapshot::open(self.handle_here(list)?)))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(FileTxn::open(self.handle_here(list)?)?))
    }

    fn write_within(&self, list: &ListId, patience: Duration) -> Result<Box<dyn Txn + '_>, StoreError> {
        let handle = self.handle_here(list)?;
        let queue = handle.queue_file()?;
        wait_for_turn(patience, || self.try_write(list), |waited| held(&queue, waited))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        Ok(FileTxn::try_open(self.handle_here(list)?)?.map(|txn| Box::new(txn) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        Ok(Box::new(FilePair::open(self.handle_here(from)?, self.handle_here(into)?)?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.handle_here(list)?.history(query)
    }

    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        self.handle_here(list)?.last_entries()
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        self.handle_here(list)?.watch(moved)
    }

    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        Ok(self.lists_here()?.into_iter().map(|(list, _)| list).collect())
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        let root = self.options.tasks.clone();
        Ok(waiting::watch_directories(move || vec![root.clone()], moved))
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.handle_here(list)?.renew(leases)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { files: Some(self), moving: Some(self), ..Capabilities::default() }
    }
}

impl ListMoving for FileStore {
    fn departure(&self, list: &ListId) -> Result<Option<Departure>, StoreError> {
        self.sidecar_of(list).as_deref().map_or(Ok(None), departure_in)
    }

    fn close(
        &self,
        list: &ListId,
        departure: &Departure,
        copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
    ) -> Result<Closed, StoreError> {
        departing::close(&*self.handle_here(list)?, departure, copy)
    }

    fn reopen(&self, list: &ListId, token: &str) -> Result<(), StoreError> {
        departing::reopen(&self.handle(list), token)
    }

    fn leave(&self, list: &ListId, token: &str) -> Result<Vec<String>, StoreError> {
        departing::leave(&self.handle(list), token)
    }

    fn has_arrived(&self, list: &ListId, token: &str) -> Result<bool, StoreError> {
        let handle = self.handle(list);
        let came_by = handle.files.place.sidecar.as_deref().map_or(Ok(None), arrived_by)?;
        Ok(came_by.as_deref() == Some(token))
    }
}

impl FileCare for FileStore {
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        let mut lists = self.data().map(|data| self.places_gone(data)).unwrap_or_default();
        lists.sort();
        Ok(lists)
    }

    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        let directory = self.options.tasks.join(list.directory());
        must_not_be_foreign([&*directory]).map_err(StoreError::io("cannot use", &directory))?;
        let place =
            ListPaths { sees_hidden: !self.options.rules.is_client(), ..ListPaths::of_file(directory, ".lock") };
        Ok(scan::scan(&place, None)?.tasks)
    }

    fn summary(&self, list: &ListId, rules: Rules) -> Option<Summary> {
        outlines::summary(&self.handle(list), rules)
    }

    fn sighting(&self, list: &ListId) -> Option<Sighting> {
        let handle = self.handle(list);
        // If the lock is taken, another caller is updating the list, and this state is about to be outdated.
        let mut live = handle.files.live.try_lock().ok()?;
        live.sighting(&handle.files.place.directory, || handle.files.state().unwrap_or_default())
    }

    fn layout(&self) -> FileLayout {
        FileLayout::Numbered
    }

    fn file_name(&self, _list: &ListId, task: &TaskId) -> String {
        format!("{}.json", task.file_stem())
    }

    fn written_at(&self, list: &ListId, task: &TaskId) -> Option<Timestamp> {
        changed(&self.options.tasks.join(list.directory()).join(self.file_name(list, task)))
    }

    fn flush(&self, list: &ListId) {
        let handle = self.handle(list);
        if let Some(journal) = handle.journal_to_read() {
            flush::flush_what_is_old_now(&handle, &journal);
        }
        // A list can be archived only while no process has its journal open.
        handle.journals.fold();
    }

    fn litter(&self, list: &ListId) -> Result<Vec<Litter>, StoreError> {
        litter::find(&self.handle(list))
    }

    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
        litter::sweep(&self.handle(list), litter)
    }

    fn lists_with_a_place(&self) -> Result<Vec<ListId>, StoreError> {
        let mut lists: Vec<_> = list_directories(&self.options.tasks)?.into_iter().map(|(list, _)| list).collect();
        lists.sort();
        Ok(lists)
    }

    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
        departing::copy_out(&self.handle(list), to)
    }

    fn remove_empty_place(&self, list: &ListId) -> Result<Vec<String>, StoreError> {
        departing::remove_directory(&self.directory_of(list))
    }

    fn place_of(&self, list: &ListId) -> PathBuf {
        self.directory_of(list)
    }
}

impl FileStore {
    /// Returns the directories of lists. If a list has moved to another store, the files left in its directory belong
    /// to no list.
    fn lists_here(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        let mut lists = list_directories(&self.options.tasks)?;
        lists.retain(|(list, _)| !self.sidecar_of(list).is_some_and(|sidecar| is_leaving(&sidecar)));
        Ok(lists)
    }

    fn info(&self, list: ListId, path: PathBuf) -> Result<ListInfo, StoreError> {
        let handle = self.handle(&list);
        // Scanning many lists must not bring those that have not been used for long out of the archive.
        let scan = match handle.journals.is_there() && handle.files.must_be_here().is_ok() {
            true => handle.journals.glancing(|journal| scan::scan(&handle.files.place, journal))?,
            false => scan::scan(&handle.files.place, None)?,
        };
        let tasks = scan.tasks;
        let count = |status: Status| tasks.iter().filter(|task| task.status == status && !task.is_internal()).count();
        let changed = changed(&path);
        Ok(ListInfo { list, path: Some(path), counts: Status::ALL.map(count), changed })
    }
}

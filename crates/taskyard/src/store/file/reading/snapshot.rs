//! A list as seen by a reader: without a lock, and with our own commits shown completely or not at all.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::{Image, Lease, Revision, Task, TaskId};

use super::live_state::Live;
use super::scan::Scan;
use super::{files, observe, scan};
use crate::failpoint::reach_if_named;
use crate::store::file::client_files::Handle;
use crate::store::file::reading::files::lookup;
use crate::store::journal::{Journal, StoredEntry};
use crate::store::locks::turn_record::TurnRecord;
use crate::store::{LiveView, Lookup, Snapshot, StoreError, Unpacked, UnreadableTask};

/// Maximum number of rereads while our writers are active, before their commits are taken from the journal.
const LOOKS: u32 = 12;
/// Maximum duration of these rereads: rereading a long list takes longer than the pauses our writers leave.
const LOOKING: Duration = Duration::from_millis(15);

/// A list at one point in time.
#[derive(Debug)]
pub(in crate::store) struct FileSnapshot {
    handle: Arc<Handle>,
    /// The turn record when reading began.
    before: Option<TurnRecord>,
    scan: OnceCell<Scan>,
    leases: OnceCell<Vec<Lease>>,
    is_recorded: Cell<bool>,
    /// The revision in which this snapshot's changes were recorded, if there were any.
    recorded: Cell<Option<Revision>>,
}

impl FileSnapshot {
    /// Starts a snapshot, after completing a commit that a dead writer left half written.
    pub(in crate::store) fn open(handle: Arc<Handle>) -> Self {
        let before = handle.settle();
        Self {
            handle,
            before,
            scan: OnceCell::new(),
            leases: OnceCell::new(),
            is_recorded: Cell::new(false),
            recorded: Cell::default(),
        }
    }

    fn scan(&self) -> Result<&Scan, StoreError> {
        if let Some(scan) = self.scan.get() {
            return Ok(scan);
        }
        let scan = self.look()?;
        // The list may have started to move while it was read.
        self.handle.files.must_be_here()?;
        Ok(self.scan.get_or_init(|| scan))
    }

    fn look(&self) -> Result<Scan, StoreError> {
        let handle = &self.handle;
        // A process that reads once and exits needs neither notifications nor the journal opened for them.
        if handle.files.live().is_asked_first() {
            return self.look_at_files();
        }
        let catch_up = |journal: &Journal| {
            Ok(handle.files.live().catch_up(handle, journal)?.map(|seen| (seen.as_scan(), seen.is_settled())))
        };
        match handle.reading(catch_up) {
            Ok(Some((scan, is_settled))) => {
                self.is_recorded.set(is_settled);
                Ok(scan)
            }
            // The contents of the files do not depend on the journal.
            Ok(None) | Err(StoreError::JournalDamaged { .. }) => self.look_at_files(),
            Err(error) => Err(error),
        }
    }

    fn look_at_files(&self) -> Result<Scan, StoreError> {
        let at_rest = self.look_at_rest();
        let at_rest = match at_rest {
            Some(scan) if !scan.is_worth_recording() => {
                self.is_recorded.set(true);
                return Ok(scan);
            }
            at_rest => at_rest,
        };
        let mut journal = self.handle.journal_to_read();
        let scan = match at_rest.map_or_else(|| self.look_with(&mut journal), Ok) {
            // The contents of the files do not depend on the journal.
            Err(error) if error.is_of_memory() => {
                self.handle.journals.note(&error);
                journal = None;
                self.look_with(&mut journal)?
            }
            scan => scan?,
        };
        if journal.is_none() && !scan.changes.is_empty() {
            // On the first read of a list created by other programs: from here on nothing in it can be lost.
            journal =
                self.handle.journal().inspect_err(|error| tracing::debug!(%error, "reading without a journal")).ok();
        }
        let mut is_recorded = scan.changes.is_empty();
        if let Some(journal) = journal {
            is_recorded = observe::record(&self.handle, &journal, &scan);
            let noted = scan.revision.next();
            if is_recorded && !scan.changes.is_empty() && journal.newest().is_ok_and(|newest| newest == noted) {
                self.recorded.set(Some(noted));
            }
            self.handle.give_back(journal);
        }
        self.is_recorded.set(is_recorded && observe::is_all_settled(&self.handle, &scan) && !scan.was_disturbed);
        Ok(scan)
    }

    /// Reads using a copy of the journal. Returns `None` if one of our processes wrote meanwhile: then the journal must
    /// be opened.
    fn look_at_rest(&self) -> Option<Scan> {
        let journals = &self.handle.journals;
        let copy = journals.take_copy()?;
        let before = self.before.map_or(0, |state| state.sequence);
        let scan = scan::scan(&self.handle.files.place, Some(&copy)).ok()?;
        let leases = copy.leases().ok()?;
        reach_if_named("at rest: looked");
        // A later commit would have changed the files, and the copy does not contain it.
        let was_at_rest = before.is_multiple_of(2) && before == self.sequence() && copy.is_at_rest();
        was_at_rest.then(|| {
            journals.keep_copy(copy);
            let _ = self.leases.set(leases);
            scan
        })
    }

    fn look_with(&self, journal: &mut Option<Journal>) -> Result<Scan, StoreError> {
        let started = Instant::now();
        let mut look = 0;
        loop {
            let before = self.handle.files.state().unwrap_or_default();
            let mut scan = scan::scan(&self.handle.files.place, journal.as_ref())?;
            if before.sequence.is_multiple_of(2) && before.sequence == self.sequence() {
                return Ok(scan);
            }
            look += 1;
            if look == LOOKS || started.elapsed() > LOOKING {
                // The journal may not have existed when reading began.
                if journal.is_none() {
                    *journal = self.handle.journal_to_read();
                }
                let completed =
                    journal.as_ref().map_or(Ok(()), |journal| complete(&mut scan, journal, Revision(before.applied)));
                return match completed {
                    Err(error) if error.is_of_memory() => {
                        self.handle.journals.note(&error);
                        *journal = None;
                        Ok(scan)
                    }
                    completed => completed.map(|()| scan),
                };
            }
            thread::sleep(Duration::from_micros(u64::from(look) * 200));
        }
    }

    fn find_in_journal(&self, id: &TaskId, found: Lookup) -> Result<Lookup, StoreError> {
        let pending = self.handle.journals.reading(|journal| match journal {
            Some(journal) => pending(&self.handle, journal),
            None => Ok(HashMap::new()),
        });
        Ok(match pending?.remove(id) {
            None => found,
            Some(None) => Lookup::Missing,
            Some(Some(image)) => image.task(id).map_or(found, |task| Lookup::Found(Box::new(task), image)),
        })
    }

    /// Returns the sequence number, which is odd while one of our writers is writing files.
    fn sequence(&self) -> u64 {
        self.handle.files.state().map_or(0, |state| state.sequence)
    }
}

impl Snapshot for FileSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
        if self.scan.get().is_some_and(|scan| scan.exists) {
            return Ok(true);
        }
        Ok(self.handle.files.place.open()?.is_some())
    }

    fn revision(&self) -> Revision {
        if let Some(scan) = self.scan.get() {
            return scan.revision;
        }
        let newest = |journal: Option<&Journal>| journal.map_or(Ok(Revision(0)), Journal::newest);
        self.handle.journals.glancing(newest).unwrap_or_default()
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        let Some(directory) = self.handle.files.place.open()? else { return Ok(Lookup::Missing) };
        let mut look = 0;
        loop {
            let before = self.sequence();
            let contents = files::read(&self.handle.files.place, directory.as_fd(), id)
                .map_err(StoreError::io("cannot read", self.handle.files.place.task_file(id)))?;
            let found = lookup(contents, id, &self.handle.files.place);
            if before.is_multiple_of(2) && before == self.sequence() {
                return Ok(found);
            }
            look += 1;
            if look == LOOKS {
                return self.find_in_journal(id, found);
            }
            thread::sleep(Duration::from_micros(u64::from(look) * 200));
        }
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        Ok(self.scan()?.tasks.clone())
    }

    fn live(&self) -> Result<Option<LiveView<'_>>, StoreError> {
        self.handle.reading(|journal| Live::view(&self.handle, journal))
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        if let Some(leases) = self.leases.get() {
            return Ok(leases.clone());
        }
        self.handle.journals.glancing(|journal| journal.map_or(Ok(Vec::new()), Journal::leases))
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        Ok(self.scan()?.problems.clone())
    }

    fn is_recorded(&self) -> bool {
        self.is_recorded.get()
    }

    fn unpack(mut self: Box<Self>) -> Result<Unpacked, StoreError> {
        let scan = match self.scan.take() {
            Some(scan) => scan,
            None => self.look()?,
        };
        let leases = self.leases()?;
        let Scan { tasks, problems, revision, exists, .. } = scan;
        let exists = exists || self.handle.files.place.open()?.is_some();
        let recorded = self.is_recorded.get().then(|| self.recorded.get().unwrap_or(revision));
        Ok(Unpacked { tasks, problems, leases, revision, exists, recorded })
    }
}

/// Returns the results of commits that are in the journal but not known to be in every file.
fn pending(handle: &Handle, journal: &Journal) -> Result<HashMap<TaskId, Option<Image>>, StoreError> {
    let applied = handle.files.state().map_or(0, |state| state.applied);
    Ok(since(journal.after(Revision(applied))?))
}

fn since(entries: Vec<StoredEntry>) -> HashMap<TaskId, Option<Image>> {
    let entries = entries.into_iter().map(|stored| stored.entry);
    entries.filter(|entry| !entry.op.is_elsewhere()).map(|entry| (entry.task, entry.after)).collect()
}

/// Completes every commit that was being written while we read, or belongs to a suspended writer, since its files were
/// seen only in part. `applied` is the last commit that was in every file when reading began.
fn complete(scan: &mut Scan, journal: &Journal, applied: Revision) -> Result<(), StoreError> {
    let entries = journal.after(applied)?;
    scan.revision = entries.last().map_or(scan.revision, |newest| newest.entry.revision);
    let commits = since(entries);
    scan.tasks.retain(|task| !commits.contains_key(&task.id));
    scan.problems.retain(|problem| !commits.contains_key(&problem.task));
    // What was seen while a writer was active must not be recorded.
    scan.changes.clear();
    scan.reprints.clear();
    scan.was_disturbed = true;
    scan.tasks.extend(commits.iter().filter_map(|(id, after)| after.as_ref()?.task(id).ok()));
    scan.tasks.sort_by(|one, two| one.id.cmp(&two.id));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use taskyard_core::{ListId, Revision, Rules};

    use crate::store::{FileStore, FileStoreOptions, HistoryQuery, Store as _};

    #[test]
    fn observation_is_recorded_unless_touched_meanwhile() {
        let place = tempfile::tempdir().unwrap();
        let (tasks, data) = (place.path().join("tasks"), place.path().join("data"));
        fs::create_dir_all(tasks.join("L")).unwrap();
        let store = FileStore::open(FileStoreOptions { tasks: tasks.clone(), data: Some(data), rules: Rules::Strict });
        let list = ListId::new("L").unwrap();
        let write = |subject: &str, when: SystemTime| {
            let text = format!(
                r#"{{"id":"1","subject":"{subject}","description":"","status":"pending","blocks":[],"blockedBy":[]}}"#
            );
            fs::write(tasks.join("L/1.json"), text).unwrap();
            File::options().append(true).open(tasks.join("L/1.json")).unwrap().set_modified(when).unwrap();
        };
        let now = SystemTime::now();
        for (subject, when, is_recorded, revisions) in [
            ("One", now - Duration::from_secs(9), true, 1),
            ("Two", now - Duration::from_secs(5), true, 2),
            // With this modification time it may change again without a visible trace.
            ("Three", now + Duration::from_secs(60), false, 2),
        ] {
            write(subject, when);
            let look = store.read(&list).unwrap();
            assert!(!look.is_recorded(), "nobody has looked yet");
            assert_eq!(look.tasks().unwrap()[0].subject, subject);
            assert_eq!(look.is_recorded(), is_recorded, "{subject}");
            assert_eq!(store.read(&list).unwrap().revision(), Revision(revisions), "{subject}");
        }
        let query = HistoryQuery { until: Some(Revision(2)), oldest: Some(9), ..HistoryQuery::default() };
        assert_eq!(store.history(&list, &query).unwrap().len(), 2);
    }
}

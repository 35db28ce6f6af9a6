//! A list as a reader sees it: no lock, and of our own commits always all or nothing.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::{Image, Lease, Revision, Task, TaskId};

use super::live_list::Live;
use super::scan::{self, Scan};
use super::{files, observe};
use crate::failpoint::reach_if_named;
use crate::store::file::flush;
use crate::store::file::handle::Handle;
use crate::store::file::reading::files::lookup;
use crate::store::journal::{Journal, StoredEntry};
use crate::store::{LiveView, Lookup, Snapshot, StoreError, Unpacked, UnreadableTask};

/// How often a reader looks again while our writers are at work, before it takes their word from the journal.
const LOOKS: u32 = 12;
/// ... and for how long: looking at a long list again takes longer than our writers leave it alone.
const LOOKING: Duration = Duration::from_millis(15);

/// A list at one moment.
#[derive(Debug)]
pub(in crate::store) struct FileSnapshot {
    handle: Arc<Handle>,
    scan: OnceCell<Scan>,
    is_recorded: Cell<bool>,
}

/// A look at a list while no process of ours wrote.
struct Resting {
    scan: Scan,
    /// Whether the journal need not be opened, because nothing is to be written down.
    is_all: bool,
}

impl FileSnapshot {
    /// Begins to look; a commit that a dead writer left half written is finished first.
    pub(in crate::store) fn open(handle: Arc<Handle>) -> Self {
        handle.settle();
        Self { handle, scan: OnceCell::new(), is_recorded: Cell::new(false) }
    }

    fn scan(&self) -> Result<&Scan, StoreError> {
        if let Some(scan) = self.scan.get() {
            return Ok(scan);
        }
        let scan = self.look()?;
        // What was looked at may have been about to leave.
        self.handle.files.must_be_here()?;
        Ok(self.scan.get_or_init(|| scan))
    }

    fn look(&self) -> Result<Scan, StoreError> {
        let handle = &self.handle;
        // A process that looks once and ends need not be told of anything, nor open the journal for it.
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
            // What the files hold does not depend on the journal.
            Ok(None) | Err(StoreError::JournalDamaged { .. }) => self.look_at_files(),
            Err(error) => Err(error),
        }
    }

    fn look_at_files(&self) -> Result<Scan, StoreError> {
        let at_rest = self.look_at_rest();
        if let Some(Resting { scan, is_all: true }) = at_rest {
            self.is_recorded.set(true);
            return Ok(scan);
        }
        let mut journal = self.handle.journal_to_read();
        let scan = match at_rest.map_or_else(|| self.look_with(&mut journal), |resting| Ok(resting.scan)) {
            // What the files hold does not depend on the journal.
            Err(error) if error.is_of_memory() => {
                self.handle.journals.note(&error);
                journal = None;
                self.look_with(&mut journal)?
            }
            scan => scan?,
        };
        if journal.is_none() && !scan.changes.is_empty() {
            // The first look at a list that other programs made: from here on nothing of it can be lost.
            journal =
                self.handle.journal().inspect_err(|error| tracing::debug!(%error, "reading without a journal")).ok();
        }
        let mut is_recorded = scan.changes.is_empty();
        if let Some(journal) = journal {
            is_recorded = observe::record(&self.handle, &journal, &scan);
            if is_recorded {
                flush::flush_what_is_old(&self.handle, &journal, 0);
                journal.copy_log();
            }
            self.handle.give_back(journal);
        }
        self.is_recorded.set(is_recorded && observe::is_all_settled(&self.handle, &scan) && !scan.was_disturbed);
        Ok(scan)
    }

    /// Looks with a copy of the journal, where no process has it open and none of ours writes all the while. What else happens is left to
    /// readers that look the usual way.
    fn look_at_rest(&self) -> Option<Resting> {
        let journals = &self.handle.journals;
        let copy = journals.take_copy()?;
        let before = self.sequence();
        let scan = scan::scan(&self.handle.files.place, Some(&copy)).ok()?;
        reach_if_named("at rest: looked");
        let is_all = scan.changes.is_empty() && scan.reprints.is_empty() && !flush::may_be_due(&self.handle, &copy);
        // A commit since would have changed the files, and the copy does not know of it.
        let was_at_rest = before.is_multiple_of(2) && before == self.sequence() && copy.is_at_rest();
        journals.keep_copy(copy);
        was_at_rest.then_some(Resting { scan, is_all })
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
                // There may have been none when the looking began.
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

    /// Returns the number that is odd while one of our writers is writing files out.
    fn sequence(&self) -> u64 {
        self.handle.files.state().map_or(0, |state| state.sequence)
    }
}

impl Snapshot for FileSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
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
        Ok(Unpacked {
            tasks: scan.tasks,
            problems: scan.problems,
            leases: self.leases()?,
            revision: scan.revision,
            exists: self.exists()?,
        })
    }
}

/// Returns what commits say that are in the journal and, as far as is known, not in every file.
fn pending(handle: &Handle, journal: &Journal) -> Result<HashMap<TaskId, Option<Image>>, StoreError> {
    let applied = handle.files.state().map_or(0, |state| state.applied);
    Ok(since(journal.after(Revision(applied))?))
}

fn since(entries: Vec<StoredEntry>) -> HashMap<TaskId, Option<Image>> {
    let entries = entries.into_iter().map(|stored| stored.entry);
    entries.filter(|entry| !entry.op.is_elsewhere()).map(|entry| (entry.task, entry.after)).collect()
}

/// Shows whole every commit that was written out while we looked, or is in the hands of a suspended writer: what is in the
/// files of it was seen in part only. `applied` is the last commit that was in every file when the looking began.
fn complete(scan: &mut Scan, journal: &Journal, applied: Revision) -> Result<(), StoreError> {
    let entries = journal.after(applied)?;
    scan.revision = entries.last().map_or(scan.revision, |newest| newest.entry.revision);
    let commits = since(entries);
    scan.tasks.retain(|task| !commits.contains_key(&task.id));
    scan.problems.retain(|problem| !commits.contains_key(&problem.task));
    // What was seen while a writer was at work is not to be recorded.
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
    fn what_a_look_found_is_recorded_unless_it_was_touched_at_that_moment() {
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
            // By its time it may change again without a trace.
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

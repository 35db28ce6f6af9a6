//! Reading a whole list: every file is checked by its fingerprint, and only changed files are read.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd};
use std::{io, thread};

use taskyard_core::dialect::macf::{hidden_task_of, is_hidden_twice};
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{Image, Revision, Task, TaskId};

use super::files;
use super::files::Contents;
use crate::store::journal::{Journal, Known, KnownTask, LOOK_IS_OLD};
use crate::store::locks::list_paths;
use crate::store::locks::list_paths::{ListPaths, Look, c_name, look_at};
use crate::store::{StoreError, UnreadableTask};
use crate::system;
use crate::watching::Deed;

/// Minimum number of files for which a second thread pays off.
const WORTH_A_THREAD: usize = 500;

/// The result of reading a list.
#[derive(Debug, Default)]
pub(in crate::store) struct Scan {
    /// In ascending order.
    pub(in crate::store) tasks: Vec<Task>,
    pub(in crate::store) problems: Vec<UnreadableTask>,
    /// Differences from the last known state.
    pub(in crate::store) changes: Vec<Change>,
    /// Files whose contents are unchanged but whose fingerprints or modes changed or could not be trusted.
    pub(in crate::store) reprints: Vec<(TaskId, Look)>,
    /// Whether the mode of a file changed, which a restored file has to get.
    pub(in crate::store) has_new_modes: bool,
    /// Whether there are files that are hidden from the client.
    pub(in crate::store) has_hidden: bool,
    /// The contents of the files that were read, if only some were.
    pub(in crate::store) images: HashMap<TaskId, (Task, Image)>,
    pub(in crate::store) revision: Revision,
    /// When reading began.
    pub(in crate::store) seen: i64,
    /// Whether one of our writers was active throughout, so that nothing can be recorded.
    pub(in crate::store) was_disturbed: bool,
    pub(in crate::store) exists: bool,
    /// Whether the last recorded look is so old that this one must be recorded.
    pub(in crate::store) is_due: bool,
}

/// Minimum number of changed fingerprints worth recording; with fewer, every reader rereads the files.
const WORTH_WRITING: usize = 8;

impl Scan {
    /// Returns whether a reader should record the result.
    pub(in crate::store) fn is_worth_recording(&self) -> bool {
        !self.changes.is_empty() || self.has_new_modes || self.is_due || self.reprints.len() >= WORTH_WRITING
    }
}

/// A file that another program created, changed or removed.
#[derive(Clone, Debug)]
pub(in crate::store) struct Change {
    pub(in crate::store) task: TaskId,
    pub(in crate::store) before: Option<Image>,
    /// The permission bits before the change, if known.
    pub(in crate::store) mode: Option<u32>,
    pub(in crate::store) after: Option<(Image, Look)>,
}

/// Checks every file of a list.
pub(in crate::store) fn scan(place: &ListPaths, journal: Option<&Journal>) -> Result<Scan, StoreError> {
    let seen = system::wall();
    let Some(directory) = place.open()? else {
        let (revision, known) = remembered(journal)?;
        let mut scan = Scan { revision, seen, ..Scan::default() };
        for known in known {
            scan.add_missing(known, journal)?;
        }
        return Ok(scan);
    };
    let looking = Looking { place, directory: directory.as_fd(), journal };
    let (seen_files, (revision, known)) = look_while(place, directory.as_fd(), journal, || remembered(journal))?;
    let mut scan = Scan { revision, seen, exists: true, ..Scan::default() };
    let Looks { tasks: mut looks, shadowed, has_hidden } = seen_files;
    scan.has_hidden = has_hidden;
    scan.tasks.reserve(looks.len());
    let newest = known.iter().max_by_key(|known| known.seen);
    let newest = newest.and_then(|known| Some((known.id.clone(), *looks.get(&known.id)?, known.seen)));
    // Follow the order of the known tasks, which is nearly the numeric order.
    for known in known {
        // A directory that changes while it is read may omit a name: look the name up before concluding that it is
        // gone.
        let look = match looks.remove(&known.id) {
            Some(look) => Some(look),
            None => files::find(place, looking.directory, &known.id)
                .map(|(_, look)| look)
                .map_err(StoreError::io("cannot look at", place.task_file(&known.id)))?,
        };
        match look {
            Some(look) => scan.add(&looking, known.id.clone(), look, Some(known))?,
            // For the client the task is gone, and it reappears when another program restores its plain name.
            None if files::is_out_of_sight(place, looking.directory, &known.id)
                .map_err(StoreError::io("cannot look at", place.task_file(&known.id)))? => {}
            None => scan.add_missing(known, journal)?,
        }
    }
    scan.problems.extend(shadowed.into_iter().map(|(task, name)| in_the_shadow(place, task, &name)));
    for (id, look) in looks {
        scan.add(&looking, id, look, None)?;
    }
    if let Some((id, look, last_seen)) = newest
        && scan.changes.is_empty()
        && scan.reprints.len() < WORTH_WRITING
        && seen - last_seen > LOOK_IS_OLD
    {
        // One file stands for all: the newest tells when the list was last read.
        scan.reprints.push((id, look));
        scan.is_due = true;
    }
    scan.tasks.sort_by(|one, two| one.id.cmp(&two.id));
    scan.problems.sort_by(|one, two| one.task.cmp(&two.task));
    scan.changes.sort_by(|one, two| one.task.cmp(&two.task));
    Ok(scan)
}

/// Reads the files of some tasks. If a file was moved into place and has the metadata that our writer recorded, it is
/// ours: another program would have had to write to it.
pub(in crate::store) fn scan_some(
    place: &ListPaths,
    journal: &Journal,
    ids: &BTreeMap<TaskId, Deed>,
) -> Result<Scan, StoreError> {
    let (seen, directory) = (system::wall(), place.open()?);
    // Read within one transaction, so that the revision and the states belong together.
    let moment = journal.begin_to_read()?;
    let mut scan = Scan { revision: journal.newest_told()?, seen, ..Scan::default() };
    for (id, deed) in ids {
        let known = journal.known(id)?;
        if let (Deed::MovedThere, Some(known), Some(directory)) = (deed, &known, &directory)
            && let Ok(Some(look)) = look_at(directory.as_fd(), &list_paths::file_name(id))
            && (known.print, known.mode) == (look.print, Some(look.mode))
            && let Ok(task) = known.image.task(id)
        {
            scan.images.insert(id.clone(), (task, known.image.clone()));
            continue;
        }
        let contents = match &directory {
            Some(directory) => files::read(place, directory.as_fd(), id),
            None => Ok(Contents::Missing),
        };
        let contents = contents.map_err(StoreError::io("cannot read", place.task_file(id)))?;
        let is_out_of_sight = match (&contents, &directory) {
            (Contents::Missing, Some(directory)) => files::is_out_of_sight(place, directory.as_fd(), id),
            _ => Ok(false),
        };
        // For the client the task is gone, and it reappears when another program restores its plain name.
        if is_out_of_sight.map_err(StoreError::io("cannot look at", place.task_file(id)))? {
            continue;
        }
        if let Contents::Task(task, image, _) = &contents {
            scan.images.insert(id.clone(), ((**task).clone(), image.clone()));
        }
        scan.compare(place, id.clone(), contents, known.map(|known| (known.image, known.mode)));
    }
    drop(moment);
    Ok(scan)
}

/// Checks every file while `remember` loads our records, on two threads if there are many files.
pub(in crate::store) fn look_while<T>(
    place: &ListPaths,
    directory: BorrowedFd<'_>,
    journal: Option<&Journal>,
    remember: impl FnOnce() -> Result<T, StoreError>,
) -> Result<(Looks, T), StoreError> {
    let size_hint = journal.map_or(0, |journal| journal.known_count().unwrap_or(0));
    if size_hint < WORTH_A_THREAD {
        return Ok((look_at_all(directory, place)?, remember()?));
    }
    thread::scope(|scope| {
        let looks = scope.spawn(|| look_at_all(directory, place));
        let remembered = remember()?;
        let died = |_| StoreError::io("cannot list", &place.directory)(io::ErrorKind::Other.into());
        Ok((looks.join().map_err(died)??, remembered))
    })
}

/// The names in a list's directory.
#[derive(Debug, Default)]
pub(in crate::store) struct Looks {
    pub(in crate::store) tasks: HashMap<TaskId, Look>,
    /// Hidden files of tasks that have another file, which takes precedence.
    shadowed: Vec<(TaskId, String)>,
    pub(in crate::store) has_hidden: bool,
}

struct Looking<'a> {
    place: &'a ListPaths,
    directory: BorrowedFd<'a>,
    journal: Option<&'a Journal>,
}

impl Scan {
    fn add(
        &mut self,
        looking: &Looking<'_>,
        id: TaskId,
        look: Look,
        known: Option<KnownTask>,
    ) -> Result<(), StoreError> {
        match known {
            Some(known) if look.is_unchanged(&known.print, known.seen) => {
                // A restored file gets its last mode, which a user may have changed without touching the contents.
                if known.mode.is_some_and(|mode| mode != look.mode) {
                    self.has_new_modes = true;
                    self.reprints.push((id.clone(), look));
                }
                self.show(looking.place, id, known.task, None);
                Ok(())
            }
            known => {
                let path = || looking.place.task_file(&id);
                let contents = files::read(looking.place, looking.directory, &id)
                    .map_err(StoreError::io("cannot read", path()))?;
                self.add_read(looking, id, contents, known)
            }
        }
    }

    fn add_read(
        &mut self,
        looking: &Looking<'_>,
        id: TaskId,
        contents: Contents,
        known: Option<KnownTask>,
    ) -> Result<(), StoreError> {
        let before = if known.is_some() { known_before(looking.journal, &id)? } else { None };
        self.compare(looking.place, id, contents, before.map(|before| (before.image, before.mode)));
        Ok(())
    }

    /// Records the contents of a file, and how they differ from our records.
    fn compare(&mut self, place: &ListPaths, id: TaskId, contents: Contents, known: Option<(Image, Option<u32>)>) {
        let last_known = |image: &Image| image.task(&id).ok();
        let is_torn = matches!(&contents, Contents::Broken(why, _) if why.may_be_torn());
        let last_known = known.as_ref().filter(|_| is_torn).and_then(|(image, _)| last_known(image));
        let (image, mode) = known.map_or((None, None), |(image, mode)| (Some(image), mode));
        match contents.image() {
            Some((found, look)) if image.as_ref() == Some(found) => {
                self.has_new_modes |= mode.is_some_and(|mode| mode != look.mode);
                self.reprints.push((id.clone(), *look));
            }
            // What may be half written is no change yet.
            Some(_) if matches!(&contents, Contents::Broken(why, _) if why.may_be_torn()) => {}
            Some((found, look)) => {
                let after = Some((found.clone(), *look));
                self.changes.push(Change { task: id.clone(), before: image, mode, after });
            }
            None if image.is_some() && matches!(contents, Contents::Missing) => {
                self.changes.push(Change { task: id.clone(), before: image, mode, after: None });
            }
            None => {}
        }
        match contents {
            Contents::Task(task, ..) => self.tasks.push(*task),
            Contents::Broken(why, _) => self.show(place, id, Err(why), last_known),
            Contents::Missing => {}
        }
    }

    fn add_missing(&mut self, known: KnownTask, journal: Option<&Journal>) -> Result<(), StoreError> {
        let before = known_before(journal, &known.id)?;
        let (before, mode) = before.map_or((None, None), |before| (Some(before.image), before.mode));
        self.changes.push(Change { task: known.id, before, mode, after: None });
        Ok(())
    }

    fn show(&mut self, place: &ListPaths, id: TaskId, task: Result<Task, Unreadable>, last_known: Option<Task>) {
        match task {
            Ok(task) => self.tasks.push(task),
            Err(why) => {
                // A half-written file can be shown in its last known state.
                let last_known = last_known.filter(|_| why.may_be_torn());
                let path = place.file_in_use(&id);
                self.problems.push(UnreadableTask {
                    task: id,
                    path,
                    why,
                    last_known: last_known.map(Box::new),
                    contents: None,
                });
            }
        }
    }
}

fn known_before(journal: Option<&Journal>, id: &TaskId) -> Result<Option<Known>, StoreError> {
    Ok(journal.map(|journal| journal.known(id)).transpose()?.flatten())
}

pub(in crate::store) fn look_at_all(directory: BorrowedFd<'_>, place: &ListPaths) -> Result<Looks, StoreError> {
    let names = list_paths::names(directory, &place.directory)?;
    let look = |name: &str| {
        look_at(directory, &c_name(name)).map_err(StoreError::io("cannot look at", place.directory.join(name)))
    };
    let mut looks = Looks { tasks: HashMap::with_capacity(names.len()), shadowed: Vec::new(), has_hidden: false };
    let mut hidden = Vec::new();
    for name in names {
        match list_paths::task_of(&name) {
            Some(id) => looks.tasks.extend(look(&name)?.map(|look| (id, look))),
            None if place.sees_hidden => hidden.extend(hidden_task_of(&name).map(|id| (id, name))),
            None => {}
        }
    }
    // A file hidden once takes precedence over one hidden twice.
    looks.has_hidden = !hidden.is_empty();
    hidden.sort_by_key(|(_, name): &(TaskId, String)| is_hidden_twice(name));
    for (id, name) in hidden {
        if looks.tasks.contains_key(&id) {
            looks.shadowed.push((id, name));
        } else {
            looks.tasks.extend(look(&name)?.map(|look| (id, look)));
        }
    }
    Ok(looks)
}

/// Reports a hidden file that is ignored because the task has another one.
fn in_the_shadow(place: &ListPaths, task: TaskId, name: &str) -> UnreadableTask {
    let path = place.directory.join(name);
    let name = name.trim_end_matches(".json");
    UnreadableTask {
        task: TaskId::stored(name),
        path,
        why: Unreadable::Shadowed { task },
        last_known: None,
        contents: None,
    }
}

fn remembered(journal: Option<&Journal>) -> Result<(Revision, Vec<KnownTask>), StoreError> {
    let Some(journal) = journal else { return Ok((Revision(0), Vec::new())) };
    // Read within one transaction, so that the revision and the states belong together.
    let moment = journal.begin_to_read()?;
    let remembered = (journal.newest()?, journal.known_tasks()?);
    drop(moment);
    Ok(remembered)
}

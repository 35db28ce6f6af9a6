//! Looking at a whole list: every file by its fingerprint, and only what is new by its contents.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd};
use std::{io, thread};

use taskyard_core::dialect::macf::{hidden_task_of, is_hidden_twice};
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{Image, Revision, Task, TaskId};

use super::files::{self, Contents};
use crate::clock;
use crate::store::journal::{Journal, Known, KnownTask, LOOK_IS_OLD};
use crate::store::locks::fingerprint::{Look, look_at};
use crate::store::locks::list_paths::{self, ListPaths, c_name};
use crate::store::{StoreError, UnreadableTask};
use crate::watching::Deed;

/// Below this many files a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 500;

/// A list as it was seen.
#[derive(Debug, Default)]
pub(in crate::store) struct Scan {
    /// By rising number.
    pub(in crate::store) tasks: Vec<Task>,
    pub(in crate::store) problems: Vec<UnreadableTask>,
    /// What differs from the last known state.
    pub(in crate::store) changes: Vec<Change>,
    /// Files whose contents are as they were, while their fingerprints or modes are not, or could not be trusted.
    pub(in crate::store) reprints: Vec<(TaskId, Look)>,
    /// Whether there are files that are hidden from the client.
    pub(in crate::store) has_hidden: bool,
    /// What the files hold that were looked at, where only some were.
    pub(in crate::store) images: HashMap<TaskId, (Task, Image)>,
    /// The revision of the last known state.
    pub(in crate::store) revision: Revision,
    /// When the looking began.
    pub(in crate::store) seen: i64,
    /// Whether one of our writers was at work all the while, so that nothing of it can be recorded.
    pub(in crate::store) was_disturbed: bool,
}

/// One file that another program made, changed or removed.
#[derive(Clone, Debug)]
pub(in crate::store) struct Change {
    pub(in crate::store) task: TaskId,
    pub(in crate::store) before: Option<Image>,
    /// The permission bits it had before, where they were seen.
    pub(in crate::store) mode: Option<u32>,
    pub(in crate::store) after: Option<(Image, Look)>,
}

/// Looks at every file of a list.
pub(in crate::store) fn scan(place: &ListPaths, journal: Option<&Journal>) -> Result<Scan, StoreError> {
    let seen = clock::wall();
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
    let mut scan = Scan { revision, seen, ..Scan::default() };
    let Looks { tasks: mut looks, shadowed, has_hidden } = seen_files;
    scan.has_hidden = has_hidden;
    scan.tasks.reserve(looks.len());
    let newest = known.iter().max_by_key(|known| known.seen);
    let newest = newest.and_then(|known| Some((known.id.clone(), *looks.get(&known.id)?, known.seen)));
    // In the order of the known, which is nearly the order of the numbers.
    for known in known {
        // A directory that changes while it is read may leave a name out: ask for it by name before believing that.
        let look = match looks.remove(&known.id) {
            Some(look) => Some(look),
            None => files::find(place, looking.directory, &known.id)
                .map(|(_, look)| look)
                .map_err(StoreError::io("cannot look at", place.task_file(&known.id)))?,
        };
        match look {
            Some(look) => scan.add(&looking, known.id.clone(), look, Some(known))?,
            // To the client it is gone, and comes back when another program gives it its plain name again.
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
        && scan.reprints.is_empty()
        && seen - last_seen > LOOK_IS_OLD
    {
        // One file stands for all: when the list was last seen is told by the newest.
        scan.reprints.push((id, look));
    }
    scan.tasks.sort_by(|one, two| one.id.cmp(&two.id));
    scan.problems.sort_by(|one, two| one.task.cmp(&two.task));
    scan.changes.sort_by(|one, two| one.task.cmp(&two.task));
    Ok(scan)
}

/// Looks at the files of some tasks. One that was moved there as it is, and looks as the one that our writers moved there, is theirs:
/// another program would have had to write to it.
pub(in crate::store) fn scan_some(
    place: &ListPaths,
    journal: &Journal,
    ids: &BTreeMap<TaskId, Deed>,
) -> Result<Scan, StoreError> {
    let (seen, directory) = (clock::wall(), place.open()?);
    // One moment: the revision and the states belong together.
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
        // To the client it is gone, and comes back when another program gives it its plain name again.
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

/// Looks at every file while something is remembered of them, on two threads where they are many.
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

/// What the names in a directory stand for.
#[derive(Debug, Default)]
pub(in crate::store) struct Looks {
    /// The file of each task.
    pub(in crate::store) tasks: HashMap<TaskId, Look>,
    /// Hidden files of tasks that have another one, which counts.
    shadowed: Vec<(TaskId, String)>,
    pub(in crate::store) has_hidden: bool,
}

/// What is looked at, and what is known of it.
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
                // A restored file gets the mode it had last, which a user may have changed without touching the contents.
                if known.mode.is_some_and(|mode| mode != look.mode) {
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

    /// Takes note of what a file holds, and of how that differs from what is known of it.
    fn compare(&mut self, place: &ListPaths, id: TaskId, contents: Contents, known: Option<(Image, Option<u32>)>) {
        let last_known = |image: &Image| image.task(&id).ok();
        let is_torn = matches!(&contents, Contents::Broken(why, _) if why.may_be_torn());
        let last_known = known.as_ref().filter(|_| is_torn).and_then(|(image, _)| last_known(image));
        let (image, mode) = known.map_or((None, None), |(image, mode)| (Some(image), mode));
        match contents.image() {
            Some((found, look)) if image.as_ref() == Some(found) => self.reprints.push((id.clone(), *look)),
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
                // A file that is only half written at this instant can be shown as it last was.
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
    // What was hidden once counts before what was hidden twice.
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

/// Tells of a hidden file beside the one that counts.
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
    // One moment: the revision and the states belong together.
    let moment = journal.begin_to_read()?;
    let remembered = (journal.newest()?, journal.known_tasks()?);
    drop(moment);
    Ok(remembered)
}

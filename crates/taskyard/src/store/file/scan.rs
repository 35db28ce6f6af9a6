//! Looking at a whole list: every file by its fingerprint, and only what is new by its contents.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{Image, Revision, Task, TaskId};

use super::clock;
use super::files::{self, Contents};
use super::fingerprint::{Fingerprint, Look, look_at};
use super::journal::{Journal, Known};
use super::place::{self, Place, c_name, file_name};
use crate::store::{Problem, StoreError};

/// Below this many files a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 500;

/// A list as it was seen.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// By rising number.
    pub(super) tasks: Vec<Task>,
    pub(super) problems: Vec<Problem>,
    /// What differs from the last known state.
    pub(super) changes: Vec<Change>,
    /// Files whose contents are as they were, while their fingerprints are not, or could not be trusted.
    pub(super) reprints: Vec<(TaskId, Fingerprint)>,
    /// The revision of the last known state.
    pub(super) revision: Revision,
    /// When the looking began.
    pub(super) seen: i64,
}

/// One file that another program made, changed or removed.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) task: TaskId,
    pub(super) before: Option<Image>,
    pub(super) after: Option<(Image, Fingerprint)>,
}

/// Looks at every file of a list.
pub(super) fn scan(place: &Place, journal: Option<&Journal>) -> Result<Scan, StoreError> {
    let seen = clock::wall();
    let Some(directory) = place.open()? else {
        let (revision, known) = remembered(journal, false)?;
        let changes = known.into_iter().map(|(task, known)| removed(task, known.known)).collect();
        return Ok(Scan { changes, revision, seen, ..Scan::default() });
    };
    let size_hint = journal.map_or(0, |journal| journal.known_count().unwrap_or(0));
    let (looks, (revision, known)) = if size_hint < WORTH_A_THREAD {
        (look_at_all(directory.as_fd(), place)?, remembered(journal, true)?)
    } else {
        thread::scope(|scope| {
            let looking = scope.spawn(|| look_at_all(directory.as_fd(), place));
            let known = remembered(journal, true)?;
            let looks = looking
                .join()
                .map_err(|_| StoreError::io("cannot list", &place.directory)(io::ErrorKind::Other.into()))?;
            Ok::<_, StoreError>((looks?, known))
        })?
    };
    let mut known: HashMap<TaskId, Remembered> = known.into_iter().collect();
    let mut scan = Scan { revision, seen, ..Scan::default() };
    scan.tasks.reserve(looks.len());
    for (id, look) in looks {
        let remembered = known.remove(&id);
        scan.add(place, directory.as_fd(), id, look, remembered)?;
    }
    for (id, remembered) in known {
        // A directory that changes while it is read may leave a name out: ask for it by name before believing that.
        let look = look_at(directory.as_fd(), &file_name(&id))
            .map_err(StoreError::io("cannot look at", place.task_file(&id)))?;
        match look {
            Some(look) => scan.add(place, directory.as_fd(), id, look, Some(remembered))?,
            None => scan.changes.push(removed(id, remembered.known)),
        }
    }
    scan.tasks.sort_by(|one, two| one.id.cmp(&two.id));
    scan.problems.sort_by(|one, two| one.task.cmp(&two.task));
    scan.changes.sort_by(|one, two| one.task.cmp(&two.task));
    Ok(scan)
}

/// A last known state, and the task in it.
struct Remembered {
    known: Known,
    task: Result<Task, Unreadable>,
}

impl Scan {
    fn add(
        &mut self,
        place: &Place,
        directory: BorrowedFd<'_>,
        id: TaskId,
        look: Look,
        remembered: Option<Remembered>,
    ) -> Result<(), StoreError> {
        let is_as_known = |remembered: &Remembered| {
            remembered.known.print == look.print && remembered.known.print.is_settled(remembered.known.seen)
        };
        match remembered {
            Some(remembered) if is_as_known(&remembered) => {
                self.show(place, id, remembered.task, None);
                Ok(())
            }
            remembered => {
                let contents =
                    files::read(directory, &id).map_err(StoreError::io("cannot read", place.task_file(&id)))?;
                self.add_read(place, id, contents, remembered);
                Ok(())
            }
        }
    }

    fn add_read(&mut self, place: &Place, id: TaskId, contents: Contents, remembered: Option<Remembered>) {
        let (known, last_known) = match remembered {
            Some(remembered) => (Some(remembered.known.image), remembered.task.ok()),
            None => (None, None),
        };
        match contents.image() {
            Some((image, look)) if known.as_ref() == Some(image) => self.reprints.push((id.clone(), look.print)),
            // What may be half written is nobody's change yet.
            Some(_) if matches!(&contents, Contents::Broken(why, _) if why.may_be_torn()) => {}
            Some((image, look)) => {
                let after = Some((image.clone(), look.print));
                self.changes.push(Change { task: id.clone(), before: known, after });
            }
            None if known.is_some() && matches!(contents, Contents::Missing) => {
                self.changes.push(Change { task: id.clone(), before: known, after: None });
            }
            None => {}
        }
        match contents {
            Contents::Task(task, ..) => self.tasks.push(*task),
            Contents::Broken(why, _) => self.show(place, id, Err(why), last_known),
            Contents::Missing => {}
        }
    }

    fn show(&mut self, place: &Place, id: TaskId, task: Result<Task, Unreadable>, last_known: Option<Task>) {
        match task {
            Ok(task) => self.tasks.push(task),
            Err(why) => {
                // A file that is only half written at this instant is shown as it last was.
                let last_known = last_known.filter(|_| why.may_be_torn());
                let path = place.task_file(&id);
                self.problems.push(Problem { task: id, path, why, last_known: last_known.clone().map(Box::new) });
                self.tasks.extend(last_known);
            }
        }
    }
}

fn removed(task: TaskId, known: Known) -> Change {
    Change { task, before: Some(known.image), after: None }
}

fn look_at_all(directory: BorrowedFd<'_>, place: &Place) -> Result<Vec<(TaskId, Look)>, StoreError> {
    let names = place::names(directory, &place.directory)?;
    let mut looks = Vec::with_capacity(names.len());
    for name in names {
        let Some(id) = place::task_of(&name) else { continue };
        let look = look_at(directory, &c_name(&name))
            .map_err(StoreError::io("cannot look at", place.directory.join(&name)))?;
        looks.extend(look.map(|look| (id, look)));
    }
    Ok(looks)
}

fn remembered(
    journal: Option<&Journal>,
    with_tasks: bool,
) -> Result<(Revision, Vec<(TaskId, Remembered)>), StoreError> {
    let Some(journal) = journal else { return Ok((Revision(0), Vec::new())) };
    let moment = journal.begin_to_read()?;
    let revision = journal.newest()?;
    let known = journal.all_known()?;
    drop(moment);
    let remembered = known.into_iter().map(|(id, known)| {
        let task = if with_tasks { known.image.task(&id) } else { Err(Unreadable::Empty) };
        (id, Remembered { known, task })
    });
    Ok((revision, remembered.collect()))
}

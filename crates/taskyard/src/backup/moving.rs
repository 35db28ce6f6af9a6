//! Moving a list to another store: a backup of one list, taken in elsewhere as a whole, while the list is closed where it was.
//!
//! The decisive step is one commit in the store that the list comes to, which keeps the token of the move. Before it the list is opened
//! again whatever fails; after it the list has moved, and the next move of the same list to the same store does what is left. Why it is
//! done so is `docs/design/moving.md`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Lease, ListId, Revision};

use super::keeper::Keeper;
use super::returning::{BringBack, bring_what_is_missing, take_in_whole};
use super::taking::copy_list;
use super::writer::Writer;
use super::{BackupError, BackupSource, Manifest, Overwriting};
use crate::failpoint::reach;
use crate::liveness::own_mark;
use crate::opening::{Address, Places};
use crate::operations::{CopiesWanted, Outcome};
use crate::private::{make_data_directory, make_directory};
use crate::process::Cancel;
use crate::sqlite::Alone;
use crate::store::{Closed, Departure, ListMoving, Occupant, StoreError};
use crate::{Yard, clock};

/// How often a list is copied that changes meanwhile.
const ATTEMPTS: usize = 8;

/// A store that a list leaves or comes to.
#[derive(Clone, Copy, Debug)]
pub struct MoveEnd<'a> {
    /// The store and who acts.
    pub yard: &'a Yard,
    /// Its address.
    pub address: &'a Address,
}

/// A list that is to be moved.
#[derive(Clone, Copy, Debug)]
pub struct MoveList<'a> {
    /// Its name, which it keeps.
    pub list: &'a ListId,
    /// The store that it leaves.
    pub from: MoveEnd<'a>,
    /// The store that it comes to.
    pub to: MoveEnd<'a>,
    /// Where things are on this machine.
    pub places: &'a Places,
    /// What ends the work, until the list is closed.
    pub cancel: &'a Cancel,
}

/// A list that has moved, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedList {
    /// How many tasks it has.
    pub tasks: usize,
    /// Its newest revision.
    pub revision: Revision,
    /// What is left in its old place: files that are no tasks, and tasks that another program has changed meanwhile.
    pub left_behind: Vec<String>,
    /// Whether an earlier move had brought it there, and this one did what was left.
    pub was_unfinished: bool,
}

/// Moves a list with its history. A refusal means that nothing has happened. `progress` is told how many of how many revisions have
/// arrived.
pub fn move_list(
    what: &MoveList<'_>,
    progress: &dyn Fn(Revision, Revision),
) -> Result<Outcome<MovedList>, BackupError> {
    let moving = Moving::prepare(what)?;
    let _alone = moving.lock()?;
    if let Some(departure) = moving.leaving.departure(what.list)?
        && let Some(moved) = moving.resume(&departure)?
    {
        return Ok(Outcome::Done(moved));
    }
    if let Some(refusal) = moving.refused()? {
        return Ok(Outcome::Refused(refusal));
    }
    let departure = moving.departure()?;
    let newest = match moving.close(&departure)? {
        Closed::At(newest) => newest,
        Closed::Leased(leases) => {
            moving.discard_copy();
            return Ok(Outcome::Refused(leased(&leases)));
        }
        Closed::Changed => {
            moving.discard_copy();
            let by = Occupant::Elsewhere { who: "another writer".to_owned() };
            return Err(StoreError::Busy { by, waited: Duration::ZERO }.into());
        }
    };
    progress(Revision(0), newest);
    moving.take_in(&departure, &|arrived| progress(arrived, newest))?;
    progress(newest, newest);
    Ok(Outcome::Done(moving.leave(&departure)?))
}

/// Says what would be moved, and changes nothing.
pub fn look_at_move(what: &MoveList<'_>) -> Result<Outcome<MovedList>, BackupError> {
    let moving = Moving::prepare(what)?;
    if let Some(departure) = moving.leaving.departure(what.list)? {
        return Err(departure.refusal().into());
    }
    if let Some(refusal) = moving.refused()? {
        return Ok(Outcome::Refused(refusal));
    }
    let list = what.from.yard.store().read(what.list)?;
    let tasks = list.tasks()?.len();
    Ok(Outcome::Done(MovedList { tasks, revision: list.revision(), ..MovedList::default() }))
}

/// A move, with what both stores can do for it.
struct Moving<'a> {
    what: &'a MoveList<'a>,
    leaving: &'a dyn ListMoving,
    coming: &'a dyn ListMoving,
    /// Where moves of this data directory leave their copies.
    folder: PathBuf,
    data: &'a Path,
}

impl<'a> Moving<'a> {
    fn prepare(what: &'a MoveList<'a>) -> Result<Self, BackupError> {
        let cannot = |end: MoveEnd<'_>| BackupError::CannotMove { store: end.address.to_string() };
        let leaving = what.from.yard.store().moving().ok_or_else(|| cannot(what.from))?;
        let coming = what.to.yard.store().moving().ok_or_else(|| cannot(what.to))?;
        if what.from.address == what.to.address {
            return Err(BackupError::SameStore { store: what.to.address.to_string() });
        }
        let data = what.places.data.as_deref().ok_or(BackupError::NoFiles)?;
        Ok(Self { what, leaving, coming, folder: data.join("moving"), data })
    }

    /// Waits until no other process moves a list with this data directory.
    fn lock(&self) -> Result<Alone, BackupError> {
        make_data_directory(self.data).map_err(BackupError::io("cannot create", self.data))?;
        make_directory(&self.folder).map_err(BackupError::io("cannot create", &self.folder))?;
        Ok(Alone::in_directory(&self.folder)?)
    }

    /// Returns why the list cannot be moved now.
    fn refused(&self) -> Result<Option<Refusal>, BackupError> {
        let MoveList { list, from, to, .. } = self.what;
        if !from.yard.store().has(list)? {
            return Ok(Some(Refusal::NoSuchList { list: list.as_str().to_owned() }));
        }
        let is_free = match self.coming.departure(list)? {
            Some(departure) if departure.has_left => true,
            Some(departure) => return Err(departure.refusal().into()),
            None => !to.yard.store().has(list)?,
        };
        if !is_free {
            return Err(self.exists().into());
        }
        from.yard.on((*list).clone()).return_ended_leases()?;
        let read = from.yard.store().read(list)?;
        // A file that no task can be read from would stay behind, and its number would be given to another task.
        if let Some(problem) = read.problems()?.into_iter().next() {
            return Ok(Some(problem.into_refusal()));
        }
        let leases = read.leases()?;
        Ok((!leases.is_empty()).then(|| leased(&leases)))
    }

    fn exists(&self) -> StoreError {
        let store = format!("`{}`", self.what.to.address);
        StoreError::ListExists { list: self.what.list.as_str().to_owned(), store }
    }

    fn departure(&self) -> Result<Departure, BackupError> {
        let to = self.what.to.address.to_string();
        let at = self.what.from.yard.store().now()?.wall;
        Ok(Departure::begun(self.what.list, to, self.mover(), at))
    }

    fn mover(&self) -> String {
        format!("{}:{}", own_mark().machine, self.data.display())
    }

    /// Where the list is copied to on its way. It has no name by which it would be an archive.
    fn copy_place(&self) -> PathBuf {
        self.folder.join(self.what.list.directory()).join("copy")
    }

    /// Copies the list and closes it, as it was copied.
    fn close(&self, departure: &Departure) -> Result<Closed, BackupError> {
        for _ in 0..ATTEMPTS {
            let mut failed = None;
            let closed = self.leaving.close(self.what.list, departure, &mut || {
                self.copy().map_err(|error| {
                    failed = Some(error);
                    StoreError::io("cannot copy", self.copy_place())(io::ErrorKind::Other.into())
                })
            });
            match (failed, closed) {
                (Some(error), _) => {
                    self.discard_copy();
                    return Err(error);
                }
                (None, Ok(Closed::Changed)) => {}
                (None, Err(error)) => {
                    self.open_again(departure);
                    return Err(error.into());
                }
                (None, closed) => return Ok(closed?),
            }
        }
        Ok(Closed::Changed)
    }

    /// Copies the list, and returns the newest revision of the copy.
    fn copy(&self) -> Result<Revision, BackupError> {
        let MoveList { list, from, .. } = self.what;
        let (dialect, keeper) = Keeper::of(from.yard.store(), from.address)?;
        let place = self.copy_place();
        let above = place.parent().unwrap_or(&self.folder);
        make_directory(above).map_err(BackupError::io("cannot create", above))?;
        remove(&place)?;
        let mut writer = Writer::begin(&place, Overwriting::Refused)?;
        let copied = copy_list((keeper, from.address), list, &mut writer, self.what.cancel)?;
        if let Some(why) = copied.journal_problem {
            return Err(BackupError::Incomplete { list: list.to_string(), why });
        }
        let revision = Revision(copied.revision);
        writer.finish(&Manifest::of_lists(from.address, dialect, clock::now(), vec![copied]))?;
        reach("move: copied");
        Ok(revision)
    }

    /// Has the other store take the copy in. If it does not, the list is open again.
    fn take_in(&self, departure: &Departure, progress: &dyn Fn(Revision)) -> Result<(), BackupError> {
        let taken_in = self.with_copy(|what| take_in_whole(what, self.what.list, &departure.token, progress));
        let cause = match taken_in {
            Ok(true) => return Ok(()),
            Ok(false) => self.exists().into(),
            Err(cause) => cause,
        };
        match self.coming.has_arrived(self.what.list, &departure.token) {
            Ok(false) => {
                self.open_again(departure);
                Err(cause)
            }
            Ok(true) | Err(_) => Err(BackupError::MoveUnfinished { cause: Box::new(cause) }),
        }
    }

    /// Opens the list again. If that fails, the next move of the list does it.
    fn open_again(&self, departure: &Departure) {
        self.discard_copy();
        if let Err(error) = self.leaving.reopen(self.what.list, &departure.token) {
            tracing::warn!(%error, "the list stays closed until it is moved again");
        }
    }

    /// Empties the list where it was: it has arrived.
    fn leave(&self, departure: &Departure) -> Result<MovedList, BackupError> {
        let MoveList { list, to, .. } = self.what;
        let left = self.leaving.leave(list, &departure.token);
        let left_behind =
            left.map_err(|error| BackupError::MoveUnfinished { cause: Box::new(BackupError::Store(error)) })?;
        reach("move: left");
        self.discard_copy();
        let arrived = to.yard.store().read(list)?;
        let tasks = arrived.tasks()?.len();
        Ok(MovedList { tasks, revision: arrived.revision(), left_behind, was_unfinished: false })
    }

    /// Removes the copy. If that fails, the next move of the list does it.
    fn discard_copy(&self) {
        if let Err(error) = remove(&self.folder.join(self.what.list.directory())) {
            tracing::warn!(%error, "what a list was copied to is left");
        }
    }

    /// Finishes an earlier move to the same store if the list has arrived, and takes it back otherwise.
    fn resume(&self, departure: &Departure) -> Result<Option<MovedList>, BackupError> {
        let list = self.what.list;
        if departure.to != self.what.to.address.to_string() {
            return Err(departure.refusal().into());
        }
        if departure.mover != self.mover() {
            return Err(match departure.has_left {
                true => departure.refusal().into(),
                false => BackupError::OtherMover { list: list.to_string(), mover: departure.mover.clone() },
            });
        }
        if !departure.has_left && !self.coming.has_arrived(list, &departure.token)? {
            tracing::info!(%list, "an earlier move did not happen");
            self.leaving.reopen(list, &departure.token)?;
            return Ok(None);
        }
        // The copy is there until the list has left.
        if self.copy_place().exists() {
            self.with_copy(|what| bring_what_is_missing(what, list))?;
        }
        Ok(Some(MovedList { was_unfinished: true, ..self.leave(departure)? }))
    }

    fn with_copy<T>(&self, work: impl FnOnce(&BringBack<'_>) -> Result<T, BackupError>) -> Result<T, BackupError> {
        let source = BackupSource::open(&self.copy_place())?;
        let MoveEnd { yard, address } = self.what.to;
        let wanted = CopiesWanted::Missing;
        work(&BringBack { yard, address, places: self.what.places, source: &source, wanted })
    }
}

/// Says that an agent works on a task of the list.
fn leased(leases: &[Lease]) -> Refusal {
    let lease = &leases[0];
    let until = lease.ends.as_ref().map(|ends| ends.wall);
    Refusal::Leased { task: lease.task.clone(), holder: lease.agent.clone(), since: Some(lease.taken), until }
}

fn remove(folder: &Path) -> Result<(), BackupError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::io("cannot remove", folder)(error)),
        _ => Ok(()),
    }
}

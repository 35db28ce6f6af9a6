//! Moves a list to another store: makes a backup of the list, imports it completely into the other store, and keeps the
//! list closed in the old one.
//!
//! The decisive step is a single commit in the destination store, which records the token of the move. If anything
//! fails before it, the list is reopened. After it the list has moved, and repeating the move to the same store
//! finishes the rest. `docs/design/backup.md` gives the reasons.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Lease, ListId, Revision};

use super::{BackupError, BackupSource, Manifest, Overwriting};
use crate::backup::restoring_backup::{BringBack, bring_what_is_missing, take_in_whole};
use crate::backup::taking_backup::{Keeper, Writer, copy_list};
use crate::failpoint::reach;
use crate::liveness::own_mark;
use crate::opening::{Address, Places};
use crate::operations::CopiesWanted;
use crate::private::{make_data_directory, make_directory};
use crate::process::Cancel;
use crate::sqlite::Alone;
use crate::store::{Closed, Departure, ListMoving, Occupant, StoreError};
use crate::{Outcome, Yard, system};

/// Maximum number of attempts to copy a list that changes meanwhile.
const ATTEMPTS: usize = 8;

/// The source or destination store of a move.
#[derive(Clone, Copy, Debug)]
pub struct MoveEnd<'a> {
    /// The store and the acting agent.
    pub yard: &'a Yard,
    /// Its address.
    pub address: &'a Address,
}

/// Parameters of a move.
#[derive(Clone, Copy, Debug)]
pub struct MoveList<'a> {
    /// The name of the list, which does not change.
    pub list: &'a ListId,
    /// The source store.
    pub from: MoveEnd<'a>,
    /// The destination store.
    pub to: MoveEnd<'a>,
    /// Paths on this machine.
    pub places: &'a Places,
    /// Cancels the move, until the list is closed.
    pub cancel: &'a Cancel,
}

/// The result of a move, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedList {
    /// Number of tasks.
    pub tasks: usize,
    /// Its newest revision.
    pub revision: Revision,
    /// What remains in the old location: files that are not tasks, and tasks that another program has changed since the
    /// list was closed.
    pub left_behind: Vec<String>,
    /// Whether an earlier move had already brought the list there, and this one only finished it.
    pub was_unfinished: bool,
}

/// Moves a list with its history. On a refusal nothing has happened. `progress` is called with the number of revisions
/// that have arrived and the total.
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

/// Returns what would be moved, without changing anything.
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

/// A move, with the move interfaces of both stores.
struct Moving<'a> {
    what: &'a MoveList<'a>,
    leaving: &'a dyn ListMoving,
    coming: &'a dyn ListMoving,
    /// The folder for copies made by moves from this data directory.
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

    /// Waits until no other process is moving a list with this data directory.
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
        // An unreadable task file would stay behind, and its number would be given to another task.
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

    /// Where the list is copied to on its way. The name has no archive extension.
    fn copy_place(&self) -> PathBuf {
        self.folder.join(self.what.list.directory()).join("copy")
    }

    /// Copies the list and closes it, if it has not changed since.
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

    /// Copies the list and returns the newest revision of the copy.
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
        writer.finish(&Manifest::of_lists(from.address, dialect, system::now(), vec![copied]))?;
        reach("move: copied");
        Ok(revision)
    }

    /// Imports the copy into the destination store. If that fails, reopens the list.
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

    /// Reopens the list. If that fails, the next move of the list does it.
    fn open_again(&self, departure: &Departure) {
        self.discard_copy();
        if let Err(error) = self.leaving.reopen(self.what.list, &departure.token) {
            tracing::warn!(%error, "the list stays closed until it is moved again");
        }
    }

    /// Empties the list in the source store after it has arrived.
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

    /// Finishes an earlier move to the same store if the list has arrived, and reverts it otherwise.
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
        // The copy exists until the list has left.
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

/// The refusal for a list with a leased task.
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

//! The list as it was last seen, for as long as the kernel has nothing to tell of it.
//!
//! A server is asked for the same list again and again. Looking at every file each time costs a `statx` for each; here it
//! costs one read that finds nothing. The kernel queues what a program does to a file before that program's call returns,
//! so whoever looks afterwards is told.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use taskyard_core::{Revision, Task};

use super::fingerprint::look_through;
use super::scan::Scan;
use super::state::State;
use crate::store::{Problem, Sighting};
use crate::watching::{self, DirectoryWatch, Happened};

static SIGHTINGS: AtomicU64 = AtomicU64::new(0);

/// On a file system that other machines write to, the kernel does not know of everything: nothing is believed for longer.
const LONGEST: Duration = Duration::from_secs(2);

/// What a process has seen of one list.
#[derive(Debug, Default)]
pub(super) struct Present {
    asked: u32,
    watch: Option<Watch>,
    seen: Option<Seen>,
    /// How often the kernel had something to tell. Whoever asks takes its word away from others who look at the same time.
    happened: u64,
    /// What the newest revision was at the last look.
    last: Option<Revision>,
}

/// A list as it was seen whole and at rest.
#[derive(Debug)]
pub(super) struct Sight {
    pub(super) tasks: Vec<Task>,
    pub(super) problems: Vec<Problem>,
    pub(super) revision: Revision,
}

#[derive(Debug)]
struct Seen {
    /// Tells it from everything else that was ever seen.
    sighting: Sighting,
    state: State,
    at: Instant,
    sight: Arc<Sight>,
}

/// A directory of which the kernel tells what happens in it.
#[derive(Debug)]
struct Watch {
    changes: DirectoryWatch,
    inode: u64,
}

/// Begun before a look that may be worth keeping.
#[derive(Debug)]
pub(super) struct Begun {
    state: State,
    happened: u64,
}

impl Present {
    /// Returns what was seen before, where nothing has happened since; else what a new look is to be kept with, where it is
    /// to be kept.
    pub(super) fn still(
        &mut self,
        directory: BorrowedFd<'_>,
        path: &Path,
        state: &State,
    ) -> Result<Arc<Sight>, Option<Begun>> {
        self.asked = self.asked.saturating_add(1);
        // A process that looks once and ends does not need to be told of anything.
        if self.asked < 2 {
            return Err(None);
        }
        let inode = inode_of(directory);
        if self.watch.as_ref().map(|watch| watch.inode) != inode {
            self.seen = None;
            self.happened += 1;
            self.watch = inode.and_then(|inode| watch(path, inode).ok());
        }
        self.catch_up();
        if self.watch.is_none() {
            return Err(None);
        }
        match self.seen.as_ref().filter(|seen| seen.counts_in(state)) {
            Some(seen) => Ok(Arc::clone(&seen.sight)),
            None => {
                self.seen = None;
                Err(Some(Begun { state: *state, happened: self.happened }))
            }
        }
    }

    /// Keeps what was seen since the look began, where the list was at rest all the time. A list that was written to since the
    /// look before this one is not worth it: it will be written to again.
    pub(super) fn keep(&mut self, begun: &Begun, after: &State, scan: &Scan) {
        let was_idle = self.last.replace(scan.revision) == Some(scan.revision);
        self.catch_up();
        let is_at_rest = scan.changes.is_empty()
            && was_idle
            && (begun.state.sequence, begun.state.applied) == (after.sequence, after.applied)
            && after.sequence.is_multiple_of(2)
            && begun.happened == self.happened;
        if is_at_rest {
            let sight = Sight { tasks: scan.tasks.clone(), problems: scan.problems.clone(), revision: scan.revision };
            let sighting = Sighting(SIGHTINGS.fetch_add(1, Ordering::Relaxed));
            self.seen = Some(Seen { sighting, state: *after, at: Instant::now(), sight: Arc::new(sight) });
        }
    }

    /// Tells what was seen before from everything else, where nothing has happened since.
    pub(super) fn sighting(&mut self, path: &Path, state: impl FnOnce() -> State) -> Option<Sighting> {
        let seen_in = self.watch.as_ref().filter(|_| self.seen.is_some())?.inode;
        // The path may have come to lead elsewhere.
        let is_there = rustix::fs::stat(path).is_ok_and(|there| there.st_ino == seen_in);
        self.catch_up();
        let state = state();
        self.seen.as_ref().filter(|seen| is_there && seen.counts_in(&state)).map(|seen| seen.sighting)
    }
}

impl Present {
    /// Takes in what the kernel has to tell.
    fn catch_up(&mut self) {
        let told = self.watch.as_ref().map_or(Told::NoMore, Watch::told);
        if told != Told::Nothing {
            self.happened += 1;
            self.seen = None;
        }
        if told == Told::NoMore {
            self.watch = None;
        }
    }
}

impl Seen {
    /// Tells whether this is still to be believed, where the kernel has nothing to tell and our processes have come so far.
    fn counts_in(&self, state: &State) -> bool {
        self.at.elapsed() < LONGEST && (self.state.sequence, self.state.applied) == (state.sequence, state.applied)
    }
}

fn inode_of(directory: BorrowedFd<'_>) -> Option<u64> {
    look_through(directory).ok().map(|look| look.print.inode)
}

/// What the kernel had to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Something,
    /// Something, and it will tell nothing more: the directory is gone, or the kernel lost count.
    NoMore,
}

impl Watch {
    /// Asks what has happened since this was last asked.
    fn told(&self) -> Told {
        match self.changes.take() {
            Happened::Nothing => Told::Nothing,
            Happened::To(_) | Happened::Anything => Told::Something,
            Happened::Gone => Told::NoMore,
        }
    }
}

fn watch(path: &Path, inode: u64) -> io::Result<Watch> {
    let changes = watching::watch(path)?;
    // The path may have come to lead elsewhere in between.
    if rustix::fs::stat(path)?.st_ino != inode {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(Watch { changes, inode })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::path::Path;

    use super::Present;
    use crate::store::file::scan::Scan;
    use crate::store::file::state::State;

    /// Looks as often as it takes for a list at rest to be believed, and returns whether it is.
    fn is_believed(present: &mut Present, path: &Path, meanwhile: impl Fn()) -> bool {
        let directory = File::open(path).unwrap();
        for _ in 0..4 {
            match present.still(directory.as_fd(), path, &State::default()) {
                Ok(_) => return true,
                Err(None) => {}
                Err(Some(begun)) => {
                    meanwhile();
                    present.keep(&begun, &State::default(), &Scan::default());
                }
            }
        }
        false
    }

    #[test]
    fn what_was_seen_is_believed_until_something_happens() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("1.json");
        fs::write(&file, "{}").unwrap();
        let happenings: [&dyn Fn(); 5] = [
            &|| fs::write(&file, "{} ").unwrap(),
            &|| fs::write(place.path().join("2.json"), "{}").unwrap(),
            &|| fs::rename(place.path().join("2.json"), place.path().join("3.json")).unwrap(),
            &|| fs::remove_file(place.path().join("3.json")).unwrap(),
            &|| File::options().append(true).open(&file).unwrap().set_len(1).unwrap(),
        ];
        let mut present = Present::default();
        let directory = File::open(place.path()).unwrap();
        for happening in happenings {
            assert!(is_believed(&mut present, place.path(), || {}));
            let before = present.sighting(place.path(), State::default);
            assert!(before.is_some());
            assert_eq!(present.sighting(place.path(), State::default), before);
            happening();
            assert_eq!(present.sighting(place.path(), State::default), None);
            assert!(present.still(directory.as_fd(), place.path(), &State::default()).is_err());
            assert!(is_believed(&mut present, place.path(), || {}));
            assert_ne!(present.sighting(place.path(), State::default), before);
        }
        let written = State { applied: 1, ..State::default() };
        assert_eq!(present.sighting(place.path(), || written), None);
        assert!(present.still(directory.as_fd(), place.path(), &written).is_err());
    }

    #[test]
    fn a_directory_made_anew_is_another() {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join("list");
        let mut present = Present::default();
        for _ in 0..3 {
            fs::create_dir(&list).unwrap();
            assert!(is_believed(&mut present, &list, || {}));
            fs::remove_dir(&list).unwrap();
            fs::create_dir(&list).unwrap();
            // It may well have got the inode of the one before.
            let directory = File::open(&list).unwrap();
            assert!(present.still(directory.as_fd(), &list, &State::default()).is_err());
            assert!(is_believed(&mut present, &list, || {}));
            fs::write(list.join("1.json"), "{}").unwrap();
            assert!(present.still(directory.as_fd(), &list, &State::default()).is_err());
            fs::remove_dir_all(&list).unwrap();
        }
    }

    #[test]
    fn what_moved_during_the_look_is_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let moving = || fs::write(place.path().join("1.json"), "{}").unwrap();
        assert!(!is_believed(&mut Present::default(), place.path(), moving));
    }
}

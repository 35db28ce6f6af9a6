//! The client's locks that have no living holder: those of a writer of ours that died, and those whose time lies in the future.
//!
//! A writer of ours wrote down which locks it has. A lock from the future would never grow old by its own time. So a process of ours that
//! meets one writes down when that was, by the clock that only goes forward, in a small file beside the queue; the next process finds it
//! there. A living holder changes the lock's time whenever it shows a sign of life, and is then seen for the first time again.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::AtFlags;

use super::client_lock::{self, temporary_name};
use super::fingerprint::{Look, look_at};
use super::list_paths::{OURS, c_name};
use super::turn_record::{self, HeldName};
use crate::failpoint::reach;
use crate::liveness::is_seen_dead;
use crate::{clock, private, regular_file};

/// Removes the locks that a dead writer of ours left in a directory.
pub(in crate::store) fn clear_dead_locks(directory: BorrowedFd<'_>, memory: &File) -> io::Result<()> {
    let is_there = |held: &HeldName| {
        let look = look_at(directory, &c_name(&held.name)).ok().flatten();
        look.is_some_and(|look| is_named(held, &look))
    };
    let mut dead: Vec<HeldName> = turn_record::load_held(memory)?.into_iter().filter(is_there).collect();
    if dead.is_empty() {
        return Ok(());
    }
    let aside = temporary_name("stale");
    dead.push(HeldName::of_ours(&aside));
    turn_record::save_held(memory, client_lock::process(), &dead)?;
    reach("locks of the dead: written down");
    for held in &dead {
        remove_dead(directory, held, &aside);
        reach("locks of the dead: removed one");
    }
    Ok(())
}

/// Tells whether the process that made something of ours is gone; its process id is in the name. A living process may be waiting for a
/// lock.
pub(in crate::store) fn maker_is_dead(name: &str) -> bool {
    let process = name.trim_start_matches(OURS).split('-').next().and_then(|word| word.parse().ok());
    process.is_none_or(is_seen_dead)
}

fn remove_dead(directory: BorrowedFd<'_>, held: &HeldName, aside: &CStr) {
    let name = c_name(&held.name);
    let Ok(Some(look)) = look_at(directory, &name) else { return };
    if held.name.starts_with(OURS) {
        let _ = rustix::fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR);
    } else if is_named(held, &look) {
        let _ = client_lock::take_aside(directory, &name, &look, aside);
    }
}

/// Tells whether what stands under a name is the directory that was written down. Inode numbers are used again; where the file
/// system does not tell when a directory was made, it may be a rival's, and has to go stale by itself.
fn is_named(held: &HeldName, look: &Look) -> bool {
    let is_the_one = || look.print.inode == held.inode && look.born == held.born && held.born != 0;
    held.name.starts_with(OURS) || (is_the_one() && client_lock::is_of_ours(look))
}

/// A lock's time may lie this far ahead, in nanoseconds: the client's first lock of a process is up to a second early.
const AHEAD: i64 = 2_000_000_000;
/// More locks than this are not remembered.
const MANY: usize = 64;
/// A file larger than this is not ours.
const LARGEST: u64 = 64 * 1024;

/// The memory of one queue's writers of locks from the future.
#[derive(Clone, Debug)]
pub(in crate::store) struct Sightings {
    path: PathBuf,
}

/// One lock, as it was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sighting {
    inode: u64,
    born: i64,
    mtime: i64,
    /// When it was first seen, by the clock that only goes forward.
    seen: i64,
    name: String,
}

impl Sightings {
    /// Returns the memory that belongs to a queue.
    pub(in crate::store) fn beside(queue: &Path) -> Self {
        Self { path: queue.with_added_extension("seen") }
    }

    /// Returns how long ago the holder of a lock showed a sign of life; of one from the future, since when it has been seen unchanged.
    pub(in crate::store) fn silence(&self, name: &CStr, look: &Look) -> Duration {
        if time_ahead(look).is_none() {
            return client_lock::age(look);
        }
        let now = clock::since_boot();
        Duration::from_nanos(u64::try_from(now - self.first_seen(name, look, now)).unwrap_or(0))
    }

    fn first_seen(&self, name: &CStr, look: &Look, now: i64) -> i64 {
        let new = Sighting {
            inode: look.print.inode,
            born: look.born,
            mtime: look.print.mtime,
            seen: now,
            name: name.to_string_lossy().into_owned(),
        };
        let mut all = self.load();
        if let Some(known) = all.iter().find(|known| Sighting { seen: now, ..(*known).clone() } == new) {
            return known.seen.min(now);
        }
        all.retain(|known| known.name != new.name);
        all.push(new);
        let too_many = all.len().saturating_sub(MANY);
        all.drain(..too_many);
        if let Err(error) = self.save(&all) {
            tracing::debug!(%error, "a lock from the future is not remembered");
        }
        now
    }

    /// Reads what was written down in this run of the machine; the clock began anew with it.
    fn load(&self) -> Vec<Sighting> {
        let text = regular_file::read(&self.path, LARGEST).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        match text.split_once('\n') {
            Some((boot, sightings)) if boot == clock::boot_id() => sightings.lines().filter_map(sighting).collect(),
            _ => Vec::new(),
        }
    }

    fn save(&self, all: &[Sighting]) -> io::Result<()> {
        let mut text = format!("{}\n", clock::boot_id());
        for Sighting { inode, born, mtime, seen, name } in all {
            text.push_str(&format!("{inode} {born} {mtime} {seen} {name}\n"));
        }
        let temporary = self.path.with_added_extension(client_lock::process().to_string());
        let written = private::create_new(&temporary)
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
            .and_then(|()| fs::rename(&temporary, &self.path));
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }
}

/// Returns how far in the future a lock's time lies, where that is farther than a living client puts it.
pub(in crate::store) fn time_ahead(look: &Look) -> Option<Duration> {
    let ahead = look.print.mtime.saturating_sub(clock::wall());
    (ahead > AHEAD).then(|| Duration::from_nanos(ahead.unsigned_abs()))
}

fn sighting(line: &str) -> Option<Sighting> {
    let mut words = line.splitn(5, ' ');
    let mut number = || words.next()?.parse::<i64>().ok();
    let (inode, born, mtime, seen) = (number()?, number()?, number()?, number()?);
    Some(Sighting { inode: u64::try_from(inode).ok()?, born, mtime, seen, name: words.next()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::time::{Duration, SystemTime};

    use super::{HeldName, Sighting, Sightings, is_named, look_at, sighting, time_ahead};

    #[test]
    fn a_rivals_lock_with_the_inode_and_the_birth_of_one_of_ours_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".lock.lock")).unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let look = look_at(directory.as_fd(), c".lock.lock").unwrap().unwrap();
        let held = HeldName { name: ".lock.lock".into(), inode: look.print.inode, born: look.born };
        assert!(!is_named(&held, &look));
    }

    #[test]
    fn a_lock_from_the_future_is_as_old_as_the_time_it_has_been_seen_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join(".lock.lock");
        fs::create_dir(&lock).unwrap();
        let directory = File::open(folder.path()).unwrap();
        let touch = |ahead: u64| {
            let time = SystemTime::now() + Duration::from_secs(ahead);
            File::open(&lock).unwrap().set_modified(time).unwrap();
            look_at(directory.as_fd(), c".lock.lock").unwrap().unwrap()
        };
        let sightings = Sightings::beside(&folder.path().join("queue"));
        assert_eq!(time_ahead(&touch(1)), None);
        let look = touch(3600);
        assert!(time_ahead(&look).unwrap() > Duration::from_secs(3590));
        assert_eq!(sightings.silence(c".lock.lock", &look), Duration::ZERO);
        // Another process, a moment later.
        let other = Sightings::beside(&folder.path().join("queue"));
        let mut known = other.load();
        known[0].seen -= 11_000_000_000;
        other.save(&known).unwrap();
        assert!(other.silence(c".lock.lock", &look) > Duration::from_secs(11));
        assert_eq!(other.silence(c"1.json.lock", &look), Duration::ZERO);
        // A holder that shows a sign of life is seen for the first time.
        assert_eq!(other.silence(c".lock.lock", &touch(7200)), Duration::ZERO);
        assert_eq!(other.load().len(), 2);
    }

    #[test]
    fn what_makes_no_sense_is_forgotten() {
        let expected = Sighting { inode: 1, born: -2, mtime: 3, seen: 4, name: "a b.lock".to_owned() };
        assert_eq!(sighting("1 -2 3 4 a b.lock"), Some(expected));
        for line in ["", "1 2 3", "1 2 3 x n", "-1 2 3 4 n"] {
            assert_eq!(sighting(line), None, "{line}");
        }
    }
}

//! Client locks without a living holder: those of our own writers that died, and those whose time lies in the future.
//!
//! Our writers record which locks they hold. A lock from the future never grows old by its own time, so the first of
//! our processes to meet one records when, on the monotonic clock, in a small file beside the queue, where the next
//! process finds it. A living holder changes the lock's time with every refresh, and the lock then counts as seen for
//! the first time.
//!
//! `doctor` finds locks that would otherwise last forever, and removes them on request.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::fs::AtFlags;

use super::client_lock;
use super::client_lock::{LIFE, temporary_name};
use super::list_paths::{OURS, c_name};
use super::queue::queue_of;
use crate::failpoint::reach;
use crate::liveness::is_seen_dead;
use crate::regular_file::special;
use crate::store::StuckLock;
use crate::store::locks::list_paths::{Look, look_at};
use crate::store::locks::turn_record;
use crate::store::locks::turn_record::HeldName;
use crate::{private, regular_file, system};

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

/// Returns whether the process that created one of our names is dead. The name contains its process id. A living
/// process may be waiting for a lock.
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

/// Returns whether the directory of that name is the one that was recorded. Inode numbers are reused, so if the file
/// system has no creation times the directory may be a rival's; it is then left to go stale.
fn is_named(held: &HeldName, look: &Look) -> bool {
    let is_the_one = || look.print.inode == held.inode && look.born == held.born && held.born != 0;
    held.name.starts_with(OURS) || (is_the_one() && client_lock::is_of_ours(look))
}

/// How far ahead a lock's time may be, in nanoseconds. The first lock of a client process can be up to a second ahead.
const AHEAD: i64 = 2_000_000_000;
/// How many locks are remembered at most.
const MANY: usize = 64;
/// A larger file is not ours.
const LARGEST: u64 = 64 * 1024;

/// The record of future locks kept by the writers of one queue.
#[derive(Clone, Debug)]
pub(in crate::store) struct Sightings {
    path: PathBuf,
}

/// A lock as it was when first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sighting {
    inode: u64,
    born: i64,
    mtime: i64,
    /// When it was first seen, on the monotonic clock.
    seen: i64,
    name: String,
}

impl Sightings {
    /// Returns the record that belongs to a queue.
    pub(in crate::store) fn beside(queue: &Path) -> Self {
        Self { path: queue.with_added_extension("seen") }
    }

    /// Returns how long ago a lock was refreshed. For a lock from the future, returns how long it has been seen
    /// unchanged.
    pub(in crate::store) fn silence(&self, name: &CStr, look: &Look) -> Duration {
        if time_ahead(look).is_none() {
            return client_lock::age(look);
        }
        let now = system::since_boot();
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

    /// Reads what was recorded since boot. Older entries are meaningless, because the monotonic clock restarts.
    fn load(&self) -> Vec<Sighting> {
        let text = regular_file::read(&self.path, LARGEST).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        match text.split_once('\n') {
            Some((boot, sightings)) if boot == system::boot_id() => sightings.lines().filter_map(sighting).collect(),
            _ => Vec::new(),
        }
    }

    fn save(&self, all: &[Sighting]) -> io::Result<()> {
        let mut text = format!("{}\n", system::boot_id());
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

/// Returns how far in the future a lock's time lies, or `None` if no farther than a living client may set it.
pub(in crate::store) fn time_ahead(look: &Look) -> Option<Duration> {
    let ahead = look.print.mtime.saturating_sub(system::wall());
    (ahead > AHEAD).then(|| Duration::from_nanos(ahead.unsigned_abs()))
}

fn sighting(line: &str) -> Option<Sighting> {
    let mut words = line.splitn(5, ' ');
    let mut number = || words.next()?.parse::<i64>().ok();
    let (inode, born, mtime, seen) = (number()?, number()?, number()?, number()?);
    Some(Sighting { inode: u64::try_from(inode).ok()?, born, mtime, seen, name: words.next()?.to_owned() })
}

/// How often to look at a lock that is to be ended.
const GLANCE: Duration = Duration::from_millis(100);

/// Returns why a lock is stuck, or `None` if it is not.
pub(in crate::store) fn judge(name: &CStr, look: &Look, sightings: &Sightings) -> Option<StuckLock> {
    let silence = sightings.silence(name, look);
    if !client_lock::is_directory(look) {
        return Some(StuckLock::NotADirectory { found: special(look.kind) });
    }
    match time_ahead(look) {
        Some(by) => Some(StuckLock::InTheFuture { by }),
        None => (silence > LIFE).then_some(StuckLock::Silent { age: silence }),
    }
}

/// Removes a stuck lock, after watching it as long as it takes to be sure that no program holds it. Returns whether the
/// name is free now. A lock that changes in the meantime is held, and is left alone.
pub(in crate::store) fn end(directory: BorrowedFd<'_>, name: &CStr, sightings: &Sightings) -> io::Result<bool> {
    let Some(first) = look_at(directory, name)? else { return Ok(true) };
    let started = Instant::now();
    loop {
        let Some(look) = look_at(directory, name)? else { return Ok(true) };
        if look.print != first.print || look.born != first.born {
            return Ok(false);
        }
        if !client_lock::is_directory(&look) || sightings.silence(name, &look) > LIFE {
            return client_lock::take_aside(directory, name, &look, &temporary_name("stale"));
        }
        if started.elapsed() > LIFE + GLANCE * 2 {
            return Ok(false);
        }
        thread::sleep(GLANCE);
    }
}

/// Returns why the lock on a single file is stuck, or `None` if it is not. Our processes queue for the lock in
/// `queues`.
pub(crate) fn stuck_lock_of(file: &Path, queues: &Path) -> Option<StuckLock> {
    let (directory, name, sightings) = lock_of(file, queues)?;
    let look = look_at(directory.as_fd(), &name).ok().flatten()?;
    judge(&name, &look, &sightings)
}

/// Removes the stuck lock on a single file, as [`end`] does.
pub(crate) fn end_lock_of(file: &Path, queues: &Path) -> io::Result<bool> {
    match lock_of(file, queues) {
        Some((directory, name, sightings)) => end(directory.as_fd(), &name, &sightings),
        None => Ok(false),
    }
}

fn lock_of(file: &Path, queues: &Path) -> Option<(File, std::ffi::CString, Sightings)> {
    let directory = File::open(file.parent()?).ok()?;
    let name = c_name(&format!("{}.lock", file.file_name()?.to_str()?));
    Some((directory, name, Sightings::beside(&queue_of(file, queues))))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::time::{Duration, SystemTime};

    use super::{HeldName, Sighting, Sightings, is_named, look_at, sighting, time_ahead};

    #[test]
    fn rival_lock_with_our_inode_and_birth_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".lock.lock")).unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let look = look_at(directory.as_fd(), c".lock.lock").unwrap().unwrap();
        let held = HeldName { name: ".lock.lock".into(), inode: look.print.inode, born: look.born };
        assert!(!is_named(&held, &look));
    }

    #[test]
    fn future_lock_is_as_old_as_seen_unchanged() {
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
        // As another process would see it a moment later.
        let other = Sightings::beside(&folder.path().join("queue"));
        let mut known = other.load();
        known[0].seen -= 11_000_000_000;
        other.save(&known).unwrap();
        assert!(other.silence(c".lock.lock", &look) > Duration::from_secs(11));
        assert_eq!(other.silence(c"1.json.lock", &look), Duration::ZERO);
        // A lock that its holder refreshed counts as seen for the first time.
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

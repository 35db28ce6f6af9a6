//! The stamp: a record beside the database of how far the journal was written. A database that is undamaged but does
//! not reach that far has lost its log.
//!
//! The stamp is written after the commit it records. Commits that are not flushed are recorded with the boot they were
//! made in, because a power loss may undo them. The stamp itself is never flushed after a commit; an outdated one gives
//! weaker protection but never a false alarm.
//!
//! The stamp also names the boot in which the list was last checked, because a separate file would take another block.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::layout::{FORMAT, fnv1a};
use crate::store::StoreError;
use crate::store::error::JournalDamage;
use crate::{private, regular_file, system};

const FILE: &str = "stamp";
const MAGIC: u64 = u64::from_le_bytes(*b"TYSTAMP1");
/// The last byte of the magic number in future layouts. Each differs from ours in at least two bits, so that a single
/// flipped bit never looks like a newer layout.
pub(in crate::store) const NEWER_LAYOUTS: &[u8] = b"24678";
/// The size of a slot. Two slots are written alternately, each in its own sector: if a write fails, the previous slot
/// is intact.
const SLOT: usize = 512;
const WORDS: usize = 13;
/// The offset of the name of the boot in which the list was last checked: a length byte, then the name.
const BOOT: u64 = 2 * SLOT as u64;
/// The length of the boot ids of Linux.
const BOOT_NAME: usize = 36;
/// How long to wait for the lock. Writing the stamp takes microseconds: a process that keeps it longer was suspended,
/// and the next commit records more.
const PATIENCE: Duration = Duration::from_millis(2);

/// How far a journal goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Marks {
    pub(in crate::store) revision: u64,
    /// The last token issued.
    pub(in crate::store) token: u64,
    /// The highest number in any entry.
    pub(in crate::store) number: u64,
}

impl Marks {
    /// Returns the maximum of each mark.
    pub(in crate::store) fn max(self, other: Self) -> Self {
        Self {
            revision: self.revision.max(other.revision),
            token: self.token.max(other.token),
            number: self.number.max(other.number),
        }
    }

    /// Returns whether each mark is at least the other's.
    pub(super) fn reaches(self, other: Self) -> bool {
        self.max(other) == self
    }
}

/// What was found wrong with a journal and is not mended yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standstill {
    #[default]
    None,
    /// It was damaged, and a new one was begun.
    BegunAnew,
    /// It is damaged, and no process writes to it.
    Damaged,
}

/// The contents of the stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Increases with every write.
    count: u64,
    /// Increases when the database is replaced.
    pub(super) generation: u64,
    pub(super) standstill: Standstill,
    /// A hash of the boot id that `committed` belongs to.
    boot: u64,
    committed: Marks,
    flushed: Marks,
    /// The format of the database.
    pub(super) format: u64,
    /// The layout of a stamp that a newer Taskyard wrote. If set, nothing else in it is known.
    newer_layout: Option<u8>,
}

impl Stamp {
    /// Returns whether a newer Taskyard wrote the stamp, or has written the database or is about to.
    pub(super) fn is_newer(&self) -> bool {
        self.newer_layout.is_some() || self.format > FORMAT.unsigned_abs()
    }

    /// Returns the layout or format that is newer than ours.
    pub(super) fn newer_format(&self) -> i64 {
        self.newer_layout.map_or_else(|| self.format.cast_signed(), i64::from)
    }

    /// Returns how far the journal must go. Commits that were not flushed only count in the boot they were made in.
    pub(super) fn expected(&self) -> Marks {
        if self.boot == this_boot() { self.flushed.max(self.committed) } else { self.flushed }
    }

    fn from_slot(bytes: &[u8]) -> Option<Self> {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        if let [b'T', b'Y', b'S', b'T', b'A', b'M', b'P', layout, ..] = bytes
            && NEWER_LAYOUTS.contains(layout)
        {
            let newer_layout = Some(layout - b'0');
            return Some(Self { count: u64::MAX, newer_layout, ..Self::default() });
        }
        let summed = bytes.get(..(WORDS - 1) * 8)?;
        if words[0] != MAGIC || words[WORDS - 1] != u64::from(crc32fast::hash(summed)) {
            return None;
        }
        let marks = |at: usize| Marks { revision: words[at], token: words[at + 1], number: words[at + 2] };
        Some(Self {
            count: words[1],
            generation: words[2],
            standstill: match words[3] {
                0 => Standstill::None,
                1 => Standstill::BegunAnew,
                _ => Standstill::Damaged,
            },
            boot: words[4],
            committed: marks(5),
            flushed: marks(8),
            format: words[11],
            newer_layout: None,
        })
    }

    fn to_slot(self) -> [u8; WORDS * 8] {
        let marks = |marks: Marks| [marks.revision, marks.token, marks.number];
        let mut bytes = [0; WORDS * 8];
        let head = [MAGIC, self.count, self.generation, self.standstill as u64, self.boot];
        let words = head.into_iter().chain(marks(self.committed)).chain(marks(self.flushed)).chain([self.format]);
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        let (summed, sum) = bytes.split_at_mut((WORDS - 1) * 8);
        sum.copy_from_slice(&u64::from(crc32fast::hash(summed)).to_le_bytes());
        bytes
    }
}

/// An open stamp file.
#[derive(Debug)]
pub(super) struct StampFile(File);

/// The open file, its stamp and the boot that the stamp names.
type StampWithBoot = (StampFile, Stamp, Option<Vec<u8>>);

impl StampFile {
    /// Opens the stamp in a list's sidecar, or returns `None` if there is none.
    pub(super) fn open(sidecar: &Path) -> io::Result<Option<Self>> {
        let path = sidecar.join(FILE);
        let opened = match private::open_existing(&path) {
            Err(error) if is_read_only(&error) => private::open_to_read(&path),
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(Some(Self(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a stamp that is durable once this returns, replacing any other.
    pub(super) fn create(sidecar: &Path, stamp: Stamp) -> io::Result<Self> {
        let temporary = sidecar.join(format!("{FILE}.{}", std::process::id()));
        let made = Self::write_new(&temporary, stamp).and_then(|made| {
            fs::rename(&temporary, sidecar.join(FILE))?;
            Ok(made)
        });
        made.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    fn write_new(path: &Path, stamp: Stamp) -> io::Result<Self> {
        let file = private::create(path)?;
        file.set_len(2 * SLOT as u64)?;
        file.write_all_at(&stamp.to_slot(), offset(stamp.count))?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// Returns a stamp without marks.
    pub(super) fn blank() -> Stamp {
        Stamp { format: FORMAT.unsigned_abs(), ..Stamp::default() }
    }

    /// Reads the stamp. Returns `None` if neither slot is intact.
    pub(super) fn read(&self) -> io::Result<Option<Stamp>> {
        let mut bytes = [0; SLOT + WORDS * 8];
        let read = regular_file::read_at(&self.0, &mut bytes, 0)?;
        Ok(stamp_in(&bytes[..read]))
    }

    /// Reads the stamp and the boot it names with one read. Returns `None` if neither slot is intact.
    pub(super) fn read_with_boot(self) -> io::Result<Option<StampWithBoot>> {
        let mut bytes = [0; BOOT as usize + 1 + BOOT_NAME];
        let read = regular_file::read_at(&self.0, &mut bytes, 0)?;
        let bytes = &bytes[..read];
        let Some(stamp) = stamp_in(bytes) else { return Ok(None) };
        let named = bytes.get(BOOT as usize..).and_then(<[u8]>::split_first);
        let boot = match named {
            Some((length, name)) if usize::from(*length) <= name.len() => Some(name[..usize::from(*length)].to_vec()),
            Some(_) => self.boot()?,
            None => None,
        };
        Ok(Some((self, stamp, boot)))
    }

    /// Records, durably, that the database is about to get the current format. Returns whether that succeeded.
    pub(super) fn raise_format(&self) -> bool {
        self.change(|stamp| stamp.format = stamp.format.max(FORMAT.unsigned_abs())) && self.0.sync_data().is_ok()
    }

    /// Returns the boot in which the list was last checked, or `None` if it is not recorded.
    pub(super) fn boot(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = [0; 1 + u8::MAX as usize];
        // A second read is only needed for a longer name.
        for expected in [1 + BOOT_NAME, bytes.len()] {
            let read = regular_file::read_at(&self.0, &mut bytes[..expected], BOOT)?;
            let name = bytes[..read].split_first().and_then(|(length, name)| name.get(..usize::from(*length)));
            if name.is_some() || read < expected {
                return Ok(name.map(<[u8]>::to_vec));
            }
        }
        Ok(None)
    }

    /// Records the boot in which the list was last checked.
    pub(super) fn set_boot(&self, boot: &[u8]) -> io::Result<()> {
        let length = u8::try_from(boot.len()).map_err(io::Error::other)?;
        self.0.write_all_at(&[&[length], boot].concat(), BOOT)
    }

    /// Records that a commit was made in this boot.
    pub(super) fn raise_committed(&self, marks: Marks) {
        self.change_in(PATIENCE, |stamp| stamp.commit(marks));
    }

    /// Records that a commit was flushed.
    pub(super) fn raise_flushed(&self, marks: Marks) {
        self.change_in(PATIENCE, |stamp| {
            stamp.commit(marks);
            stamp.flushed = stamp.flushed.max(marks);
        });
    }

    /// Changes the stamp, waiting for other processes. Returns whether that succeeded.
    pub(super) fn change(&self, change: impl FnOnce(&mut Stamp)) -> bool {
        self.change_in(Duration::from_secs(2), change)
    }

    fn change_in(&self, patience: Duration, change: impl FnOnce(&mut Stamp)) -> bool {
        let started = Instant::now();
        while flock(&self.0, FlockOperation::NonBlockingLockExclusive).is_err() {
            if started.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_micros(50));
        }
        // Never overwrite what a newer Taskyard wrote.
        let before = self.read().ok().flatten().filter(|before| !before.is_newer());
        let written = before.is_some_and(|before| {
            let mut stamp = before;
            change(&mut stamp);
            stamp.count += 1;
            self.0.write_all_at(&stamp.to_slot(), offset(stamp.count)).is_ok()
        });
        let _ = flock(&self.0, FlockOperation::Unlock);
        written
    }
}

impl Stamp {
    /// Returns whether a process found the journal damaged, so that no process writes to it.
    pub(super) fn is_damaged(&self) -> bool {
        self.standstill == Standstill::Damaged
    }

    fn commit(&mut self, marks: Marks) {
        let boot = this_boot();
        // Unflushed commits of another boot may be lost.
        let before = if self.boot == boot { self.committed } else { Marks::default() };
        (self.boot, self.committed) = (boot, before.max(marks));
    }

    /// Returns the stamp of a database that replaces this one and goes as far as `marks`.
    pub(super) fn of_next_database(self, marks: Marks, standstill: Standstill) -> Self {
        Self { generation: self.generation + 1, standstill, flushed: marks, committed: marks, ..self }
    }
}

/// Returns the newer of the intact slots.
fn stamp_in(bytes: &[u8]) -> Option<Stamp> {
    let slot = |at: usize| bytes.get(at..).and_then(Stamp::from_slot);
    slot(0).into_iter().chain(slot(SLOT)).max_by_key(|stamp| stamp.count)
}

fn offset(count: u64) -> u64 {
    (count % 2) * SLOT as u64
}

fn this_boot() -> u64 {
    fnv1a(system::boot_id().as_bytes())
}

/// What was found in place of the stamp.
pub(super) enum FoundStamp {
    Missing,
    /// A stamp, and its contents.
    Whole(StampFile, Stamp),
    /// Something that is not a valid stamp.
    Damaged(JournalDamage),
}

impl FoundStamp {
    /// Returns the stamp and its contents, or `None` if it is missing or damaged.
    pub(super) fn whole(self) -> Option<(StampFile, Stamp)> {
        match self {
            Self::Whole(file, stamp) => Some((file, stamp)),
            Self::Missing | Self::Damaged(_) => None,
        }
    }
}

/// Reads the stamp of a sidecar. Fails if it cannot be read now, which says nothing about the stamp.
pub(super) fn look_at_stamp(sidecar: &Path) -> io::Result<FoundStamp> {
    let file = match StampFile::open(sidecar) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(FoundStamp::Missing),
        Err(error) if is_lasting(&error) => {
            return Ok(FoundStamp::Damaged(JournalDamage::Unopenable { file: FILE, why: error.to_string() }));
        }
        Err(error) => return Err(error),
    };
    Ok(match file.read()? {
        Some(stamp) => FoundStamp::Whole(file, stamp),
        None => FoundStamp::Damaged(JournalDamage::BadStamp),
    })
}

/// Returns whether a file cannot be opened because of its type, owner or permissions. A failing disk or too many open
/// files say nothing about it.
pub(super) fn is_lasting(error: &io::Error) -> bool {
    // Errors without a code are our own: the path is not a file, or belongs to another user.
    error.raw_os_error().is_none_or(|code| {
        matches!(
            Errno::from_raw_os_error(code),
            Errno::ACCESS
                | Errno::PERM
                | Errno::ROFS
                | Errno::ISDIR
                | Errno::NOTDIR
                | Errno::LOOP
                | Errno::NXIO
                | Errno::NODEV
        )
    })
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Where older releases recorded the boot.
const OLD_FILE: &str = "boot";
/// Boot names are shorter than this.
const LONGEST: u64 = 4 * 1024;

/// Returns whether the list was last checked in this boot.
pub(in crate::store) fn is_same_boot(sidecar: &Path) -> Result<bool, StoreError> {
    let stamp = sidecar.join("stamp");
    let remembered = StampFile::open(sidecar).and_then(|stamp| stamp.map_or(Ok(None), |stamp| stamp.boot()));
    let remembered = match remembered {
        // A stamp with the wrong type, owner or permissions counts as one that names no boot.
        Err(error) if is_lasting(&error) => None,
        remembered => remembered.map_err(StoreError::io("cannot read", stamp))?,
    };
    let remembered = remembered.or_else(|| regular_file::read(&sidecar.join(OLD_FILE), LONGEST).ok());
    Ok(remembered.is_some_and(|boot| boot == system::boot_id().as_bytes()))
}

/// Records that the list was last checked in this boot.
pub(in crate::store) fn remember_boot(sidecar: &Path) -> Result<(), StoreError> {
    let stamp = StampFile::open(sidecar).and_then(|stamp| stamp.ok_or_else(|| io::ErrorKind::NotFound.into()));
    let written = stamp.and_then(|stamp| stamp.set_boot(system::boot_id().as_bytes()));
    written.map_err(StoreError::io("cannot write", sidecar.join("stamp")))?;
    let _ = fs::remove_file(sidecar.join(OLD_FILE));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt as _;

    use super::{Marks, SLOT, StampFile, is_same_boot, remember_boot};
    use crate::system;

    fn marks(revision: u64) -> Marks {
        Marks { revision, token: 1, number: 2 }
    }

    #[test]
    fn a_stamp_only_grows() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        for revision in [3, 9, 4] {
            stamp.raise_flushed(marks(revision));
        }
        stamp.raise_committed(marks(5));
        let again = StampFile::open(sidecar.path()).unwrap().unwrap();
        assert_eq!(again.read().unwrap().unwrap().expected(), marks(9));
    }

    #[test]
    fn a_slot_that_is_damaged_leaves_the_one_before() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        stamp.raise_flushed(marks(1));
        stamp.raise_flushed(marks(2));
        for (slot, left) in [(0, marks(1)), (1, marks(2))] {
            let mut byte = [0];
            stamp.0.read_exact_at(&mut byte, slot * SLOT as u64 + 70).unwrap();
            stamp.0.write_all_at(&[byte[0] ^ 16], slot * SLOT as u64 + 70).unwrap();
            assert_eq!(stamp.read().unwrap().unwrap().expected(), left);
            stamp.0.write_all_at(&byte, slot * SLOT as u64 + 70).unwrap();
        }
        stamp.0.set_len(0).unwrap();
        assert_eq!(stamp.read().unwrap(), None);
    }

    #[test]
    fn stamp_raised_by_newer_release_is_left_alone() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        stamp.change(|stamp| stamp.format = 99);
        let raised = stamp.read().unwrap().unwrap();
        assert_eq!((raised.is_newer(), raised.newer_format()), (true, 99));
        stamp.raise_flushed(marks(1));
        assert_eq!(stamp.read().unwrap(), Some(raised));
        for slot in 0..2 {
            stamp.0.write_all_at(b"TYSTAMP2", slot * SLOT as u64).unwrap();
        }
        let other = stamp.read().unwrap().unwrap();
        assert_eq!((other.is_newer(), other.newer_format()), (true, 2));
        assert!(!stamp.raise_format());
    }

    #[test]
    fn a_stamp_that_somebody_keeps_is_left_to_the_next_one() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        let other = StampFile::open(sidecar.path()).unwrap().unwrap();
        rustix::fs::flock(&other.0, rustix::fs::FlockOperation::LockExclusive).unwrap();
        stamp.raise_flushed(marks(1));
        assert_eq!(stamp.read().unwrap().unwrap().expected(), Marks::default());
        drop(other);
        stamp.raise_flushed(marks(1));
        assert_eq!(stamp.read().unwrap().unwrap().expected(), marks(1));
    }
    #[test]
    fn one_flipped_bit_makes_no_newer_stamp() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        stamp.raise_flushed(marks(1));
        stamp.raise_flushed(marks(2));
        for bit in 0..64 {
            let flipped = u64::from_le_bytes(*b"TYSTAMP1") ^ (1 << bit);
            stamp.0.write_all_at(&flipped.to_le_bytes(), 0).unwrap();
            let left = stamp.read().unwrap().unwrap();
            assert_eq!((left.is_newer(), left.expected()), (false, marks(1)), "bit {bit}");
        }
    }

    #[test]
    fn boot_is_kept_in_stamp_and_read_from_older_releases() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        assert!(!is_same_boot(sidecar.path()).unwrap());
        fs::write(sidecar.path().join("boot"), system::boot_id().as_bytes()).unwrap();
        assert!(is_same_boot(sidecar.path()).unwrap());
        remember_boot(sidecar.path()).unwrap();
        assert!(is_same_boot(sidecar.path()).unwrap() && !sidecar.path().join("boot").exists());
        let before = stamp.read().unwrap();
        stamp.set_boot(b"another and a longer one than before, say").unwrap();
        assert!(!is_same_boot(sidecar.path()).unwrap() && stamp.read().unwrap() == before);
    }
}

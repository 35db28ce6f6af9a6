//! How far the journal was written, noted beside the database: one that is whole but does not reach so far has lost its log.
//!
//! The stamp is written after the commit it tells of, and says of what was only committed in which boot that was: a power loss
//! may take that back. It is never flushed; one that tells too little is weaker, and never a false alarm.
//!
//! The stamp also says in which boot of the machine the list was last looked after; a file of its own would take a block.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::layout::{FORMAT, fnv1a};
use crate::store::StoreError;
use crate::store::error::JournalDamage;
use crate::{clock, private, regular_file};

const FILE: &str = "stamp";
const MAGIC: u64 = u64::from_le_bytes(*b"TYSTAMP1");
/// The last byte of the magic in layouts to come. Each differs from ours in two bits at least: one flipped bit makes no newer layout.
pub(in crate::store) const NEWER_LAYOUTS: &[u8] = b"24678";
/// The slots are written in turn, each in a sector of its own: whatever becomes of a write, the slot before it is whole.
const SLOT: usize = 512;
const WORDS: usize = 13;
/// Where the boot is named in which the list was last looked after: a byte that says how long the name is, and the name.
const BOOT: u64 = 2 * SLOT as u64;
/// Writing the stamp takes microseconds. One that keeps it for longer was suspended, and the next commit tells more.
const PATIENCE: Duration = Duration::from_millis(2);

/// How far a journal goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Marks {
    /// The newest revision.
    pub(in crate::store) revision: u64,
    /// The last token that was given out.
    pub(in crate::store) token: u64,
    /// The highest number that any entry is about.
    pub(in crate::store) number: u64,
}

impl Marks {
    /// Returns the higher of each.
    pub(in crate::store) fn max(self, other: Self) -> Self {
        Self {
            revision: self.revision.max(other.revision),
            token: self.token.max(other.token),
            number: self.number.max(other.number),
        }
    }

    /// Tells whether all three are at least the others.
    pub(super) fn reaches(self, other: Self) -> bool {
        self.max(other) == self
    }
}

/// What was found out about a journal and is not mended yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standstill {
    /// Nothing.
    #[default]
    None,
    /// It was damaged, and a new one was begun.
    BegunAnew,
    /// It is damaged, and no process writes to it.
    Damaged,
}

/// What the stamp says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Grows with every writing.
    count: u64,
    /// Grows when another database takes the place of this one.
    pub(super) generation: u64,
    pub(super) standstill: Standstill,
    /// The boot in which `committed` was.
    boot: u64,
    committed: Marks,
    flushed: Marks,
    /// The format of the database.
    pub(super) format: u64,
    /// How a newer Taskyard lays the stamp out, where one wrote it; then nothing else of it is known.
    newer_layout: Option<u8>,
}

impl Stamp {
    /// Tells whether a newer Taskyard wrote the stamp, or writes the database or is about to.
    pub(super) fn is_newer(&self) -> bool {
        self.newer_layout.is_some() || self.format > FORMAT.unsigned_abs()
    }

    /// Returns the higher number by which a newer Taskyard is told.
    pub(super) fn newer_format(&self) -> i64 {
        self.newer_layout.map_or_else(|| self.format.cast_signed(), i64::from)
    }

    /// Returns how far the journal must go.
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

/// The file, open.
#[derive(Debug)]
pub(super) struct StampFile(File);

impl StampFile {
    /// Opens the stamp in a list's own directory of ours; none where there is none.
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

    /// Makes a stamp that says this, in the place of any other, so that it is there after a power loss.
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

    /// Returns a stamp that says nothing yet.
    pub(super) fn blank() -> Stamp {
        Stamp { format: FORMAT.unsigned_abs(), ..Stamp::default() }
    }

    /// Reads what it says; `None` if neither slot is whole.
    pub(super) fn read(&self) -> io::Result<Option<Stamp>> {
        let mut bytes = [0; SLOT + WORDS * 8];
        let read = regular_file::read_at(&self.0, &mut bytes, 0)?;
        let slot = |at: usize| bytes[..read].get(at..).and_then(Stamp::from_slot);
        Ok(slot(0).into_iter().chain(slot(SLOT)).max_by_key(|stamp| stamp.count))
    }

    /// Notes that the database is about to get today's format; returns whether it is noted.
    pub(super) fn raise_format(&self) -> bool {
        self.change(|stamp| stamp.format = stamp.format.max(FORMAT.unsigned_abs())) && self.0.sync_data().is_ok()
    }

    /// Returns the boot in which the list was last looked after, or `None` if it is not named.
    pub(super) fn boot(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = [0; 1 + u8::MAX as usize];
        let read = regular_file::read_at(&self.0, &mut bytes, BOOT)?;
        let name = bytes[..read].split_first().and_then(|(length, name)| name.get(..usize::from(*length)));
        Ok(name.map(<[u8]>::to_vec))
    }

    /// Names the boot in which the list was last looked after.
    pub(super) fn set_boot(&self, boot: &[u8]) -> io::Result<()> {
        let length = u8::try_from(boot.len()).map_err(io::Error::other)?;
        self.0.write_all_at(&[&[length], boot].concat(), BOOT)
    }

    /// Notes that a commit exists in this boot.
    pub(super) fn raise_committed(&self, marks: Marks) {
        self.change_in(PATIENCE, |stamp| stamp.commit(marks));
    }

    /// Notes that a commit is on the disk.
    pub(super) fn raise_flushed(&self, marks: Marks) {
        self.change_in(PATIENCE, |stamp| {
            stamp.commit(marks);
            stamp.flushed = stamp.flushed.max(marks);
        });
    }

    /// Changes what it says, waiting for other processes; returns whether it could.
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
        // What a newer Taskyard wrote is left to it.
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
    /// Tells whether a process found the journal damaged, so that none writes to it.
    pub(super) fn is_damaged(&self) -> bool {
        self.standstill == Standstill::Damaged
    }

    fn commit(&mut self, marks: Marks) {
        let boot = this_boot();
        // What another boot only committed may be lost with it.
        let before = if self.boot == boot { self.committed } else { Marks::default() };
        (self.boot, self.committed) = (boot, before.max(marks));
    }

    /// Returns what the stamp of a database says that takes the place of the one before, and goes so far.
    pub(super) fn of_next_database(self, marks: Marks, standstill: Standstill) -> Self {
        Self { generation: self.generation + 1, standstill, flushed: marks, committed: marks, ..self }
    }
}

fn offset(count: u64) -> u64 {
    (count % 2) * SLOT as u64
}

fn this_boot() -> u64 {
    fnv1a(clock::boot_id().as_bytes())
}

/// What was found in the place of the stamp.
pub(super) enum FoundStamp {
    /// Nothing.
    Missing,
    /// A stamp, and what it says.
    Whole(StampFile, Stamp),
    /// Something that says nothing.
    Damaged(JournalDamage),
}

impl FoundStamp {
    /// Returns the stamp and what it says, or `None` if it is missing or says nothing.
    pub(super) fn whole(self) -> Option<(StampFile, Stamp)> {
        match self {
            Self::Whole(file, stamp) => Some((file, stamp)),
            Self::Missing | Self::Damaged(_) => None,
        }
    }
}

/// Reads the stamp of a sidecar. Fails if the system does not let us read it now, which says nothing about the stamp.
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

/// Tells whether a file cannot be opened because of what it is or whose it is. A failing disk or too many open files say nothing about it.
pub(super) fn is_lasting(error: &io::Error) -> bool {
    // These errors are our own: it is not a file, or it is another user's.
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

/// Where older releases kept it.
const OLD_FILE: &str = "boot";
/// The names of boots are shorter than this.
const LONGEST: u64 = 4 * 1024;

/// Tells whether the machine has been up since this was last asked and answered.
pub(in crate::store) fn is_same_boot(sidecar: &Path) -> Result<bool, StoreError> {
    let stamp = sidecar.join("stamp");
    let remembered = StampFile::open(sidecar).and_then(|stamp| stamp.map_or(Ok(None), |stamp| stamp.boot()));
    let remembered = match remembered {
        // What it is or whose it is keeps us from reading it, and it says nothing.
        Err(error) if is_lasting(&error) => None,
        remembered => remembered.map_err(StoreError::io("cannot read", stamp))?,
    };
    let remembered = remembered.or_else(|| regular_file::read(&sidecar.join(OLD_FILE), LONGEST).ok());
    Ok(remembered.is_some_and(|boot| boot == clock::boot_id().as_bytes()))
}

/// Remembers in which boot the list was last looked after.
pub(in crate::store) fn remember_boot(sidecar: &Path) -> Result<(), StoreError> {
    let stamp = StampFile::open(sidecar).and_then(|stamp| stamp.ok_or_else(|| io::ErrorKind::NotFound.into()));
    let written = stamp.and_then(|stamp| stamp.set_boot(clock::boot_id().as_bytes()));
    written.map_err(StoreError::io("cannot write", sidecar.join("stamp")))?;
    let _ = fs::remove_file(sidecar.join(OLD_FILE));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt as _;

    use super::{Marks, SLOT, StampFile, is_same_boot, remember_boot};
    use crate::clock;

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
    fn a_stamp_that_a_newer_release_wrote_or_raised_is_left_as_it_is() {
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
    fn the_boot_is_remembered_in_the_stamp_and_known_from_files_of_older_releases() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        assert!(!is_same_boot(sidecar.path()).unwrap());
        fs::write(sidecar.path().join("boot"), clock::boot_id().as_bytes()).unwrap();
        assert!(is_same_boot(sidecar.path()).unwrap());
        remember_boot(sidecar.path()).unwrap();
        assert!(is_same_boot(sidecar.path()).unwrap() && !sidecar.path().join("boot").exists());
        let before = stamp.read().unwrap();
        stamp.set_boot(b"another and a longer one than before, say").unwrap();
        assert!(!is_same_boot(sidecar.path()).unwrap() && stamp.read().unwrap() == before);
    }
}

//! The record that our processes share about a list: who has the turn, and how far the files have followed the journal.
//!
//! It is in a file of ours beside the journal, the same file that writers queue on (`queue.rs`). The writer that has the
//! turn writes it with `pwrite`. It survives the death of a process but not necessarily a power loss, after which nothing
//! in it is needed (see `recovery.rs`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::store::StoreError;
use crate::store::journal::NEWER_LAYOUTS;
use crate::{private, regular_file};

const MAGIC: u64 = u64::from_le_bytes(*b"TYSTATE1");
const WORDS: usize = 11;
/// The offset of the last word: the holder of the locks whose names follow.
const HOLDER_AT: u64 = (WORDS * 8 - 8) as u64;
/// The offset of the names of the locks that are held.
const HELD_AT: u64 = (WORDS * 8) as u64;
/// The values of the word that says whether a writer is busy.
const AT_THE_HEAD: u64 = 1;
const PAST_THE_QUEUE: u64 = 2;
/// No writer is busy, and the last one bypassed the queue.
const WAS_PAST_THE_QUEUE: u64 = 3;
/// The maximum length of the recorded lock names, in bytes. Longer lists are not recorded; a crash then leaves locks
/// that go stale.
const LONGEST_HELD: usize = 1 << 20;
/// Stands for a damaged record: a writer had turns and may have died in one. The next writer then checks every commit
/// since the last flush, as after a power loss, and writes a new record.
const DAMAGED: TurnRecord = TurnRecord {
    sequence: 0,
    applied: 0,
    turns: 1,
    released: 0,
    held_for: 0,
    clock_offset: 0,
    streak: 0,
    rival_met: 0,
    busy: true,
    is_past_queue: false,
    holder: 0,
    holder_space: 0,
};

/// The record that our processes share about a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct TurnRecord {
    /// Odd while a commit is being written out. A reader that finds an odd number, or a different one afterwards, reads
    /// again.
    pub(in crate::store) sequence: u64,
    /// Every commit up to this revision has been written out.
    pub(in crate::store) applied: u64,
    /// The number of turns. A writer finds its own number here until another process takes over the turn.
    pub(in crate::store) turns: u64,
    /// When the list's lock was last released, on the monotonic clock.
    pub(in crate::store) released: i64,
    /// How long it was held then.
    pub(in crate::store) held_for: i64,
    /// Wall time minus time since boot, to detect that the clock was set.
    pub(in crate::store) clock_offset: i64,
    /// Since when our writers have followed each other without leaving the lock free (`client_locking.rs`).
    pub(in crate::store) streak: i64,
    /// When one of our writers last found the lock held by a rival.
    pub(in crate::store) rival_met: i64,
    /// Whether a writer has the turn. If the next writer finds it set, the previous one has died.
    pub(in crate::store) busy: bool,
    /// Whether the last turn bypassed the queue: then the head of the queue does not decide who may write (`queue.rs`).
    pub(in crate::store) is_past_queue: bool,
    /// The process that holds the locks recorded after the words.
    pub(in crate::store) holder: u32,
    /// The pid namespace and machine of the holder if it bypassed the queue, else 0.
    pub(in crate::store) holder_space: u32,
}

/// A directory that is one of our locks, is about to become one, or was moved aside. If only the name is known, because
/// it was recorded before the directory was created, the other fields are 0; such names are always our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct HeldName {
    pub(in crate::store) name: String,
    pub(in crate::store) inode: u64,
    pub(in crate::store) born: i64,
}

impl HeldName {
    /// Returns a record for a name of ours that may not exist.
    pub(in crate::store) fn of_ours(name: &std::ffi::CStr) -> Self {
        Self { name: name.to_string_lossy().into_owned(), inode: 0, born: 0 }
    }
}

/// Opens the file, creating it if necessary.
pub(in crate::store) fn open(path: &Path) -> io::Result<File> {
    private::open(path)
}

/// Reads the record. Returns `None` if none was written yet, or if it has the layout of a newer Taskyard.
pub(in crate::store) fn load(file: &File) -> io::Result<Option<TurnRecord>> {
    let mut bytes = [0; WORDS * 8];
    let count = regular_file::read_at(file, &mut bytes, 0)?;
    // A process that never had a turn may have written only one word (`save_applied`).
    let is_nothing = bytes.starts_with(&[0; 8]) || newer_layout(&bytes).is_some();
    Ok((!is_nothing).then(|| from_bytes(&bytes).filter(|_| count == bytes.len()).unwrap_or(DAMAGED)))
}

/// Decodes a record, or returns `None` if it is damaged.
fn from_bytes(bytes: &[u8; WORDS * 8]) -> Option<TurnRecord> {
    let word = |place: usize| u64::from_le_bytes(bytes[place * 8..place * 8 + 8].try_into().unwrap_or_default());
    (word(0) == MAGIC).then(|| TurnRecord {
        sequence: word(1),
        applied: word(2),
        turns: word(3),
        released: word(4).cast_signed(),
        held_for: word(5).cast_signed(),
        clock_offset: word(6).cast_signed(),
        streak: word(7).cast_signed(),
        rival_met: word(8).cast_signed(),
        busy: matches!(word(9), AT_THE_HEAD | PAST_THE_QUEUE),
        is_past_queue: matches!(word(9), PAST_THE_QUEUE | WAS_PAST_THE_QUEUE),
        holder: word(10) as u32,
        holder_space: (word(10) >> 32) as u32,
    })
}

/// Reads the record, or returns the default if none was written yet. Fails if it has the layout of a newer Taskyard.
pub(in crate::store) fn load_or_new(file: &File, path: &Path) -> Result<TurnRecord, StoreError> {
    let unread = || StoreError::io("cannot read", path);
    if let Some(state) = load(file).map_err(unread())? {
        return Ok(state);
    }
    let mut magic = [0; 8];
    regular_file::read_at(file, &mut magic, 0).map_err(unread())?;
    match newer_layout(&magic) {
        Some(format) => Err(StoreError::NewerJournal { path: path.to_owned(), format }),
        None => Ok(TurnRecord::default()),
    }
}

/// Returns the layout number if a newer Taskyard wrote the record.
fn newer_layout(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [b'T', b'Y', b'S', b'T', b'A', b'T', b'E', layout, ..] if NEWER_LAYOUTS.contains(layout) => {
            Some(i64::from(layout - b'0'))
        }
        _ => None,
    }
}

/// Writes the record except for the holder.
pub(in crate::store) fn save(file: &File, state: &TurnRecord) -> io::Result<()> {
    file.write_all_at(&words(state)[..WORDS * 8 - 8], 0)
}

/// Writes the record with the holder and the locks it holds.
pub(in crate::store) fn save_all(file: &File, state: &TurnRecord, held: &[HeldName]) -> io::Result<()> {
    let mut bytes = words(state).to_vec();
    push_held(&mut bytes, held);
    file.write_all_at(&bytes, 0)
}

/// Records which process holds locks or is about to create them, so that our next process can tell its dead locks from
/// a rival's.
pub(in crate::store) fn save_held(file: &File, holder: u32, held: &[HeldName]) -> io::Result<()> {
    let mut bytes = u64::from(holder).to_le_bytes().to_vec();
    push_held(&mut bytes, held);
    file.write_all_at(&bytes, HOLDER_AT)
}

/// Writes only the revision up to which everything has been written out. Safe without a turn: if it overwrites a newer
/// value, a number that is too low only makes files be checked again.
pub(in crate::store) fn save_applied(file: &File, applied: u64) -> io::Result<()> {
    file.write_all_at(&applied.to_le_bytes(), 2 * 8)
}

fn words(state: &TurnRecord) -> [u8; WORDS * 8] {
    let words: [u64; WORDS] = [
        MAGIC,
        state.sequence,
        state.applied,
        state.turns,
        state.released.cast_unsigned(),
        state.held_for.cast_unsigned(),
        state.clock_offset.cast_unsigned(),
        state.streak.cast_unsigned(),
        state.rival_met.cast_unsigned(),
        match (state.busy, state.is_past_queue) {
            (false, false) => 0,
            (false, true) => WAS_PAST_THE_QUEUE,
            (true, false) => AT_THE_HEAD,
            (true, true) => PAST_THE_QUEUE,
        },
        u64::from(state.holder_space) << 32 | u64::from(state.holder),
    ];
    let mut bytes = [0; WORDS * 8];
    for (place, word) in words.iter().enumerate() {
        bytes[place * 8..place * 8 + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn push_held(bytes: &mut Vec<u8>, held: &[HeldName]) {
    let mut text = String::new();
    for HeldName { name, inode, born } in held {
        text.push_str(&format!("{name} {inode} {born}\n"));
    }
    if text.len() > LONGEST_HELD {
        text.clear();
    }
    bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Reads which locks were held.
pub(in crate::store) fn load_held(file: &File) -> io::Result<Vec<HeldName>> {
    let mut length = [0; 4];
    regular_file::read_at(file, &mut length, HELD_AT)?;
    let mut text = vec![0; (u32::from_le_bytes(length) as usize).min(LONGEST_HELD)];
    let count = regular_file::read_at(file, &mut text, HELD_AT + 4)?;
    let is_whole = count == text.len();
    Ok(String::from_utf8_lossy(&text).lines().filter(|_| is_whole).filter_map(held_name).collect())
}

fn held_name(line: &str) -> Option<HeldName> {
    let mut words = line.split(' ');
    let name = words.next()?.to_owned();
    Some(HeldName { name, inode: words.next()?.parse().ok()?, born: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::{HeldName, TurnRecord, load, load_held, load_or_new, open, save, save_all, save_applied, save_held};
    use crate::store::StoreError;

    #[test]
    fn new_words_of_later_releases_are_not_read_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let file = open(&path).unwrap();
        assert_eq!(load_or_new(&file, &path).unwrap(), TurnRecord::default());
        std::os::unix::fs::FileExt::write_all_at(&file, b"TYSTATE2 and more", 0).unwrap();
        let refused = load_or_new(&file, &path);
        assert!(matches!(refused, Err(StoreError::NewerJournal { format: 2, .. })), "{refused:?}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("queue")).unwrap();
        assert_eq!(load(&file).unwrap(), None);
        let state = TurnRecord {
            sequence: 3,
            applied: 9,
            turns: 2,
            released: -5,
            held_for: 7,
            clock_offset: -1,
            streak: 8,
            rival_met: 9,
            busy: true,
            is_past_queue: true,
            holder: 4,
            holder_space: 9,
        };
        let held = vec![HeldName { name: "7.json.lock".into(), inode: 12, born: -3 }];
        save_all(&file, &state, &held).unwrap();
        assert_eq!(load(&file).unwrap(), Some(state));
        assert_eq!(load_held(&file).unwrap(), held);
        for (busy, is_past_queue) in [(false, false), (false, true), (true, false), (true, true)] {
            let state = TurnRecord { busy, is_past_queue, ..state };
            save(&file, &state).unwrap();
            assert_eq!(load(&file).unwrap(), Some(state));
        }
        save(&file, &TurnRecord { applied: 10, holder: 5, ..state }).unwrap();
        assert_eq!(load(&file).unwrap(), Some(TurnRecord { applied: 10, ..state }));
        assert_eq!(load_held(&file).unwrap(), held);
        save_held(&file, 6, &[]).unwrap();
        assert_eq!(load(&file).unwrap(), Some(TurnRecord { applied: 10, holder: 6, holder_space: 0, ..state }));
        assert_eq!(load_held(&file).unwrap(), []);
    }

    #[test]
    fn a_damaged_record_is_neither_newer_nor_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let file = open(&path).unwrap();
        save_applied(&file, 3).unwrap();
        assert_eq!(load(&file).unwrap(), None);
        save_all(&file, &TurnRecord { turns: 7, applied: 9, ..TurnRecord::default() }, &[]).unwrap();
        let damaged = TurnRecord { turns: 1, busy: true, ..TurnRecord::default() };
        for bit in 0..64 {
            let flipped = u64::from_le_bytes(*b"TYSTATE1") ^ (1 << bit);
            std::os::unix::fs::FileExt::write_all_at(&file, &flipped.to_le_bytes(), 0).unwrap();
            assert_eq!(load_or_new(&file, &path).unwrap(), damaged, "bit {bit}");
        }
        file.set_len(40).unwrap();
        assert_eq!(load_or_new(&file, &path).unwrap(), damaged);
    }
}

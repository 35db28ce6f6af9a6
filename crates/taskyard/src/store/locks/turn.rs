//! One writer's turn at a list: the head of our queue. A turn excludes our own writers but no other program; the
//! client's locks are taken within a turn, for as long as it takes to write out files (`client_locking.rs`).
//!
//! The state that our processes share about a list is in a file of ours beside the journal, the same file that writers
//! queue on (`queue.rs`). The writer that has the turn writes it with `pwrite`. It survives the death of a process but
//! not necessarily a power loss, after which nothing in it is needed (see `recovery.rs`).

use std::cell::Cell;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client_lock::Lock;
use super::dead_locks::clear_dead_locks;
use super::list_paths::ListPaths;
use super::queue::{PATIENCE, Queue};
use super::{client_lock, queue};
use crate::failpoint::reach;
use crate::liveness::space_tag;
use crate::store::StoreError;
use crate::store::journal::NEWER_LAYOUTS;
use crate::store::locks::list_paths::Look;
use crate::store::waiting::note_wait;
use crate::{private, regular_file, system};

/// How long after the last check, in nanoseconds, a turn is still taken to be ours, for writing the record only.
const A_MOMENT: i64 = 1_000_000_000;

/// A turn. Dropping it releases the turn and all its locks.
#[derive(Debug)]
pub(in crate::store) struct WriteTurn {
    pub(in crate::store) place: ListPaths,
    pub(in crate::store) directory: Arc<OwnedFd>,
    pub(in crate::store) state: TurnRecord,
    /// The previous writer died in the middle of its turn.
    pub(in crate::store) is_after_a_death: bool,
    /// The list had no directory before this turn.
    pub(in crate::store) is_new: bool,
    /// The client's locks that we have taken.
    pub(in crate::store) locks: ClientLocks,
    /// `None` once the turn has ended.
    pub(in crate::store) queue: Option<Queue>,
    /// When the turn was last checked to be ours.
    seen_ours: Cell<i64>,
}

impl WriteTurn {
    /// Waits for a turn. Creates the list's directory if necessary.
    pub(in crate::store) fn take(place: &ListPaths, queue_file: &Path) -> Result<Self, StoreError> {
        let directory = place.open()?;
        let began = Instant::now();
        let mut queue = queue::enter(queue_file)?;
        let record = queue.turn_record(PATIENCE)?;
        note_wait(began);
        match record {
            Some(_) => Self::begin(place, directory, queue),
            None => Err(queue.held(PATIENCE)),
        }
    }

    /// Takes a turn if none of our writers has one. Does not wait for other programs in the turn, either.
    pub(in crate::store) fn try_take(place: &ListPaths, queue_file: &Path) -> Result<Option<Self>, StoreError> {
        let Some(mut queue) = queue::try_enter(queue_file)? else { return Ok(None) };
        if queue.turn_record(Duration::ZERO)?.is_none() {
            return Ok(None);
        }
        let mut turn = Self::begin(place, place.open()?, queue)?;
        turn.locks.patience = Duration::ZERO;
        Ok(Some(turn))
    }

    fn begin(place: &ListPaths, directory: Option<OwnedFd>, mut queue: Queue) -> Result<Self, StoreError> {
        reach("turn: entered");
        let is_new = directory.is_none();
        let directory = Arc::new(match directory {
            Some(directory) => directory,
            None => place.make()?,
        });
        // Another process may have bypassed us while we were suspended just now.
        let Some(state) = queue.turn_record(PATIENCE)? else { return Err(queue.held(PATIENCE)) };
        if state.busy {
            clear_dead_locks(directory.as_fd(), &queue.file).map_err(StoreError::io("cannot write", &queue.path))?;
        }
        client_lock::keep_turn(&queue.file);
        let taken = system::since_boot();
        let turn = Self {
            place: place.clone(),
            directory,
            state: TurnRecord {
                busy: true,
                is_past_queue: !queue.is_head,
                turns: state.turns + 1,
                clock_offset: if state.turns == 0 { system::wall() - taken } else { state.clock_offset },
                holder: client_lock::process(),
                // Only needed if the head of the queue does not tell who has the turn.
                holder_space: if queue.is_head { 0 } else { space_tag() },
                ..state
            },
            is_after_a_death: state.busy,
            is_new,
            locks: ClientLocks::default(),
            queue: Some(queue),
            seen_ours: Cell::new(taken),
        };
        turn.write_down(&[])?;
        reach("turn: taken");
        Ok(turn)
    }

    /// Returns whether the turn and every lock taken in it are still ours.
    pub(in crate::store) fn is_ours(&self) -> bool {
        self.is_mine() && self.locks.are_ours()
    }

    /// Returns whether the turn, the list's lock and that of one task are still ours. Locks we did not take are not
    /// checked.
    pub(in crate::store) fn is_ours_with(&self, lock_of_task: &CStr) -> bool {
        self.is_mine() && self.locks.are_ours_with(lock_of_task)
    }

    /// Returns whether no other process of ours has taken over the turn.
    pub(in crate::store) fn is_mine(&self) -> bool {
        let Some(queue) = &self.queue else { return false };
        let now = load(&queue.file).ok().flatten().unwrap_or_default();
        (now.turns, now.holder) == (self.state.turns, self.state.holder)
    }

    /// Returns whether we may still write the shared record. A turn that was ours a moment ago still is: no process
    /// takes one over within seconds, and the worst outcome is that files are checked once more.
    fn may_tell(&self) -> bool {
        let now = system::since_boot();
        if now - self.seen_ours.get() < A_MOMENT {
            return true;
        }
        let is_mine = self.is_mine();
        if is_mine {
            self.seen_ours.set(now);
        }
        is_mine
    }

    /// Writes the shared record, unless the turn is no longer ours: a writer that was suspended while its turn was
    /// taken over must not overwrite the newer record.
    pub(in crate::store) fn save(&mut self) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => {
                save(&queue.file, &self.state).map_err(StoreError::io("cannot write", &queue.path))
            }
            _ => Ok(()),
        }
    }

    /// Writes the record together with the locks that we hold or are about to create.
    pub(in crate::store) fn write_down(&self, held: &[HeldName]) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => {
                save_all(&queue.file, &self.state, held).map_err(StoreError::io("cannot write", &queue.path))
            }
            _ => Ok(()),
        }
    }

    /// Releases the client's locks.
    pub(in crate::store) fn unlock(&mut self) {
        self.unlock_tasks();
        self.unlock_list();
    }

    /// Releases the locks on single tasks.
    pub(in crate::store) fn unlock_tasks(&mut self) {
        for lock in self.locks.tasks.drain(..) {
            lock.remove();
            reach("task lock: given back");
        }
    }

    /// Releases the client's lock on the list.
    pub(in crate::store) fn unlock_list(&mut self) {
        if let Some(lock) = self.locks.list.take() {
            self.state.released = system::since_boot();
            self.state.held_for = self.state.released - self.locks.since;
            lock.remove();
            reach("list lock: given back");
        }
    }

    /// Ends the turn.
    pub(in crate::store) fn release(&mut self) {
        self.unlock();
        reach("turn: before giving back");
        // If the turn was taken over, another writer owns the record now.
        if self.state.busy && self.is_mine() {
            self.state.busy = false;
            // Remove the locks from the record: what is created in their place may get the same inode within the same
            // clock tick.
            let _ = self.write_down(&[]);
            reach("turn: given back");
        }
        self.queue = None;
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        self.release();
    }
}

/// How long to wait for the client's locks within a turn, before the turn is released.
pub(in crate::store) const PATIENCE_IN_TURN: Duration = Duration::from_millis(600);

/// The client's locks taken in a turn.
#[derive(Debug)]
pub(in crate::store) struct ClientLocks {
    /// How long to wait for rivals.
    pub(in crate::store) patience: Duration,
    /// Whether to keep the list's lock until everything is written out, because the decision depends on the whole list.
    pub(in crate::store) keeps_list: bool,
    /// A rival's lock on the list that we waited for in vain and will not wait for again.
    pub(in crate::store) passed_by: Option<Look>,
    pub(in crate::store) list: Option<Arc<Lock>>,
    pub(in crate::store) tasks: Vec<Arc<Lock>>,
    /// When the list's lock was taken.
    pub(in crate::store) since: i64,
}

impl Default for ClientLocks {
    fn default() -> Self {
        Self { patience: PATIENCE_IN_TURN, keeps_list: false, passed_by: None, list: None, tasks: Vec::new(), since: 0 }
    }
}

impl ClientLocks {
    /// Returns whether every lock is still the one we created.
    pub(in crate::store) fn are_ours(&self) -> bool {
        self.all().all(|lock| lock.is_ours())
    }

    /// Returns whether the locks on the list and one task are still the ones we created. Locks we did not take are not
    /// checked.
    pub(in crate::store) fn are_ours_with(&self, lock_of_task: &CStr) -> bool {
        let of_task = self.tasks.iter().find(|lock| lock.name() == lock_of_task);
        self.list.iter().chain(of_task).all(|lock| lock.is_ours())
    }

    /// Returns whether the list's lock is among them.
    pub(in crate::store) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Lock>> {
        self.list.iter().chain(&self.tasks)
    }

    pub(in crate::store) fn held(&self) -> Vec<HeldName> {
        let held = |lock: &Arc<Lock>| HeldName {
            name: lock.name().to_string_lossy().into_owned(),
            inode: lock.inode,
            born: lock.born,
        };
        self.all().map(held).collect()
    }
}

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
    use super::{
        A_MOMENT, HeldName, TurnRecord, WriteTurn, load, load_held, load_or_new, open, save, save_all, save_applied,
        save_held,
    };
    use crate::store::StoreError;
    use crate::store::locks::list_paths::ListPaths;

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
    fn resumed_writer_never_overwrites_a_newer_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let mut turn = WriteTurn::take(&ListPaths::of_file(folder.path().to_owned(), "7.json"), &path).unwrap();
        // The writer was suspended, and another one took the turn.
        turn.seen_ours.set(turn.seen_ours.get() - A_MOMENT);
        let newer = TurnRecord { turns: turn.state.turns + 1, ..turn.state };
        let file = open(&path).unwrap();
        save(&file, &newer).unwrap();
        for attempt in 0..2 {
            turn.save().unwrap();
            turn.write_down(&[]).unwrap();
            assert_eq!(load(&file).unwrap(), Some(newer), "attempt {attempt}");
        }
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

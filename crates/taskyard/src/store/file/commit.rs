//! The commit of file-backed lists: everything staged is applied, or nothing is.
//!
//! The steps are, in order: write the temporary files, write the journal rows, take the client's locks, verify
//! everything again, end the journal transaction (from here on the commit exists), rename and remove files, release the
//! locks, and mark the commit as applied. `docs/design/commit.md` explains this order.
//!
//! A [`Plan`] describes the file operations of a commit and the locks they need.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, openat};
use rustix::io::Errno;
use taskyard_core::rules::changes::numbering::highest;
use taskyard_core::{Entry, Event, Image, Op, Remark, Revision, TaskId, Timestamp};

use crate::failpoint::reach;
use crate::store::engine::Alongside;
use crate::store::file::marks::{mark_applied, raise_mark};
use crate::store::file::reading::files;
use crate::store::file::reading::files::Contents;
use crate::store::file::reading::observe::journal_outside_changes;
use crate::store::file::txn::{FileTxn, Staged};
use crate::store::file::{flush, recovery};
use crate::store::journal::{Journal, Known, NewEntry};
use crate::store::list_directories::rename_to_new;
use crate::store::locks::client_locking::{Ready, Waiting, Wanted};
use crate::store::locks::list_paths::{Look, file_name, lock_name};
use crate::store::locks::queue::PATIENCE;
use crate::store::locks::turn::WriteTurn;
use crate::store::{Signature, StoreError, engine};
use crate::system;

/// Number of attempts to take the locks as the last step before the commit exists; this succeeds if no other program
/// holds them.
const EAGER_ATTEMPTS: u32 = 3;
/// How long a claim waits for the holder of the list's lock, which the claim itself does not need: nearly as long as
/// the client waits for a lock.
const COURTESY: Duration = Duration::from_millis(2500);
/// How long a written claim waits for a program that took the list's lock in the meantime: longer than the lock of a
/// dead holder stays valid.
const UNTIL_DECIDED: Duration = PATIENCE;

/// Applies everything staged.
pub(in crate::store) fn commit(mut txn: FileTxn, signature: &Signature) -> Result<Option<Event>, StoreError> {
    if let Some(plan) = prepare(&mut txn)? {
        return engine::commit(txn, plan, signature).map(Some);
    }
    if let Some(leases) = txn.settled_leases(std::iter::empty())? {
        engine::commit_leases(txn, &leases)?;
    }
    Ok(None)
}

/// Writes a journaled commit to the files, and returns when it is durable. If tasks had to be renumbered, updates the
/// event accordingly.
pub(in crate::store) fn carry_out(mut txn: FileTxn, plan: &Plan, event: &mut Event) -> Result<(), StoreError> {
    match lock_names(&mut txn.turn, plan).and_then(|()| apply(&mut txn.turn, plan)) {
        Ok(()) => {
            txn.turn.unlock();
            reach("applied: before");
            mark_applied(&mut txn.turn, event.revision)?;
            reach("applied: marked");
            let contested = contested(&txn.turn, event);
            txn.turn.release();
            wait_until_decided(&txn.turn, contested);
        }
        Err(hindrance) => *event = finish_by_the_journal(&mut txn, event, hindrance)?,
    }
    for write in &plan.writes {
        put_overwritten_back(&txn, write)?;
    }
    if !plan.can_be_halved() {
        txn.sync()?;
    }
    flush::flush_what_is_old(&txn.handle, txn.journal(), plan.length());
    txn.journal().copy_log();
    Ok(())
}

/// Writes the commit to the journal under the locks it needs. From then on it exists.
pub(in crate::store) fn write_journal(
    txn: &mut FileTxn,
    plan: &mut Plan,
    signature: &Signature,
) -> Result<Event, StoreError> {
    let (started, wanted) = (Instant::now(), plan.locks_to_commit());
    if plan.needs_list_lock() && !wanted.list {
        // This lock will be needed as soon as the commit exists, so wait now in case another program holds it for long.
        if let Some((lock, _)) = txn.turn.list_lock_of_others() {
            txn.turn.wait_until_free(&lock, started)?;
        }
    }
    for _ in 0..EAGER_ATTEMPTS {
        let ready = txn.turn.ready(&wanted)?;
        match write_entries(txn, plan, signature, Some(ready), Alongside::default())? {
            Written::Exists(event) => return Ok(event),
            Written::StaleWrites => return Err(StoreError::Conflict { task: plan.writes[0].id.clone() }),
            Written::Held { lock, is_ours_to_take: true } => txn.turn.wait_until_free(&lock, started)?,
            Written::Held { lock, .. } => {
                let patience = COURTESY.saturating_sub(started.elapsed());
                if lock.wait_until_free(&txn.turn.directory, patience).is_err() {
                    // We do not wait any longer for this holder, and neither would the client.
                    txn.turn.locks.passed_by = txn.turn.list_lock_of_others().map(|(_, look)| look);
                    break;
                }
            }
        }
    }
    // If many agents want the same task, the one that is ready takes the lock first.
    let keeps_others_out = signature.op == Op::Claim && txn.turn.locks.passed_by.is_none();
    txn.turn.locks.keeps_list |= keeps_others_out;
    txn.turn.lock(&Wanted { list: wanted.list || keeps_others_out, ..wanted })?;
    write_locked(txn, plan, signature, Alongside::default())
}

/// Writes a commit to the journal while already holding its locks.
pub(in crate::store) fn write_locked(
    txn: &mut FileTxn,
    plan: &mut Plan,
    signature: &Signature,
    with: Alongside<'_>,
) -> Result<Event, StoreError> {
    match write_entries(txn, plan, signature, None, with)? {
        Written::Exists(event) => Ok(event),
        Written::Held { .. } | Written::StaleWrites => Err(StoreError::Conflict { task: plan.writes[0].id.clone() }),
    }
}

/// The result of writing a commit to the journal.
enum Written {
    /// The commit exists.
    Exists(Event),
    /// The commit does not exist. Changes by other programs were recorded instead: a stale write over one of our
    /// changes, or the end of a lease. The decision was based on outdated contents and must be made again.
    StaleWrites,
    /// The commit does not exist: another program holds this lock.
    Held {
        lock: Waiting,
        /// Whether the commit needs the lock; otherwise it only waits for the holder to finish.
        is_ours_to_take: bool,
    },
}

/// Writes the rows, takes the locks that are ready and verifies again. While other programs wait for these locks,
/// nothing else is done but this check, the end of the transaction and the renames.
fn write_entries(
    txn: &mut FileTxn,
    plan: &mut Plan,
    signature: &Signature,
    locks: Option<Ready>,
    Alongside { former, with }: Alongside<'_>,
) -> Result<Written, StoreError> {
    let at = system::now();
    let after = plan.writes.iter().map(|write| (&write.id, write.after.as_ref().map(|after| &after.image)));
    let leases = txn.settled_leases(after)?;
    let journal = txn.journal.as_ref().expect("the journal is there until the transaction ends");
    reach("journal: before");
    let transaction = journal.begin()?;
    reach("journal: open");
    if !journal.stands_as(&txn.standing)? {
        // Another Taskyard process had a turn since we read: our turn was taken over.
        return Err(StoreError::Conflict { task: plan.writes[0].id.clone() });
    }
    let next = match former {
        Some(former) => journal.go_on_from(former)?.next(),
        None => txn.standing.newest.next(),
    };
    let seen_elsewhere = journal_outside_changes(journal, &txn.turn.place, plan.writes.iter().map(found), next, at)?;
    let revision = match seen_elsewhere {
        None => next,
        Some(recorded) if !recorded.changes_judgement() => next.next(),
        Some(recorded) => {
            for write in &plan.writes {
                remember_found(journal, write, at)?;
            }
            // The sequence is odd while the journal is ahead of what is marked as applied, even though no file will
            // change.
            txn.turn.state.sequence |= 1;
            txn.turn.save()?;
            let ended = journal.end(transaction);
            if ended.is_ok() {
                txn.turn.state.applied = next.0;
            }
            txn.turn.state.sequence += 1;
            txn.turn.save()?;
            ended?;
            txn.handle.journals.note_stale_writes(recorded.stale_writes);
            return Ok(Written::StaleWrites);
        }
    };
    let entries: Vec<NewEntry<'_>> = plan.writes.iter().map(|write| new_entry(write, signature.op)).collect();
    journal.append(revision, at, signature, &entries)?;
    drop(entries);
    for write in &plan.writes {
        remember(journal, write, at)?;
    }
    if let Some(leases) = leases {
        journal.write_leases(&leases)?;
    }
    with.map_or(Ok(()), |with| with(journal))?;
    reach("journal: rows written");
    let is_eager = locks.is_some();
    if let Some(lock) = locks.map(|ready| txn.turn.try_lock(ready)).transpose()?.flatten() {
        return Ok(Written::Held { lock, is_ours_to_take: true });
    }
    let has_new = plan.writes.iter().any(|write| write.before.is_none());
    if let Err(error) = verify(&txn.turn, plan, signature.op == Op::Claim) {
        if has_new {
            txn.handle.files.crowding.fetch_add(1, Ordering::Relaxed);
        }
        return Err(error);
    }
    if has_new {
        txn.handle.files.crowding.store(0, Ordering::Relaxed);
    }
    if !txn.are_numbers_unused() || !txn.turn.is_ours() {
        return Err(StoreError::Conflict { task: plan.writes[0].id.clone() });
    }
    if is_eager
        && signature.op == Op::Claim
        && let Some((lock, _)) = txn.turn.list_lock_of_others()
    {
        txn.turn.unlock();
        return Ok(Written::Held { lock, is_ours_to_take: false });
    }
    reach("journal: looked again");
    // The sequence is odd from before the commit exists until every file is written, so that no reader sees half of it.
    txn.turn.state.sequence |= 1;
    txn.turn.save()?;
    if let Err(error) = journal.end(transaction) {
        txn.turn.state.sequence += 1;
        txn.turn.save()?;
        return Err(error);
    }
    reach("journal: written");
    Ok(Written::Exists(event(txn, plan, revision, at, signature)))
}

/// Returns the list's lock if another program held it while a claim was written. The client makes a claim that checks
/// whether the agent is idle under this lock alone, and may have decided before ours became visible.
fn contested(turn: &WriteTurn, event: &Event) -> Option<Waiting> {
    let is_claim = event.entries.first().is_some_and(|entry| entry.op == Op::Claim);
    let (lock, look) = is_claim.then(|| turn.list_lock_of_others()).flatten()?;
    let was_passed_by = turn.locks.passed_by.is_some_and(|passed| passed.is_same_file(&look));
    (!was_passed_by).then_some(lock)
}

/// Waits until the program that held the list's lock during a claim has released it, so that the file shows who won. A
/// holder that has not refreshed its lock within the lock's lifetime has lost.
fn wait_until_decided(turn: &WriteTurn, contested: Option<Waiting>) {
    if let Some(lock) = contested {
        let _ = lock.wait_until_free(&turn.directory, UNTIL_DECIDED);
    }
}

/// Restores what another program wrote to a claimed file between our last check and our rename. A claim that checks
/// whether its agent is idle holds no lock on the task, and its program was told that it won, so the file must say so:
/// as if that write had come a moment later.
fn put_overwritten_back(txn: &FileTxn, write: &Write) -> Result<(), StoreError> {
    let (Some(file), Some((before, _)), Some(after)) = (&write.replaced, &write.before, &write.after) else {
        return Ok(());
    };
    let failed = || StoreError::io("cannot read", txn.turn.place.task_file(&write.id));
    let Some(theirs) = files::rewritten(file, before).map_err(failed())? else { return Ok(()) };
    if theirs.task(&write.id).is_err() {
        return Ok(());
    }
    let (mut turn, journal) = txn.handle.take_turn_again()?;
    turn.lock_tasks(std::slice::from_ref(&write.id))?;
    let (name, look) = files::find(&turn.place, turn.directory.as_fd(), &write.id).map_err(failed())?;
    if look.is_some_and(|look| look.print.inode == after.look.print.inode) {
        files::replace(turn.directory.as_fd(), &name, theirs.bytes()).map_err(failed())?;
        reach("overwritten: put back");
    }
    turn.release();
    txn.handle.give_back(journal);
    Ok(())
}

/// Returns the previous contents of a file that is to be changed, and its modification time.
fn found(write: &Write) -> (&TaskId, Option<&Image>, Option<i64>) {
    let before = write.before.as_ref();
    (&write.id, before.map(|(image, _)| image), before.map(|(_, look)| look.print.mtime))
}

/// Records the contents of a file that is not changed after all.
fn remember_found(journal: &Journal, write: &Write, at: Timestamp) -> Result<(), StoreError> {
    let Some((image, look)) = &write.before else { return journal.forget(&write.id) };
    let known = Known { print: look.print, seen: at.0 * 1_000_000, image: image.clone(), mode: Some(look.mode) };
    journal.set_known(&write.id, &known)
}

fn new_entry(write: &Write, op: Op) -> NewEntry<'_> {
    NewEntry {
        task: &write.id,
        op,
        before: write.before.as_ref().map(|(image, _)| image),
        after: write.after.as_ref().map(|after| &after.image),
        inode: match (&write.after, &write.before) {
            (Some(after), _) => Some(after.look.print.inode),
            (None, before) => before.as_ref().map(|(_, look)| look.print.inode),
        },
        mode: write.before.as_ref().map(|(_, look)| look.mode),
    }
}

fn remember(journal: &Journal, write: &Write, at: Timestamp) -> Result<(), StoreError> {
    match &write.after {
        None => journal.forget(&write.id),
        Some(after) => {
            let known = Known {
                print: after.look.print,
                seen: at.0 * 1_000_000,
                image: after.image.clone(),
                mode: Some(after.look.mode),
            };
            journal.set_known(&write.id, &known)
        }
    }
}

fn event(txn: &FileTxn, plan: &Plan, revision: Revision, at: Timestamp, signature: &Signature) -> Event {
    let entries = plan.writes.iter().enumerate().map(|(place, write)| Entry {
        revision,
        at,
        actor: signature.actor.clone(),
        op: signature.op,
        task: write.id.clone(),
        before: write.before.as_ref().map(|(image, _)| image.clone()),
        after: write.after.as_ref().map(|after| after.image.clone()),
        undoes: signature.undoes.clone(),
        remark: if place == 0 { signature.remark.clone() } else { Remark::default() },
        attempt: (place == 0).then_some(signature.attempt),
        db_user: None,
    });
    Event { list: txn.handle.list.clone(), revision, entries: entries.collect() }
}

/// Finishes a commit that could not be applied directly, and returns its actual outcome.
fn finish_by_the_journal(txn: &mut FileTxn, event: &Event, hindrance: Hindrance) -> Result<Event, StoreError> {
    txn.turn.release();
    match hindrance {
        Hindrance::Failed(error) => return Err(error),
        Hindrance::Changed | Hindrance::LockLost => {}
    }
    let (mut turn, journal) = txn.handle.take_turn_again()?;
    turn.locks.passed_by = txn.turn.locks.passed_by;
    let contested = contested(&turn, event);
    turn.release();
    txn.handle.give_back(journal);
    wait_until_decided(&turn, contested);
    recovery::as_it_became(txn.journal(), event.clone())
}

/// Why a commit could not be applied directly.
pub(in crate::store) enum Hindrance {
    /// The lock was taken over, because this process was suspended.
    LockLost,
    /// Another program wrote one of the files without taking its lock.
    Changed,
    /// A system call failed.
    Failed(StoreError),
}

/// Takes the list's lock if the plan needs it and it is not held yet.
pub(in crate::store) fn lock_names(turn: &mut WriteTurn, plan: &Plan) -> Result<(), Hindrance> {
    if !plan.needs_list_lock() || turn.locks.has_list() {
        return Ok(());
    }
    turn.lock_list().map_err(|error| match error {
        StoreError::Busy { .. } | StoreError::NoLock { .. } | StoreError::Conflict { .. } => Hindrance::LockLost,
        error => Hindrance::Failed(error),
    })
}

/// Applies the plan to the files. Before each step, checks that the locks are still held and that the file is still the
/// one that was read.
pub(in crate::store) fn apply(turn: &mut WriteTurn, plan: &Plan) -> Result<(), Hindrance> {
    if let Some(mark) = plan.raise_mark_to.filter(|mark| *mark > files::mark(&turn.place.directory)) {
        reach("mark: before");
        if !turn.is_ours() {
            return Err(Hindrance::LockLost);
        }
        raise_mark(turn, mark).map_err(|error| match error {
            // The process that took over our turn removed the temporary file.
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Hindrance::LockLost,
            error => Hindrance::Failed(error),
        })?;
        reach("mark: raised");
    }
    // New names come first. Replacing a file can take a while, and other programs that create a task need not wait for
    // that.
    let is_new_name = |write: &Write| write.before.is_none();
    let (new, others) = plan.writes.split_at(plan.writes.partition_point(is_new_name));
    for write in new {
        apply_one(turn, write)?;
    }
    if !plan.is_reset && !turn.locks.keeps_list {
        turn.unlock_list();
    }
    for write in others {
        apply_one(turn, write)?;
    }
    Ok(())
}

fn apply_one(turn: &WriteTurn, write: &Write) -> Result<(), Hindrance> {
    let directory = turn.directory.as_fd();
    let failed =
        |doing, source: io::Error| Hindrance::Failed(StoreError::io(doing, turn.place.task_file(&write.id))(source));
    reach("file: before");
    if !turn.is_ours_with(&lock_name(&format!("{}.json", write.id.file_stem()))) {
        return Err(Hindrance::LockLost);
    }
    let (name, look) = files::find(&turn.place, directory, &write.id).map_err(|_| Hindrance::Changed)?;
    let print = look.map(|look| look.print);
    if print != write.before.as_ref().map(|(_, look)| look.print) {
        return Err(Hindrance::Changed);
    }
    reach("file: looked");
    match (&write.before, &write.after) {
        (None, Some(after)) => {
            rename_to_new(directory, &*after.temporary, &*name).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Hindrance::Changed,
                _ => failed("cannot rename to", error),
            })?;
        }
        (Some(_), Some(after)) => match rustix::fs::renameat(directory, &*after.temporary, directory, &*name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Hindrance::Changed),
            Err(error) => return Err(failed("cannot rename to", error.into())),
        },
        // There is nothing to remove; a file that appears at this moment belongs to another program.
        (None, None) => {}
        (Some(_), None) => match rustix::fs::unlinkat(directory, &*name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed("cannot remove", error.into())),
        },
    }
    reach("file: done");
    Ok(())
}

/// Above this number of removals, files to be removed are not locked one by one.
const MANY: usize = 256;

/// The file operations of a commit, ready to be carried out.
#[derive(Debug)]
pub(in crate::store) struct Plan {
    pub(in crate::store) writes: Vec<Write>,
    /// The value that `.highwatermark` must have before a file is removed.
    pub(in crate::store) raise_mark_to: Option<f64>,
    locked: Vec<TaskId>,
    /// Hidden tasks that become visible again.
    shown: Vec<TaskId>,
    /// Whether this is what the client calls a reset.
    pub(in crate::store) is_reset: bool,
}

impl Plan {
    /// Returns whether the list's lock is needed: for new names, for the high-water mark and for a reset. The client
    /// does everything else under the locks of single tasks, or without locks.
    pub(in crate::store) fn needs_list_lock(&self) -> bool {
        let is_new_name = |write: &Write| write.before.is_none() && write.after.is_some();
        self.is_reset || self.raise_mark_to.is_some() || !self.shown.is_empty() || self.writes.iter().any(is_new_name)
    }

    /// Returns whether a power loss could leave the plan half applied, so that the journal must be flushed before the
    /// first file is touched.
    pub(in crate::store) fn can_be_halved(&self) -> bool {
        self.writes.len() > 1
    }

    /// Returns the number of bytes to be written to files.
    pub(in crate::store) fn length(&self) -> u64 {
        self.writes.iter().filter_map(|write| write.after.as_ref()).map(|after| after.image.bytes().len() as u64).sum()
    }

    /// Returns the locks to take before the commit exists. No other program has to wait for a flush while we hold the
    /// list's lock: a change of several files takes this lock after the journal has reached the disk.
    pub(in crate::store) fn locks_to_commit(&self) -> Wanted {
        let list = self.needs_list_lock() && (!self.can_be_halved() || !self.shown.is_empty());
        Wanted { list, tasks: self.locked.clone() }
    }
}

/// The operation on one file.
#[derive(Debug)]
pub(in crate::store) struct Write {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) before: Option<(Image, Look)>,
    pub(in crate::store) after: Option<After>,
    /// The replaced file, kept open if the caller wants to know what was last written to it.
    pub(in crate::store) replaced: Option<File>,
}

/// The new contents of a file, already written to a temporary file.
#[derive(Debug)]
pub(in crate::store) struct After {
    pub(in crate::store) image: Image,
    pub(in crate::store) temporary: CString,
    pub(in crate::store) look: Look,
}

/// Writes the temporary files without holding any of the client's locks. Returns `None` if nothing would change.
pub(in crate::store) fn prepare(txn: &mut FileTxn) -> Result<Option<Plan>, StoreError> {
    let staged: Vec<_> = std::mem::take(&mut txn.staged).into_iter().filter(|(_, staged)| staged.is_change()).collect();
    let directory = Arc::clone(&txn.turn.directory);
    if txn.needs_lock_file {
        make_lock_file(directory.as_fd())
            .map_err(StoreError::io("cannot create", txn.turn.place.directory.join(".lock")))?;
    }
    if staged.is_empty() {
        return Ok(None);
    }
    // The client locks files that it rewrites but not files that it removes. We lock both, unless that would take
    // longer than it waits.
    let with_removals = staged.len() <= MANY;
    let is_locked = |staged: &Staged| staged.before.is_some() && (with_removals || staged.after.is_some());
    let locked: Vec<TaskId> = staged.iter().filter(|(_, staged)| is_locked(staged)).map(|(id, _)| id.clone()).collect();
    let removed = staged.iter().filter(|(_, staged)| staged.after.is_none()).map(|(id, _)| id.as_str());
    let raise_mark_to =
        Some(highest(removed)).filter(|highest| *highest > 0.0 && *highest > files::mark(&txn.turn.place.directory));
    let (writes, shown, is_reset) = (Vec::with_capacity(staged.len()), Vec::new(), txn.is_reset);
    let mut plan = Plan { writes, raise_mark_to, locked, shown, is_reset };
    for (id, staged) in staged {
        let prepared = prepare_one(&txn.turn, directory.as_fd(), id, staged);
        match prepared {
            Ok(write) => {
                plan.shown.extend(is_to_be_shown(&txn.turn, &write)?.then(|| write.id.clone()));
                plan.writes.push(write);
            }
            Err(error) => {
                discard(&txn.turn, &plan);
                return Err(error);
            }
        }
    }
    // New files come first: if one's name is taken, nothing refers to it yet. Removals come last.
    plan.writes.sort_by_key(|write| (write.before.is_some(), write.after.is_none()));
    reach("temporary files: written");
    Ok(Some(plan))
}

fn prepare_one(turn: &WriteTurn, directory: BorrowedFd<'_>, id: TaskId, staged: Staged) -> Result<Write, StoreError> {
    let Staged { before, after, former_mode, .. } = staged;
    let path = || turn.place.task_file(&id);
    reach("temporary file: before");
    let mode = before.as_ref().map(|(_, look)| look.mode).or(former_mode);
    let after = after
        .map(|image| {
            let (temporary, look) = files::write_temporary(directory, &image, mode)?;
            reach("temporary file: written");
            Ok(After { image, temporary, look })
        })
        .transpose()
        .map_err(StoreError::io("cannot write", path()))?;
    Ok(Write { id, before, after, replaced: None })
}

/// Returns whether a completed, hidden task is open again, so that every program has to see it.
fn is_to_be_shown(turn: &WriteTurn, write: &Write) -> Result<bool, StoreError> {
    let is_open = |after: &After| after.image.task(&write.id).is_ok_and(|task| task.status.is_open());
    if write.before.is_none() || !write.after.as_ref().is_some_and(is_open) {
        return Ok(false);
    }
    let found = files::find(&turn.place, turn.directory.as_fd(), &write.id);
    let (name, _) = found.map_err(StoreError::io("cannot look at", turn.place.task_file(&write.id)))?;
    Ok(name != file_name(&write.id))
}

/// Verifies, with the locks held, that everything is still as it was when the decision was made. Keeps the files open
/// if `keeps_files`.
pub(in crate::store) fn verify(turn: &WriteTurn, plan: &mut Plan, keeps_files: bool) -> Result<(), StoreError> {
    let directory = turn.directory.as_fd();
    for write in &mut plan.writes {
        let path = || turn.place.task_file(&write.id);
        let (now, file) =
            files::read_and_keep(&turn.place, directory, &write.id).map_err(StoreError::io("cannot read", path()))?;
        write.replaced = file.filter(|_| keeps_files);
        match (&mut write.before, &now) {
            (None, Contents::Missing) => {}
            (Some((image, look)), now) if now.image().is_some_and(|(found, now)| is_same(image, look, found, now)) => {
                // The file may have been touched.
                *look = now.image().map_or(*look, |(_, now)| *now);
            }
            _ => return Err(StoreError::Conflict { task: write.id.clone() }),
        }
    }
    for id in &plan.shown {
        // This is safe whatever the outcome of the commit: a completed task may become visible again.
        files::unhide(&turn.place, directory, id)
            .map_err(StoreError::io("cannot rename to", turn.place.task_file(id)))?;
    }
    Ok(())
}

/// Returns whether a file is the one that was read. The journal records its inode and mode.
fn is_same(image: &Image, look: &Look, found: &Image, now: &Look) -> bool {
    image == found && (look.print.inode, look.mode) == (now.print.inode, now.mode)
}

/// Removes the temporary files of a commit that does not happen.
pub(in crate::store) fn discard(turn: &WriteTurn, plan: &Plan) {
    for after in plan.writes.iter().filter_map(|write| write.after.as_ref()) {
        let _ = rustix::fs::unlinkat(&*turn.directory, &*after.temporary, AtFlags::empty());
    }
}

fn make_lock_file(directory: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    match openat(directory, c".lock", flags, Mode::from_raw_mode(0o666)) {
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

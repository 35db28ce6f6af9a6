//! The commit: everything staged happens, or nothing does.
//!
//! In order: the temporary files (`plan.rs`), the journal's rows, the client's locks, a second look at everything, the end of the
//! journal's transaction (from here on the commit exists), the renames and removals, the locks given back, the mark that all was written
//! out. `docs/design/commit.md` says why in this order.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use taskyard_core::{Entry, Event, Image, Op, Remark, Revision, TaskId, Timestamp};

use super::plan::{self, Plan, Write};
use super::txn::FileTxn;
use crate::clock;
use crate::failpoint::reach;
use crate::store::engine::{self, Alongside};
use crate::store::file::flush;
use crate::store::file::marks::{mark_applied, raise_mark};
use crate::store::file::reading::observe::journal_outside_changes;
use crate::store::file::reading::{files, numbers};
use crate::store::file::recovery::repair;
use crate::store::journal::{Journal, Known, NewEntry};
use crate::store::locks::client_locking::{Ready, Waiting, Wanted};
use crate::store::locks::list_paths::lock_name;
use crate::store::locks::queue::PATIENCE;
use crate::store::locks::turn::WriteTurn;
use crate::store::new_name::rename_to_new;
use crate::store::{Signature, StoreError};

/// How often the locks are taken as the last thing before the commit exists, which works where no rival holds them.
const EAGER_ATTEMPTS: u32 = 3;
/// How long a claim lets the holder of the list's lock finish, which it does not need itself: nearly as long as the client waits for a lock.
const COURTESY: Duration = Duration::from_millis(2500);
/// How long a claim that was written out waits for who took the list's lock meanwhile: longer than a dead holder's lock lives.
const UNTIL_DECIDED: Duration = PATIENCE;

/// Makes everything staged happen.
pub(in crate::store) fn commit(mut txn: FileTxn, signature: &Signature) -> Result<Option<Event>, StoreError> {
    if let Some(plan) = plan::prepare(&mut txn)? {
        return engine::commit(txn, plan, signature).map(Some);
    }
    if let Some(leases) = txn.settled_leases(std::iter::empty())? {
        engine::commit_leases(txn, &leases)?;
    }
    Ok(None)
}

/// Writes a journaled commit out to the files, and returns when it will survive anything. Should tasks have got other numbers on the way,
/// the event has them.
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

/// Writes the commit into the journal, under the locks it needs: the moment it exists.
pub(in crate::store) fn write_journal(
    txn: &mut FileTxn,
    plan: &mut Plan,
    signature: &Signature,
) -> Result<Event, StoreError> {
    let (started, wanted) = (Instant::now(), plan.locks_to_commit());
    if plan.needs_list_lock() && !wanted.list {
        // It will be needed as soon as the commit exists. We wait now for a rival that keeps it for long.
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
                    // We do not wait for a rival that keeps the list locked for so long, nor would the client.
                    txn.turn.locks.passed_by = txn.turn.list_lock_of_others().map(|(_, look)| look);
                    break;
                }
            }
        }
    }
    // Where many want the same task, the agent that is ready takes it first.
    let keeps_others_out = signature.op == Op::Claim && txn.turn.locks.passed_by.is_none();
    txn.turn.locks.keeps_list |= keeps_others_out;
    txn.turn.lock(&Wanted { list: wanted.list || keeps_others_out, ..wanted })?;
    write_locked(txn, plan, signature, Alongside::default())
}

/// Writes a commit into the journal whose locks we have.
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

/// What came of writing a commit into the journal.
enum Written {
    /// It exists.
    Exists(Event),
    /// It does not, and what other programs did was written instead: they overwrote one of our changes without knowing it, or
    /// ended a lease. The judgement was made on what they left there, and has to be made again.
    StaleWrites,
    /// It does not: a rival holds this lock.
    Held {
        lock: Waiting,
        /// Whether the commit needs the lock; else it only lets its holder finish.
        is_ours_to_take: bool,
    },
}

/// Writes the rows, takes the locks that are ready, and looks again. While rivals wait for those, nothing is done but that look, the end of
/// the transaction and the renames.
fn write_entries(
    txn: &mut FileTxn,
    plan: &mut Plan,
    signature: &Signature,
    locks: Option<Ready>,
    Alongside { former, with }: Alongside<'_>,
) -> Result<Written, StoreError> {
    let at = clock::now();
    let after = plan.writes.iter().map(|write| (&write.id, write.after.as_ref().map(|after| &after.image)));
    let leases = txn.settled_leases(after)?;
    let journal = txn.journal.as_ref().expect("the journal is there until the transaction ends");
    reach("journal: before");
    let transaction = journal.begin()?;
    reach("journal: open");
    if !journal.stands_as(&txn.standing)? {
        // A writer of ours had a turn since we read: ours was taken over.
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
            // Odd while the journal is ahead of what is marked as written out, though no file is to change.
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
    if let Err(error) = plan::verify(&txn.turn, plan, signature.op == Op::Claim) {
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
    // Odd from before the commit exists until it is in every file, so that no reader shows half of it.
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

/// Returns the list's lock where a claim was written out while a rival held it: a claim that asks whether the agent is idle is made under
/// that lock alone, and may have been decided before ours was to be seen.
fn contested(turn: &WriteTurn, event: &Event) -> Option<Waiting> {
    let is_claim = event.entries.first().is_some_and(|entry| entry.op == Op::Claim);
    let (lock, look) = is_claim.then(|| turn.list_lock_of_others()).flatten()?;
    let was_passed_by = turn.locks.passed_by.is_some_and(|passed| passed.is_same_file(&look));
    (!was_passed_by).then_some(lock)
}

/// Waits until the rival that held the list's lock while a claim was written out has let go of it, so that the file says who won. A holder
/// that shows no sign of life for as long as a lock lives has lost.
fn wait_until_decided(turn: &WriteTurn, contested: Option<Waiting>) {
    if let Some(lock) = contested {
        let _ = lock.wait_until_free(&turn.directory, UNTIL_DECIDED);
    }
}

/// Puts back what a rival wrote to a claimed file between our last look at it and our rename. A claim that asks whether its agent is idle
/// holds no lock on the task, and its program was told that it won, so the file has to say so: as if it had been written a moment later.
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

/// Returns what a file that is to be changed holds, and when it was written.
fn found(write: &Write) -> (&TaskId, Option<&Image>, Option<i64>) {
    let before = write.before.as_ref();
    (&write.id, before.map(|(image, _)| image), before.map(|(_, look)| look.print.mtime))
}

/// Remembers what a file holds that is not changed after all.
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

/// Finishes a commit whose straight way was barred, and returns it as it became.
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
    repair::as_it_became(txn.journal(), event.clone())
}

/// Why the files could not be written out in the straight way.
pub(in crate::store) enum Hindrance {
    /// The lock was taken over while we slept.
    LockLost,
    /// Another program wrote one of the files without asking for its lock.
    Changed,
    /// The system refused.
    Failed(StoreError),
}

/// Takes the list's lock where names are new or the mark is to be raised, and it was not taken before.
pub(in crate::store) fn lock_names(turn: &mut WriteTurn, plan: &Plan) -> Result<(), Hindrance> {
    if !plan.needs_list_lock() || turn.locks.has_list() {
        return Ok(());
    }
    turn.lock_list().map_err(|error| match error {
        StoreError::Busy { .. } | StoreError::NoLock { .. } | StoreError::Conflict { .. } => Hindrance::LockLost,
        error => Hindrance::Failed(error),
    })
}

/// Writes the files out, each time first looking that the locks are still ours and the file is still the one we read.
pub(in crate::store) fn apply(turn: &mut WriteTurn, plan: &Plan) -> Result<(), Hindrance> {
    if let Some(mark) = plan.raise_mark_to.filter(|mark| *mark > numbers::mark(&turn.place.directory)) {
        reach("mark: before");
        if !turn.is_ours() {
            return Err(Hindrance::LockLost);
        }
        raise_mark(turn, mark).map_err(|error| match error {
            // The process that took the turn from us cleared the temporary file away.
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Hindrance::LockLost,
            error => Hindrance::Failed(error),
        })?;
        reach("mark: raised");
    }
    // New names come first. Replacing a file may take its time, and no rival that creates a task has to wait for that.
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
        // There is nothing to remove, and what comes to be there in this instant is another program's.
        (None, None) => {}
        (Some(_), None) => match rustix::fs::unlinkat(directory, &*name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed("cannot remove", error.into())),
        },
    }
    reach("file: done");
    Ok(())
}

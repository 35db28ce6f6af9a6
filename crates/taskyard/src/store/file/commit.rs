//! The commit: everything staged happens, or nothing does.
//!
//! In order: the locks of the tasks, a second look at them, the temporary files (`plan.rs`), the journal (from here on the
//! commit exists), the renames and removals (`applying.rs`), the mark that all was written out. `docs/design/commit.md` says
//! why in this order.

use std::io;
use std::time::Instant;

use taskyard_core::{Entry, Event, Image, Op, Remark, Revision, TaskId, Timestamp};

use super::applying::{self, Hindrance};
use super::failpoint::reach;
use super::plan::{self, Plan, Write};
use super::queue::PATIENCE;
use super::turn::Turn;
use super::txn::FileTxn;
use super::{flush, repair};
use crate::clock;
use crate::store::sidecar::{Extent, Journal, Known, NewEntry, OutsideChange};
use crate::store::{Signature, StaleWrite, StoreError};

/// Makes everything staged happen.
pub(super) fn commit(mut txn: FileTxn, signature: &Signature) -> Result<Option<Event>, StoreError> {
    match plan::prepare(&mut txn)? {
        Some(plan) => commit_plan(txn, &plan, signature).map(Some),
        None => commit_leases(txn).map(|()| None),
    }
}

/// Makes what was staged of leases happen where no task changes.
fn commit_leases(mut txn: FileTxn) -> Result<(), StoreError> {
    let Some(leases) = txn.settled_leases(std::iter::empty())? else { return Ok(()) };
    let journal = txn.journal();
    let transaction = journal.begin()?;
    reach("journal: open");
    if journal.standing()? != txn.standing {
        let task = leases.changed().keys().next().cloned();
        return Err(StoreError::Conflict { task: task.unwrap_or_else(|| TaskId::number(0)) });
    }
    journal.write_leases(&leases)?;
    journal.end(transaction)?;
    txn.turn.release();
    txn.sync()?;
    txn.journal().copy_log();
    Ok(())
}

/// Makes a plan happen.
pub(super) fn commit_plan(mut txn: FileTxn, plan: &Plan, signature: &Signature) -> Result<Event, StoreError> {
    let event = write_journal(&mut txn, plan, signature, |_| Ok(())).inspect_err(|_| plan::discard(&txn.turn, plan))?;
    // A change of several files must be on the disk before the first of them is touched: half of it could survive a power
    // loss otherwise. A change of one file cannot be halved, so its flush can wait until the lock is free for others.
    if plan.writes.len() > 1 {
        txn.sync()?;
    }
    reach("journal: flushed");
    carry_out(txn, plan, event)
}

/// Writes a journaled commit out to the files, and returns when it will survive anything.
pub(super) fn carry_out(mut txn: FileTxn, plan: &Plan, event: Event) -> Result<Event, StoreError> {
    let event = match applying::apply(&txn.turn, plan) {
        Ok(()) => {
            reach("applied: before");
            applying::mark_applied(&mut txn.turn, event.revision).map_err(|error| unfinished(&txn.turn, error))?;
            reach("applied: marked");
            txn.turn.release();
            event
        }
        Err(hindrance) => finish_by_the_journal(&mut txn, event, hindrance)?,
    };
    if plan.writes.len() == 1 {
        txn.sync()?;
    }
    flush::flush_what_is_old(&txn.handle, txn.journal());
    txn.journal().copy_log();
    Ok(event)
}

/// Writes the commit into the journal: the moment it exists. `with` is written in the same database transaction.
pub(super) fn write_journal(
    txn: &mut FileTxn,
    plan: &Plan,
    signature: &Signature,
    with: impl Fn(&Journal) -> Result<(), StoreError>,
) -> Result<Event, StoreError> {
    if !txn.turn.is_ours() {
        return Err(StoreError::Conflict { task: plan.writes[0].id.clone() });
    }
    // Odd from before the commit exists until it is in every file, so that no reader shows half of it.
    txn.turn.state.sequence |= 1;
    txn.turn.save()?;
    let written = write_entries(txn, plan, signature, with);
    if let Ok(Written::Commit(event)) = written {
        return Ok(event);
    }
    if let Ok(Written::StaleWrites(revision)) = written {
        txn.turn.state.applied = revision.0;
    }
    txn.turn.state.sequence += 1;
    txn.turn.save()?;
    // The judgement was made on what a stale write left there; what that took back comes first.
    written.and(Err(StoreError::Conflict { task: plan.writes[0].id.clone() }))
}

/// What came to be written into the journal.
enum Written {
    Commit(Event),
    /// Only what other programs did, in this revision: they took back something of ours without knowing.
    StaleWrites(Revision),
}

fn write_entries(
    txn: &FileTxn,
    plan: &Plan,
    signature: &Signature,
    with: impl Fn(&Journal) -> Result<(), StoreError>,
) -> Result<Written, StoreError> {
    let at = clock::now();
    let journal = txn.journal();
    reach("journal: before");
    let transaction = journal.begin()?;
    reach("journal: open");
    if journal.standing()? != txn.standing {
        // Somebody of ours had a turn since we read: our lock was taken over.
        return Err(StoreError::Conflict { task: plan.writes[0].id.clone() });
    }
    let next = txn.standing.newest.next();
    let seen_elsewhere = journal_outside_changes(journal, plan.writes.iter().map(found), next, at)?;
    let revision = match seen_elsewhere {
        None => next,
        Some(stale) if stale.is_empty() => next.next(),
        Some(stale) => {
            for write in &plan.writes {
                remember_found(journal, write, at)?;
            }
            journal.end(transaction)?;
            txn.handle.journals.note_stale_writes(stale);
            return Ok(Written::StaleWrites(next));
        }
    };
    let entries: Vec<NewEntry<'_>> = plan.writes.iter().map(|write| new_entry(write, signature.op)).collect();
    journal.append(revision, at, signature, &entries)?;
    for write in &plan.writes {
        remember(journal, write, at)?;
    }
    let after = plan.writes.iter().map(|write| (&write.id, write.after.as_ref().map(|after| &after.image)));
    if let Some(leases) = txn.settled_leases(after)? {
        journal.write_leases(&leases)?;
    }
    with(journal)?;
    journal.end(transaction)?;
    reach("journal: written");
    Ok(Written::Commit(event(txn, plan, revision, at, signature)))
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

/// A file that was not in its last known state when we read it was changed by another program; history says so, and what it took back of
/// ours. `found` is what each file holds and, where that is known, when it was written, in nanoseconds. Returns the writes that did
/// not know of ours; none at all where no file was changed.
pub(super) fn journal_outside_changes<'a>(
    journal: &Journal,
    found: impl Iterator<Item = (&'a TaskId, Option<&'a Image>, Option<i64>)>,
    revision: Revision,
    at: Timestamp,
) -> Result<Option<Vec<StaleWrite>>, StoreError> {
    let mut changed = Vec::new();
    for (task, before, written) in found {
        let known = journal.known(task)?;
        if known.as_ref().map(|known| &known.image) != before {
            changed.push((task, known, before, written));
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let changes: Vec<OutsideChange<'_>> = changed
        .iter()
        .map(|(task, known, before, written)| OutsideChange {
            task,
            before: known.as_ref().map(|known| &known.image),
            after: *before,
            mode: known.as_ref().and_then(|known| known.mode),
            written: *written,
        })
        .collect();
    journal.append_outside(revision, at, &changes, Extent::EachItsOwn).map(Some)
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
    });
    Event { list: txn.handle.list.clone(), revision, entries: entries.collect() }
}

/// Finishes a commit whose straight way was barred. It exists, so nothing that comes of this may read as if it did not.
fn finish_by_the_journal(txn: &mut FileTxn, event: Event, hindrance: Hindrance) -> Result<Event, StoreError> {
    txn.turn.release();
    match hindrance {
        Hindrance::Failed(error) => return Err(error),
        Hindrance::Changed | Hindrance::LockLost => {}
    }
    let started = Instant::now();
    loop {
        match txn.handle.take_turn() {
            Ok((mut turn, journal)) => {
                turn.release();
                txn.handle.give_back(journal);
                return repair::as_it_became(txn.journal(), event);
            }
            Err(StoreError::Busy { .. } | StoreError::Conflict { .. }) if started.elapsed() < PATIENCE => {}
            Err(error) => return Err(unfinished(&txn.turn, error)),
        }
    }
}

/// Says that a commit exists, and what kept it from the files.
pub(super) fn unfinished(turn: &Turn, error: StoreError) -> StoreError {
    let (doing, path, source) = match error {
        StoreError::Unfinished { .. } => return error,
        StoreError::Io { doing, path, source } => (doing, path, source),
        other => ("cannot write to", turn.place.directory.clone(), io::Error::other(other)),
    };
    StoreError::Unfinished { doing, path, source }
}

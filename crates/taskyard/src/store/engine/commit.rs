//! Commits to one list, and moves between two lists. Either everything planned happens, or nothing does.
//!
//! Each list has its own journal, so a move takes effect with a single commit in one of them: the journal of the
//! destination. Before that, the source list's journal gets a note of the move; the source follows by this note.

use std::sync::Arc;

use taskyard_core::{Event, Image, Op, TaskId};

use super::open_list::{ListFiles, OpenList};
use crate::failpoint::reach;
use crate::store::journal::{Journal, Move};
use crate::store::kit::StagedLeases;
use crate::store::{Signature, StoreError};
use crate::system;

type WritesToJournal<'a> = dyn Fn(&Journal) -> Result<(), StoreError> + 'a;

/// What to write in the same database transaction as a commit.
#[derive(Clone, Copy, Default)]
pub(in crate::store) struct Alongside<'a> {
    /// The journal whose history precedes the commit. Set only if the list gets its tasks by being renamed.
    pub(in crate::store) former: Option<&'a Journal>,
    /// Runs in the transaction, together with writing the entries.
    pub(in crate::store) with: Option<&'a WritesToJournal<'a>>,
}

/// The writer of a list, holding its turn. Dropping it releases the turn and all locks.
pub(in crate::store) trait ListWriter: Sized {
    type Files: ListFiles;
    /// The changes to make to the list.
    type Plan;
    /// What is left to write to the files once the plan is journaled.
    type Journaled;

    fn open_list(&self) -> &Arc<OpenList<Self::Files>>;

    fn journal(&self) -> &Journal;

    /// Returns each changed task with its new image, or `None` if it is removed.
    fn changes(plan: &Self::Plan) -> Vec<(TaskId, Option<Image>)>;

    /// Locks what the plan changes against other programs, and checks that it is still what the decision was based on.
    fn hold(&mut self, _plan: &mut Self::Plan) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes readers of the list wait until the outcome of a noted move is known.
    fn announce_move(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Lets readers continue after the note was withdrawn.
    fn withdraw_move(&mut self) {}

    /// Writes a plan that touches no other list to the journal, waiting for other programs if necessary.
    fn write_journal_alone(
        &mut self,
        plan: &mut Self::Plan,
        signature: &Signature,
    ) -> Result<(Event, Self::Journaled), StoreError> {
        self.write_journal(plan, signature, Alongside::default())
    }

    /// Writes a plan to the journal. With this the commit exists.
    fn write_journal(
        &mut self,
        plan: &mut Self::Plan,
        signature: &Signature,
        with: Alongside<'_>,
    ) -> Result<(Event, Self::Journaled), StoreError>;

    /// Fails if another of our writers had a turn since this one read. Only needed if turns can be overtaken.
    fn must_stand_as_read(&self, _task: &TaskId) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError>;

    /// Returns whether a power loss could leave half of a plan on disk. If so, the journal is flushed before the first
    /// file is touched; otherwise [`ListWriter::write_out`] flushes it.
    fn can_be_halved(plan: &Self::Plan) -> bool;

    /// Writes a journaled plan to the files. Renumbers the tasks in the event if they got other numbers.
    fn write_out(self, plan: &Self::Plan, journaled: Self::Journaled, event: &mut Event) -> Result<(), StoreError>;

    /// Releases the turn before the flush, if other writers need not wait for it.
    fn end_turn(&mut self) {}

    /// Removes what was prepared for a plan that is abandoned.
    fn discard(&self, _plan: &Self::Plan) {}

    /// Releases the turn with a move noted but not carried out, so that the next writer carries it out.
    fn leave_to_the_note(self, plan: &Self::Plan) -> Result<(), StoreError>;
}

/// Commits a plan for one list. The plan must not be empty.
pub(in crate::store) fn commit<W: ListWriter>(
    mut writer: W,
    mut plan: W::Plan,
    signature: &Signature,
) -> Result<Event, StoreError> {
    let written = writer.write_journal_alone(&mut plan, signature);
    let (mut event, journaled) = written.inspect_err(|_| writer.discard(&plan))?;
    // The commit exists: any failure from here on is reported as unfinished work.
    match finish(writer, &plan, journaled, &mut event) {
        Ok(()) => Ok(event),
        Err(cause) => Err(StoreError::unfinished(Some(event), cause)),
    }
}

/// Flushes an existing commit and writes it out.
fn finish<W: ListWriter>(
    mut writer: W,
    plan: &W::Plan,
    journaled: W::Journaled,
    event: &mut Event,
) -> Result<(), StoreError> {
    // A change to several files must be on disk before the first of them is touched, or a power loss could leave half
    // of it. A change to one file is atomic, so its flush can wait until the locks are free for rivals.
    if W::can_be_halved(plan) {
        writer.sync()?;
    }
    reach("journal: flushed");
    writer.write_out(plan, journaled, event)
}

/// Commits staged lease changes when no task changes.
pub(in crate::store) fn commit_leases<W: ListWriter>(mut writer: W, leases: &StagedLeases) -> Result<(), StoreError> {
    let Some(first) = leases.changed().keys().next() else { return Ok(()) };
    let journal = writer.journal();
    let transaction = journal.begin()?;
    reach("journal: open");
    writer.must_stand_as_read(first)?;
    journal.write_leases(leases)?;
    journal.end(transaction)?;
    writer.end_turn();
    writer.sync().map_err(|cause| StoreError::unfinished(None, cause))?;
    writer.journal().copy_log();
    Ok(())
}

/// Commits plans for two lists, both or neither. Neither plan may be empty.
pub(in crate::store) fn commit_both<S: ListWriter>(
    (mut from, mut leaving): (S, S::Plan),
    (mut into, mut coming): (S, S::Plan),
    signature: &Signature,
) -> Result<[Event; 2], StoreError> {
    let token = format!("{}-{:x}", std::process::id(), system::wall());
    let existing = exist((&mut from, &mut leaving), (&mut into, &mut coming), signature, &token);
    let (mut came, journaled) = existing.inspect_err(|_| {
        from.discard(&leaving);
        into.discard(&coming);
    })?;
    // The move has happened. What is left is carried out now, or by the next command on either list.
    match finish_both((from, leaving), (into, coming, journaled, &mut came), signature, &token) {
        Ok(left) => Ok([left, came]),
        Err(cause) => Err(StoreError::unfinished(Some(came), cause)),
    }
}

/// Notes the move in the source list and commits it to the destination.
fn exist<S: ListWriter>(
    (from, leaving): (&mut S, &mut S::Plan),
    (into, coming): (&mut S, &mut S::Plan),
    signature: &Signature,
    token: &str,
) -> Result<(Event, S::Journaled), StoreError> {
    // Neither list may change until the move has happened on both.
    from.hold(leaving)?;
    into.hold(coming)?;
    let came = note(from, into, leaving, signature, token).and_then(|()| {
        reach("move: noted");
        let origin = from.open_list().as_peer()?;
        let task = S::changes(coming).into_iter().next().map_or_else(|| TaskId::number(0), |(task, _)| task);
        let confirm = |journal: &Journal| match journal.confirm_move(token, &origin)? {
            true => Ok(()),
            // This process was suspended, and another one wrote to the source list in the meantime.
            false => Err(StoreError::Conflict { task: task.clone() }),
        };
        let former = (signature.op == Op::Rename).then(|| from.journal());
        into.write_journal(coming, signature, Alongside { former, with: Some(&confirm) })
    });
    came.inspect_err(|_| match from.journal().forget_move(token) {
        Ok(()) => from.withdraw_move(),
        Err(error) => tracing::debug!(%error, "the note of a move that did not happen is left to the next writer"),
    })
}

fn note<S: ListWriter>(
    from: &mut S,
    into: &S,
    leaving: &S::Plan,
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let noted = Move {
        token: token.to_owned(),
        peer: into.open_list().as_peer()?,
        signature: signature.clone(),
        changes: S::changes(leaving),
    };
    let journal = from.journal();
    let transaction = journal.begin()?;
    journal.note_move(&noted)?;
    journal.end(transaction)?;
    from.announce_move()?;
    from.sync()
}

/// Carries out a move that has happened. The destination is not marked as written out until the source has followed, so
/// readers of either list first finish what this function leaves undone.
fn finish_both<S: ListWriter>(
    (mut from, mut leaving): (S, S::Plan),
    (mut into, coming, journaled, came): (S, S::Plan, S::Journaled, &mut Event),
    signature: &Signature,
    token: &str,
) -> Result<Event, StoreError> {
    // The arriving tasks must survive a power loss before anything is removed from the source.
    into.sync()?;
    reach("move: exists");
    let strike = |journal: &Journal| journal.forget_move(token);
    let strike = Alongside { with: Some(&strike), ..Alongside::default() };
    let (followed, mut left) = match from.write_journal(&mut leaving, signature, strike) {
        Ok((left, journaled)) => {
            from.sync()?;
            (Some((from, journaled)), left)
        }
        // Our turn at the source list was taken over while we were suspended, or another program wrote to the list.
        Err(error) => {
            tracing::debug!(%error, "the list that tasks leave follows by its note");
            let list = Arc::clone(from.open_list());
            from.leave_to_the_note(&leaving)?;
            (None, follow_by_the_note(&list)?)
        }
    };
    reach("move: followed");
    if let Err(error) = into.journal().forget_arrival(token) {
        tracing::debug!(%error, "that a move was followed is left for the next writer to find");
    }
    into.write_out(&coming, journaled, came)?;
    if let Some((from, journaled)) = followed {
        from.write_out(&leaving, journaled, &mut left)?;
    }
    Ok(left)
}

/// Lets the source list follow by its note, as the first step of another turn.
fn follow_by_the_note<F: ListFiles>(list: &OpenList<F>) -> Result<Event, StoreError> {
    let (turn, journal) = list.take_turn_again()?;
    drop(turn);
    let revision = journal.newest()?;
    list.give_back(journal);
    Ok(Event { list: list.list.clone(), revision, entries: Vec::new() })
}

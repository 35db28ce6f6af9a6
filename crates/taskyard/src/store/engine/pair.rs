//! A change of two lists: what leaves the one comes to the other, or neither happens.
//!
//! Each list has its own journal, so the moment the change exists is one commit in one of them: the journal of the list that things come
//! to. The list they leave has a note of it beforehand, and follows.

use std::sync::Arc;

use taskyard_core::{Event, Image, Op, TaskId};

use super::open_list::{ListFiles, OpenList};
use crate::clock;
use crate::failpoint::reach;
use crate::store::journal::{Journal, Move};
use crate::store::{Signature, StoreError};

/// Writes something to a journal.
type WritesToJournal<'a> = dyn Fn(&Journal) -> Result<(), StoreError> + 'a;

/// What is written in the same database transaction as a commit.
#[derive(Clone, Copy, Default)]
pub(in crate::store) struct Alongside<'a> {
    /// The journal whose history comes before the commit; only if the list gets its tasks by being renamed.
    pub(in crate::store) former: Option<&'a Journal>,
    /// What is written with the entries.
    pub(in crate::store) with: Option<&'a WritesToJournal<'a>>,
}

/// The writer of one of two lists, with its turn. Dropping it gives everything back.
pub(in crate::store) trait PairSide: Sized {
    /// The files of the list.
    type Files: ListFiles;
    /// What is to happen to the list.
    type Plan;
    /// What is to be written to the files once that is journaled.
    type Journaled;

    /// Returns the list.
    fn open_list(&self) -> &Arc<OpenList<Self::Files>>;

    /// Returns the journal of the list.
    fn journal(&self) -> &Journal;

    /// Returns each task that changes with its image afterwards, `None` if it goes.
    fn changes(plan: &Self::Plan) -> Vec<(TaskId, Option<Image>)>;

    /// Keeps other programs from what is to change, and checks that it is what the decision was made on.
    fn hold(&mut self, _plan: &mut Self::Plan) -> Result<(), StoreError> {
        Ok(())
    }

    /// Has readers of the list wait until it is known what became of a noted move.
    fn announce_move(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Lets readers go on: the note is withdrawn.
    fn withdraw_move(&mut self) {}

    /// Writes a plan to the journal: the moment it exists.
    fn write_journal(
        &mut self,
        plan: &mut Self::Plan,
        signature: &Signature,
        with: Alongside<'_>,
    ) -> Result<(Event, Self::Journaled), StoreError>;

    /// Flushes the journal.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Writes a journaled plan to the files. The event gets other numbers if the tasks did.
    fn write_out(self, plan: &Self::Plan, journaled: Self::Journaled, event: &mut Event) -> Result<(), StoreError>;

    /// Removes what was prepared for a plan that does not happen.
    fn discard(&self, _plan: &Self::Plan) {}

    /// Gives the turn back with a move that is noted and not carried out, so that the next writer does it.
    fn leave_to_the_note(self, plan: &Self::Plan) -> Result<(), StoreError>;
}

/// Makes what was planned for two lists happen, all of it or nothing. Neither plan is empty.
pub(in crate::store) fn commit_both<S: PairSide>(
    (mut from, mut leaving): (S, S::Plan),
    (mut into, mut coming): (S, S::Plan),
    signature: &Signature,
) -> Result<[Event; 2], StoreError> {
    let token = format!("{}-{:x}", std::process::id(), clock::wall());
    let existing = exist((&mut from, &mut leaving), (&mut into, &mut coming), signature, &token);
    let (mut came, journaled) = existing.inspect_err(|_| {
        from.discard(&leaving);
        into.discard(&coming);
    })?;
    // From here on it has happened; what is left is carried out now, or by the next command on either list.
    match finish((from, leaving), (into, coming, journaled, &mut came), signature, &token) {
        Ok(left) => Ok([left, came]),
        Err(cause) => Err(StoreError::unfinished(Some(came), cause)),
    }
}

/// Notes the move on the list that things leave, and commits it to the list that they come to.
fn exist<S: PairSide>(
    (from, leaving): (&mut S, &mut S::Plan),
    (into, coming): (&mut S, &mut S::Plan),
    signature: &Signature,
    token: &str,
) -> Result<(Event, S::Journaled), StoreError> {
    // Neither list may change under the decision until it has happened on both.
    from.hold(leaving)?;
    into.hold(coming)?;
    let came = note(from, into, leaving, signature, token).and_then(|()| {
        reach("move: noted");
        let origin = from.open_list().as_peer()?;
        let task = S::changes(coming).into_iter().next().map_or_else(|| TaskId::number(0), |(task, _)| task);
        let confirm = |journal: &Journal| match journal.confirm_move(token, &origin)? {
            true => Ok(()),
            // This process was suspended, and another one wrote to the source list in between.
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

fn note<S: PairSide>(
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

/// Carries out a move that has happened. Until the list that things leave has followed, the other one is not marked as written out: so
/// readers of either finish first what this leaves.
fn finish<S: PairSide>(
    (mut from, mut leaving): (S, S::Plan),
    (mut into, coming, journaled, came): (S, S::Plan, S::Journaled, &mut Event),
    signature: &Signature,
    token: &str,
) -> Result<Event, StoreError> {
    // Before anything leaves, what came has to survive a power loss.
    into.sync()?;
    reach("move: exists");
    let strike = |journal: &Journal| journal.forget_move(token);
    let strike = Alongside { with: Some(&strike), ..Alongside::default() };
    let (followed, mut left) = match from.write_journal(&mut leaving, signature, strike) {
        Ok((left, journaled)) => {
            from.sync()?;
            (Some((from, journaled)), left)
        }
        // Our turn at the list that things leave was taken over while we slept, or another program wrote to it.
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

/// Lets the list that things leave follow by its note, as the first step of another turn.
fn follow_by_the_note<F: ListFiles>(list: &OpenList<F>) -> Result<Event, StoreError> {
    let (turn, journal) = list.take_turn_again()?;
    drop(turn);
    let revision = journal.newest()?;
    list.give_back(journal);
    Ok(Event { list: list.list.clone(), revision, entries: Vec::new() })
}

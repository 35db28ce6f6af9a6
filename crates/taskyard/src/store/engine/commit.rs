//! The commit of one list: everything planned happens, or nothing does.

use std::sync::Arc;

use taskyard_core::{Event, Image, TaskId};

use super::open_list::{ListFiles, OpenList};
use crate::failpoint::reach;
use crate::store::journal::Journal;
use crate::store::kit::StagedLeases;
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

/// The writer of a list, with its turn. Dropping it gives everything back.
pub(in crate::store) trait ListWriter: Sized {
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

    /// Writes a plan of a change that touches no other list to the journal, waiting for other programs as it needs to.
    fn write_journal_alone(
        &mut self,
        plan: &mut Self::Plan,
        signature: &Signature,
    ) -> Result<(Event, Self::Journaled), StoreError> {
        self.write_journal(plan, signature, Alongside::default())
    }

    /// Writes a plan to the journal: the moment it exists.
    fn write_journal(
        &mut self,
        plan: &mut Self::Plan,
        signature: &Signature,
        with: Alongside<'_>,
    ) -> Result<(Event, Self::Journaled), StoreError>;

    /// Fails if another writer of ours had a turn since this one read. Only a turn that can be passed needs that.
    fn must_stand_as_read(&self, _task: &TaskId) -> Result<(), StoreError> {
        Ok(())
    }

    /// Flushes the journal.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Tells whether half of a plan could survive a power loss, so that the journal is flushed before the first file is touched. If not,
    /// [`ListWriter::write_out`] flushes it.
    fn can_be_halved(plan: &Self::Plan) -> bool;

    /// Writes a journaled plan to the files. The event gets other numbers if the tasks did.
    fn write_out(self, plan: &Self::Plan, journaled: Self::Journaled, event: &mut Event) -> Result<(), StoreError>;

    /// Gives the turn back before the flush, if others need not wait for that.
    fn end_turn(&mut self) {}

    /// Removes what was prepared for a plan that does not happen.
    fn discard(&self, _plan: &Self::Plan) {}

    /// Gives the turn back with a move that is noted and not carried out, so that the next writer does it.
    fn leave_to_the_note(self, plan: &Self::Plan) -> Result<(), StoreError>;
}

/// Makes what was planned for one list happen. The plan is not empty.
pub(in crate::store) fn commit<W: ListWriter>(
    mut writer: W,
    mut plan: W::Plan,
    signature: &Signature,
) -> Result<Event, StoreError> {
    let written = writer.write_journal_alone(&mut plan, signature);
    let (mut event, journaled) = written.inspect_err(|_| writer.discard(&plan))?;
    // The commit exists: whatever fails from here on is told as what is left to do.
    match finish(writer, &plan, journaled, &mut event) {
        Ok(()) => Ok(event),
        Err(cause) => Err(StoreError::unfinished(Some(event), cause)),
    }
}

/// Flushes a commit that exists and writes it out.
fn finish<W: ListWriter>(
    mut writer: W,
    plan: &W::Plan,
    journaled: W::Journaled,
    event: &mut Event,
) -> Result<(), StoreError> {
    // A change of several files must be on the disk before the first of them is touched: half of it could survive a power loss otherwise. A
    // change of one file cannot be halved, so its flush can wait until the locks are free for rivals.
    if W::can_be_halved(plan) {
        writer.sync()?;
    }
    reach("journal: flushed");
    writer.write_out(plan, journaled, event)
}

/// Makes what was staged of leases happen if no task changes.
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

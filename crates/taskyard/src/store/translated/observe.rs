//! Recording what other programs did, so that history is complete and what they removed can be restored.

use taskyard_core::{AgentName, Op, Revision};

use super::form::Form;
use super::handle::Handle;
use super::looking::{APPLIED, look};
use super::present::Outside;
use crate::clock;
use crate::store::kit::ListState;
use crate::store::sidecar::{Journal, NewEntry};
use crate::store::{Signature, StoreError};

/// Records what other programs did, where nobody is at it. Returns whether nothing is left to record.
pub(super) fn observe<F: Form>(handle: &Handle<F>) -> Result<bool, StoreError> {
    let journal = handle.journal_to_read();
    if let Some(refusal) = handle.journals.refusal().filter(|_| journal.is_none()) {
        return Err(refusal);
    }
    let sight = look(handle, journal.as_ref()).inspect_err(|error| handle.journals.note(error));
    if let Some(journal) = journal {
        handle.give_back(journal);
    }
    let sight = sight?;
    if sight.outside.is_empty() && !sight.is_unsettled {
        return Ok(true);
    }
    Ok(record_what_is_new(handle)?.is_some())
}

/// Records what other programs did, and finishes what ours began, where nobody is at it. Returns the list as it is then, for a
/// reader; none where somebody is.
pub(super) fn record_what_is_new<F: Form>(handle: &Handle<F>) -> Result<Option<ListState>, StoreError> {
    let Some((_turn, journal)) = handle.try_take_turn()? else { return Ok(None) };
    let mut sight = look(handle, Some(&journal))?;
    if !sight.outside.is_empty() {
        let transaction = journal.begin()?;
        let revision = sight.state.revision.next();
        record(&journal, &sight.outside, revision)?;
        journal.set_fact(APPLIED, revision.0.cast_signed())?;
        journal.end(transaction)?;
        tracing::info!(revision = revision.0, tasks = sight.outside.len(), "recorded what another program did");
        journal.copy_log();
        sight.state.revision = revision;
    }
    handle.give_back(journal);
    Ok(Some(sight.state))
}

/// Writes into the journal what other programs did, as a commit of theirs, and what is known of their tasks.
pub(super) fn record(journal: &Journal, outside: &[Outside], revision: Revision) -> Result<(), StoreError> {
    let entries: Vec<NewEntry<'_>> = outside
        .iter()
        .map(|outside| NewEntry {
            task: &outside.task,
            op: elsewhere(outside.before.is_some(), outside.after.is_some()),
            before: outside.before.as_ref(),
            after: outside.after.as_ref().map(|formed| &formed.image),
            inode: None,
            mode: None,
        })
        .collect();
    let signature = Signature::new(AgentName::elsewhere(), Op::ChangedElsewhere);
    journal.append(revision, clock::now(), &signature, &entries)?;
    for outside in outside {
        match &outside.after {
            Some(formed) => journal.set_form(&outside.task, formed)?,
            None => journal.forget_form(&outside.task)?,
        }
    }
    Ok(())
}

fn elsewhere(was_there: bool, is_there: bool) -> Op {
    match (was_there, is_there) {
        (false, _) => Op::CreatedElsewhere,
        (true, true) => Op::ChangedElsewhere,
        (true, false) => Op::RemovedElsewhere,
    }
}

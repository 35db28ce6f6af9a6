//! Recording what other programs did, so that history is complete and what they removed can be restored.

use std::sync::Arc;

use taskyard_core::{Revision, TaskId};

use super::dialect_files::DialectFiles;
use super::looking::{APPLIED, look};
use super::open_list::OpenList;
use super::seen_list::FoundChange;
use crate::clock;
use crate::store::directories::changed;
use crate::store::journal::{Extent, Journal, Known, LOOK_IS_OLD, OutsideChange, OutsideRecord};
use crate::store::kit::ListState;
use crate::store::{FileLayout, StoreError};

/// Records what other programs did, where no writer has the turn. Returns whether nothing is left to record.
pub(super) fn observe<F: DialectFiles>(open_list: &OpenList<F>) -> Result<bool, StoreError> {
    let journal = open_list.journal_to_read();
    if let Some(refusal) = open_list.journals.refusal().filter(|_| journal.is_none()) {
        return Err(refusal);
    }
    let seen = look(open_list, journal.as_ref()).inspect_err(|error| open_list.journals.note(error));
    if let Some(journal) = journal {
        open_list.give_back(journal);
    }
    let seen = seen?;
    if seen.outside.is_empty() && !seen.is_unsettled {
        return Ok(true);
    }
    match record_what_is_new(open_list) {
        Ok(recorded) => Ok(recorded.is_some()),
        Err(error) if error.is_of_memory() => Err(error),
        // A process that only reads is not troubled by a journal that cannot be written.
        Err(error) => {
            tracing::debug!(%error, "outside changes are not recorded");
            Ok(true)
        }
    }
}

/// Records what other programs did, and finishes what ours began, where no writer has the turn. Returns the list as it is then, for a
/// reader; none where a writer has it.
pub(super) fn record_what_is_new<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Option<ListState>, StoreError> {
    let Some((_turn, journal)) = open_list.try_take_turn()? else { return Ok(None) };
    let state = record_in_turn(open_list, &journal)?;
    open_list.give_back(journal);
    Ok(Some(state))
}

/// Records what other programs did, in a turn of ours. Returns the list as it is then.
pub(super) fn record_in_turn<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: &Journal,
) -> Result<ListState, StoreError> {
    let mut seen = look(open_list, Some(journal))?;
    if !seen.outside.is_empty() {
        let transaction = journal.begin()?;
        let revision = seen.state.revision.next();
        let recorded = record(open_list, journal, &seen.outside, revision)?;
        journal.set_fact(APPLIED, revision.0.cast_signed())?;
        if let Some(raw) = seen.files.raw() {
            note_known(journal, open_list.files.dialect.learned(raw))?;
        }
        journal.end(transaction)?;
        open_list.journals.note_stale_writes(recorded.stale_writes);
        tracing::info!(revision = revision.0, tasks = seen.outside.len(), "recorded what another program did");
        journal.copy_log();
        seen.state.revision = revision;
    }
    Ok(seen.state)
}

/// Writes into the journal what is known of files, so that the next look need not read them.
pub(super) fn note_known(
    journal: &Journal,
    known: impl IntoIterator<Item = (TaskId, Option<Known>)>,
) -> Result<(), StoreError> {
    known.into_iter().try_for_each(|(task, known)| match known {
        Some(known) => journal.set_known(&task, &known),
        None => journal.forget(&task),
    })
}

/// Writes into the journal what other programs did, as a commit of theirs, and what is known of their tasks. Returns what came
/// of it.
pub(super) fn record<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: &Journal,
    outside: &[FoundChange],
    revision: Revision,
) -> Result<OutsideRecord, StoreError> {
    let home = open_list.files.dialect.home(&open_list.files.path);
    let is_one_file = F::LAYOUT == FileLayout::OneFile;
    let written = |task: &TaskId| changed(&home.path_of(task)).map(|at| at.0 * 1_000_000);
    let written_at_once = outside.first().filter(|_| is_one_file).and_then(|first| written(&first.task));
    let changes: Vec<OutsideChange<'_>> = outside
        .iter()
        .map(|outside| OutsideChange {
            task: &outside.task,
            before: outside.before.as_ref(),
            after: outside.after.as_ref().map(|formed| &formed.image),
            mode: None,
            written: if is_one_file { written_at_once } else { written(&outside.task) },
            is_deletion: false,
        })
        .collect();
    let extent = if is_one_file { Extent::AllAtOnce } else { Extent::EachItsOwn };
    let recorded = journal.append_outside(revision, clock::now(), &changes, extent)?;
    for outside in outside {
        match &outside.after {
            Some(formed) => journal.set_form(&outside.task, formed)?,
            None => journal.forget_form(&outside.task)?,
        }
    }
    Ok(recorded)
}

/// Looks at a list for a reader, and records what other programs did where no writer has the turn.
pub(super) fn look_and_record<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Arc<ListState>, StoreError> {
    let seen = open_list.journals.reading(|journal| {
        let seen = look(open_list, journal)?;
        if let Some(journal) = journal.filter(|_| seen.is_quiet() && !seen.state.tasks.is_empty()) {
            write_down_look(journal);
        }
        Ok(seen)
    })?;
    if seen.is_quiet() {
        return Ok(Arc::new(seen.state));
    }
    // The first look at a list that other programs made: from here on nothing of it can be lost.
    match record_what_is_new(open_list) {
        Ok(Some(state)) => return Ok(Arc::new(state)),
        Ok(None) => {}
        // A process that only reads is not troubled by a journal that cannot be written.
        Err(error) => tracing::debug!(%error, "outside changes are not recorded"),
    }
    Ok(Arc::new(seen.state))
}

/// Remembers that tasks were there, where the last look that was remembered is old.
fn write_down_look(journal: &Journal) {
    let written = journal.last_look().and_then(|last| {
        let now = clock::now();
        if last.is_some_and(|last| (now.0 - last.0).saturating_mul(1_000_000) <= LOOK_IS_OLD) {
            return Ok(());
        }
        let transaction = journal.begin()?;
        journal.set_last_look(now)?;
        journal.end(transaction)
    });
    // A process that only reads is not troubled by a journal that cannot be written.
    if let Err(error) = written {
        tracing::debug!(%error, "a look is not written down");
    }
}

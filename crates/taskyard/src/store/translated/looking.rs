//! One look at a list: its files, our memory, and of our own commits always all or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::{Revision, TaskId};

use super::form::Form;
use super::handle::Handle;
use super::present::{Outside, present};
use crate::store::StoreError;
use crate::store::sidecar::Journal;
use crate::store::staged::{Kept, State};

/// The last commit that is in the files, as far as was written down.
pub(super) const APPLIED: &str = "applied";
/// The highest number that was ever removed.
pub(super) const MARK: &str = "mark";

/// A list as it was seen.
#[derive(Debug)]
pub(super) struct Sight<F: Form> {
    pub(super) state: State,
    pub(super) raw: Option<F::Raw>,
    pub(super) forms: BTreeMap<TaskId, Vec<u8>>,
    /// What other programs did and is not yet recorded.
    pub(super) outside: Vec<Outside>,
    /// Whether a commit of ours may not be in the files yet.
    pub(super) is_unsettled: bool,
}

/// Looks at a list without a lock.
pub(super) fn look<F: Form>(handle: &Handle<F>, journal: Option<&Journal>) -> Result<Sight<F>, StoreError> {
    // Before the files: whatever is committed from here on is taken from the journal.
    let applied = applied(journal)?;
    let raw = handle.form.load(&handle.path)?;
    let forms = raw.as_ref().map(|raw| handle.form.forms(raw)).unwrap_or_default();
    let home = handle.form.home(&handle.path);
    let mut state = State { home, counts_missing: F::COUNTS_MISSING, exists: raw.is_some(), ..State::default() };
    let Some(journal) = journal else {
        let present = present(&*handle.form, raw.as_ref(), &forms, &BTreeMap::new());
        state.tasks = present.tasks;
        return Ok(Sight { state, raw, forms, outside: present.outside, is_unsettled: false });
    };
    let transaction = journal.begin_to_read()?;
    let known = journal.forms()?;
    let pending = journal.after(applied)?;
    let standing = journal.standing()?;
    let leases = journal.leases_to_stage(standing.has_leases)?;
    state.mark = journal.fact::<f64>(MARK)?.unwrap_or(0.0);
    drop(transaction);
    let present = present(&*handle.form, raw.as_ref(), &forms, &known);
    state.tasks = present.tasks;
    let commits = pending.iter().filter(|stored| !stored.entry.op.is_elsewhere());
    let is_unsettled = commits.clone().next().is_some();
    for entry in commits.map(|stored| &stored.entry) {
        match &entry.after {
            Some(image) => drop(state.tasks.insert(entry.task.clone(), Kept::new(entry.task.clone(), image.clone()))),
            None => drop(state.tasks.remove(&entry.task)),
        }
        state.exists = true;
    }
    state.revision = standing.newest;
    state.journaled = standing.highest_number as f64;
    state.last_token = leases.last_token();
    state.leases = leases.all().into_iter().map(|lease| (lease.task.clone(), lease)).collect();
    Ok(Sight { state, raw, forms, outside: present.outside, is_unsettled })
}

/// Returns the last commit that is in the files, as far as was written down.
pub(super) fn applied(journal: Option<&Journal>) -> Result<Revision, StoreError> {
    let applied = journal.map(|journal| journal.fact::<i64>(APPLIED)).transpose()?.flatten();
    Ok(Revision(applied.unwrap_or(0).unsigned_abs()))
}

/// Looks at a list for somebody who only reads, and records what other programs did where nobody is at it.
pub(super) fn look_and_record<F: Form>(handle: &Handle<F>) -> Result<Arc<State>, StoreError> {
    let journal = handle.journal_to_read();
    let sight = look(handle, journal.as_ref())?;
    if let Some(journal) = journal {
        handle.give_back(journal);
    }
    if sight.outside.is_empty() && !sight.is_unsettled {
        return Ok(Arc::new(sight.state));
    }
    // The first look at a list that others made: from here on nothing of it can be lost.
    match super::observe::observe(handle) {
        Ok(_) => {}
        // Whoever only reads is not troubled by a journal that cannot be written.
        Err(error) => tracing::debug!(%error, "outside changes are not recorded"),
    }
    let journal = handle.journal_to_read();
    let sight = look(handle, journal.as_ref())?;
    if let Some(journal) = journal {
        handle.give_back(journal);
    }
    Ok(Arc::new(sight.state))
}

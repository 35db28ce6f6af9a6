//! Mending what was found.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use taskyard_core::rules::changes::renumbering::renumber;
use taskyard_core::rules::health::mending::{Mend, mend};
use taskyard_core::{Lease, Op, Revision, Task, TaskId};

use super::finding::{Finding, Fix};
use super::owners::is_still_abandoned;
use super::taken_back::mend_taken_back;
use crate::operations::RestoreWhich;
use crate::operations::exact_texts::put_exact_texts;
use crate::store::{Litter, Lookup, NewLease, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// What became of findings that were to be mended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// What was mended.
    pub fixed: Vec<Finding>,
    /// What was left: it has no fix, or is no longer as it was found.
    pub left: Vec<Finding>,
    /// The commit that changed tasks, where any changed.
    pub revision: Option<Revision>,
}

impl Mended {
    pub(super) fn note(&mut self, finding: &Finding, is_fixed: bool) {
        if is_fixed { &mut self.fixed } else { &mut self.left }.push(finding.clone());
    }
}

impl Yard {
    /// Mends what was found in the list, as far as it is still so: what changes tasks in one commit.
    pub fn mend(&self, findings: &[Finding]) -> Result<Mended, Error> {
        // First the journal: everything else is written into it.
        let (of_journal, findings): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| matches!(finding.fix, Some(Fix::MendJournal)));
        if !of_journal.is_empty() {
            self.store().care().map_or(Ok(()), |care| care.mend_journal(self.list_id()))?;
        }
        let mut mended = Mended::default();
        let changes_tasks =
            |fix: &Fix| matches!(fix, Fix::Mend(_) | Fix::Replace { .. } | Fix::Renumber(_) | Fix::PutBack(_));
        let (of_tasks, others): (Vec<&Finding>, Vec<&Finding>) =
            findings.into_iter().partition(|finding| finding.fix.as_ref().is_some_and(changes_tasks));
        if !of_tasks.is_empty() {
            let outcome = self.transact(Op::Mend, |txn, _| Ok(self.mend_tasks(txn, &of_tasks)?))?;
            if let Outcome::Done(((fixed, left), event)) = outcome {
                mended = Mended { fixed, left, revision: event.map(|event| event.revision) };
            }
        }
        for finding in of_journal {
            mended.note(finding, self.journal_damage()?.is_none());
        }
        let litter: Vec<Litter> = others.iter().filter_map(|finding| finding.litter()).cloned().collect();
        let swept = match self.store().care().filter(|_| !litter.is_empty()) {
            Some(care) => care.sweep(self.list_id(), &litter)?,
            None => Vec::new(),
        };
        // All in one revision.
        let missing: Vec<TaskId> = others.iter().flat_map(|finding| finding.missing()).cloned().collect();
        let is_back = !missing.is_empty() && self.bring_back(RestoreWhich::Some(missing), &mut mended)?;
        for finding in others {
            let is_fixed = match &finding.fix {
                Some(Fix::Sweep(litter @ Litter::TornFile { .. })) if swept.contains(litter) => {
                    // What was in the file is known, as far as we ever saw it.
                    matches!(self.bring_back(RestoreWhich::All, &mut mended), Ok(true))
                }
                Some(Fix::Sweep(litter @ Litter::SpecialFile { .. })) if swept.contains(litter) => {
                    if let Some(task) = &finding.task
                        && self.last_readable(task)?.is_some()
                    {
                        self.bring_back(RestoreWhich::Some(vec![task.clone()]), &mut mended)?;
                    }
                    true
                }
                Some(Fix::Sweep(litter)) => swept.contains(litter),
                Some(Fix::Restore(_)) => is_back,
                Some(_) | None => false,
            };
            mended.note(finding, is_fixed);
        }
        Ok(mended)
    }

    /// Brings missing tasks back, and tells whether they came.
    fn bring_back(&self, which: RestoreWhich, mended: &mut Mended) -> Result<bool, Error> {
        Ok(match self.restore(which)? {
            Outcome::Done(restored) => {
                mended.revision = restored.revision.or(mended.revision);
                true
            }
            Outcome::Refused(_) => false,
        })
    }

    /// Stages the mends of findings that still hold, and splits them into those and the others.
    fn mend_tasks(&self, txn: &mut dyn Txn, findings: &[&Finding]) -> Result<(Vec<Finding>, Vec<Finding>), StoreError> {
        let now: HashSet<Mend> = self.defects(txn)?.into_iter().filter_map(Finding::into_mend).collect();
        let (mut fixed, mut left) = (Vec::new(), Vec::new());
        let (mut mends, mut too_large, mut taken_back) = (Vec::new(), Vec::new(), Vec::new());
        for finding in findings {
            match &finding.fix {
                Some(Fix::Replace { task, broken, by, .. }) => {
                    let is_done = txn.replace_broken(task, broken, by.clone())?;
                    if is_done { &mut fixed } else { &mut left }.push((*finding).clone());
                }
                Some(Fix::Mend(how)) if now.contains(how) || is_still_abandoned(txn, how)? => {
                    mends.push((*finding, how))
                }
                Some(Fix::Renumber(task)) => too_large.push((*finding, task)),
                Some(Fix::PutBack(lost)) => taken_back.push((*finding, lost)),
                _ => left.push((*finding).clone()),
            }
        }
        let mut tasks: BTreeMap<TaskId, Task> = txn.tasks()?.into_iter().map(|task| (task.id.clone(), task)).collect();
        let mut changed: BTreeSet<TaskId> = BTreeSet::new();
        // First what was lost: an edge that comes back may be what another finding misses.
        for (finding, lost) in taken_back {
            let (others, is_whole) = mend_taken_back(txn, &mut tasks, lost)?;
            changed.extend(others);
            if is_whole { &mut fixed } else { &mut left }.push(finding.clone());
        }
        for (finding, how) in mends {
            // One mend may have done another's work: the same edge can be wrong in two ways.
            changed.extend(mend(&mut tasks, how));
            fixed.push(finding.clone());
        }
        for (finding, task) in too_large {
            let others = self.renumber(txn, &mut tasks, task)?;
            if others.is_some() { &mut fixed } else { &mut left }.push(finding.clone());
            changed.extend(others.into_iter().flatten());
        }
        for id in &changed {
            if let Some(task) = tasks.remove(id) {
                txn.put(task)?;
            }
        }
        Ok((fixed, left))
    }

    /// Stages another number for a task, and returns which tasks change with it; none where it is gone, or no number is left.
    fn renumber(
        &self,
        txn: &mut dyn Txn,
        tasks: &mut BTreeMap<TaskId, Task>,
        from: &TaskId,
    ) -> Result<Option<BTreeSet<TaskId>>, StoreError> {
        let to = match txn.new_id() {
            Err(StoreError::NoNumberLeft) => return Ok(None),
            id => id?,
        };
        let changed = renumber(tasks, from, &to);
        let Some(task) = tasks.get(&to) else { return Ok(None) };
        let lease = txn.leases()?.into_iter().find(|lease| lease.task == *from);
        let before = txn.find(from)?;
        txn.remove(from)?;
        txn.put_new(task.clone())?;
        if let Lookup::Found(_, origin) = before {
            put_exact_texts(txn, &to, &origin)?;
        }
        if let Some(Lease { agent, taken, ttl, ends, holder, .. }) = lease {
            let given = txn.grant(NewLease { task: to, agent, ttl, holder })?;
            txn.set_lease(Lease { taken, ends, ..given })?;
        }
        Ok(Some(changed))
    }
}

impl Finding {
    fn litter(&self) -> Option<&Litter> {
        match &self.fix {
            Some(Fix::Sweep(litter)) => Some(litter),
            _ => None,
        }
    }

    fn missing(&self) -> &[TaskId] {
        match &self.fix {
            Some(Fix::Restore(tasks)) => tasks,
            _ => &[],
        }
    }

    fn into_mend(self) -> Option<Mend> {
        match self.fix {
            Some(Fix::Mend(mend)) => Some(mend),
            _ => None,
        }
    }
}

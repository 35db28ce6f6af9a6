//! Repairs findings, and reapplies changes that stale writes overwrote.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;
use taskyard_core::rules::changes::notes::read_note;
use taskyard_core::rules::changes::numbering::renumber;
use taskyard_core::rules::health::FindingCode;
use taskyard_core::rules::health::defects::{Mend, mend};
use taskyard_core::rules::history::taking_back::{
    LostValue, OpenLosses, StillLost, is_still_taken, lost_values, put_back,
};
use taskyard_core::rules::history::vanishing::Removed;
use taskyard_core::{Image, Lease, Loss, Op, Revision, Task, TaskField, TaskId};

use crate::operations::RestoreWhich;
use crate::operations::doctor::examining_lists::is_still_abandoned;
use crate::operations::doctor::findings::{Finding, Fix};
use crate::operations::staged_tasks::put_exact_texts;
use crate::store::{Litter, Lookup, NewLease, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// The result of repairing findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// The repaired findings.
    pub fixed: Vec<Finding>,
    /// The findings that were left: they have no fix, or have changed since they were found.
    pub left: Vec<Finding>,
    /// The commit that changed tasks; `None` if none did.
    pub revision: Option<Revision>,
}

impl Mended {
    pub(super) fn note(&mut self, finding: &Finding, is_fixed: bool) {
        if is_fixed { &mut self.fixed } else { &mut self.left }.push(finding.clone());
    }
}

impl Yard {
    /// Repairs findings that still hold. All changes of tasks are made in one commit.
    pub fn mend(&self, findings: &[Finding]) -> Result<Mended, Error> {
        // The journal comes first, because every other repair is recorded in it.
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
                    // The contents of the file are known as far as we ever read them.
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

    /// Restores missing tasks, and returns whether that succeeded.
    fn bring_back(&self, which: RestoreWhich, mended: &mut Mended) -> Result<bool, Error> {
        Ok(match self.restore(which)? {
            Outcome::Done(restored) => {
                mended.revision = restored.revision.or(mended.revision);
                true
            }
            Outcome::Refused(_) => false,
        })
    }

    /// Stages the repairs of findings that still hold; returns the repaired findings and the others.
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
        // Lost values come first: a restored edge may be what another finding is about.
        for (finding, lost) in taken_back {
            let (others, is_whole) = mend_taken_back(txn, &mut tasks, lost)?;
            changed.extend(others);
            if is_whole { &mut fixed } else { &mut left }.push(finding.clone());
        }
        for (finding, how) in mends {
            // One repair may have done another's work: the same edge can be wrong in two ways.
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

    /// Stages a new number for a task, and returns the tasks that change with it; `None` if the task is gone or no
    /// number is left.
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

/// How many characters of a value a message shows.
const SHOWN: usize = 60;

impl Yard {
    /// Returns a finding for every write of another program that overwrote a change of ours which is still lost.
    pub(super) fn taken_back(&self, losses: &OpenLosses, tasks: &[Task]) -> Vec<Finding> {
        let present: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let lost = losses.standing(&present).into_iter();
        lost.map(|lost| Finding::of_taken_back(self.file_name(&lost.task), lost)).collect()
    }
}

impl Finding {
    fn of_taken_back(file: String, lost: StillLost) -> Self {
        let task = lost.task.clone();
        let values = lost_values(&lost.entry, &lost.losses);
        let is_back = values.iter().any(|value| value.loss.field == TaskField::Deletion);
        let number = task.as_str().escape_debug();
        let message = match values.first().filter(|_| is_back) {
            Some(value) => format!(
                "task {number} is back: another program wrote it from stale data (revision {}), after revision {} deleted it",
                lost.entry.revision, value.loss.revision
            ),
            None => {
                let values: Vec<String> = values.iter().map(in_words).collect();
                format!(
                    "another program's write to task {number} (revision {}) overwrote {}",
                    lost.entry.revision,
                    values.join("; ")
                )
            }
        };
        let fix = Some(Fix::PutBack(Box::new(lost)));
        Self { code: FindingCode::TakenBack, task: Some(task), file: Some(file), message, fix }
    }

    /// Returns the finding for a task that another program replaced by a different one.
    pub(super) fn of_replaced(replaced: &Removed) -> Self {
        let task = &replaced.task;
        Self {
            code: FindingCode::ReplacedTask,
            task: Some(task.id.clone()),
            file: None,
            message: format!(
                "another program replaced task {} ({}) with a different task, in revision {}",
                task.id,
                task.shown_subject(),
                replaced.since
            ),
            fix: Some(Fix::Restore(vec![task.id.clone()])),
        }
    }
}

/// Reapplies what is still lost to the tasks of a list; returns the changed tasks and whether nothing is lost any more.
/// A deletion is staged, and the task removed from `tasks`.
pub(super) fn mend_taken_back(
    txn: &mut dyn Txn,
    tasks: &mut BTreeMap<TaskId, Task>,
    lost: &StillLost,
) -> Result<(BTreeSet<TaskId>, bool), StoreError> {
    let read = |image: &Option<Image>| image.as_ref()?.task(&lost.task).ok();
    let mut changed = BTreeSet::new();
    if tasks.get(&lost.task).is_some_and(|now| !lost.is_of(now)) {
        return Ok((changed, false));
    }
    if lost.losses.iter().any(|loss| loss.field == TaskField::Deletion) {
        let Some(gone) = tasks.remove(&lost.task) else { return Ok((changed, true)) };
        txn.remove(&gone.id)?;
        for (id, task) in tasks.iter_mut().filter(|(_, task)| is_tied(task, &gone.id)) {
            task.blocks.retain(|other| *other != gone.id);
            task.blocked_by.retain(|other| *other != gone.id);
            changed.insert(id.clone());
        }
        return Ok((changed, true));
    }
    let (Some(found), Some(left)) = (read(&lost.entry.before), read(&lost.entry.after)) else {
        return Ok((changed, false));
    };
    let leads_somewhere = |loss: &&Loss| match &loss.field {
        TaskField::Blocks(id) | TaskField::BlockedBy(id) => tasks.contains_key(id) || !is_tied(&found, id),
        _ => true,
    };
    let losses: Vec<Loss> = lost.losses.iter().filter(leads_somewhere).cloned().collect();
    let Some(now) = tasks.get_mut(&lost.task) else { return Ok((changed, false)) };
    if let Some(back) = put_back(now, &losses, &found, &left) {
        *now = back;
        changed.insert(lost.task.clone());
    }
    let is_whole = !lost.losses.iter().any(|loss| is_still_taken(loss, now, &left));
    Ok((changed, is_whole))
}

fn is_tied(task: &Task, other: &TaskId) -> bool {
    task.blocks.contains(other) || task.blocked_by.contains(other)
}

fn in_words(value: &LostValue) -> String {
    let shown = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => cut(&text.escape_debug().to_string()),
        Some(value) => cut(&value.to_string()),
    };
    let LostValue { loss, lost, now } = value;
    if let (TaskField::Note(_), Some(note)) = (&loss.field, lost) {
        return format!("the note {:?}", cut(&read_note(note).text));
    }
    let field = loss.field.to_string();
    format!("{} {} of revision {} (now {})", field.escape_debug(), shown(lost), loss.revision, shown(now))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

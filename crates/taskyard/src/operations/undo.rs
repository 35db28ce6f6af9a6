//! Taking revisions back.

use std::collections::{HashMap, HashSet};

use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::graph::parts::lifted;
use taskyard_core::rules::history::undoing::{NewestToUndo, TakenBack, TakingBack};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Image, Op, Revision, Rules, Task, TaskId};

use super::edges::{blocking, connect, disconnect, refuse_bad_parent, refuse_circles, waiting_for};
use super::halt::Halt;
use super::workbench::Workbench;
use crate::store::{HistoryQuery, Lookup, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// Which revisions are to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "internals"), non_exhaustive)]
pub enum UndoRange {
    /// The newest of ours that is no undo and has not been taken back.
    Newest,
    /// This one.
    One(Revision),
    /// From the first to the second, both included.
    Range(Revision, Revision),
}

/// Revisions that were taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The revisions, newest first.
    pub revisions: Vec<Revision>,
    /// The commit that took them back.
    pub revision: Revision,
    /// The tasks that changed, as they are now; none where a task is gone.
    pub tasks: Vec<(TaskId, Option<Task>)>,
}

impl Yard {
    /// Takes revisions back, all of them in one commit or none.
    pub fn undo(&self, range: UndoRange) -> Result<Outcome<Undone>, Error> {
        // What we put back on the way is not what the caller means to undo.
        let begun = self.store().read(self.list_id())?.revision();
        // A list that never was is not made for nothing.
        match self.revisions_to_undo(range, begun) {
            Err(Halt::Refused(refusal)) => return Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => return Err(error.into()),
            Ok(_) => {}
        }
        let outcome = self.transact(Op::Undo, |txn, signature| {
            let taken = self.gather_to_undo(range, begun)?;
            let plan = taken.plan();
            for step in &plan {
                self.expect_unchanged(txn, step)?;
                if let Some(task) = txn.find(&step.task)?.task() {
                    self.respect_lease(txn, &task)?;
                }
            }
            let revisions = taken.revisions();
            signature.undoes.clone_from(&revisions);
            for step in plan.iter().filter(|step| step.expected != step.before) {
                match &step.before {
                    Some(image) if step.expected.is_none() => txn.put_new_image(&step.task, image.clone())?,
                    Some(image) => txn.put_image(&step.task, image.clone())?,
                    None => txn.remove(&step.task)?,
                }
            }
            for task in taken.noted() {
                // Where the task came back by another of these revisions, or does now, there is nothing to note.
                txn.note_absent(task)?;
            }
            // A caller that takes a mending back wants what was there before it, a circle included.
            let may_close_circles = self.rules().is_client() || taken.is_all_mending();
            reconcile(txn, &plan, self.rules(), may_close_circles)?;
            let mut tasks = Vec::with_capacity(plan.len());
            for step in &plan {
                let task = txn.find(&step.task)?.task();
                // What came back and is no task is neither there as one nor gone.
                if task.is_some() || step.before.is_none() {
                    tasks.push((step.task.clone(), task));
                }
            }
            Ok((revisions, tasks))
        })?;
        Ok(match outcome {
            Outcome::Done(((revisions, tasks), Some(event))) => {
                Outcome::Done(Undone { revisions, revision: event.revision, tasks })
            }
            Outcome::Done((_, None)) => Outcome::Refused(Refusal::NothingToUndo),
            Outcome::Refused(refusal) => Outcome::Refused(refusal),
        })
    }

    /// Works out what taking back the revisions that are meant does.
    fn gather_to_undo(&self, range: UndoRange, begun: Revision) -> Result<TakingBack, Halt> {
        let (first, last) = self.revisions_to_undo(range, begun)?;
        let mut taken = TakingBack::default();
        for page in self.pages(between(first, last))? {
            page?.iter().try_for_each(|entry| taken.add(entry))?;
        }
        Ok(taken)
    }

    /// Returns the first and the last of the revisions that are meant, which are there.
    fn revisions_to_undo(&self, range: UndoRange, begun: Revision) -> Result<(Revision, Revision), Halt> {
        let (first, last) = match range {
            UndoRange::Newest => {
                let newest = self.newest_to_undo(begun)?.ok_or(Refusal::NothingToUndo)?;
                return Ok((newest, newest));
            }
            UndoRange::One(revision) => (revision, revision),
            UndoRange::Range(one, other) => (one.min(other), one.max(other)),
        };
        let thinned = self.thinned()?;
        if first <= thinned && first > Revision(0) {
            return Err(Refusal::RevisionThinned { revision: first, kept_since: thinned.next() }.into());
        }
        for revision in [first, last] {
            let query = HistoryQuery { newest: Some(1), ..between(revision, revision) };
            if self.store().history(self.list_id(), &query)?.is_empty() {
                return Err(Refusal::NoSuchRevision { revision }.into());
            }
        }
        Ok((first, last))
    }

    /// Returns the revision up to which only a part of each is left.
    fn thinned(&self) -> Result<Revision, StoreError> {
        match (self.store().care(), self.store().shared_care()) {
            (Some(care), _) => care.thinned(self.list_id()),
            (None, Some(care)) => care.thinned(self.list_id()),
            (None, None) => Ok(Revision(0)),
        }
    }

    /// Returns the newest revision that can be taken back without naming it; what was put back since `begun` is none.
    fn newest_to_undo(&self, begun: Revision) -> Result<Option<Revision>, StoreError> {
        let thinned = self.thinned()?;
        let ops = Op::ALL.into_iter().filter(|op| NewestToUndo::is_of_interest(*op)).collect();
        let mut search = NewestToUndo::default();
        for page in self.backwards(HistoryQuery { ops, since: thinned, ..HistoryQuery::default() }) {
            let mut entries = page?;
            entries.retain(|entry| entry.op != Op::PutBack || entry.revision <= begun);
            if let Some(found) = search.look(&entries) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Refuses where a task does not stand as the revision left it.
    fn expect_unchanged(&self, txn: &dyn Txn, step: &TakenBack) -> Result<(), Halt> {
        let image = match txn.find(&step.task)? {
            Lookup::Found(_, image) => Some(image),
            Lookup::Missing => None,
            Lookup::Unreadable(problem) => return Err(problem.into_refusal().into()),
        };
        if image == step.expected {
            return Ok(());
        }
        let (task, since) = (Some(step.task.clone()), step.revision);
        let later = HistoryQuery { task, since, oldest: Some(1), ..HistoryQuery::default() };
        let changed_in = self.store().history(self.list_id(), &later)?.first().map(|entry| entry.revision);
        Err(Refusal::ChangedSince { revision: step.revision, task: step.task.clone(), changed_in }.into())
    }
}

/// Asks for the entries from one revision to another, both included.
fn between(first: Revision, last: Revision) -> HistoryQuery {
    HistoryQuery { since: Revision(first.0.saturating_sub(1)), until: Some(last), ..HistoryQuery::default() }
}

/// Puts the edges of tasks that came back or went in order.
///
/// Between tasks that were all taken back there is nothing to do: their images are exact. An edge to any other task is there
/// at both ends, or at none where that task is gone. An edge that now closes a circle is refused, unless it may.
fn reconcile(txn: &mut dyn Txn, plan: &[TakenBack], rules: Rules, may_close_circles: bool) -> Result<(), Halt> {
    let is_client = rules.is_client();
    let steps = |wanted: fn(&&TakenBack) -> bool| plan.iter().filter(wanted).map(|step| &step.task).collect();
    let touched: HashSet<&TaskId> = steps(|_| true);
    let came: HashSet<&TaskId> = steps(|step| step.expected.is_none() && step.before.is_some());
    let went: HashSet<&TaskId> = steps(|step| step.expected.is_some() && step.before.is_none());
    let mut loose = Vec::new();
    if !came.is_empty() || !went.is_empty() {
        let is_loose = |end: &TaskId, other: &TaskId| {
            went.contains(other)
                || (came.contains(end) && !touched.contains(other))
                || (came.contains(other) && !touched.contains(end))
        };
        for task in txn.tasks()? {
            loose.extend(waiting_for(&task.id, &task.blocked_by).filter(|edge| is_loose(&edge.task, &edge.on)));
            loose.extend(blocking(&task.id, &task.blocks).filter(|edge| is_loose(&edge.on, &edge.task)));
        }
    }
    if !went.is_empty() && !is_client {
        lift_parts(txn, plan, &touched)?;
    }
    let mut bench = Workbench::on(txn);
    let mut gained = gained_edges(plan);
    for edge in loose {
        if bench.find(&edge.task)?.is_some() && bench.find(&edge.on)?.is_some() {
            connect(&mut bench, &edge)?;
            gained.push(edge);
        } else {
            disconnect(&mut bench, &edge)?;
        }
    }
    if !may_close_circles {
        let parts = gained_parents(plan);
        for part in &parts {
            refuse_bad_parent(&mut bench, part)?;
        }
        refuse_circles(&mut bench, &gained, &parts)?;
    }
    Ok(bench.stage()?)
}

/// Lets parts of tasks that went stand where those stood, except where the part itself was taken back: its image is exact.
fn lift_parts(txn: &mut dyn Txn, plan: &[TakenBack], touched: &HashSet<&TaskId>) -> Result<(), StoreError> {
    let went = plan.iter().filter(|step| step.before.is_none());
    let stood: HashMap<TaskId, Option<TaskId>> = went
        .filter_map(|step| Some((step.task.clone(), step.expected.as_ref()?.task(&step.task).ok()?.parent())))
        .collect();
    for task in txn.tasks()?.iter().filter(|task| !touched.contains(&task.id)) {
        if let Some(part) = lifted(task, &stood) {
            txn.put(part)?;
        }
    }
    Ok(())
}

/// Returns the tasks that are a part of another again and were not a moment ago.
fn gained_parents(plan: &[TakenBack]) -> Vec<TaskId> {
    let parent = |step: &TakenBack, image: &Option<Image>| image.as_ref()?.task(&step.task).ok()?.parent();
    let gained = |step: &&TakenBack| {
        let again = parent(step, &step.before);
        again.is_some() && again != parent(step, &step.expected)
    };
    plan.iter().filter(gained).map(|step| step.task.clone()).collect()
}

/// Returns the edges that a task has again and did not have a moment ago.
fn gained_edges(plan: &[TakenBack]) -> Vec<Edge> {
    let waits = |step: &TakenBack, image: &Option<Image>| {
        let task = image.as_ref().and_then(|image| image.task(&step.task).ok());
        task.map(|task| task.blocked_by).unwrap_or_default()
    };
    let mut gained = Vec::new();
    for step in plan {
        let had: HashSet<TaskId> = waits(step, &step.expected).into_iter().collect();
        let new = waits(step, &step.before).into_iter().filter(|on| !had.contains(on));
        gained.extend(new.map(|on| Edge::new(step.task.clone(), on)));
    }
    gained
}

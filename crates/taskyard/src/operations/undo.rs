//! Undoes revisions.

use std::collections::{BTreeMap, HashMap, HashSet};

use taskyard_core::rules::graph::circles::find_circle;
use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::graph::parts::lifted;
use taskyard_core::rules::history::undoing::{
    NewestToUndo, TakenBack, TakingBack, UndoOffer, UndoneRevisions, offer_undo,
};
use taskyard_core::rules::leases::leasing::{holds, judge_write};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Entry, Image, Lease, Op, Revision, Rules, SignedRevision, Task, TaskId};

use crate::operations::delete::forget;
use crate::operations::depend::{blocking, connect, disconnect, refuse_bad_parent, refuse_circles, waiting_for};
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::Workbench;
use crate::store::{HistoryQuery, Lookup, Snapshot, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// Which revisions to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndoRange {
    /// The newest revision of the acting agent that is not an undo and has not been undone.
    OwnNewest,
    /// The newest revision of any agent that is not an undo and has not been undone.
    Newest,
    /// A single revision.
    One(Revision),
    /// From the first to the second revision, both included.
    Range(Revision, Revision),
}

/// The result of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The undone revisions, newest first, each with the actor that made it.
    pub revisions: Vec<SignedRevision>,
    /// The commit of the undo.
    pub revision: Revision,
    /// The tasks that changed, as they are now; `None` for a task that no longer exists.
    pub tasks: Vec<(TaskId, Option<Task>)>,
}

impl Yard {
    /// Undoes revisions, all in one commit or none.
    pub fn undo(&self, range: UndoRange) -> Result<Outcome<Undone>, Error> {
        // Changes that the undo itself reapplies on the way must not become its target.
        let begun = self.store().read(self.list_id())?.revision();
        // Checking first avoids creating a list for nothing.
        match self.revisions_to_undo(range, begun) {
            Err(Halt::Refused(refusal)) => return Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => return Err(error.into()),
            Ok(_) => {}
        }
        let outcome = self.transact(Op::Undo, |txn, signature| {
            let taken = self.gather_to_undo(range, begun)?;
            self.refuse_undone(&taken)?;
            let tasks = match self.stage_undo(txn, &taken) {
                Err(Halt::Refused(Refusal::ChangedSince { revision, task, .. })) => {
                    let later = self.later_changes(&taken)?;
                    // What this stages is dropped with the transaction.
                    let range_end = self.find_range_end(txn, &taken, &later)?;
                    return Err(Refusal::ChangedSince { revision, task, later, range_end }.into());
                }
                staged => staged?,
            };
            let revisions = taken.revisions();
            signature.undoes = revisions.iter().map(|signed| signed.revision).collect();
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

    /// Returns the entries of the revisions that [`Self::undo`] would undo now, oldest first.
    pub fn entries_to_undo(&self, range: UndoRange) -> Result<Outcome<Vec<Entry>>, Error> {
        let begun = self.store().read(self.list_id())?.revision();
        match self.revisions_to_undo(range, begun) {
            Err(Halt::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => Err(error.into()),
            Ok((first, last)) => Ok(Outcome::Done(self.store().history(self.list_id(), &between(first, last))?)),
        }
    }

    /// Stages the undo of revisions, and returns the tasks that changed.
    fn stage_undo(&self, txn: &mut dyn Txn, taken: &TakingBack) -> Result<Vec<(TaskId, Option<Task>)>, Halt> {
        let plan = taken.plan();
        for step in &plan {
            expect_unchanged(txn, step)?;
            if let Some(task) = txn.find(&step.task)?.task() {
                self.respect_lease(txn, &task)?;
            }
        }
        for step in plan.iter().filter(|step| step.expected != step.before) {
            match &step.before {
                Some(image) if step.expected.is_none() => txn.put_new_image(&step.task, image.clone())?,
                Some(image) => txn.put_image(&step.task, image.clone())?,
                None => txn.remove(&step.task)?,
            }
        }
        for task in taken.noted() {
            // Does nothing for a task that another of these revisions restores.
            txn.note_absent(task)?;
        }
        // Undoing a repair restores what was there before it, including a cycle.
        let may_close_circles = self.rules().is_client() || taken.is_all_mending();
        reconcile(txn, &plan, self.rules(), may_close_circles)?;
        let deleted = self.deleted_again(txn, taken)?;
        if !deleted.is_empty() {
            forget(txn, &deleted, self.rules())?;
        }
        let mut tasks = Vec::with_capacity(plan.len());
        for step in &plan {
            let task = txn.find(&step.task)?.task();
            // A restored file that contains no task is neither a task nor gone.
            if task.is_some() || step.before.is_none() {
                tasks.push((step.task.clone(), task));
            }
        }
        Ok(tasks)
    }

    /// Returns the missing tasks whose deletion takes effect again. Edges to them, and their parts, may be newer than
    /// that deletion.
    fn deleted_again(&self, txn: &dyn Txn, taken: &TakingBack) -> Result<Vec<Task>, StoreError> {
        let mut times: BTreeMap<&TaskId, usize> = BTreeMap::new();
        for task in taken.noted() {
            *times.entry(task).or_default() += 1;
        }
        let mut deleted = Vec::new();
        for (task, _) in times.into_iter().filter(|(_, times)| times % 2 == 1) {
            if matches!(txn.find(task)?, Lookup::Missing) {
                deleted.extend(self.missing_task(task)?);
            }
        }
        Ok(deleted)
    }

    /// Refuses to undo what later undos have already undone.
    fn refuse_undone(&self, taken: &TakingBack) -> Result<(), Halt> {
        let revisions = taken.revisions();
        let Some(newest) = revisions.first() else { return Ok(()) };
        let undone = UndoneRevisions::of(&self.undos_since(newest.revision)?);
        let mut undos = revisions.iter().map(|signed| undone.undo_of(signed.revision));
        match undos.next().flatten() {
            Some(by) if undos.all(|undo| undo.is_some()) => {
                Err(Refusal::AlreadyUndone { revision: newest.revision, by: by.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the entries of all undos after a revision, oldest first.
    fn undos_since(&self, since: Revision) -> Result<Vec<Entry>, StoreError> {
        let query = HistoryQuery { ops: vec![Op::Undo], since, ..HistoryQuery::default() };
        self.store().history(self.list_id(), &query)
    }

    /// Returns the later revisions that changed the same tasks as those to undo, oldest first.
    fn later_changes(&self, taken: &TakingBack) -> Result<Vec<SignedRevision>, StoreError> {
        let since = taken.revisions().first().map_or(Revision(0), |newest| newest.revision);
        let mut later = BTreeMap::new();
        for step in taken.plan() {
            let query = HistoryQuery { task: Some(step.task), since, ..HistoryQuery::default() };
            for entry in self.store().history(self.list_id(), &query)? {
                later.entry(entry.revision).or_insert_with(|| SignedRevision::of(&entry));
            }
        }
        Ok(later.into_values().collect())
    }

    /// Returns the end of the shortest range, starting at the oldest of these revisions, that can be undone although
    /// later revisions changed the same tasks; `None` if there is none.
    fn find_range_end(
        &self,
        txn: &mut dyn Txn,
        taken: &TakingBack,
        later: &[SignedRevision],
    ) -> Result<Option<Revision>, StoreError> {
        let Some(first) = taken.revisions().last().map(|oldest| oldest.revision) else { return Ok(None) };
        let mut last = later.last().map(|newest| newest.revision);
        while let Some(end) = last.filter(|end| end.0 - first.0 < LONGEST_RANGE) {
            let mut wider = TakingBack::default();
            for page in self.pages(between(first, end))? {
                if page?.iter().try_for_each(|entry| wider.add(entry)).is_err() {
                    return Ok(None);
                }
            }
            match self.stage_undo(txn, &wider) {
                Ok(_) => return Ok(Some(end).filter(|_| !wider.is_without_effect())),
                Err(Halt::Refused(Refusal::ChangedSince { .. })) => {
                    last = self.later_changes(&wider)?.last().map(|newest| newest.revision);
                }
                Err(Halt::Refused(_)) => return Ok(None),
                Err(Halt::Failed(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns for each of several revisions, in ascending order, what undoing it would take now. Nothing is locked or
    /// changed.
    pub fn undo_offers(&self, revisions: &[Revision]) -> Result<Vec<UndoOffer>, Error> {
        let (Some(first), Some(last)) = (revisions.first(), revisions.last()) else { return Ok(Vec::new()) };
        let thinned = self.thinned()?;
        let list = self.store().read(self.list_id())?;
        // Far back in a long journal only revisions that can be undone on their own are offered.
        let is_near = list.revision().0.saturating_sub(first.0) < LONGEST_RANGE;
        let journal = self.store().history(
            self.list_id(),
            &HistoryQuery { until: Some(*last).filter(|_| !is_near), ..between(*first, *last) },
        )?;
        let undone = UndoneRevisions::of(&self.undos_since(*first)?);
        let current = CurrentList::of(self, &*list)?;
        let offer = |revision: &Revision| match *revision <= thinned {
            true => UndoOffer::Refused,
            false => offer_undo(*revision, &journal, &undone, |taken| current.allows(taken)),
        };
        Ok(revisions.iter().map(offer).collect())
    }

    /// Collects the revisions of a range to undo.
    fn gather_to_undo(&self, range: UndoRange, begun: Revision) -> Result<TakingBack, Halt> {
        let (first, last) = self.revisions_to_undo(range, begun)?;
        let mut taken = TakingBack::default();
        for page in self.pages(between(first, last))? {
            let page = page?;
            // In a longer range a rename has no effect: the tasks are the same before and after it.
            if first == last && page.iter().any(|entry| entry.op == Op::Rename) {
                return Err(Refusal::ListRenamed { revision: first }.into());
            }
            page.iter().try_for_each(|entry| taken.add(entry))?;
        }
        Ok(taken)
    }

    /// Returns the first and the last revision of a range, both of which exist.
    fn revisions_to_undo(&self, range: UndoRange, begun: Revision) -> Result<(Revision, Revision), Halt> {
        let (first, last) = match range {
            UndoRange::OwnNewest => {
                return match self.newest_to_undo(begun, NewestToUndo::of(self.actor().clone()))? {
                    Some(newest) => Ok((newest, newest)),
                    None => Err(self.nothing_of_its_own(begun)?.into()),
                };
            }
            UndoRange::Newest => {
                let newest = self.newest_to_undo(begun, NewestToUndo::of_anyone())?.ok_or(Refusal::NothingToUndo)?;
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

    /// Returns the revision up to which the journal has been pruned.
    fn thinned(&self) -> Result<Revision, StoreError> {
        match (self.store().care(), self.store().shared_care()) {
            (Some(care), _) => care.thinned(self.list_id()),
            (None, Some(care)) => care.thinned(self.list_id()),
            (None, None) => Ok(Revision(0)),
        }
    }

    /// Returns the newest revision that can be undone without naming it, ignoring changes that were reapplied since
    /// `begun`.
    fn newest_to_undo(&self, begun: Revision, mut search: NewestToUndo) -> Result<Option<Revision>, StoreError> {
        let thinned = self.thinned()?;
        let ops = Op::ALL.into_iter().filter(|op| NewestToUndo::is_of_interest(*op)).collect();
        for page in self.backwards(HistoryQuery { ops, since: thinned, ..HistoryQuery::default() }) {
            let mut entries = page?;
            entries.retain(|entry| entry.op != Op::PutBack || entry.revision <= begun);
            if let Some(found) = search.look(&entries) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the refusal for an actor that has made no change that could be undone.
    fn nothing_of_its_own(&self, begun: Revision) -> Result<Refusal, StoreError> {
        let newest = self.newest_to_undo(begun, NewestToUndo::of_anyone())?;
        let Some(newest) = newest else { return Ok(Refusal::NothingToUndo) };
        let entries = self.store().history(self.list_id(), &between(newest, newest))?;
        Ok(match entries.first().map(SignedRevision::of) {
            Some(newest) => Refusal::NothingOwnToUndo { actor: self.actor().clone(), newest },
            None => Refusal::NothingToUndo,
        })
    }
}

/// The longest range, in revisions, that is tried or offered.
const LONGEST_RANGE: u64 = 1000;

/// Refuses if a task is not in the state that the revision left it in.
fn expect_unchanged(txn: &dyn Txn, step: &TakenBack) -> Result<(), Halt> {
    let image = match txn.find(&step.task)? {
        Lookup::Found(_, image) => Some(image),
        Lookup::Missing => None,
        Lookup::Unreadable(problem) => return Err(problem.into_refusal().into()),
    };
    if image == step.expected {
        return Ok(());
    }
    let (revision, task) = (step.revision, step.task.clone());
    Err(Refusal::ChangedSince { revision, task, later: Vec::new(), range_end: None }.into())
}

/// A list in its current state, for judging without a lock what can be undone.
struct CurrentList<'a> {
    yard: &'a Yard,
    list: &'a dyn Snapshot,
    /// The valid leases.
    leases: Vec<Lease>,
}

impl<'a> CurrentList<'a> {
    fn of(yard: &'a Yard, list: &'a dyn Snapshot) -> Result<Self, StoreError> {
        let now = yard.now()?;
        let leases = list.leases()?.into_iter().filter(|lease| yard.world().judge_at(lease, &now).is_alive()).collect();
        Ok(Self { yard, list, leases })
    }

    /// Returns whether the tasks are in the state the revisions left them in, no lease forbids the undo, and it closes
    /// no cycle.
    fn allows(&self, taken: &TakingBack) -> bool {
        let plan = taken.plan();
        let is_free = |step: &TakenBack| match self.list.find(&step.task) {
            Ok(Lookup::Found(task, image)) => step.expected.as_ref() == Some(&image) && self.may_write(&task),
            Ok(Lookup::Missing) => step.expected.is_none(),
            Ok(Lookup::Unreadable(_)) | Err(_) => false,
        };
        let may_close_circles = self.yard.rules().is_client() || taken.is_all_mending();
        plan.iter().all(is_free) && (may_close_circles || self.stays_without_circle(&plan))
    }

    fn may_write(&self, task: &Task) -> bool {
        let lease = self.leases.iter().find(|lease| holds(lease, task));
        judge_write(task, lease, self.yard.actor(), self.yard.proof_on(task), self.yard.rules()).is_ok()
    }

    fn stays_without_circle(&self, plan: &[TakenBack]) -> bool {
        let (mut gained, parts) = (gained_edges(plan), gained_parents(plan));
        let came = plan.iter().filter(|step| step.expected.is_none());
        let came = came.filter_map(|step| step.before.as_ref()?.task(&step.task).ok());
        gained.extend(came.flat_map(|task| blocking(&task.id, &task.blocks).collect::<Vec<_>>()));
        if gained.is_empty() && parts.is_empty() {
            return true;
        }
        let Ok(tasks) = self.list.tasks() else { return false };
        let mut tasks: BTreeMap<TaskId, Task> = tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
        for step in plan {
            match step.before.as_ref().and_then(|image| image.task(&step.task).ok()) {
                Some(task) => drop(tasks.insert(step.task.clone(), task)),
                None => drop(tasks.remove(&step.task)),
            }
        }
        for edge in &gained {
            if let Some(task) = tasks.get_mut(&edge.task).filter(|task| !task.blocked_by.contains(&edge.on)) {
                task.blocked_by.push(edge.on.clone());
            }
        }
        let has_parent = |part: &TaskId| match tasks.get(part).and_then(Task::parent) {
            Some(parent) => parent != *part && tasks.contains_key(&parent),
            None => true,
        };
        let is_sound = parts.iter().all(has_parent);
        let tasks: Vec<Task> = tasks.into_values().collect();
        is_sound && find_circle(&tasks, &gained, &parts).is_none()
    }
}

/// Returns a query for the entries from one revision to another, both included.
fn between(first: Revision, last: Revision) -> HistoryQuery {
    HistoryQuery { since: Revision(first.0.saturating_sub(1)), until: Some(last), ..HistoryQuery::default() }
}

/// Reconciles the edges of tasks that an undo restored or removed.
///
/// Edges between tasks that were all undone need no change, since their images are exact. An edge to any other task is
/// set at both ends, or at neither if that task is gone. An edge that would close a cycle is refused unless
/// `may_close_circles` is set.
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

/// Makes the parts of removed tasks parts of those tasks' parents, except parts that were undone themselves: their
/// images are exact.
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

/// Returns the tasks that the undo makes a part of another task again.
fn gained_parents(plan: &[TakenBack]) -> Vec<TaskId> {
    let parent = |step: &TakenBack, image: &Option<Image>| image.as_ref()?.task(&step.task).ok()?.parent();
    let gained = |step: &&TakenBack| {
        let again = parent(step, &step.before);
        again.is_some() && again != parent(step, &step.expected)
    };
    plan.iter().filter(gained).map(|step| step.task.clone()).collect()
}

/// Returns the edges that the undo gives tasks again.
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

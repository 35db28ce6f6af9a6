//! Stages changes of tasks, and finds the tasks that a completion unblocks.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use taskyard_core::dialect::macf;
use taskyard_core::dialect::macf::{BadBlock, ChangedFacts, Kind};
use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::rules::changes::notes::keep_notes;
use taskyard_core::rules::changes::patching;
use taskyard_core::rules::changes::patching::{Field, OwnerChange, Patch, Patched, names_new};
use taskyard_core::rules::changes::transitions::{
    Transition, frees_from_owner, judge_transition, owner_after_start, started_too_early,
};
use taskyard_core::rules::graph::dependencies::{Edge, is_freed};
use taskyard_core::rules::graph::parts::{Lineage, ancestors};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::rules::worktrees::record::awaits_merge;
use taskyard_core::{AgentName, Lease, Rules, Status, Task, TaskId};

use crate::Yard;
use crate::operations::depend::{
    attach, blocking, connect_as_the_client, disconnect, disconnect_as_the_client, refuse_circles, waiting_for,
};
use crate::operations::lease_upkeep::lease_on;
use crate::operations::outcome::{Halt, RefusedTask};
use crate::operations::staged_tasks::{Ties, Update, Updated, Workbench, without_old_cancellation};
use crate::store::{NewLease, StoreError, Txn};
use crate::teams::Seat;
use crate::yard::StartLease;

/// Up to this many tasks have their ties looked up one by one; for more the whole list is read once.
const FEW: usize = 4;

/// Changes tasks and their ties. They are judged together, in the state after all changes. If one is refused, nothing
/// is staged.
pub(super) fn change_strictly(
    yard: &Yard,
    txn: &mut dyn Txn,
    ids: &[TaskId],
    update: &impl Fn(&Task) -> Update,
    seat: Option<&Seat>,
) -> Result<Vec<Updated>, Halt> {
    match change_or_tell(yard, txn, ids, update, seat)? {
        Ok(updated) => Ok(updated),
        Err(mut refused) => Err(refused.remove(0).1.into()),
    }
}

/// Like [`change_strictly`], but returns all refusals in the order of the tasks. Nothing is staged if there are any.
pub(super) fn change_or_tell(
    yard: &Yard,
    txn: &mut dyn Txn,
    ids: &[TaskId],
    update: &impl Fn(&Task) -> Update,
    seat: Option<&Seat>,
) -> Result<Result<Vec<Updated>, Vec<RefusedTask>>, Halt> {
    let mut refused = Vec::new();
    let mut present = Vec::with_capacity(ids.len());
    for id in ids {
        present.extend(txn.find(id)?.task());
    }
    refused.extend(yard.refused_by_leases(txn, &present)?);
    if !refused.is_empty() {
        return Ok(Err(refused));
    }
    let mut bench = Workbench::on(txn);
    let mut changes = Vec::with_capacity(ids.len());
    for id in ids {
        changes.extend(unless_refused(change_one(yard, &mut bench, id, update, seat), id, &mut refused)?);
    }
    if refused.is_empty() {
        refused.extend(closes_circle(&mut bench, &changes)?);
    }
    if !refused.is_empty() {
        return Ok(Err(refused));
    }
    if changes.iter().filter(|change| change.patched.status_change.is_some()).count() > FEW {
        bench.look_at_all()?;
    }
    let mut all = Vec::with_capacity(ids.len());
    for change in &changes {
        let judged = judged(yard, &mut bench, change);
        all.extend(unless_refused(judged, &change.before.id, &mut refused)?);
    }
    if !refused.is_empty() {
        return Ok(Err(refused));
    }
    bench.stage()?;
    for (updated, Changed { before, .. }) in all.iter_mut().zip(&changes) {
        if let Some(task) = txn.find(&updated.task.id)?.task() {
            updated.task = task;
        }
        yard.respect_limit(txn, before, &updated.task, seat, ids)?;
        let Update { patch, lease_for_owner: kept_for, .. } = update(before);
        updated.lease = match kept_for {
            None if patch.status == Some(Status::InProgress) => lease_for_starter(yard, txn, &updated.task)?,
            kept_for => lease_for_owner(txn, &updated.task, kept_for)?,
        };
    }
    Ok(Ok(all))
}

/// Judges one of several changes that are applied in the workbench.
fn judged(yard: &Yard, bench: &mut Workbench<'_>, change: &Changed) -> Result<Updated, Halt> {
    let Changed { before, patched, left, .. } = change;
    let id = &before.id;
    let after = bench.demand(id, || Refusal::NoSuchTask { task: id.clone() })?.clone();
    if yard.minds_parts() && before.status.is_open() && after.status == Status::Completed {
        refuse_open_parts(bench, id)?;
        // A cancelled task is given up, whether or not its branch is merged.
        if let Some(branch) = awaits_merge(&after).filter(|_| !after.is_cancelled()) {
            return Err(Refusal::NotMerged { task: id.clone(), branch }.into());
        }
    }
    let consequences = consequences(bench, before, &after, Rules::Strict)?;
    let mut updated = patched.updated.clone();
    updated.extend((before.blocks != after.blocks).then_some(Field::Blocks));
    updated.extend((before.blocked_by != after.blocked_by).then_some(Field::BlockedBy));
    let (status_change, block_left) = (patched.status_change, left.clone());
    Ok(Updated { task: after, updated, status_change, block_left, ..consequences })
}

/// Returns the value, or records a refusal and returns `None`.
fn unless_refused<T>(
    result: Result<T, Halt>,
    id: &TaskId,
    refused: &mut Vec<RefusedTask>,
) -> Result<Option<T>, StoreError> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(Halt::Refused(refusal)) => {
            refused.push((id.clone(), refusal));
            Ok(None)
        }
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// A changed task.
struct Changed {
    before: Task,
    patched: Patched,
    /// Why the block in its description was not changed.
    left: Option<BadBlock>,
    /// The new edges.
    edges: Vec<Edge>,
    /// The task itself if its parent has changed, otherwise empty.
    parts: Vec<TaskId>,
}

/// Checks once whether the applied changes close a cycle. Returns the refusal with the last change that takes part in
/// it.
fn closes_circle(bench: &mut Workbench<'_>, changes: &[Changed]) -> Result<Option<RefusedTask>, StoreError> {
    let edges: Vec<Edge> = changes.iter().flat_map(|change| change.edges.iter().cloned()).collect();
    let parts: Vec<TaskId> = changes.iter().flat_map(|change| change.parts.iter().cloned()).collect();
    if !bench.may_close_circle(&edges, &parts) {
        return Ok(None);
    }
    match refuse_circles(bench, &edges, &parts) {
        Ok(()) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
        Err(Halt::Refused(refusal)) => {
            let is_in_it = |change: &&Changed| match &refusal {
                Refusal::Cycle { path } => path.contains(&change.before.id),
                _ => false,
            };
            let has_ties = |change: &&Changed| !change.edges.is_empty() || !change.parts.is_empty();
            let with_ties = || changes.iter().rev().filter(has_ties);
            let last = with_ties().find(is_in_it).or_else(|| with_ties().next()).or(changes.last());
            Ok(last.map(|change| (change.before.id.clone(), refusal.clone())))
        }
    }
}

/// Applies the changes of one task in the workbench, and returns the task as it was with what changed.
fn change_one(
    yard: &Yard,
    bench: &mut Workbench<'_>,
    id: &TaskId,
    update: &impl Fn(&Task) -> Update,
    seat: Option<&Seat>,
) -> Result<Changed, Halt> {
    let before = bench.demand(id, || Refusal::NoSuchTask { task: id.clone() })?.clone();
    let mut update = update(&before);
    if let Some(metadata) = &mut update.patch.metadata {
        keep_notes(metadata, &before);
    }
    let (mut patch, left) = into_block(without_old_cancellation(update.patch, &before), &before);
    let is_freed = patch.status.is_some_and(|status| frees_from_owner(&before, status, yard.actor(), Rules::Strict));
    if let (Some(to), None, None) = (patch.status, &patch.owner, update.lease_for_owner) {
        let starter = owner_after_start(&before, to, &names_of(yard, seat), yard.proof_on(&before), Rules::Strict);
        let starter = starter.map_err(|refusal| yard.dated(refusal, &before))?;
        patch.owner = starter.map(OwnerChange::Set).or(is_freed.then_some(OwnerChange::Clear));
    }
    let patched = with_marks(patching::apply(&patch, &before), &before, update.kind);
    bench.change(id, |task| *task = patched.task.clone())?;
    for edge in blocking(id, &update.remove_blocks).chain(waiting_for(id, &update.remove_blocked_by)) {
        disconnect(bench, &edge)?;
    }
    let added: Vec<Edge> = blocking(id, &update.add_blocks).chain(waiting_for(id, &update.add_blocked_by)).collect();
    let has_moved = patched.task.parent().is_some() && patched.task.parent() != before.parent();
    let parts: Vec<TaskId> = has_moved.then(|| id.clone()).into_iter().collect();
    let edges = attach(bench, &added, &parts)?;
    Ok(Changed { before, patched, left, edges, parts })
}

/// Writes as the client does: first all changed fields at once, then each edge separately.
pub(super) fn change_as_the_client(
    yard: &Yard,
    txn: &mut dyn Txn,
    id: &TaskId,
    update: &impl Fn(&Task) -> Update,
) -> Result<Updated, Halt> {
    let not_found = || Refusal::NoSuchTask { task: id.clone() };
    let before = txn.find(id)?.task().ok_or_else(not_found)?;
    yard.respect_lease(txn, &before)?;
    let update = update(&before);
    let patched = patching::apply(&update.patch, &before);
    let mut updated = patched.updated;
    if !updated.is_empty() {
        txn.put(patched.task)?;
    }
    for edge in blocking(id, &update.remove_blocks).chain(waiting_for(id, &update.remove_blocked_by)) {
        disconnect_as_the_client(txn, &edge)?;
    }
    for edge in blocking(id, &update.add_blocks).filter(|edge| !before.blocks.contains(&edge.task)) {
        connect_as_the_client(yard, txn, &edge)?;
    }
    for edge in waiting_for(id, &update.add_blocked_by).filter(|edge| !before.blocked_by.contains(&edge.on)) {
        connect_as_the_client(yard, txn, &edge)?;
    }
    let reported = |added: &[TaskId], removed: &[TaskId], present: &[TaskId]| {
        names_new(added, present) || removed.iter().any(|id| present.contains(id))
    };
    updated.extend(reported(&update.add_blocks, &update.remove_blocks, &before.blocks).then_some(Field::Blocks));
    let waits = reported(&update.add_blocked_by, &update.remove_blocked_by, &before.blocked_by);
    updated.extend(waits.then_some(Field::BlockedBy));

    let after = txn.find(id)?.task().ok_or_else(not_found)?;
    let consequences = consequences(&mut Workbench::on(txn), &before, &after, yard.rules())?;
    let lease = lease_for_owner(txn, &after, update.lease_for_owner)?;
    Ok(Updated { task: after, updated, status_change: patched.status_change, lease, ..consequences })
}

/// Returns the names of the actor, first the one used for ownership: its seat's if it is a member of a team and not the
/// lead.
fn names_of<'a>(yard: &'a Yard, seat: Option<&'a Seat>) -> Vec<&'a str> {
    let actor = yard.actor().as_str();
    match seat {
        Some(seat) if seat.is_lead() => vec![actor, &seat.name],
        Some(seat) => vec![&seat.name, actor],
        None => vec![actor],
    }
}

/// Grants a lease to an agent that has started its own task, if it has none. Returns the new lease.
fn lease_for_starter(yard: &Yard, txn: &mut dyn Txn, task: &Task) -> Result<Option<Lease>, StoreError> {
    let Some(StartLease { ttl, holder }) = yard.start_lease() else { return Ok(None) };
    let is_own = |owner: &&str| is_same_agent(owner, yard.actor().as_str());
    let Some(agent) = task.owner().filter(is_own).and_then(|name| AgentName::new(name).ok()) else { return Ok(None) };
    if task.status != Status::InProgress || lease_on(txn, task)?.is_some() {
        return Ok(None);
    }
    txn.grant(NewLease { task: task.id.clone(), agent, ttl: *ttl, holder: holder.clone() }).map(Some)
}

/// Grants the owner of an open task a lease with this TTL, if it has none. Returns the owner's lease.
fn lease_for_owner(txn: &mut dyn Txn, task: &Task, ttl: Option<Duration>) -> Result<Option<Lease>, StoreError> {
    let Some((ttl, agent)) =
        ttl.zip(task.owner().and_then(|name| AgentName::new(name).ok())).filter(|_| task.status.is_open())
    else {
        return Ok(None);
    };
    if let Some(lease) = lease_on(txn, task)? {
        return Ok(Some(lease));
    }
    txn.grant(NewLease { task: task.id.clone(), agent, ttl: Some(ttl), holder: None }).map(Some)
}

/// Judges the change of status, if any, and determines its effect on other tasks.
pub(super) fn consequences(
    bench: &mut Workbench<'_>,
    before: &Task,
    after: &Task,
    rules: Rules,
) -> Result<Updated, Halt> {
    let mut updated = Updated {
        before: before.clone(),
        task: after.clone(),
        updated: Vec::new(),
        status_change: None,
        revision: None,
        now_ready: Vec::new(),
        open_blockers: Vec::new(),
        dependents_started: Vec::new(),
        is_by_teammate: false,
        owner_message: None,
        lease: None,
        block_left: None,
    };
    if before.status == after.status {
        return Ok(updated);
    }
    // The blockers of the task as if it were open, whether it is being completed or reopened.
    let open_blockers = bench.open_blockers(&Task { status: Status::Pending, ..after.clone() }, rules)?;
    match judge_transition(before, after.status, &open_blockers, rules)? {
        Some(Transition::Complete) => {
            updated.now_ready = match rules {
                Rules::Strict => freed(bench, after, &open_blockers)?,
                Rules::Client(_) => freed_as_the_client(bench, after, rules)?,
            };
            updated.open_blockers = open_blockers;
        }
        Some(Transition::Reopen) => {
            for id in dependents(bench, after, rules)? {
                if bench.find(&id)?.is_some_and(started_too_early) {
                    updated.dependents_started.push(id);
                }
            }
        }
        Some(Transition::Start | Transition::PutBack) | None => {}
    }
    Ok(updated)
}

/// Moves changes of facts stated in the description's block into that block. Returns why the block was not changed, if
/// it should have been.
fn into_block(mut patch: Patch, task: &Task) -> (Patch, Option<BadBlock>) {
    let Some(metadata) = patch.metadata.as_mut() else { return (patch, None) };
    let description = patch.description.as_deref().unwrap_or(&task.description);
    let ChangedFacts { description, left } = macf::change_facts(description, task, metadata);
    if let Some(changed) = description {
        patch.description = Some(changed);
        patch.metadata = patch.metadata.filter(|metadata| !metadata.is_empty());
    }
    (patch, left)
}

/// Keeps the marks that other tools put before a title, updated to the task's new state.
fn with_marks(mut patched: Patched, before: &Task, kind: Option<Kind>) -> Patched {
    if let Some(subject) = macf::with_marks(before, &patched.task, kind) {
        patched.updated.retain(|field| *field != Field::Subject);
        if subject != before.subject {
            patched.updated.insert(0, Field::Subject);
        }
        patched.task.subject = subject;
    }
    if let Some(description) = macf::retitled(before, &patched.task) {
        patched.task.description = description;
        patched.updated.push(Field::Description);
        patched.updated.sort();
        patched.updated.dedup();
    }
    patched
}

/// Returns the dependents of a task. With client rules only the task's own `blocks` count; an edge may exist at the
/// other end only.
pub(super) fn dependents(bench: &mut Workbench<'_>, task: &Task, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
    match rules {
        Rules::Strict => Ok(bench.ties(&task.id)?.waiting),
        Rules::Client(_) => Ok(task.blocks.clone()),
    }
}

pub(super) fn freed_as_the_client(
    bench: &mut Workbench<'_>,
    completed: &Task,
    rules: Rules,
) -> Result<Vec<TaskId>, StoreError> {
    let mut freed = Vec::new();
    for id in dependents(bench, completed, rules)? {
        let Some(dependent) = bench.find(&id)?.cloned() else { continue };
        if is_freed(&dependent, &completed.id, &bench.open_blockers(&dependent, rules)?) {
            freed.push(id);
        }
    }
    Ok(freed)
}

/// Returns the tasks that completing a task unblocks: among its dependents, their parts, its own parts if it was
/// blocked, and the parent whose last open part it was.
pub(super) fn freed(
    bench: &mut Workbench<'_>,
    completed: &Task,
    waited_for: &[TaskId],
) -> Result<Vec<TaskId>, StoreError> {
    let ties = bench.ties(&completed.id)?;
    let above: Vec<Task> = ancestors(completed, |id| bench.named(id))?;
    let lines_above: HashSet<&TaskId> = above.iter().map(|task| &task.id).collect();
    let mut held_up_parts: Vec<&TaskId> = Vec::new();
    for waiting in &ties.waiting {
        let is_open = bench.find(waiting)?.is_some_and(|task| task.status.is_open());
        // A task blocked by its own part never blocked its other parts.
        if is_open && !lines_above.contains(waiting) {
            held_up_parts.push(waiting);
        }
    }
    if !waited_for.is_empty() {
        held_up_parts.push(&completed.id);
    }
    let mut candidates = ties.all_below(held_up_parts);
    candidates.remove(&completed.id);
    candidates.extend(ties.waiting.iter().cloned());
    candidates.extend(above.first().map(|parent| parent.id.clone()));
    let mut lines = Lines::default();
    let mut freed = Vec::new();
    for id in candidates {
        let Some(task) = bench.find(&id)?.cloned() else { continue };
        if task.status == Status::Pending
            && !task.is_internal()
            && bench.own_open_blockers(&task)?.is_empty()
            && !lines.is_held_up(bench, &id)?
            && lines.open_parts(bench, &ties, &id)?.is_empty()
        {
            freed.push(id);
        }
    }
    Ok(freed)
}

/// Refuses to complete a task that has open parts.
pub(super) fn refuse_open_parts(bench: &mut Workbench<'_>, task: &TaskId) -> Result<(), Halt> {
    let ties = bench.ties(task)?;
    let parts = Lines::default().open_parts(bench, &ties, task)?;
    if parts.is_empty() { Ok(()) } else { Err(Refusal::OpenParts { task: task.clone(), parts }.into()) }
}

/// The ancestors of tasks and whether these block them, computed once per task.
#[derive(Default)]
struct Lines {
    lineage: Lineage<TaskId>,
    /// Whether an ancestor of the task is blocked by an open task that is not a part of that ancestor.
    held_up: HashMap<TaskId, bool>,
}

impl Lines {
    fn open_parts(&mut self, bench: &mut Workbench<'_>, ties: &Ties, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let mut open = Vec::new();
        for id in ties.parts_of(task) {
            if bench.find(id)?.is_none_or(|part| !part.status.is_open() || part.is_internal()) {
                continue;
            }
            // Tasks that are parts of each other, in a cycle, count as parts of no task.
            self.see(bench, id)?;
            if self.lineage.parent(id).is_some() {
                open.push(id.clone());
            }
        }
        Ok(open)
    }

    /// Returns whether a task is blocked through one of its ancestors.
    fn is_held_up(&mut self, bench: &mut Workbench<'_>, task: &TaskId) -> Result<bool, StoreError> {
        self.see(bench, task)?;
        let (mut way, mut at) = (Vec::new(), task.clone());
        while !self.held_up.contains_key(&at) {
            match self.lineage.parent(&at).cloned() {
                Some(parent) => way.push((std::mem::replace(&mut at, parent.clone()), parent)),
                None => drop(self.held_up.insert(at.clone(), false)),
            }
        }
        for (task, parent) in way.into_iter().rev() {
            let is_held_up = self.held_up[&parent] || self.holds_up_its_parts(bench, &parent)?;
            self.held_up.insert(task, is_held_up);
        }
        Ok(self.held_up[task])
    }

    fn holds_up_its_parts(&mut self, bench: &mut Workbench<'_>, task: &TaskId) -> Result<bool, StoreError> {
        let Some(open) = bench.find(task)?.filter(|task| task.status.is_open()).cloned() else { return Ok(false) };
        for blocker in bench.own_open_blockers(&open)? {
            self.see(bench, &blocker)?;
            if !self.lineage.is_below(&blocker, task) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn see(&mut self, bench: &mut Workbench<'_>, task: &TaskId) -> Result<(), StoreError> {
        self.lineage.see(task, |at| {
            let Some(parent) = bench.find(at)?.and_then(Task::parent) else { return Ok(None) };
            Ok(bench.find(&parent)?.is_some().then_some(parent))
        })
    }
}

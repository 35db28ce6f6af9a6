//! Staging changes of tasks, as strict rules have it and as the client does, and what they mean for other tasks.

use std::time::Duration;

use taskyard_core::dialect::macf::{self, BadBlock, ChangedFacts, Kind};
use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::changes::notes::keep_notes;
use taskyard_core::rules::changes::patching::{self, Field, OwnerChange, Patch, Patched, names_new};
use taskyard_core::rules::changes::transitions::{
    Transition, frees_from_owner, judge_transition, owner_after_start, started_too_early,
};
use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, Lease, Rules, Status, Task, TaskId};

use super::change_terms::{Update, Updated, without_old_cancellation};
use super::edges::{
    attach, blocking, connect_as_the_client, disconnect, disconnect_as_the_client, refuse_circles, waiting_for,
};
use super::freeing::{dependents, freed, freed_as_the_client, refuse_open_parts};
use super::halt::Halt;
use super::leases::lease_on;
use super::refused_task::RefusedTask;
use super::workbench::Workbench;
use crate::Yard;
use crate::store::{NewLease, StoreError, Txn};
use crate::teams::Seat;
use crate::yard::StartLease;

/// The ties of so many tasks are looked for one by one; those of more in one look at the whole list.
const FEW: usize = 4;

/// Changes tasks and what they are tied to; they are judged together, as they are when all changes are made. Where one is refused, nothing
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

/// Changes tasks as [`change_strictly`] does; where some are refused, nothing is staged, and all of those are told, in their order.
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

/// Judges one of several changes that are on the bench.
fn judged(yard: &Yard, bench: &mut Workbench<'_>, change: &Changed) -> Result<Updated, Halt> {
    let Changed { before, patched, left, .. } = change;
    let id = &before.id;
    let after = bench.demand(id, || Refusal::NoSuchTask { task: id.clone() })?.clone();
    if yard.minds_parts() && before.status.is_open() && after.status == Status::Completed {
        refuse_open_parts(bench, id)?;
    }
    let consequences = consequences(bench, before, &after, Rules::Strict)?;
    let mut updated = patched.updated.clone();
    updated.extend((before.blocks != after.blocks).then_some(Field::Blocks));
    updated.extend((before.blocked_by != after.blocked_by).then_some(Field::BlockedBy));
    let (status_change, block_left) = (patched.status_change, left.clone());
    Ok(Updated { task: after, updated, status_change, block_left, ..consequences })
}

/// Returns what was done, and notes a refusal.
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

/// One task that was changed.
struct Changed {
    before: Task,
    patched: Patched,
    /// Why the block of its description was left as it is.
    left: Option<BadBlock>,
    /// The edges that are new.
    edges: Vec<Edge>,
    /// The task itself, where it is a part of another than before.
    parts: Vec<TaskId>,
}

/// Looks once for all changes that are on the bench whether they close a circle, and returns the last of those that do with the refusal.
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

/// Puts the changes of one task on the bench, and returns it as it was, with what changed.
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

/// Writes as the client writes: the fields in one go where any changed, then each edge by itself.
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

/// Returns the names of the actor, first the one that it has as an owner: that of its seat if it is a member of a team and does not lead it.
fn names_of<'a>(yard: &'a Yard, seat: Option<&'a Seat>) -> Vec<&'a str> {
    let actor = yard.actor().as_str();
    match seat {
        Some(seat) if seat.is_lead() => vec![actor, &seat.name],
        Some(seat) => vec![&seat.name, actor],
        None => vec![actor],
    }
}

/// Gives an agent that has started a task of its own a lease if it has none, and returns the one that is new.
fn lease_for_starter(yard: &Yard, txn: &mut dyn Txn, task: &Task) -> Result<Option<Lease>, StoreError> {
    let Some(StartLease { ttl, holder }) = yard.start_lease() else { return Ok(None) };
    let is_own = |owner: &&str| is_same_agent(owner, yard.actor().as_str());
    let Some(agent) = task.owner().filter(is_own).and_then(|name| AgentName::new(name).ok()) else { return Ok(None) };
    if task.status != Status::InProgress || lease_on(txn, task)?.is_some() {
        return Ok(None);
    }
    txn.grant(NewLease { task: task.id.clone(), agent, ttl: *ttl, holder: holder.clone() }).map(Some)
}

/// Gives the owner of an open task a lease for a time where it has none, and returns the one it has.
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

/// Judges the change of status, if there is one, and works out what it means for other tasks.
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
    // What held it up while it was open, or does once it is open again.
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

/// What a block in the description tells is changed there, and not beside it. Returns why it was left, where it was.
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

/// What other tools put before a title stays there, and follows what it speaks of.
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

//! Changing fields and edges of a task.

use std::time::Duration;

use serde_json::Value;
use taskyard_core::dialect::macf::{self, Kind};
use taskyard_core::rules::dependencies::{Edge, is_freed};
use taskyard_core::rules::patching::{self, Field, OwnerChange, Patch, Patched, names_new};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::rules::transitions::{
    Transition, frees_from_owner, judge_transition, outdates_cancellation, started_too_early,
};
use taskyard_core::{AgentName, Lease, Op, Revision, Rules, Status, Task, TaskId};

use super::consulting::Consulted;
use super::edges::{
    blocking, connect_as_the_client, connect_strictly, disconnect, disconnect_as_the_client, waiting_for,
};
use super::halt::Halt;
use super::leases::lease_on;
use super::team::{Told, with_owner};
use super::workbench::Workbench;
use crate::store::{NewLease, StoreError, Txn};
use crate::teams::Seat;
use crate::{Error, Outcome, Yard};

/// How often a change begins again because somebody reopened the task while hooks were asked.
const ATTEMPTS: u32 = 16;

/// What is to change about a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// The fields to change.
    pub patch: Patch,
    /// Tasks that shall wait for this one.
    pub add_blocks: Vec<TaskId>,
    /// Tasks this one shall wait for.
    pub add_blocked_by: Vec<TaskId>,
    /// Tasks that shall no longer wait for this one.
    pub remove_blocks: Vec<TaskId>,
    /// Tasks this one shall no longer wait for.
    pub remove_blocked_by: Vec<TaskId>,
    /// The kind whose marks its title gets; none: those it has.
    pub kind: Option<Kind>,
    /// How long the lease lives that its owner gets, who keeps it though it is opened again; none: it is opened for everybody.
    pub lease_for_owner: Option<Duration>,
}

/// A task that was changed, or was already as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The task as it is now.
    pub task: Task,
    /// The fields that changed, in the order the client reports them.
    pub updated: Vec<Field>,
    /// The status before and after, where it changed.
    pub status_change: Option<(Status, Status)>,
    /// The commit; none where nothing changed.
    pub revision: Option<Revision>,
    /// The tasks that can start now because this one was completed.
    pub now_ready: Vec<TaskId>,
    /// The open tasks this one was completed in spite of.
    pub open_blockers: Vec<TaskId>,
    /// The tasks that wait for this one and were already started when it was reopened.
    pub dependents_started: Vec<TaskId>,
    /// Whether a member of a team that does not lead it made the change.
    pub is_by_teammate: bool,
    /// Whether the new owner, a member of a team, was told.
    pub told: Option<Told>,
    /// The lease of the owner who keeps it.
    pub lease: Option<Lease>,
}

impl Yard {
    /// Changes fields and edges of a task, in one commit.
    pub fn update(&self, id: &TaskId, update: Update) -> Result<Outcome<Updated>, Error> {
        self.change(id, |_| update.clone())
    }

    /// Changes a task as `update` says once it has seen it.
    ///
    /// Where that completes the task, checks and hooks are asked first, with no lock held; the change is then made on what is
    /// there by then. Where that turns out to be a completion nobody was asked about, it begins again.
    pub(super) fn change(&self, id: &TaskId, update: impl Fn(&Task) -> Update) -> Result<Outcome<Updated>, Error> {
        let seat = self.seat()?;
        let update = |task: &Task| with_owner(update(task), task, seat.as_ref());
        let outcome = self.change_seated(id, update, seat.as_ref())?;
        Ok(outcome.map(|updated| self.told_owner(updated, seat.as_ref())))
    }

    fn change_seated(
        &self,
        id: &TaskId,
        update: impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Updated>, Error> {
        for _ in 0..ATTEMPTS {
            let list = self.store().read(self.list_id())?;
            if !list.exists() {
                return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() }));
            }
            let seen = if self.hooks().is_some() || seat.is_some() { list.find(id)?.task() } else { None };
            if let Some(refusal) =
                seen.as_ref().map_or(Ok(None), |task| self.forbidden_by_plan(seat, &update(task), task))?
            {
                return Ok(Outcome::Refused(refusal));
            }
            // Nobody is asked about a change that is not this agent's to make.
            if let Some(refusal) = seen.as_ref().map_or(Ok(None), |task| self.forbidden_by_lease(&*list, task))? {
                return Ok(Outcome::Refused(refusal));
            }
            drop(list);
            let consulted = self.consult(seen.as_ref(), &update)?;
            if let Consulted::Refused(refusal) = consulted {
                return Ok(Outcome::Refused(refusal));
            }
            match self.change_after(&consulted, id, &update, seat)? {
                Outcome::Done(Some(updated)) => return Ok(Outcome::Done(updated)),
                Outcome::Done(None) => {}
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            }
        }
        Err(Error::TooManyConflicts { task: id.clone(), attempts: ATTEMPTS })
    }

    /// Changes a task; none, and nothing changed, where it finds a completion that nobody was asked about.
    fn change_after(
        &self,
        consulted: &Consulted,
        id: &TaskId,
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Option<Updated>>, Error> {
        let outcome = self.transact(Op::Update, |txn, signature| {
            if self.hooks().is_some()
                && let Some(task) = txn.find(id)?.task()
                && !consulted.covers(&task, &update(&task), self.rules())
            {
                return Ok(None);
            }
            let updated = match self.rules() {
                Rules::Strict => change_strictly(self, txn, id, update, seat),
                Rules::Client(_) => change_as_the_client(self, txn, id, update),
            }?;
            signature.remark.now_ready.clone_from(&updated.now_ready);
            if updated.status_change.is_some_and(|(before, _)| before == Status::Completed) {
                signature.op = Op::Reopen;
            }
            Ok(Some(updated))
        })?;
        Ok(outcome.map(|(updated, event)| {
            let revision = event.map(|event| event.revision);
            updated.map(|updated| Updated { revision, ..updated })
        }))
    }
}

fn change_strictly(
    yard: &Yard,
    txn: &mut dyn Txn,
    id: &TaskId,
    update: &impl Fn(&Task) -> Update,
    seat: Option<&Seat>,
) -> Result<Updated, Halt> {
    if let Some(task) = txn.find(id)?.task() {
        yard.respect_lease(txn, &task)?;
    }
    let mut bench = Workbench::on(txn);
    let before = bench.demand(id, || Refusal::NoSuchTask { task: id.clone() })?.clone();
    let update = update(&before);
    let mut patch = into_block(without_old_cancellation(update.patch, &before), &before);
    let is_freed = patch.status.is_some_and(|status| frees_from_owner(&before, status, yard.actor(), Rules::Strict));
    if is_freed && patch.owner.is_none() && update.lease_for_owner.is_none() {
        patch.owner = Some(OwnerChange::Clear);
    }
    let patched = with_marks(patching::apply(&patch, &before), &before, update.kind);
    bench.change(id, |task| *task = patched.task.clone())?;
    for edge in blocking(id, &update.remove_blocks).chain(waiting_for(id, &update.remove_blocked_by)) {
        disconnect(&mut bench, &edge)?;
    }
    let added: Vec<Edge> = blocking(id, &update.add_blocks).chain(waiting_for(id, &update.add_blocked_by)).collect();
    connect_strictly(&mut bench, &added)?;

    let after = bench.demand(id, || Refusal::NoSuchTask { task: id.clone() })?.clone();
    let consequences = consequences(&mut bench, &before, &after, Rules::Strict)?;
    bench.stage()?;
    let mut updated = patched.updated;
    updated.extend((before.blocks != after.blocks).then_some(Field::Blocks));
    updated.extend((before.blocked_by != after.blocked_by).then_some(Field::BlockedBy));
    let task = txn.find(id)?.task().unwrap_or(after);
    yard.respect_limit(txn, &before, &task, seat)?;
    let lease = lease_for_owner(txn, &task, update.lease_for_owner)?;
    Ok(Updated { task, updated, status_change: patched.status_change, lease, ..consequences })
}

/// Writes as the client writes: the fields in one go where any changed, then each edge by itself.
fn change_as_the_client(
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
        connect_as_the_client(txn, &edge)?;
    }
    for edge in waiting_for(id, &update.add_blocked_by).filter(|edge| !before.blocked_by.contains(&edge.on)) {
        connect_as_the_client(txn, &edge)?;
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

/// Judges the change of status, if there is one, and works out what it means for other tasks.
pub(super) fn consequences(
    bench: &mut Workbench<'_>,
    before: &Task,
    after: &Task,
    rules: Rules,
) -> Result<Updated, Halt> {
    let mut updated = Updated {
        task: after.clone(),
        updated: Vec::new(),
        status_change: None,
        revision: None,
        now_ready: Vec::new(),
        open_blockers: Vec::new(),
        dependents_started: Vec::new(),
        is_by_teammate: false,
        told: None,
        lease: None,
    };
    if before.status == after.status {
        return Ok(updated);
    }
    let open_blockers = bench.open_blockers(after)?;
    match judge_transition(before, after.status, &open_blockers, rules)? {
        Some(Transition::Complete) => {
            for id in dependents(bench, after, rules)? {
                let Some(dependent) = bench.find(&id)?.cloned() else { continue };
                if is_freed(&dependent, &after.id, &bench.open_blockers(&dependent)?) {
                    updated.now_ready.push(id);
                }
            }
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

/// Returns the tasks that wait for a task. The client believes the task alone; an edge may be written on the other side only.
fn dependents(bench: &mut Workbench<'_>, task: &Task, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
    match rules {
        Rules::Strict => bench.waiting_for(&task.id),
        Rules::Client(_) => Ok(task.blocks.clone()),
    }
}

/// Gives the owner of an open task a lease for a time where it has none, and returns the one it has.
fn lease_for_owner(txn: &mut dyn Txn, task: &Task, ttl: Option<Duration>) -> Result<Option<Lease>, StoreError> {
    let Some((ttl, agent)) = ttl.zip(task.owner().and_then(AgentName::new)).filter(|_| task.status.is_open()) else {
        return Ok(None);
    };
    if let Some(lease) = lease_on(txn, task)? {
        return Ok(Some(lease));
    }
    txn.grant(NewLease { task: task.id.clone(), agent, ttl: Some(ttl), holder: None }).map(Some)
}

/// What a block in the description tells is changed there, and not beside it.
fn into_block(mut patch: Patch, task: &Task) -> Patch {
    let Some(metadata) = patch.metadata.as_mut() else { return patch };
    let description = patch.description.as_deref().unwrap_or(&task.description);
    if let Some(changed) = macf::change_facts(description, metadata) {
        patch.description = Some(changed);
        patch.metadata = patch.metadata.filter(|metadata| !metadata.is_empty());
    }
    patch
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
    patched
}

/// Takes `metadata.cancelled` away with the status it belonged to, unless the patch says something of it.
pub(super) fn without_old_cancellation(mut patch: Patch, task: &Task) -> Patch {
    if patch.status.is_some_and(|to| outdates_cancellation(task, to, Rules::Strict)) {
        patch.metadata.get_or_insert_default().entry("cancelled").or_insert(Value::Null);
    }
    patch
}

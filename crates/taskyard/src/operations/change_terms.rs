//! What is to change about a task, and what a change came to.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use taskyard_core::dialect::macf::{BadBlock, Kind};
use taskyard_core::rules::changes::patching::{Field, OwnerChange, Patch};
use taskyard_core::rules::changes::tagging::TagChange;
use taskyard_core::rules::changes::transitions::outdates_cancellation;
use taskyard_core::{Event, Lease, Op, Revision, Rules, Status, Task, TaskId};

use super::task_message::TaskMessage;
use crate::store::Signature;
use crate::teams::Seat;

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
    /// What becomes of its tags.
    pub tags: TagChange,
    /// How long the lease lives that its owner gets, who keeps it though it is opened again; none: it is opened for every agent.
    pub lease_for_owner: Option<Duration>,
}

/// A task that was changed, or was already as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The task as it was before.
    pub before: Task,
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
    /// The message to the new owner; none where that is no other member of the team.
    pub owner_message: Option<TaskMessage>,
    /// The lease of the owner who keeps it.
    pub lease: Option<Lease>,
    /// Why the block in its description was left as it is, where it was to be changed.
    pub block_left: Option<BadBlock>,
}

impl Update {
    /// Returns what is to change about this task, whose tags count.
    #[must_use]
    pub(super) fn for_task(mut self, task: &Task) -> Self {
        if let Some(tags) = self.tags.applied_to(task) {
            self.patch.metadata.get_or_insert_default().insert("tags".to_owned(), tags);
        }
        self
    }
}

/// Says of a commit which tasks can start because of it, and whether it opened any again.
pub(super) fn sign(updated: &[Updated], signature: &mut Signature) {
    signature.remark.now_ready = now_ready(updated);
    let reopens = |updated: &Updated| updated.status_change.is_some_and(|(before, _)| before == Status::Completed);
    if updated.iter().any(reopens) {
        signature.op = Op::Reopen;
    }
}

/// Adds the commit to what it changed.
pub(super) fn with_revision(updated: Vec<Updated>, event: Option<Event>) -> Vec<Updated> {
    let revision = event.map(|event| event.revision);
    updated.into_iter().map(|updated| Updated { revision, ..updated }).collect()
}

/// Returns the tasks that can start now because of changes that were made together.
pub fn now_ready(updated: &[Updated]) -> Vec<TaskId> {
    let ready: BTreeSet<&TaskId> = updated.iter().flat_map(|updated| &updated.now_ready).collect();
    ready.into_iter().cloned().collect()
}

/// Takes `metadata.cancelled` away with the status it belonged to, unless the patch says something of it.
pub(super) fn without_old_cancellation(mut patch: Patch, task: &Task) -> Patch {
    if patch.status.is_some_and(|to| outdates_cancellation(task, to, Rules::Strict)) {
        patch.metadata.get_or_insert_default().entry("cancelled").or_insert(Value::Null);
    }
    patch
}

/// Gives a task without an owner that a teammate starts to that teammate, as the client does.
pub(super) fn with_owner(mut update: Update, task: &Task, seat: Option<&Seat>) -> Update {
    let starts = update.patch.status == Some(Status::InProgress);
    let is_nobodys = update.patch.owner.is_none() && task.owner().is_none();
    if let Some(seat) = seat.filter(|seat| starts && is_nobodys && !seat.is_lead()) {
        update.patch.owner = Some(OwnerChange::Set(seat.name.clone()));
    }
    update
}

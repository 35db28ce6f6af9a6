//! Claims: won, lost, renewed, given back.

use taskyard_core::answers::claims::{
    ClaimLost, ClaimRefused, ClaimWon, ClaimedTogether, Departed, RefusedClaim, Released, ReleasedTogether, Renewed,
    UnassignedTask, WonClaim,
};
use taskyard_core::answers::values::{Ids, Shape, expires_at};
use taskyard_core::{Lease, Task};

use super::tasks::refused_tasks;
use crate::operations::{self, Possible};

impl<'a> From<&'a operations::Claimed> for ClaimWon<'a> {
    fn from(claimed: &'a operations::Claimed) -> Self {
        Self {
            claimed: true,
            task: Shape(&claimed.task),
            token: claimed.lease.token.0,
            expires_at: expires_at(&claimed.lease),
            agent: claimed.lease.agent.as_str(),
            resumed: claimed.is_resumed,
            why: claimed.why.as_deref(),
            also_held: Ids(&claimed.also_held),
            revision: claimed.revision.map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a operations::LostClaim> for ClaimLost<'a> {
    fn from(lost: &'a operations::LostClaim) -> Self {
        Self {
            refused: ClaimRefused { since: lost.since.map(|since| since.to_string()), ..(&lost.refusal).into() },
            task: lost.task.as_deref().map(Shape),
            also_held: Ids(&lost.also_held),
            gone: lost.gone.as_ref().map(Into::into),
        }
    }
}

impl<'a> From<&'a operations::ClaimedTogether> for ClaimedTogether<'a> {
    fn from(operations::ClaimedTogether { claimed, refused }: &'a operations::ClaimedTogether) -> Self {
        fn won(claimed: &operations::Claimed) -> WonClaim<'_> {
            WonClaim {
                task: claimed.task.id.as_str(),
                token: claimed.lease.token.0,
                expires_at: expires_at(&claimed.lease),
                agent: claimed.lease.agent.as_str(),
                resumed: claimed.is_resumed,
            }
        }
        fn lost(refused: &operations::RefusedClaim) -> RefusedClaim<'_> {
            RefusedClaim { refused: (&refused.refusal).into(), task: refused.id.as_str() }
        }
        Self {
            claimed: !claimed.is_empty(),
            tasks: claimed.iter().map(|claimed| Shape(&claimed.task)).collect(),
            claims: claimed.iter().map(won).collect(),
            refused: refused.iter().map(lost).collect(),
            revision: claimed.iter().find_map(|claimed| claimed.revision).map(|revision| revision.0),
        }
    }
}

/// Returns a task whose lease was renewed.
pub fn renewed<'a>(task: &'a Task, lease: &Lease) -> Renewed<'a> {
    Renewed { renewed: true, task: Shape(task), token: lease.token.0, expires_at: expires_at(lease) }
}

impl<'a> From<&'a operations::Released> for Released<'a> {
    fn from(released: &'a operations::Released) -> Self {
        Self { task: Shape(&released.task), revision: released.revision.map(|revision| revision.0) }
    }
}

impl<'a> From<&'a Possible<operations::Released>> for ReleasedTogether<'a> {
    fn from(Possible { done, refused }: &'a Possible<operations::Released>) -> Self {
        Self {
            tasks: done.iter().map(|released| Shape(&released.task)).collect(),
            refused: refused_tasks(refused),
            revision: done.iter().find_map(|released| released.revision).map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a operations::Departed> for Departed<'a> {
    fn from(departed: &'a operations::Departed) -> Self {
        Self { unassigned_tasks: unassigned(departed), notification_message: &departed.notice }
    }
}

/// Returns the tasks that an agent has left behind.
pub(super) fn unassigned(departed: &operations::Departed) -> Vec<UnassignedTask<'_>> {
    departed.tasks.iter().map(|task| UnassignedTask { id: task.shown_id(), subject: &task.subject }).collect()
}

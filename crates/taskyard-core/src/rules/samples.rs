//! Tasks for the tests of the rules.

use crate::{Member, Task, TaskId, Team, TeamName, Timestamp};

/// Returns the id of a numbered task.
pub(super) fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

/// Returns a pending task with these edges.
pub(super) fn task(number: u64, blocked_by: &[u64], blocks: &[u64]) -> Task {
    let ids = |numbers: &[u64]| numbers.iter().copied().map(id).collect();
    Task { blocked_by: ids(blocked_by), blocks: ids(blocks), ..Task::new(id(number), "x") }
}

/// Returns team `alpha` with these members.
pub(super) fn team(names: &[&str]) -> Team {
    let member = |name: &&str| Member { name: (*name).into(), ..Member::default() };
    Team {
        name: TeamName::new("alpha").unwrap(),
        description: None,
        created_at: Timestamp(0),
        lead_session: None,
        lead_process: None,
        members: names.iter().map(member).collect(),
    }
}

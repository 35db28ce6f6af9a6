//! Sample tasks, teams and journal entries for the tests of the rules.

use crate::dialect::native;
use crate::{AgentName, Entry, Image, Member, Op, Remark, Revision, Rules, Task, TaskId, Team, TeamName, Timestamp};

pub(crate) fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

/// Returns a pending task with these edges.
pub(crate) fn task(number: u64, blocked_by: &[u64], blocks: &[u64]) -> Task {
    let ids = |numbers: &[u64]| numbers.iter().copied().map(id).collect();
    Task { blocked_by: ids(blocked_by), blocks: ids(blocks), ..Task::new(id(number), "x") }
}

/// Returns team `alpha` with these members.
pub(crate) fn team(names: &[&str]) -> Team {
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

/// Returns the file contents of a pending task.
pub(crate) fn image(number: u64, subject: &str) -> Option<Image> {
    native::write(None, &Task::new(id(number), subject), Rules::Strict).ok()
}

/// Returns a journal entry made by another program, with its revision number as its timestamp.
pub(crate) fn entry(revision: u64, task: u64, before: Option<Image>, after: Option<Image>) -> Entry {
    Entry {
        revision: Revision(revision),
        at: Timestamp(i64::try_from(revision).unwrap()),
        actor: AgentName::elsewhere(),
        op: Op::RemovedElsewhere,
        task: id(task),
        before,
        after,
        undoes: Vec::new(),
        remark: Remark::default(),
        attempt: None,
        db_user: None,
    }
}

//! Owners who no longer work on what is theirs.

use std::time::Duration;

use super::{Defect, FindingCode};
use crate::rules::agents::naming::is_same_agent;
use crate::rules::health::mending::Mend;
use crate::{Entry, Image, Moment, Op, Status, Task, Timestamp};

/// How long the owner of a task may show no life where nothing else is said.
pub const OWNER_SILENCE: Duration = Duration::from_secs(24 * 3600);

/// Tells whether an owner may keep a task from other agents without being there: the task is open, and no lease would ever end that.
pub fn may_be_abandoned(task: &Task) -> bool {
    task.status.is_open() && !task.is_internal() && task.owner().is_some()
}

/// Tells whether an entry of a journal shows life of a task's owner: the owner made it, or the task was given to the owner in it, or another
/// program, which does not say who acted, changed the task.
pub fn is_sign_of_owner(entry: &Entry, task: &Task) -> bool {
    let Some(owner) = task.owner() else { return false };
    let is_owners = |name: &str| is_same_agent(name, owner);
    let has_it = |image: &Option<Image>| {
        let task = image.as_ref().and_then(|image| image.task(&entry.task).ok());
        task.is_some_and(|task| task.owner().is_some_and(is_owners))
    };
    if is_owners(entry.actor.as_str()) {
        return entry.op != Op::Expire;
    }
    entry.task == task.id && (is_of_another_program(entry) || has_it(&entry.after) && !has_it(&entry.before))
}

/// Tells whether another program made an entry's change: the time of the entry is then when we saw it, and not when it happened.
pub fn is_of_another_program(entry: &Entry) -> bool {
    matches!(entry.op, Op::CreatedElsewhere | Op::ChangedElsewhere)
}

/// Judges the owner of a task on which there is no lease, given its last sign of life.
pub fn judge_owner(task: &Task, last_sign: Timestamp, now: Timestamp, silence: Duration) -> Option<Defect> {
    let owner = task.owner().filter(|_| may_be_abandoned(task))?;
    let silent_for = Duration::from_millis(u64::try_from(now.0.saturating_sub(last_sign.0)).unwrap_or_default());
    (silent_for >= silence).then(|| Defect {
        code: FindingCode::StaleOwner,
        task: task.id.clone(),
        message: format!(
            "task {} is {}'s, who has no lease on it and has shown no life since {last_sign}",
            task.id.as_str().escape_debug(),
            owner.escape_debug()
        ),
        mend: Some(Mend::Release { task: task.id.clone(), owner: Some(owner.to_owned()) }),
    })
}

/// Tells whether a task is in progress for a session of the client that nothing else names: its own tools write no owner, and take no lease.
pub fn may_be_of_ended_session(task: &Task) -> bool {
    task.status == Status::InProgress && !task.is_internal() && task.owner().is_none()
}

/// How much two clocks of one machine may differ about when a client started.
const CLOCK_DIFFERENCE: i64 = 2_000;

/// Tells whether one of the clients that run now, known by when they started in milliseconds since boot, ran when a file was written: it may be
/// the one that wrote it.
pub fn ran_when_written(written: Timestamp, now: &Moment, clients: &[i64]) -> bool {
    let age = now.wall.0.saturating_sub(written.0);
    let then = now.since_boot.saturating_sub(age).saturating_add(CLOCK_DIFFERENCE);
    clients.iter().any(|started| *started <= then)
}

/// Returns the finding that a task is in progress for a session that has ended. It is mended by itself only if the task `is_free`.
pub fn of_ended_session(task: &Task, written: Timestamp, is_free: bool) -> Defect {
    let id = task.id.as_str().escape_debug();
    Defect {
        code: FindingCode::StaleOwner,
        task: task.id.clone(),
        message: format!(
            "task {id} is in progress for a session that has ended: it was last written at {written}, and no Claude Code that ran then runs now"
        ),
        mend: is_free.then(|| Mend::Release { task: task.id.clone(), owner: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::{OWNER_SILENCE, judge_owner, may_be_of_ended_session, ran_when_written};
    use crate::rules::health::FindingCode;
    use crate::{Moment, Status, Task, TaskId, Timestamp};

    fn owned(status: Status) -> Task {
        Task { owner: Some("ana".into()), status, ..Task::new(TaskId::number(1), "one") }
    }

    #[test]
    fn an_owner_is_stale_after_a_day_without_a_sign_of_life() {
        let day = i64::try_from(OWNER_SILENCE.as_millis()).unwrap();
        for status in [Status::Pending, Status::InProgress] {
            let judge = |now| judge_owner(&owned(status), Timestamp(5), Timestamp(now), OWNER_SILENCE);
            assert_eq!(judge(day + 4), None);
            let defect = judge(day + 5).unwrap();
            assert_eq!(defect.code, FindingCode::StaleOwner);
            assert_eq!(defect.mend.unwrap().describe(), "release 1: it is pending again, and nobody's");
        }
    }

    #[test]
    fn client_that_started_later_did_not_write_it() {
        let now = Moment { wall: Timestamp(1_000_000), boot: "b".into(), since_boot: 500_000 };
        let written = Timestamp(900_000);
        assert!(!ran_when_written(written, &now, &[]));
        assert!(ran_when_written(written, &now, &[450_000, 399_000]), "started a second before");
        assert!(!ran_when_written(written, &now, &[450_000]), "started fifty seconds after");
        assert!(ran_when_written(written, &now, &[401_000]), "clocks differ");
    }

    #[test]
    fn only_unowned_work_in_progress_may_be_of_a_session() {
        let unowned = |status| Task { status, ..Task::new(TaskId::number(1), "one") };
        assert!(may_be_of_ended_session(&unowned(Status::InProgress)));
        assert!(!may_be_of_ended_session(&unowned(Status::Pending)));
        assert!(!may_be_of_ended_session(&owned(Status::InProgress)));
    }

    #[test]
    fn what_is_done_or_nobodys_has_no_stale_owner() {
        let never = Timestamp(i64::MAX);
        assert_eq!(judge_owner(&owned(Status::Completed), Timestamp(0), never, OWNER_SILENCE), None);
        assert_eq!(judge_owner(&Task::new(TaskId::number(1), "one"), Timestamp(0), never, OWNER_SILENCE), None);
        assert_eq!(judge_owner(&owned(Status::Pending), never, Timestamp(0), OWNER_SILENCE), None, "clocks go back");
    }
}

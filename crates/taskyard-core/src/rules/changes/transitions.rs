//! Status changes: which are allowed, how they affect the owner, and which checks completion requires.

use serde_json::Value;

use crate::rules::agents::is_same_agent;
use crate::rules::graph::parts::held_up_through;
use crate::rules::refusal::Refusal;
use crate::{AgentName, Proof, Rules, Status, Task, TaskId};

/// The meaning of a status change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Work starts.
    Start,
    /// The task is completed.
    Complete,
    /// Work is put off; the task is pending again.
    PutBack,
    /// A completed task is reopened.
    Reopen,
}

/// Judges a status change. Returns `None` if the status does not change.
///
/// Strict rules refuse to start a task that has open blockers. The client allows every change.
/// Strict rules refuse to start a task while others it waits for are open. The client lets everything pass.
pub fn judge_transition(
    task: &Task,
    to: Status,
    open_blockers: &[TaskId],
    rules: Rules,
) -> Result<Option<Transition>, Refusal> {
    if task.status == to {
        return Ok(None);
    }
    if to == Status::InProgress && !open_blockers.is_empty() && !rules.is_client() {
        let through = held_up_through(task, open_blockers);
        return Err(Refusal::Blocked { task: task.id.clone(), by: open_blockers.to_vec(), through });
    }
    Ok(Some(match (task.status, to) {
        (Status::Completed, _) => Transition::Reopen,
        (_, Status::Completed) => Transition::Complete,
        (_, Status::InProgress) => Transition::Start,
        (_, Status::Pending) => Transition::PutBack,
    }))
}

/// Returns whether a status change makes an existing `metadata.cancelled` obsolete. The client does not know the key
/// and keeps it.
pub fn outdates_cancellation(task: &Task, to: Status, rules: Rules) -> bool {
    task.status != to && task.meta("cancelled").is_some() && !rules.is_client()
}

/// Returns whether a status change removes the task's owner. The lease ended when the task was completed, so nothing
/// would ever release it after it is reopened. An agent that continues its own task keeps it. The client keeps every
/// owner.
pub fn frees_from_owner(task: &Task, to: Status, actor: &AgentName, rules: Rules) -> bool {
    let Some(owner) = task.owner() else { return false };
    let goes_on = to == Status::InProgress && is_same_agent(owner, actor.as_str());
    task.status == Status::Completed && to.is_open() && !goes_on && !rules.is_client()
}

/// Determines the owner of a task that an agent starts without naming an owner. `names` are the names of that agent.
/// Returns the new owner, which is the first of the names, or `None` if the owner stays.
///
/// Starting a task claims it: a task without an owner becomes the agent's, and another agent's open task is refused. A
/// caller that forces the change takes the task over; one that proves a lease by its token acts for the owner. The
/// client never changes the owner.
pub fn owner_after_start(
    task: &Task,
    to: Status,
    names: &[&str],
    proof: Proof,
    rules: Rules,
) -> Result<Option<String>, Refusal> {
    if to != Status::InProgress || rules.is_client() {
        return Ok(None);
    }
    let is_own = |owner: &str| names.iter().any(|name| is_same_agent(owner, name));
    match (task.owner(), proof) {
        (Some(owner), _) if is_own(owner) => Ok(None),
        (Some(owner), Proof::Name) if task.status.is_open() => {
            Err(Refusal::OwnedByAnother { task: task.id.clone(), owner: owner.to_owned(), since: None })
        }
        (Some(_), Proof::Token(_)) if task.status.is_open() => Ok(None),
        _ => Ok(names.first().map(|name| (*name).to_owned())),
    }
}

/// Returns whether a dependent of a reopened task has already been started.
pub fn started_too_early(dependent: &Task) -> bool {
    dependent.status != Status::Pending && !dependent.is_cancelled()
}

/// Returns the names of the checks that `metadata.verify` requires. It may be one name or an array.
///
/// A value that is not a string is returned as its JSON text. No check can be defined under such a name, so a malformed
/// requirement is never treated as none.
pub fn demanded_checks(task: &Task) -> Vec<String> {
    let name = |value: &Value| match value {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    };
    match task.meta("verify") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) => names.iter().map(name).collect(),
        Some(value) => vec![name(value)],
    }
}

#[cfg(test)]
mod tests {
    use super::{Transition, frees_from_owner, judge_transition, outdates_cancellation, owner_after_start};
    use crate::rules::refusal::Refusal;
    use crate::{AgentName, ClientVersion, Proof, Rules, Status, Task, TaskId, Token};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn task(status: Status) -> Task {
        Task { status, ..Task::new(TaskId::number(2), "x") }
    }

    #[test]
    fn a_blocked_task_cannot_start_except_in_the_clients_rules() {
        let by = [TaskId::number(1)];
        for status in [Status::Pending, Status::Completed] {
            let refused = judge_transition(&task(status), Status::InProgress, &by, Rules::Strict);
            assert_eq!(refused, Err(Refusal::Blocked { task: TaskId::number(2), by: by.to_vec(), through: None }));
        }
        let passed = judge_transition(&task(Status::Pending), Status::InProgress, &by, CLIENT);
        assert_eq!(passed, Ok(Some(Transition::Start)));
    }

    #[test]
    fn a_blocked_task_can_be_completed_from_pending_and_in_progress() {
        let by = [TaskId::number(1)];
        for rules in [Rules::Strict, CLIENT] {
            for status in [Status::Pending, Status::InProgress] {
                let passed = judge_transition(&task(status), Status::Completed, &by, rules);
                assert_eq!(passed, Ok(Some(Transition::Complete)));
            }
        }
    }

    #[test]
    fn leaving_completed_is_a_reopening() {
        for to in [Status::Pending, Status::InProgress] {
            let reopened = judge_transition(&task(Status::Completed), to, &[], Rules::Strict);
            assert_eq!(reopened, Ok(Some(Transition::Reopen)));
        }
        let put_back = judge_transition(&task(Status::InProgress), Status::Pending, &[], Rules::Strict);
        assert_eq!(put_back, Ok(Some(Transition::PutBack)));
    }

    #[test]
    fn reopened_task_is_unowned_unless_its_owner_continues() {
        let done = Task { owner: Some("ana".into()), ..task(Status::Completed) };
        let frees = |task: &Task, to, actor, rules| frees_from_owner(task, to, &AgentName::new(actor).unwrap(), rules);
        for actor in ["ana", "ben"] {
            assert!(frees(&done, Status::Pending, actor, Rules::Strict));
            assert!(!frees(&done, Status::Completed, actor, Rules::Strict));
            assert!(!frees(&done, Status::Pending, actor, CLIENT));
        }
        assert!(frees(&done, Status::InProgress, "ben", Rules::Strict));
        assert!(!frees(&done, Status::InProgress, "ana@team", Rules::Strict));
        let begun = Task { status: Status::InProgress, ..done };
        assert!(!frees(&begun, Status::Pending, "ben", Rules::Strict), "its lease goes on");
    }

    #[test]
    fn starting_is_owning_except_in_the_clients_rules() {
        let owned = |status, owner: &str| Task { owner: Some(owner.into()), ..task(status) };
        let started = |task: &Task, proof, rules| owner_after_start(task, Status::InProgress, &["ana"], proof, rules);
        for status in [Status::Pending, Status::InProgress, Status::Completed] {
            assert_eq!(started(&task(status), Proof::Name, Rules::Strict), Ok(Some("ana".into())));
            assert_eq!(started(&task(status), Proof::Name, CLIENT), Ok(None));
            assert_eq!(started(&owned(status, "ana@crew"), Proof::Name, Rules::Strict), Ok(None));
        }
        for status in [Status::Pending, Status::InProgress] {
            let bens = owned(status, "ben");
            let refused = Refusal::OwnedByAnother { task: bens.id.clone(), owner: "ben".into(), since: None };
            assert_eq!(started(&bens, Proof::Name, Rules::Strict), Err(refused));
            assert_eq!(started(&bens, Proof::Force, Rules::Strict), Ok(Some("ana".into())));
            assert_eq!(started(&bens, Proof::Token(Token(7)), Rules::Strict), Ok(None));
            assert_eq!(started(&bens, Proof::Name, CLIENT), Ok(None));
        }
        let done = owned(Status::Completed, "ben");
        assert_eq!(started(&done, Proof::Name, Rules::Strict), Ok(Some("ana".into())), "its owner has finished");
        let other = owner_after_start(&task(Status::InProgress), Status::Pending, &["ana"], Proof::Name, Rules::Strict);
        assert_eq!(other, Ok(None));
    }

    #[test]
    fn staying_in_progress_is_no_start_even_when_blocked() {
        let by = [TaskId::number(1)];
        assert_eq!(judge_transition(&task(Status::InProgress), Status::InProgress, &by, Rules::Strict), Ok(None));
    }

    #[test]
    fn a_cancellation_does_not_outlive_the_status_it_belongs_to() {
        let mut cancelled = task(Status::Completed);
        cancelled.metadata = serde_json::json!({ "cancelled": true }).as_object().cloned();
        assert!(outdates_cancellation(&cancelled, Status::Pending, Rules::Strict));
        assert!(!outdates_cancellation(&cancelled, Status::Completed, Rules::Strict));
        assert!(!outdates_cancellation(&cancelled, Status::Pending, CLIENT));
    }
}

#[cfg(test)]
mod verifying_tests {
    use serde_json::{Value, json};

    use super::demanded_checks;
    use crate::{Task, TaskId};

    fn demanded(verify: Value) -> Vec<String> {
        let metadata = json!({ "verify": verify }).as_object().cloned();
        demanded_checks(&Task { metadata, ..Task::new(TaskId::number(1), "x") })
    }

    #[test]
    fn one_name_or_several_are_demanded() {
        assert_eq!(demanded(json!("tests")), ["tests"]);
        assert_eq!(demanded(json!(["tests", "lint"])), ["tests", "lint"]);
    }

    #[test]
    fn nothing_is_demanded_where_nothing_is_said() {
        assert!(demanded_checks(&Task::new(TaskId::number(1), "x")).is_empty());
        assert!(demanded(Value::Null).is_empty());
        assert!(demanded(json!([])).is_empty());
    }

    #[test]
    fn a_demand_nobody_can_read_is_still_a_demand() {
        assert_eq!(demanded(json!(true)), ["true"]);
        assert_eq!(demanded(json!(["tests", 7])), ["tests", "7"]);
    }
}

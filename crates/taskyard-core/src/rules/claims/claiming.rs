//! Which agent may claim a task, and which task it gets next.

use std::collections::HashSet;

use serde_json::Value;

use super::readiness::{Ranked, assignees, rank};
use crate::rules::agents::is_same_agent;
use crate::rules::graph::dependencies::OpenTasks;
use crate::rules::graph::parts::held_up_through;
use crate::rules::looking::ordering::NumberOrder;
use crate::rules::refusal::{ClaimRefusal, Refusal};
use crate::{AgentName, Assignee, Rules, Status, Task, TaskId, Timestamp};

/// The agent that claims a task, and its conditions.
#[derive(Clone, Debug)]
pub struct Claimant {
    /// The name of the agent.
    pub agent: AgentName,
    /// The roles that it declares.
    pub roles: Vec<String>,
    /// Maximum number of tasks it may have in progress.
    pub limit: Option<usize>,
    /// Whether it claims a task only if it has no other open one.
    pub only_when_idle: bool,
    /// Which of its own tasks it may resume when it asks for the next one.
    pub resumes: Resumes,
}

/// Which of its own tasks a claimant may resume when it asks for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resumes {
    /// All of them: the name was assigned to this claimant, so the tasks are its own.
    #[default]
    All,
    /// Only these: the name was not assigned to the agent, and others may be using it at the same time.
    Only(HashSet<TaskId>),
}

impl Resumes {
    pub(crate) fn covers(&self, task: &TaskId) -> bool {
        match self {
            Self::All => true,
            Self::Only(tasks) => tasks.contains(task),
        }
    }
}

/// Judges whether a task may be given to a claimant. Its other tasks are not considered; see [`judge_load`].
///
/// The client's reasons come in the client's order: already claimed, completed, blocked. Our own reasons are checked
/// between the last two, and not at all under the client's rules.
pub fn judge_claim(
    task: &Task,
    open_blockers: &[TaskId],
    claimant: &Claimant,
    rules: Rules,
) -> Result<(), ClaimRefusal> {
    if let Some(owner) = task.owner().filter(|owner| !is_own_name(owner, &claimant.agent, rules)) {
        return Err(ClaimRefusal::AlreadyClaimed { by: owner.to_owned(), free_at: None });
    }
    if task.status == Status::Completed {
        return Err(ClaimRefusal::AlreadyResolved);
    }
    if !rules.is_client() {
        if task.is_internal() {
            return Err(ClaimRefusal::NotAllowed { only_for: Vec::new() });
        }
        if !may_take(task, &claimant.agent, &claimant.roles) {
            return Err(ClaimRefusal::NotAllowed { only_for: assignees(task) });
        }
    }
    if !open_blockers.is_empty() {
        let through = held_up_through(task, open_blockers);
        return Err(ClaimRefusal::Blocked { by: open_blockers.to_vec(), through });
    }
    Ok(())
}

/// Judges whether a claimant may take one more task, given the whole list. `wanted` is the task if it is named.
///
/// An agent that claims only when idle must have no other open task. An agent with a limit must have fewer tasks in
/// progress than that.
pub fn judge_load(
    tasks: &[Task],
    wanted: Option<&TaskId>,
    claimant: &Claimant,
    rules: Rules,
) -> Result<(), ClaimRefusal> {
    let has: Vec<&Task> = held(tasks, &claimant.agent, rules).filter(|task| Some(&task.id) != wanted).collect();
    let ids = |tasks: &[&Task]| tasks.iter().map(|task| task.id.clone()).collect();
    if claimant.only_when_idle && !has.is_empty() {
        return Err(ClaimRefusal::AgentBusy { with: ids(&has) });
    }
    let in_progress: Vec<&Task> = has.into_iter().filter(|task| task.status == Status::InProgress).collect();
    match claimant.limit {
        Some(limit) if in_progress.len() >= limit => Err(ClaimRefusal::AgentBusy { with: ids(&in_progress) }),
        Some(_) | None => Ok(()),
    }
}

/// Returns the open tasks owned by an agent, without internal ones.
pub fn held<'a>(tasks: &'a [Task], agent: &'a AgentName, rules: Rules) -> impl Iterator<Item = &'a Task> {
    let is_own = move |task: &&Task| task.owner().is_some_and(|owner| is_own_name(owner, agent, rules));
    tasks.iter().filter(|task| task.status.is_open() && !task.is_internal()).filter(is_own)
}

/// Judges whether an agent known by these names may start a task by changing it, given the whole list. As with a claim,
/// it must have fewer other tasks in progress than its limit.
pub fn judge_start(tasks: &[Task], before: &Task, after: &Task, names: &[&str], limit: usize) -> Result<(), Refusal> {
    let has_begun = |task: &Task| {
        let is_own = |owner: &str| names.iter().any(|name| is_same_agent(owner, name));
        task.status == Status::InProgress && !task.is_internal() && task.owner().is_some_and(is_own)
    };
    if !has_begun(after) || has_begun(before) {
        return Ok(());
    }
    let others = tasks.iter().filter(|task| task.id != after.id && has_begun(task));
    let with: Vec<TaskId> = others.map(|task| task.id.clone()).collect();
    if with.len() < limit { Ok(()) } else { Err(Refusal::AgentBusy { task: after.id.clone(), with }) }
}

/// A task that may be given out, and the reason for its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The task that may be given out.
    pub task: TaskId,
    /// The reason, in words.
    pub why: String,
    /// Whether the claimant already owns it.
    pub is_resumed: bool,
}

/// Returns the tasks that a claimant could take next, best first: those it has started, those it has reserved, then
/// those that are ready.
///
/// Tasks in `passed_over` are skipped.
pub fn candidates(
    tasks: &[Task],
    claimant: &Claimant,
    passed_over: &HashSet<TaskId>,
    now: Timestamp,
    rules: Rules,
) -> Result<Vec<Candidate>, ClaimRefusal> {
    let open = OpenTasks::of(tasks, rules);
    let is_resumed = |task: &&Task| {
        claimant.resumes.covers(&task.id)
            && !passed_over.contains(&task.id)
            && open.blockers(task).is_empty()
            // The owner of a task with open parts continues with the parts.
            && open.parts(task).is_empty()
    };
    let mut candidates = resumed_first(held(tasks, &claimant.agent, rules).filter(is_resumed).collect());
    let (fitting, for_others): (Vec<Ranked>, Vec<Ranked>) = rank(tasks, None, now, rules)
        .into_iter()
        .partition(|ranked| may_take(&ranked.task, &claimant.agent, &claimant.roles));
    let wanted = fitting.into_iter().filter(|ranked| !passed_over.contains(&ranked.task.id));
    candidates.extend(wanted.map(|ranked| Candidate { task: ranked.task.id, why: ranked.why, is_resumed: false }));
    if candidates.is_empty() {
        let may_take = |task: &&Task| may_take(task, &claimant.agent, &claimant.roles);
        let is_wanted = |task: &&Task| !passed_over.contains(&task.id) && may_take(task);
        let next_at = tasks.iter().filter(is_wanted).filter_map(|task| open.starts_at(task, now)).min();
        return Err(ClaimRefusal::NothingReady { for_others: for_others.len(), next_at });
    }
    Ok(candidates)
}

/// Returns the tasks that a claimant already owns, started ones first.
pub(crate) fn resumed_first(mut own: Vec<&Task>) -> Vec<Candidate> {
    own.sort_by_key(|task| (task.status != Status::InProgress, NumberOrder::of(&task.id)));
    let why = |task: &Task| match task.status {
        Status::InProgress => "already begun",
        Status::Pending | Status::Completed => "already reserved",
    };
    let candidate = |task: &Task| Candidate { task: task.id.clone(), why: why(task).to_owned(), is_resumed: true };
    own.into_iter().map(candidate).collect()
}

/// Returns whether an owner is the claimant. The client compares names exactly; under strict rules `bob` also matches
/// `bob@team`.
pub(crate) fn is_own_name(owner: &str, agent: &AgentName, rules: Rules) -> bool {
    if rules.is_client() { owner == agent.as_str() } else { is_same_agent(owner, agent.as_str()) }
}

/// Returns whether an agent with these roles may take a task: the task is unrestricted, or names the agent or one of
/// the roles.
pub(crate) fn may_take(task: &Task, agent: &AgentName, roles: &[String]) -> bool {
    let assignees = assignees(task);
    assignees.is_empty() || assignees.iter().any(|assignee| means(assignee, agent, roles))
}

fn means(assignee: &Assignee, agent: &AgentName, roles: &[String]) -> bool {
    match assignee {
        Assignee::Agent(name) => is_same_agent(name.as_str(), agent.as_str()),
        Assignee::Role(role) => roles.contains(role),
    }
}

/// The metadata key that counts failed attempts.
pub const ATTEMPTS: &str = "attempts";

/// Returns the number of failed attempts at a task.
pub fn failed_attempts(task: &Task) -> u64 {
    task.meta(ATTEMPTS).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns whether an open task has failed in its first attempt and in all `retries`.
pub fn is_given_up(task: &Task, retries: u64) -> bool {
    task.status.is_open() && failed_attempts(task) > retries
}

/// Returns the task with its failed attempts incremented by one.
#[must_use]
pub fn with_failed_attempt(task: &Task) -> Task {
    let mut task = task.clone();
    let attempts = failed_attempts(&task).saturating_add(1);
    task.metadata.get_or_insert_default().insert(ATTEMPTS.to_owned(), attempts.into());
    task
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::{Claimant, Resumes, candidates, judge_claim, judge_load, judge_start};
    use crate::rules::refusal::{ClaimRefusal, Refusal};
    use crate::{AgentName, ClientVersion, Rules, Status, Task, TaskId, Timestamp};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn task(number: u64, owner: &str, status: Status) -> Task {
        let owner = (!owner.is_empty()).then(|| owner.to_owned());
        Task { owner, status, ..Task::new(TaskId::number(number), "x") }
    }

    fn ana() -> Claimant {
        let agent = AgentName::new("ana").unwrap();
        Claimant { agent, roles: Vec::new(), limit: None, only_when_idle: false, resumes: Resumes::All }
    }

    fn with(task: Task, metadata: serde_json::Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..task }
    }

    #[test]
    fn the_reasons_come_in_the_clients_order() {
        let blocked = [TaskId::number(9)];
        let judge = |task: &Task, rules| judge_claim(task, &blocked, &ana(), rules);
        for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), CLIENT] {
            let taken = judge(&task(1, "ben", Status::Completed), rules);
            assert_eq!(taken, Err(ClaimRefusal::AlreadyClaimed { by: "ben".into(), free_at: None }));
            assert_eq!(judge(&task(1, "ana", Status::Completed), rules), Err(ClaimRefusal::AlreadyResolved));
            let waits = judge(&task(1, "", Status::Pending), rules);
            assert_eq!(waits, Err(ClaimRefusal::Blocked { by: blocked.to_vec(), through: None }));
            assert_eq!(judge_claim(&task(1, "ana", Status::Pending), &[], &ana(), rules), Ok(()));
        }
    }

    #[test]
    fn what_is_for_others_or_internal_is_not_given_out() {
        let review = with(task(1, "", Status::Pending), json!({ "assignable_to": ["role:review", "ben"] }));
        let refused = judge_claim(&review, &[], &ana(), Rules::Strict).unwrap_err();
        assert_eq!(refused.to_string(), "it is restricted to role:review, ben");
        assert_eq!(judge_claim(&review, &[], &ana(), CLIENT), Ok(()));
        let reviewer = Claimant { roles: vec!["review".into()], ..ana() };
        assert_eq!(judge_claim(&review, &[], &reviewer, Rules::Strict), Ok(()));
        let internal = with(task(1, "", Status::Pending), json!({ "_internal": true }));
        assert_eq!(judge_claim(&internal, &[], &ana(), Rules::Strict).unwrap_err().as_str(), "not_allowed");
    }

    #[test]
    fn idle_agents_hold_nothing_and_limit_counts_in_progress() {
        let tasks = [task(1, "ana", Status::InProgress), task(2, "ana", Status::Pending), task(3, "", Status::Pending)];
        let wanted = TaskId::number(3);
        assert_eq!(judge_load(&tasks, Some(&wanted), &ana(), Rules::Strict), Ok(()));
        let idle = Claimant { only_when_idle: true, ..ana() };
        let busy = ClaimRefusal::AgentBusy { with: vec![TaskId::number(1), TaskId::number(2)] };
        assert_eq!(judge_load(&tasks, Some(&wanted), &idle, Rules::Strict), Err(busy));
        let limited = |limit| Claimant { limit: Some(limit), ..ana() };
        let full = ClaimRefusal::AgentBusy { with: vec![TaskId::number(1)] };
        assert_eq!(judge_load(&tasks, Some(&wanted), &limited(1), Rules::Strict), Err(full));
        assert_eq!(judge_load(&tasks, Some(&wanted), &limited(2), Rules::Strict), Ok(()));
        // A task that the agent already has does not count against its limit.
        assert_eq!(judge_load(&tasks, Some(&TaskId::number(1)), &limited(1), Rules::Strict), Ok(()));
    }

    #[test]
    fn agent_at_its_limit_cannot_begin_another_task() {
        let tasks = [task(1, "ana", Status::InProgress), task(2, "", Status::Pending), task(3, "ben", Status::Pending)];
        let start = |number: usize, owner, limit| {
            let after = Task { owner: Some(owner), status: Status::InProgress, ..tasks[number - 1].clone() };
            judge_start(&tasks, &tasks[number - 1], &after, &["ana", "a-session"], limit)
        };
        let busy = Err(Refusal::AgentBusy { task: TaskId::number(2), with: vec![TaskId::number(1)] });
        assert_eq!(start(2, "ana@team".to_owned(), 1), busy);
        assert_eq!(start(2, "a-session".to_owned(), 1), busy, "both names are one agent's");
        assert_eq!(start(2, "ana".to_owned(), 2), Ok(()));
        assert_eq!(start(1, "ana".to_owned(), 1), Ok(()), "it goes on");
        assert_eq!(start(3, "ben".to_owned(), 1), Ok(()), "that is ben's to do");
    }

    #[test]
    fn begun_precedes_reserved_precedes_best() {
        let tasks = [
            with(task(1, "", Status::Pending), json!({ "priority": "high" })),
            task(2, "ana", Status::Pending),
            task(3, "ana", Status::InProgress),
            with(task(4, "", Status::Pending), json!({ "assignable_to": "ben" })),
            task(5, "", Status::Pending),
        ];
        let order = |passed_over: &[u64]| {
            let passed_over: HashSet<TaskId> = passed_over.iter().copied().map(TaskId::number).collect();
            let found = candidates(&tasks, &ana(), &passed_over, Timestamp(0), Rules::Strict).unwrap();
            found.iter().filter_map(|candidate| candidate.task.as_number()).collect::<Vec<_>>()
        };
        assert_eq!(order(&[]), [3, 2, 1, 5]);
        assert_eq!(order(&[3]), [2, 1, 5]);
        let unnamed = |tasks_left: &[u64]| {
            let resumes = Resumes::Only(tasks_left.iter().copied().map(TaskId::number).collect());
            let found =
                candidates(&tasks, &Claimant { resumes, ..ana() }, &HashSet::new(), Timestamp(0), Rules::Strict)
                    .unwrap();
            found.iter().filter_map(|candidate| candidate.task.as_number()).collect::<Vec<_>>()
        };
        assert_eq!(unnamed(&[]), [1, 5], "a name nobody gave is no reason to go on with anything");
        assert_eq!(unnamed(&[3]), [3, 1, 5]);
        let nothing = candidates(&tasks[3..4], &ana(), &HashSet::new(), Timestamp(0), Rules::Strict);
        assert_eq!(nothing, Err(ClaimRefusal::NothingReady { for_others: 1, next_at: None }));
    }

    #[test]
    fn a_task_with_open_parts_is_not_given_out_even_to_its_owner() {
        let mut tasks = [
            task(1, "ana", Status::InProgress),
            with(task(2, "", Status::Pending), json!({ "parent": "1" })),
            task(3, "", Status::Pending),
            with(task(4, "ben", Status::InProgress), json!({ "parent": "3" })),
        ];
        let order = |tasks: &[Task], rules| {
            let found = candidates(tasks, &ana(), &HashSet::new(), Timestamp(0), rules).unwrap();
            found.iter().filter_map(|candidate| candidate.task.as_number()).collect::<Vec<_>>()
        };
        assert_eq!(order(&tasks, Rules::Strict), [2]);
        assert_eq!(order(&tasks, CLIENT), [1, 2, 3]);
        tasks[1].status = Status::Completed;
        assert_eq!(order(&tasks, Rules::Strict), [1]);
        // It may be claimed by its id.
        assert_eq!(judge_claim(&tasks[2], &[], &ana(), Rules::Strict), Ok(()));
    }
}

#[cfg(test)]
mod assignment_tests {
    use serde_json::{Value, json};

    use super::may_take;
    use crate::{AgentName, Task, TaskId};

    fn may(assignable_to: &Value, agent: &str, roles: &[&str]) -> bool {
        let metadata = json!({ "assignable_to": assignable_to }).as_object().cloned();
        let task = Task { metadata, ..Task::new(TaskId::number(1), "x") };
        may_take(&task, &AgentName::new(agent).unwrap(), &roles.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn a_task_that_names_nobody_is_for_everyone() {
        let ana = AgentName::new("ana").unwrap();
        assert!(may_take(&Task::new(TaskId::number(1), "x"), &ana, &[]));
        for nobody in [json!(null), json!(""), json!("  "), json!([]), json!([""]), json!({}), json!(7)] {
            assert!(may(&nobody, "ana", &[]), "{nobody}");
        }
    }

    #[test]
    fn an_agent_may_take_what_names_it_with_or_without_its_team() {
        assert!(may(&json!("bob"), "bob", &[]));
        assert!(may(&json!("bob"), "bob@alpha", &[]));
        assert!(may(&json!(["ana", "bob@alpha"]), "bob", &[]));
        assert!(!may(&json!("bob@alpha"), "bob@beta", &[]));
        assert!(!may(&json!(["ana", "bob"]), "eve", &["bob"]));
    }

    #[test]
    fn a_reviewer_may_take_reviews_and_no_build_work() {
        assert!(may(&json!("role:review"), "ana", &["review", "docs"]));
        assert!(may(&json!(["role:build", "role:review"]), "ana", &["review"]));
        assert!(!may(&json!("role:build"), "ana", &["review"]));
        assert!(!may(&json!("role:build"), "build", &[]));
        assert!(!may(&json!("role:"), "ana", &["review"]));
    }
}

#[cfg(test)]
mod attempts_tests {
    use serde_json::json;

    use super::{failed_attempts, is_given_up, with_failed_attempt};
    use crate::{Status, Task, TaskId};

    fn task(metadata: serde_json::Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "x") }
    }

    #[test]
    fn task_is_given_up_after_all_retries_failed() {
        let mut task = task(json!({}));
        for (failed, given_up) in [(0, false), (1, false), (2, false), (3, true)] {
            assert_eq!((failed_attempts(&task), is_given_up(&task, 2)), (failed, given_up));
            task = with_failed_attempt(&task);
        }
        assert!(!is_given_up(&Task { status: Status::Completed, ..task }, 2));
    }

    #[test]
    fn a_count_in_another_form_counts_as_none() {
        for metadata in [json!({ "attempts": "3" }), json!({ "attempts": -1 }), json!({ "attempts": null })] {
            let task = task(metadata);
            assert_eq!(failed_attempts(&task), 0);
            assert_eq!(failed_attempts(&with_failed_attempt(&task)), 1);
        }
    }
}

//! Whether each task was won once, and every loser was told what was so.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use taskyard::core::{Entry, Op, Status, Task, TaskId, Token};

use super::attempt::{Answer, Attempt};
use super::states::{ListContents, States};

/// What a contest came to.
#[derive(Debug, Default)]
pub struct Verdict {
    /// How many attempts took a task that was free.
    pub won: usize,
    /// How many found that the agent had the task already.
    pub resumed: usize,
    /// How many were refused, by reason.
    pub lost: BTreeMap<String, usize>,
}

impl Verdict {
    /// Returns how many attempts there were.
    pub fn attempts(&self) -> usize {
        self.won + self.resumed + self.lost.values().sum::<usize>()
    }
}

/// Judges a contest by the whole journal of its list, from an empty list on. Panics where a task was won twice, where a token
/// is not greater than those before it, and where an answer was true at no moment between the question and the answer.
pub fn judge(mut attempts: Vec<Attempt>, journal: Vec<Entry>) -> Verdict {
    each_task_is_won_once(&attempts, &journal);
    let claims: HashMap<(u64, TaskId), Entry> = journal
        .iter()
        .filter(|entry| entry.op == Op::Claim)
        .map(|entry| ((entry.revision.0, entry.task.clone()), entry.clone()))
        .collect();
    attempts.sort_by_key(|attempt| attempt.until);
    let mut still_asked_for: Vec<_> = attempts.iter().map(|attempt| attempt.since).collect();
    for place in (1..still_asked_for.len()).rev() {
        still_asked_for[place - 1] = still_asked_for[place - 1].min(still_asked_for[place]);
    }
    let mut states = States::of(journal);
    let mut verdict = Verdict::default();
    for (attempt, forget_before) in attempts.iter().zip(still_asked_for) {
        let moments = states.between(attempt.since, attempt.until, forget_before);
        match &attempt.answer {
            Answer::Won { task, is_resumed: true, .. } => {
                verdict.resumed += 1;
                let has_it =
                    |state: &ListContents| state.get(task).is_some_and(|task| is_open_and_of(task, &attempt.agent));
                assert!(moments.iter().any(|state| has_it(state)), "it never had the task: {attempt:?}");
            }
            Answer::Won { task, revision, .. } => {
                verdict.won += 1;
                let revision = revision.unwrap_or_else(|| panic!("a task was won without a commit: {attempt:?}"));
                assert!(attempt.since < revision && revision <= attempt.until, "at another time: {attempt:?}");
                let entry = &claims[&(revision.0, task.clone())];
                let before = moments[usize::try_from(revision.0 - attempt.since.0).unwrap() - 1];
                is_a_claim_of_what_was_free(attempt, entry, before);
            }
            Answer::Lost { reason, names, for_others } => {
                *verdict.lost.entry(reason.clone()).or_default() += 1;
                let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                let is_so = |state: &&ListContents| is_true(attempt, reason, &names, *for_others, state);
                assert!(moments.iter().any(is_so), "this was so at no moment: {attempt:?}\n{:?}", moments.last());
            }
        }
    }
    verdict
}

fn each_task_is_won_once(attempts: &[Attempt], journal: &[Entry]) {
    let mut winners: HashMap<&TaskId, &str> = HashMap::new();
    let mut tokens: Vec<(u64, Token)> = Vec::new();
    for attempt in attempts {
        if let Answer::Won { task, token, is_resumed: false, revision } = &attempt.answer {
            let other = winners.insert(task, &attempt.agent);
            assert_eq!(other, None, "task {task} was won twice, at last by {}", attempt.agent);
            tokens.push((revision.map_or(0, |revision| revision.0), *token));
        }
    }
    tokens.sort_unstable();
    assert!(tokens.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "tokens only grow");
    let mut owners: HashMap<&TaskId, String> = HashMap::new();
    for entry in journal {
        let after = entry.after.as_ref().map(|image| image.task(&entry.task).unwrap());
        let Some(owner) = after.as_ref().and_then(Task::owner) else { continue };
        let first = owners.entry(&entry.task).or_insert_with(|| owner.to_owned());
        assert_eq!(first, owner, "task {} changed hands", entry.task);
        assert_eq!(winners.get(&entry.task), Some(&owner), "the owner of task {} is not who won it", entry.task);
    }
    assert_eq!(owners.len(), winners.len(), "an agent won a task and is not its owner");
}

fn is_a_claim_of_what_was_free(attempt: &Attempt, entry: &Entry, before: &ListContents) {
    let task = &before[&entry.task];
    let after = entry.after.as_ref().unwrap().task(&entry.task).unwrap();
    let wish = &attempt.wish;
    assert!(wish.task.as_ref().is_none_or(|wanted| *wanted == entry.task), "it asked for another: {attempt:?}");
    assert_eq!((entry.actor.as_str(), after.owner()), (attempt.agent.as_str(), Some(attempt.agent.as_str())));
    let status = if wish.reserve { Status::Pending } else { Status::InProgress };
    assert_eq!((task.status, task.owner(), after.status), (Status::Pending, None, status), "{attempt:?}");
    assert_eq!(open_blockers(task, before), BTreeSet::new(), "it was blocked: {attempt:?}");
    assert!(is_for(task, attempt), "it was for others: {attempt:?}");
    if wish.only_when_idle {
        assert_eq!(open_tasks_of(&attempt.agent, before), BTreeSet::new(), "it was busy: {attempt:?}");
    }
    if wish.task.is_none() {
        let own = before.values().find(|task| is_open_and_of(task, &attempt.agent) && is_unblocked(task, before));
        assert_eq!(own, None, "it had one to go on with: {attempt:?}");
    }
}

/// Tells whether a refusal is true of a state of the list.
fn is_true(attempt: &Attempt, reason: &str, names: &BTreeSet<&str>, for_others: usize, state: &ListContents) -> bool {
    let agent = attempt.agent.as_str();
    let wanted = attempt.wish.task.as_ref();
    let busy_with = || {
        let mut with = open_tasks_of(agent, state);
        with.retain(|id| wanted.is_none_or(|wanted| wanted.as_str() != *id));
        with
    };
    let Some(wanted) = wanted else {
        return match reason {
            "agent_busy" => attempt.wish.only_when_idle && !names.is_empty() && busy_with() == *names,
            "nothing_ready" => {
                let ready: Vec<&Task> =
                    state.values().map(|task| &**task).filter(|task| is_ready(task, state)).collect();
                let own = |task: &Task| is_open_and_of(task, agent) && is_unblocked(task, state);
                ready.len() == for_others
                    && !ready.iter().any(|task| is_for(task, attempt))
                    && !state.values().any(|task| own(task))
            }
            _ => false,
        };
    };
    let Some(task) = state.get(wanted) else { return reason == "task_not_found" };
    let is_free = task.owner().is_none_or(|owner| owner == agent);
    let is_open = task.status != Status::Completed;
    match reason {
        "already_claimed" => !is_free && names.iter().eq(task.owner().iter()),
        "already_resolved" => is_free && !is_open,
        "not_allowed" => is_free && is_open && !is_for(task, attempt),
        "blocked" => is_free && is_open && !names.is_empty() && open_blockers(task, state) == *names,
        "agent_busy" => {
            let may_have_it = is_free && is_open && is_unblocked(task, state) && is_for(task, attempt);
            may_have_it && attempt.wish.only_when_idle && !names.is_empty() && busy_with() == *names
        }
        _ => false,
    }
}

fn is_ready(task: &Task, state: &ListContents) -> bool {
    task.status == Status::Pending && task.owner().is_none() && is_unblocked(task, state)
}

fn is_unblocked(task: &Task, state: &ListContents) -> bool {
    open_blockers(task, state).is_empty()
}

fn open_blockers<'a>(task: &'a Task, state: &ListContents) -> BTreeSet<&'a str> {
    let is_open = |id: &&TaskId| state.get(*id).is_some_and(|blocker| blocker.status != Status::Completed);
    task.blocked_by.iter().filter(is_open).map(TaskId::as_str).collect()
}

fn open_tasks_of<'a>(agent: &str, state: &'a ListContents) -> BTreeSet<&'a str> {
    state.values().filter(|task| is_open_and_of(task, agent)).map(|task| task.id.as_str()).collect()
}

fn is_open_and_of(task: &Task, agent: &str) -> bool {
    task.status != Status::Completed && task.owner() == Some(agent)
}

fn is_for(task: &Task, attempt: &Attempt) -> bool {
    let Some(assignees) = task.meta("assignable_to").and_then(serde_json::Value::as_array) else { return true };
    let is_own = |role: &str| attempt.wish.roles.iter().any(|own| own == role);
    assignees.iter().filter_map(|who| who.as_str()?.strip_prefix("role:")).any(is_own)
}

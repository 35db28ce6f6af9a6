//! What became of a task whose lease no longer counts.

use std::fmt;

use crate::rules::agents::naming::is_same_agent;
use crate::{AgentName, Entry, Op, Status, Task};

/// What became of a task that an agent had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The agent completed it itself.
    Completed,
    /// It is no longer the agent's.
    Lost(Loss),
}

/// How an agent lost a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Another agent completed it.
    CompletedBy(String),
    /// Another agent has it now, or the same agent by another lease.
    TakenBy(String),
    /// It went back, and has no owner.
    WentBack,
    /// It was removed.
    Removed,
    /// The store was out of reach for as long as the lease lives, so that other agents may have it.
    NotRenewed,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CompletedBy(who) => write!(formatter, "{who} completed it"),
            Self::TakenBy(who) => write!(formatter, "{who} has it now"),
            Self::WentBack => formatter.write_str("its lease had ended, and it went back"),
            Self::Removed => formatter.write_str("it was removed"),
            Self::NotRenewed => formatter.write_str("its lease could not be renewed in time, and others may have it"),
        }
    }
}

/// Tells what became of a task that an agent had under a lease which no longer counts.
///
/// `since` is the task's journal since the agent took it; entries that do not matter ([`matters`]) may be left out. The agent may have
/// completed the task through a client that knows nothing of us: a completion from elsewhere is the agent's own as long as the task had
/// not left its hands and still names it.
pub fn judge_fate(task: Option<&Task>, since: &[Entry], agent: &AgentName) -> Fate {
    let Some(task) = task else { return Fate::Lost(Loss::Removed) };
    let is_own = |name: &str| is_same_agent(name, agent.as_str());
    let owner = task.owner();
    if task.status != Status::Completed {
        return Fate::Lost(owner.map_or(Loss::WentBack, |owner| Loss::TakenBy(owner.to_owned())));
    }
    let has_left = since.iter().any(|entry| matches!(entry.op, Op::Expire | Op::Release));
    let completion = since.iter().rev().find(|entry| is_completion(entry));
    let by = completion.filter(|entry| entry.op != Op::ChangedElsewhere).map(|entry| entry.actor.as_str());
    match by.or(owner) {
        Some(by) if is_own(by) && !has_left => Fate::Completed,
        by => Fate::Lost(Loss::CompletedBy(by.unwrap_or("somebody").to_owned())),
    }
}

/// Tells whether an entry has a say in what became of its task.
pub fn matters(entry: &Entry) -> bool {
    matches!(entry.op, Op::Expire | Op::Release) || is_completion(entry)
}

fn is_completion(entry: &Entry) -> bool {
    let is_completed = |image: &Option<crate::Image>| {
        let task = image.as_ref().and_then(|image| image.task(&entry.task).ok());
        task.is_some_and(|task| task.status == Status::Completed)
    };
    is_completed(&entry.after) && !is_completed(&entry.before)
}

#[cfg(test)]
mod tests {
    use super::{Fate, Loss, judge_fate};
    use crate::dialect::native;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Rules, Status, Task, TaskId, Timestamp};

    fn ana() -> AgentName {
        AgentName::new("ana").unwrap()
    }

    fn task(owner: &str, status: Status) -> Task {
        let owner = (!owner.is_empty()).then(|| owner.to_owned());
        Task { owner, status, ..Task::new(TaskId::number(1), "x") }
    }

    fn image(task: &Task) -> Option<Image> {
        native::write(None, task, Rules::Strict).ok()
    }

    fn entry(op: Op, actor: &str, before: &Task, after: &Task) -> Entry {
        Entry {
            revision: Revision(1),
            at: Timestamp(0),
            actor: AgentName::new(actor).unwrap(),
            op,
            task: before.id.clone(),
            before: image(before),
            after: image(after),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    fn completed(op: Op, actor: &str) -> (Task, Entry) {
        let (before, after) = (task("ana", Status::InProgress), task("ana", Status::Completed));
        let entry = entry(op, actor, &before, &after);
        (after, entry)
    }

    fn by(who: &str) -> Fate {
        Fate::Lost(Loss::CompletedBy(who.into()))
    }

    #[test]
    fn an_agent_completes_its_task_itself_or_through_a_client() {
        for (op, actor) in [(Op::Update, "ana"), (Op::Update, "ana@team"), (Op::ChangedElsewhere, "elsewhere")] {
            let (task, entry) = completed(op, actor);
            assert_eq!(judge_fate(Some(&task), &[entry], &ana()), Fate::Completed, "{actor}");
        }
        let (task, entry) = completed(Op::Update, "ben");
        assert_eq!(judge_fate(Some(&task), &[entry], &ana()), by("ben"));
    }

    #[test]
    fn what_was_completed_after_it_had_left_the_agents_hands_is_not_its_own() {
        let (done, completion) = completed(Op::Update, "ana");
        let expiry = entry(Op::Expire, "ana", &task("ana", Status::InProgress), &task("", Status::Pending));
        assert_eq!(judge_fate(Some(&done), &[expiry, completion], &ana()), by("ana"));
        let (_, elsewhere) = completed(Op::ChangedElsewhere, "elsewhere");
        assert_eq!(judge_fate(Some(&task("ben", Status::Completed)), &[elsewhere], &ana()), by("ben"));
    }

    #[test]
    fn an_open_task_went_back_or_is_somebodys() {
        let lost = |task: Option<Task>| judge_fate(task.as_ref(), &[], &ana());
        assert_eq!(lost(Some(task("", Status::Pending))), Fate::Lost(Loss::WentBack));
        assert_eq!(lost(Some(task("ben", Status::InProgress))), Fate::Lost(Loss::TakenBy("ben".into())));
        assert_eq!(lost(None), Fate::Lost(Loss::Removed));
    }
}

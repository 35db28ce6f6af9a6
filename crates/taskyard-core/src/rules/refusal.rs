//! Why a rule forbids something.

use std::path::PathBuf;

use super::history::removed::Absence;
use super::hooks::hooking::HookEvent;
use crate::dialect::native::Unreadable;
use crate::{AgentName, Revision, SignedRevision, Task, TaskId, Timestamp, Token};

/// Why a rule forbids something. A refusal is an answer: nothing has changed, and it says what stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such task.
    #[error("there is no task {task}")]
    NoSuchTask {
        /// The task that was asked for.
        task: TaskId,
    },
    /// A task of that id is there already.
    #[error("there is a task {task} already")]
    TaskExists {
        /// The task that is there.
        task: TaskId,
    },
    /// Something stands under that name, and it is no task.
    #[error("task {task} cannot be read: {why}")]
    Unreadable {
        /// The task that was asked for.
        task: TaskId,
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        why: Unreadable,
    },
    /// A task cannot wait for itself.
    #[error("task {task} cannot wait for itself")]
    EdgeToItself {
        /// The task.
        task: TaskId,
    },
    /// An edge would close a circle in which every task waits for the next.
    #[error("that would close a circle: {}", chain(.path))]
    Cycle {
        /// The circle, each waiting for the next, the first again at the end.
        path: Vec<TaskId>,
    },
    /// A task cannot be a part of itself.
    #[error("task {task} cannot be a part of itself")]
    PartOfItself {
        /// The task.
        task: TaskId,
    },
    /// A task that is not there cannot have parts.
    #[error("there is no task {task} to be a part of")]
    NoSuchParent {
        /// The task that was named.
        task: TaskId,
    },
    /// A task that is not there cannot be depended on.
    #[error("there is no task {task} to depend on")]
    NoSuchBlocker {
        /// The task that was named.
        task: TaskId,
    },
    /// The task waits for others that are still open.
    #[error("task {task} is blocked by {}{}", numbered(.by), as_its_parent(.through.as_ref()))]
    Blocked {
        /// The task.
        task: TaskId,
        /// What it waits for.
        by: Vec<TaskId>,
        /// The task it is a part of, where it waits because that one does.
        through: Option<TaskId>,
    },
    /// The task has parts that are open, so that it is not finished.
    #[error("task {task} has open parts: {}", numbered(.parts))]
    OpenParts {
        /// The task.
        task: TaskId,
        /// Its open parts.
        parts: Vec<TaskId>,
    },
    /// Another agent works on the task.
    #[error("{holder} is working on task {task}{}{}", since_when(*.since), until_when(*.until))]
    Leased {
        /// The task.
        task: TaskId,
        /// The holder of the lease.
        holder: AgentName,
        /// When it took the task, if that is known.
        since: Option<Timestamp>,
        /// When its lease ends by time.
        until: Option<Timestamp>,
    },
    /// The token proves nothing any more: the lease has ended, and perhaps another agent has the task now.
    #[error("token {token} no longer counts for task {task}: {}", has_it_now(.holder.as_deref(), *.is_completed))]
    StaleToken {
        /// The task.
        task: TaskId,
        /// What was brought.
        token: Token,
        /// The present owner.
        holder: Option<String>,
        /// Whether it is completed.
        is_completed: bool,
    },
    /// Another agent owns the task.
    #[error("task {task} is {}'s{}", .owner.escape_debug(), since_when(*.since))]
    OwnedByAnother {
        /// The task that was to be started.
        task: TaskId,
        /// Its owner.
        owner: String,
        /// Since when, if that is known.
        since: Option<Timestamp>,
    },
    /// The task is not as the caller expects it.
    #[error("task {task} was changed since it was read")]
    NotAsExpected {
        /// The task.
        task: TaskId,
        /// What it is now.
        current: Box<Task>,
    },
    /// A completed task cannot be given back.
    #[error("task {task} is completed")]
    AlreadyCompleted {
        /// The task.
        task: TaskId,
    },
    /// The task changed after the revision that was to be taken back.
    #[error("revision {revision} cannot be taken back: task {task} has changed since{}", listed_later(.later))]
    ChangedSince {
        /// The revision that was to be taken back.
        revision: Revision,
        /// The first task that changed.
        task: TaskId,
        /// The later revisions that changed its tasks, oldest first; empty if the journal does not have them.
        later: Vec<SignedRevision>,
        /// The last revision of the range, beginning with the one that was asked for, that can be taken back as a whole.
        range_end: Option<Revision>,
    },
    /// The revision was taken back before.
    #[error("revision {revision} is already taken back, in {by}")]
    AlreadyUndone {
        /// The revision that was to be taken back.
        revision: Revision,
        /// The undo that did so.
        by: SignedRevision,
    },
    /// The journal holds no such revision.
    #[error("there is no revision {revision} in this list's journal")]
    NoSuchRevision {
        /// The revision that was asked for.
        revision: Revision,
    },
    /// Of the revision only a part is left: it is older than what is kept in full.
    #[error("revision {revision} cannot be taken back: the journal is kept in full only since revision {kept_since}")]
    RevisionThinned {
        /// The revision that was asked for.
        revision: Revision,
        /// The first revision of which everything is there.
        kept_since: Revision,
    },
    /// The revision is the renaming of the list, which `undo` does not take back.
    #[error("revision {revision} gave the list its name, which `undo` does not take back")]
    ListRenamed {
        /// The revision.
        revision: Revision,
    },
    /// The journal holds nothing that could be taken back.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The journal holds nothing of the actor's own that could be taken back.
    #[error("{actor} has made no change to this list that could be undone")]
    NothingOwnToUndo {
        /// The actor.
        actor: AgentName,
        /// The newest revision of all, which could be taken back.
        newest: SignedRevision,
    },
    /// A task cannot be restored because it was never removed, or is there again.
    #[error("task {task} is there already")]
    NotRemoved {
        /// The task.
        task: TaskId,
    },
    /// A task is not there because an agent meant that, and it was not asked for what was meant to go.
    #[error("{}", meant_to_go(.task, *.absence))]
    NotMissing {
        /// The task.
        task: TaskId,
        /// Why it is not there.
        absence: Absence,
    },
    /// A list cannot be merged into itself.
    #[error("a list cannot be merged into itself")]
    MergeIntoItself,
    /// There is no such list.
    #[error("there is no list `{}`", .list.escape_debug())]
    NoSuchList {
        /// The list that was asked for.
        list: String,
    },
    /// The agent has to show its plan first, and the lead has not approved it.
    #[error("{agent} may start nothing before {lead} has approved its plan")]
    PlanNotApproved {
        /// The agent that has to plan.
        agent: String,
        /// The lead, who approves.
        lead: String,
    },
    /// The agent has as much in progress as it may have.
    #[error("task {task} cannot start: {} is not finished", numbered(.with))]
    AgentBusy {
        /// The task that was to start.
        task: TaskId,
        /// What the agent has in progress.
        with: Vec<TaskId>,
    },
    /// A hook blocks it.
    #[error("{}", hook_forbids(*.event, .task))]
    HookBlocked {
        /// What the hook was told of.
        event: HookEvent,
        /// The task.
        task: TaskId,
        /// What the hooks say, in the client's words.
        feedback: String,
    },
    /// A check that the task demands did not pass.
    #[error("task {task} is not completed: its check `{}` {ended}", .check.escape_debug())]
    CheckFailed {
        /// The task.
        task: TaskId,
        /// The name of the check.
        check: String,
        /// How it ended: "ended with exit code 1".
        ended: String,
        /// The end of what it printed.
        output: String,
    },
    /// The task demands a check that is not defined.
    #[error("task {task} demands the check `{}`, which is not defined", .check.escape_debug())]
    NoSuchCheck {
        /// The task.
        task: TaskId,
        /// The name of the check.
        check: String,
    },
    /// The task demands a check that only a directory defines which is not trusted.
    #[error("task {task} demands the check `{}`, which only `{}` defines, and that directory is not trusted", .check.escape_debug(), .directory.display())]
    UntrustedCheck {
        /// The task.
        task: TaskId,
        /// The name of the check.
        check: String,
        /// The directory.
        directory: PathBuf,
    },
}

impl Refusal {
    /// Returns the task with which it was not done, where it is about one.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::NoSuchTask { task }
            | Self::TaskExists { task }
            | Self::Unreadable { task, .. }
            | Self::EdgeToItself { task }
            | Self::PartOfItself { task }
            | Self::Blocked { task, .. }
            | Self::OpenParts { task, .. }
            | Self::Leased { task, .. }
            | Self::StaleToken { task, .. }
            | Self::OwnedByAnother { task, .. }
            | Self::NotAsExpected { task, .. }
            | Self::AlreadyCompleted { task }
            | Self::ChangedSince { task, .. }
            | Self::NotRemoved { task }
            | Self::NotMissing { task, .. }
            | Self::AgentBusy { task, .. }
            | Self::HookBlocked { task, .. }
            | Self::CheckFailed { task, .. }
            | Self::NoSuchCheck { task, .. }
            | Self::UntrustedCheck { task, .. } => Some(task),
            _ => None,
        }
    }
}

fn hook_forbids(event: HookEvent, task: &TaskId) -> String {
    match event {
        event @ HookEvent::TaskCreated => format!("a {event} hook blocks this task; it would have been {task}"),
        event => format!("a {event} hook blocks the completion of task {task}"),
    }
}

fn meant_to_go(task: &TaskId, absence: Absence) -> String {
    match absence {
        Absence::Missing => format!("task {task} is missing"),
        Absence::Deleted => format!("task {task} was deleted on purpose"),
        Absence::Moved => format!("task {task} moved to another list"),
        Absence::Renumbered => format!("task {task} has another number now"),
        Absence::Unmade => format!("task {task} is not there because its making was taken back"),
        Absence::Replaced => format!("another program put a different task under the number {task}"),
    }
}

fn chain(path: &[TaskId]) -> String {
    path.iter().map(|task| format!("#{task}")).collect::<Vec<_>>().join(" waits for ")
}

pub(crate) fn numbered(tasks: &[TaskId]) -> String {
    tasks.iter().map(|task| format!("#{task}")).collect::<Vec<_>>().join(", ")
}

/// Says that a task waits because the one does that it is a part of.
pub(crate) fn as_its_parent(parent: Option<&TaskId>) -> String {
    parent.map(|parent| format!(", as a part of #{parent}")).unwrap_or_default()
}

fn until_when(until: Option<Timestamp>) -> String {
    until.map(|until| format!(" until {until}")).unwrap_or_default()
}

fn since_when(since: Option<Timestamp>) -> String {
    since.map(|since| format!(" since {since}")).unwrap_or_default()
}

fn has_it_now(holder: Option<&str>, is_completed: bool) -> String {
    match holder {
        _ if is_completed => "it is completed".to_owned(),
        Some(holder) => format!("{} has it now", holder.escape_debug()),
        None => "nobody has it now".to_owned(),
    }
}

fn listed_later(later: &[SignedRevision]) -> String {
    let listed: Vec<String> = later.iter().take(LISTED).map(ToString::to_string).collect();
    match later.len() {
        0 => String::new(),
        length if length > LISTED => format!(" ({} and {} more)", listed.join(", "), length - LISTED),
        _ => format!(" ({})", listed.join(", ")),
    }
}

/// Number of later revisions that a message names.
const LISTED: usize = 5;

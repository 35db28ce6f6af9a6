//! What `work` is told to do, the events it emits, and its report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use taskyard::Error;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::rules::leases::leasing::Loss;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::timing::span_in_words;
use taskyard::core::{AgentName, Holder, Task, TaskId};
use taskyard::hooks::HookWarning;
use taskyard::liveness::own_mark;
use taskyard::operations::{Claim, Query, Resuming};
use taskyard::store::StoreError;

use crate::Jobs;
use crate::worktrees::{GitError, Method, Provisions, QueueError, Repository};

/// Receives events, on the thread on which they happen. While it blocks, so does the command whose output it receives.
pub type WorkListener = Arc<dyn Fn(WorkEvent) + Send + Sync>;

/// An event of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WorkEvent {
    /// A command was started for a task.
    Started {
        /// The worker that runs the command.
        worker: AgentName,
        /// The task as the worker claimed it.
        task: Box<Task>,
        /// The number of this attempt, from 1.
        attempt: u64,
        /// Whether the worker already held the task.
        is_resumed: bool,
    },
    /// A command wrote a line.
    OutputLine {
        /// What the command was started for: a task (`#1`), or the messages of a worker (its name).
        about: String,
        /// The line unchanged, control characters included.
        line: String,
    },
    /// A task was completed.
    Completed(Ended),
    /// An attempt failed; the task was released and will be tried again.
    Returned(Ended, Failure),
    /// The last attempt failed; the task was released and is skipped from now on.
    GaveUp(Ended, Failure),
    /// The run is stopping; the task was released, and no failed attempt was counted.
    Interrupted(Ended),
    /// The worker lost the task; nothing was written.
    Lost(Ended, Loss),
    /// A command claimed a task other than its own and left it in progress; that task was released.
    LeftBehind {
        /// The worker that ran the command.
        worker: AgentName,
        /// The task for which the command ran.
        run: TaskId,
        /// The task that it left in progress.
        task: Box<Task>,
    },
    /// A finished branch is about to be merged.
    Merging {
        /// The task.
        task: Box<Task>,
        /// Its branch.
        branch: String,
        /// The branch into which it is merged.
        base: String,
    },
    /// A finished branch cannot be merged yet.
    MergeWaits {
        /// The task.
        task: Box<Task>,
        /// The reason.
        reason: String,
    },
    /// A task waits for a person to review its branch.
    InReview(Ended),
    /// A worker found nothing to do.
    Idle {
        /// The worker without a task.
        worker: AgentName,
    },
    /// A command was started for messages to a worker.
    Attending {
        /// The worker that the messages are for.
        worker: AgentName,
        /// How many messages the command is given.
        messages: usize,
    },
    /// A command that was started for messages has ended. If it failed, the messages are delivered again.
    Attended {
        /// The worker that the messages are for.
        worker: AgentName,
        /// How many messages the command was given.
        messages: usize,
        /// Why it failed; `None` if it succeeded.
        failure: Option<Failure>,
    },
    /// A worker left its team because it was asked to shut down.
    Left {
        /// The worker that left.
        worker: AgentName,
    },
    /// A hook asked to change a task, and a rule refused it.
    NotUpdated(Refusal),
    /// Hooks did not run as configured.
    Warning(HookWarning),
}

/// A finished attempt at a task.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The worker that made the attempt.
    pub worker: AgentName,
    /// The task as of the end of the attempt.
    pub task: Box<Task>,
    /// The number of the attempt, from 1.
    pub attempt: u64,
    /// The maximum number of attempts, including this one.
    pub most_attempts: u64,
    /// How long it took.
    pub took: Duration,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The command exited with this code, which is not 0.
    Exited(i32),
    /// The command was killed by this signal.
    Signalled(i32),
    /// The command exceeded this time limit and was stopped, with everything it started.
    TimedOut(Duration),
    /// A `SubagentStop` hook blocked it, with this feedback.
    Blocked(String),
    /// A hook set the task back to pending.
    SentBack,
    /// A rule refused to complete the task.
    Refused(Refusal),
    /// Its worktree could not be created, or its branch was not merged, for this reason.
    NotMerged(String),
}

impl Failure {
    /// Returns the feedback of hooks and checks, if any.
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Blocked(feedback) | Self::Refused(Refusal::HookBlocked { feedback, .. }) => Some(feedback),
            Self::Refused(Refusal::CheckFailed { output, .. }) => Some(output),
            Self::NotMerged(reason) => reason.split_once('\n').map(|(_, rest)| rest),
            Self::Exited(_) | Self::Signalled(_) | Self::TimedOut(_) | Self::SentBack | Self::Refused(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exit status {code}"),
            Self::Signalled(signal) => write!(formatter, "ended by signal {signal}"),
            Self::TimedOut(limit) => write!(formatter, "timed out after {}", span_in_words(*limit)),
            Self::Blocked(_) => formatter.write_str("a SubagentStop hook blocked it"),
            Self::SentBack => formatter.write_str("a SubagentStop hook sent it back"),
            Self::Refused(refusal) => refusal.fmt(formatter),
            Self::NotMerged(reason) => formatter.write_str(reason.lines().next().unwrap_or_default()),
        }
    }
}

/// The result of a run: the tasks that were claimed, by how the last attempt at each ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReport {
    /// Completed tasks.
    pub completed: Vec<TaskId>,
    /// Tasks that were released after a failed attempt and have attempts left.
    pub returned: Vec<TaskId>,
    /// Tasks that were released after the last attempt failed.
    pub gave_up: Vec<TaskId>,
    /// Tasks that were released because the run was stopped.
    pub interrupted: Vec<TaskId>,
    /// Tasks that wait for a person to review their branches.
    pub in_review: Vec<TaskId>,
    /// Tasks that other agents hold or have completed.
    pub lost: Vec<TaskId>,
    /// Other tasks that commands claimed and left in progress. They were released.
    pub left_behind: Vec<TaskId>,
    /// Tasks that were not claimed because they had failed too often before.
    pub passed_over: Vec<TaskId>,
    /// Whether the run was stopped.
    pub was_stopped: bool,
}

/// Why a run ended early. Claimed tasks have been released or completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The store failed.
    #[error(transparent)]
    Yard(#[from] Error),
    /// The command could not be started.
    #[error("cannot run `{}`: {source}", .program.escape_debug())]
    CannotStart {
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A worktree could not be created, or git could not be run.
    #[error("{0}")]
    Worktree(#[from] GitError),
}

impl From<StoreError> for WorkError {
    fn from(error: StoreError) -> Self {
        Self::Yard(error.into())
    }
}

impl From<QueueError> for WorkError {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Git(error) => error.into(),
            QueueError::Yard(error) => error.into(),
        }
    }
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Self {
        let message = error.to_string();
        match error {
            WorkError::Yard(error) => error.into(),
            WorkError::Worktree(_) => Self::new(ProblemKind::CouldNot, "git_failed", message)
                .hint("no failed attempt was counted; `taskyard worktrees` shows what there is"),
            WorkError::CannotStart { program, .. } => Self::new(ProblemKind::CouldNot, "cannot_start", message)
                .hint("no failed attempt was counted; run a shell line with `-- sh -c LINE`")
                .detail("program", program),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Completed,
    Returned,
    GaveUp,
    Interrupted,
    InReview,
    Lost,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    conclusions: BTreeMap<TaskId, Conclusion>,
    left_behind: BTreeSet<TaskId>,
}

impl Tally {
    pub(super) fn count(&mut self, task: TaskId, conclusion: Conclusion) {
        self.conclusions.insert(task, conclusion);
    }

    pub(super) fn left_behind(&mut self, tasks: Vec<TaskId>) {
        self.left_behind.extend(tasks);
    }

    pub(super) fn report(&self, passed_over: Vec<TaskId>, was_stopped: bool) -> WorkReport {
        let ended = |wanted: Conclusion| {
            let matching = self.conclusions.iter().filter(|(_, conclusion)| **conclusion == wanted);
            matching.map(|(task, _)| task.clone()).collect()
        };
        WorkReport {
            completed: ended(Conclusion::Completed),
            returned: ended(Conclusion::Returned),
            gave_up: ended(Conclusion::GaveUp),
            interrupted: ended(Conclusion::Interrupted),
            in_review: ended(Conclusion::InReview),
            lost: ended(Conclusion::Lost),
            left_behind: self.left_behind.iter().cloned().collect(),
            passed_over: passed_over.into_iter().filter(|task| !self.conclusions.contains_key(task)).collect(),
            was_stopped,
        }
    }
}

/// What to run for every task, by which workers, and on what terms.
#[derive(Clone, Debug)]
pub struct Order {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The working directory.
    pub directory: PathBuf,
    /// The address of the store, from which the program can find the list.
    pub store_address: String,
    /// The workers. Their names are distinct.
    pub workers: Vec<Worker>,
    /// How many tasks each worker may have in progress.
    pub limit: Option<usize>,
    /// Which of its own tasks in progress a worker resumes.
    pub resuming: Resuming,
    /// The condition that tasks have to meet.
    pub query: Query,
    /// How long a lease lasts if it is not renewed.
    pub ttl: Duration,
    /// How many times a failed task is retried.
    pub retries: u64,
    /// The time limit of the program for a task or for messages; `None` for no limit. When it is exceeded, the program
    /// is stopped with everything it started, and the attempt has failed.
    pub time_limit: Option<Duration>,
    /// Whether to wait for new work when none is left.
    pub waits: bool,
    /// Supervises the program, so that nothing it starts outlives this process.
    pub jobs: Jobs,
    /// Whether the workers are members of a team and handle their messages.
    pub in_team: bool,
    /// How each attempt gets its own worktree; `None` if all run in `directory`.
    pub worktrees: Option<WorktreeOrder>,
}

/// How attempts get their own worktrees, and what happens to their branches.
#[derive(Clone, Debug)]
pub struct WorktreeOrder {
    /// The repository.
    pub repository: Repository,
    /// What each worktree gets in addition to the files of the base.
    pub provisions: Provisions,
    /// How finished branches are merged; `None` if they are not.
    pub merging: Option<MergeOrder>,
    /// Whether changes that a command leaves uncommitted are committed; otherwise that is left to a person.
    pub commits: bool,
    /// Whether a person has to approve a branch before it is merged.
    pub review: bool,
    /// Whether a retry continues in the worktree of the failed attempt.
    pub continues: bool,
}

/// How finished branches are merged.
#[derive(Clone, Debug, Default)]
pub struct MergeOrder {
    /// How a branch is merged into the base.
    pub method: Method,
    /// A shell command that checks every merged state.
    pub check: Option<String>,
}

/// An agent that processes tasks.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The name.
    pub name: AgentName,
    /// The roles it declares.
    pub roles: Vec<String>,
}

impl Order {
    /// Returns the terms on which a worker claims a task: the lease ends with this process, or by time if the process
    /// is suspended.
    pub(super) fn terms(&self, worker: &Worker) -> Claim {
        Claim {
            roles: worker.roles.clone(),
            limit: self.limit,
            ttl: Some(self.ttl),
            holder: Some(Holder::Process(own_mark())),
            retries: Some(self.retries),
            resuming: self.resuming,
            query: self.query.clone(),
            ..Claim::default()
        }
    }

    /// Returns the agent type that hooks are given: the file name of the program.
    pub(super) fn agent_type(&self) -> String {
        let name = std::path::Path::new(&self.program).file_name();
        name.map_or_else(|| self.program.clone(), |name| name.to_string_lossy().into_owned())
    }
}

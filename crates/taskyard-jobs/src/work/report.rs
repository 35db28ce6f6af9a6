//! What happens while a list is worked off, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use taskyard::Error;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::rules::leases::fate::Loss;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::timing::span_in_words;
use taskyard::core::{AgentName, Task, TaskId};
use taskyard::hooks::HookWarning;

/// Is told what happens, on the thread on which it happens. While it is busy, so is the command whose output it is told of.
pub type WorkListener = Arc<dyn Fn(WorkEvent) + Send + Sync>;

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WorkEvent {
    /// A command was started for a task.
    Started {
        /// The worker that runs the command.
        worker: AgentName,
        /// The task as the worker took it.
        task: Box<Task>,
        /// The number of this attempt, from 1.
        attempt: u64,
        /// Whether the worker had the task before.
        is_resumed: bool,
    },
    /// A command wrote a line.
    OutputLine {
        /// What it was started for: a task, as `#1`, or the messages of a worker, by its name.
        about: String,
        /// The line as it is, control characters included.
        line: String,
    },
    /// A task is completed.
    Completed(Ended),
    /// An attempt failed; the task went back and will be tried again.
    Returned(Ended, Failure),
    /// The last attempt failed; the task went back and is passed over from now on.
    GaveUp(Ended, Failure),
    /// We are stopping; the task went back, and no attempt was counted.
    Interrupted(Ended),
    /// The task is no longer the worker's; nothing was written.
    Lost(Ended, Loss),
    /// A command claimed another task than its own and left it in progress; it was released.
    LeftBehind {
        /// The worker that ran the command.
        worker: AgentName,
        /// The task for which the command ran.
        run: TaskId,
        /// The task that it left.
        task: Box<Task>,
    },
    /// A worker finds nothing to do.
    Idle {
        /// The worker without a task.
        worker: AgentName,
    },
    /// A command was started for what was written to a worker.
    Attending {
        /// The worker whose messages they are.
        worker: AgentName,
        /// How many messages the command is given.
        messages: usize,
    },
    /// A command that was started for messages has ended; where it failed they will come again.
    Attended {
        /// The worker whose messages they are.
        worker: AgentName,
        /// How many messages the command was given.
        messages: usize,
        /// Why it failed; none where it did not.
        failure: Option<Failure>,
    },
    /// A worker left its team, because it was asked to end.
    Left {
        /// The worker that left.
        worker: AgentName,
    },
    /// A hook wanted a task changed, and a rule forbade it.
    NotUpdated(Refusal),
    /// Hooks did not run as written.
    Warning(HookWarning),
}

/// An attempt at a task that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The worker that made the attempt.
    pub worker: AgentName,
    /// The task as it is after the attempt.
    pub task: Box<Task>,
    /// The number of the attempt, from 1.
    pub attempt: u64,
    /// How many attempts there are at most, this one included.
    pub most_attempts: u64,
    /// How long it took.
    pub took: Duration,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The command ended with this code, which is not 0.
    Exited(i32),
    /// The command was ended by this signal.
    Signalled(i32),
    /// The command did not end within this time, and was ended with everything that it started.
    TimedOut(Duration),
    /// A `SubagentStop` hook blocked its end, in these words.
    Blocked(String),
    /// A hook wants the task pending.
    SentBack,
    /// The task may not be completed.
    Refused(Refusal),
}

impl Failure {
    /// Returns what hooks and checks said about it.
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Blocked(feedback) | Self::Refused(Refusal::HookBlocked { feedback, .. }) => Some(feedback),
            Self::Refused(Refusal::CheckFailed { output, .. }) => Some(output),
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
        }
    }
}

/// What came of working a list off: every task that was taken, by how the last attempt at it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReport {
    /// Those that are completed.
    pub completed: Vec<TaskId>,
    /// Those that went back after an attempt failed, and have attempts left.
    pub returned: Vec<TaskId>,
    /// Those that went back after the last attempt failed.
    pub gave_up: Vec<TaskId>,
    /// Those that went back because we were stopped.
    pub interrupted: Vec<TaskId>,
    /// Those that other agents have or completed now.
    pub lost: Vec<TaskId>,
    /// Other tasks that commands claimed and left in progress; they were released.
    pub left_behind: Vec<TaskId>,
    /// Those that were not taken because they had failed too often before.
    pub passed_over: Vec<TaskId>,
    /// Whether we were stopped.
    pub was_stopped: bool,
}

/// Why work ended before its time. What was taken has gone back or been completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The store gave no answer.
    #[error(transparent)]
    Yard(#[from] Error),
    /// The command could not be started.
    #[error("cannot run `{}`: {source}", .program.escape_debug())]
    CannotStart {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Self {
        let message = error.to_string();
        match error {
            WorkError::Yard(error) => error.into(),
            WorkError::CannotStart { program, .. } => Self::new(ProblemKind::CouldNot, "cannot_start", message)
                .hint("no task was charged with a failed attempt; run a shell line with `-- sh -c LINE`")
                .detail("program", program),
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Completed,
    Returned,
    GaveUp,
    Interrupted,
    Lost,
}

/// How the last attempt at each task ended.
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
            lost: ended(Conclusion::Lost),
            left_behind: self.left_behind.iter().cloned().collect(),
            passed_over: passed_over.into_iter().filter(|task| !self.conclusions.contains_key(task)).collect(),
            was_stopped,
        }
    }
}

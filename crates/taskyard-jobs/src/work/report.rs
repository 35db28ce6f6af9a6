//! What came of working a list off.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use taskyard::Error;
use taskyard::core::TaskId;
use taskyard::core::problem::{Problem, ProblemKind};

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

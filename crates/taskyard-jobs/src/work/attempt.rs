//! One attempt at a task: the handling of its command's result.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use taskyard::core::rules::leases::leasing::{Fate, Loss};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard::core::{Holder, Lease, Status, Task, TaskId};
use taskyard::operations::{Hold, StopAnswer, Stopped};
use taskyard::store::StoreError;
use taskyard::{Error, Outcome as Done, Yard};

use super::report::{Conclusion, WorkError};
use super::site::Site;
use super::{Ended, Failure, WorkEvent, Worker};

/// How many times to try a write that conflicts with other writers: it may be the last step after hours of work.
const INSISTENCE: u32 = 5;

#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) site: Arc<Site>,
    pub(super) worker: Worker,
    pub(super) task: Task,
    pub(super) hold: Hold,
    /// The number of this attempt, from 1.
    pub(super) number: u64,
    pub(super) started: Instant,
    /// The worktree of the attempt, if it has its own.
    pub(super) tree: Option<TaskWorktree>,
}

/// The result of an attempt.
pub(super) struct Outcome {
    pub(super) conclusion: Result<Conclusion, WorkError>,
    /// Whether a hook asked the worker to stop altogether.
    pub(super) retires: bool,
    /// Other tasks that the command claimed and left in progress. They have been released.
    pub(super) left_behind: Vec<TaskId>,
}

impl From<Result<Conclusion, Error>> for Outcome {
    fn from(conclusion: Result<Conclusion, Error>) -> Self {
        Self { conclusion: conclusion.map_err(WorkError::from), retires: false, left_behind: Vec::new() }
    }
}

impl Attempt {
    /// Releases the task without counting a failure: it is not the task's fault that the command cannot be started.
    pub(super) fn could_not_start(&self, source: io::Error) -> Outcome {
        let program = self.site.order.program.clone();
        let error = WorkError::CannotStart { program, source };
        let conclusion = match self.hold.yard.give_back_interrupted(&self.task.id, &error.to_string()) {
            Ok(_) => Err(error),
            Err(error) => Err(error.into()),
        };
        Outcome { conclusion, retires: false, left_behind: Vec::new() }
    }

    /// Releases the other tasks that the command claimed under the worker's name and left in progress, and returns
    /// them.
    pub(super) fn release_left_behind(&self) -> Vec<TaskId> {
        let released = self.left_behind().map(|leases| {
            let released = leases.iter().filter(|lease| self.release_one_left_behind(lease));
            released.map(|lease| lease.task.clone()).collect()
        });
        released.unwrap_or_else(|error| {
            tracing::warn!(%error, "what a command left behind comes back when its leases end");
            Vec::new()
        })
    }

    /// Returns the leases that the worker's name was granted since this attempt began. Another `work` may use the same
    /// name: a lease held by a living process is not this command's.
    fn left_behind(&self) -> Result<Vec<Lease>, Error> {
        let yard = &self.hold.yard;
        let mut leases = yard.store().read(yard.list_id())?.leases()?;
        leases.retain(|lease| lease.agent == self.worker.name && lease.token > self.hold.token);
        let now = yard.store().now()?;
        let is_of_process = |lease: &Lease| matches!(lease.holder, Some(Holder::Process(_)));
        leases.retain(|lease| !is_of_process(lease) || !yard.world().judge_at(lease, &now).is_alive());
        Ok(leases)
    }

    fn release_one_left_behind(&self, lease: &Lease) -> bool {
        let (yard, reason) = (&self.hold.yard, format!("left in progress by the run for #{}", self.task.id));
        match insist(|| yard.proving(lease.token).give_back_interrupted(&lease.task, &reason)) {
            Ok(Done::Done(released)) => {
                let (worker, run) = (self.worker.name.clone(), self.task.id.clone());
                self.site.tell(WorkEvent::LeftBehind { worker, run, task: Box::new(released.task) });
                true
            }
            // The lease ended with the process that held it.
            Ok(Done::Refused(_)) => false,
            Err(error) => {
                tracing::warn!(%error, task = %lease.task, "what a command left behind comes back when its lease ends");
                false
            }
        }
    }

    /// Reports that the task was lost, and writes nothing.
    pub(super) fn lost(&self, loss: Loss) -> Result<Conclusion, Error> {
        self.site.tell(WorkEvent::Lost(self.over(self.task.clone()), loss));
        Ok(Conclusion::Lost)
    }

    /// Releases the task because the run is stopping.
    pub(super) fn interrupted(&self) -> Result<Conclusion, Error> {
        let reason = "interrupted: `taskyard work` was stopped";
        match insist(|| self.hold.yard.give_back_interrupted(&self.task.id, reason))? {
            Done::Done(released) => {
                self.site.tell(WorkEvent::Interrupted(self.over(released.task)));
                Ok(Conclusion::Interrupted)
            }
            Done::Refused(_) => self.meet_fate(),
        }
    }

    /// Releases the task after the command timed out, and counts the attempt as failed.
    pub(super) fn timed_out(&self, limit: Duration, output: &str) -> Result<Conclusion, Error> {
        match if self.hold.is_ours()? { None } else { self.hold.renew()? } {
            Some(Fate::Lost(loss)) => self.lost(loss),
            Some(Fate::Completed) => self.meet_fate(),
            None => self.give_back(Failure::TimedOut(limit), output),
        }
    }

    /// Concludes after the command ended by itself: runs hooks, then completes or releases the task.
    pub(super) fn ended(&self, code: Option<i32>, signal: Option<i32>, output: &str) -> Outcome {
        let mut retires = false;
        let conclusion = self.judge(code, signal, output, &mut retires);
        let conclusion = match conclusion {
            // The run is stopping. The hooks that were running have been stopped, so their verdict is unknown.
            Err(WorkError::Yard(Error::Cancelled)) => self.interrupted().map_err(WorkError::from),
            // The run ends once its other workers have: none of them may wait for this task in the merge queue.
            Err(error) if self.tree.is_some() => return Outcome { retires, ..self.failed_by(error) },
            conclusion => conclusion,
        };
        Outcome { conclusion, retires, left_behind: Vec::new() }
    }

    fn judge(
        &self,
        code: Option<i32>,
        signal: Option<i32>,
        output: &str,
        retires: &mut bool,
    ) -> Result<Conclusion, WorkError> {
        let fate = if self.hold.is_ours()? { None } else { self.hold.renew()? };
        if let Some(Fate::Lost(loss)) = fate {
            return Ok(self.lost(loss)?);
        }
        if fate == Some(Fate::Completed)
            && let Some(resumed) = self.reopened_for_merge()?
        {
            return resumed.judge(Some(0), None, output, retires);
        }
        let is_completed = fate == Some(Fate::Completed) || code == Some(0);
        let agent_type = self.site.order.agent_type();
        let yard = self.site.yard.in_turn_at_stop(&agent_type)?;
        let answer = yard.subagent_stop(&Stopped {
            agent_id: self.worker.name.as_str().to_owned(),
            agent_type,
            stop_hook_active: self.was_blocked_before(),
            tasks_completed: if is_completed { vec![self.task.id.clone()] } else { Vec::new() },
            result: json!({ "exit_code": code, "signal": signal, "output": output }),
            task: Some(self.task.clone()),
        });
        self.site.tell_warnings();
        let answer = answer?;
        *retires = answer.stop.is_some();
        let yard = yard.acting_as(self.worker.name.clone());
        let wanted = self.update_others(&answer, &yard)?;
        if fate.is_some() {
            return Ok(self.meet_fate()?);
        }
        let failure = match (code, signal) {
            _ if answer.blocked.is_some() => answer.blocked.map(Failure::Blocked),
            _ if wanted == Some(Status::Pending) => Some(Failure::SentBack),
            _ if wanted == Some(Status::Completed) => None,
            (Some(0), _) => None,
            (Some(code), _) => Some(Failure::Exited(code)),
            (None, signal) => Some(Failure::Signalled(signal.unwrap_or_default())),
        };
        self.remember_block(matches!(failure, Some(Failure::Blocked(_))));
        match failure {
            None => self.complete(&yard.proving(self.hold.token)),
            Some(failure) => Ok(self.give_back(failure, output)?),
        }
    }

    fn complete(&self, yard: &Yard) -> Result<Conclusion, WorkError> {
        if let Some(tree) = &self.tree {
            return self.finish_branch(yard, tree);
        }
        let done = insist(|| yard.done(&self.task.id));
        self.site.tell_warnings();
        match done? {
            Done::Done(updated) => {
                self.site.tell(WorkEvent::Completed(self.over(updated.task)));
                Ok(Conclusion::Completed)
            }
            Done::Refused(Refusal::StaleToken { .. } | Refusal::NoSuchTask { .. }) => Ok(self.meet_fate()?),
            Done::Refused(refusal) => Ok(self.give_back(Failure::Refused(refusal), "")?),
        }
    }

    pub(super) fn give_back(&self, failure: Failure, output: &str) -> Result<Conclusion, Error> {
        let reason = [&failure.to_string(), failure.said().unwrap_or(output)].map(str::trim_end).join("\n");
        self.note_failed_branch(&failure.to_string())?;
        match insist(|| self.hold.yard.give_back_failed(&self.task.id, reason.trim_end()))? {
            Done::Done(released) if self.number > self.site.order.retries => {
                self.site.tell(WorkEvent::GaveUp(self.over(released.task), failure));
                Ok(Conclusion::GaveUp)
            }
            Done::Done(released) => {
                self.site.tell(WorkEvent::Returned(self.over(released.task), failure));
                Ok(Conclusion::Returned)
            }
            Done::Refused(_) => self.meet_fate(),
        }
    }

    /// Concludes after the lease was lost: either the agent completed the task itself, or the task is no longer ours.
    pub(super) fn meet_fate(&self) -> Result<Conclusion, Error> {
        match self.hold.fate()? {
            Fate::Lost(loss) => self.lost(loss),
            Fate::Completed => {
                let task = self.hold.yard.store().read(self.hold.yard.list_id())?.find(&self.task.id)?.task();
                self.site.tell(WorkEvent::Completed(self.over(task.unwrap_or_else(|| self.task.clone()))));
                Ok(Conclusion::Completed)
            }
        }
    }

    /// Updates the tasks that hooks want changed; returns the status they want for this attempt's task.
    fn update_others(&self, answer: &StopAnswer, yard: &Yard) -> Result<Option<Status>, Error> {
        let mut wanted = None;
        for (id, status) in &answer.tasks_to_update {
            if *id == self.task.id {
                wanted = Some(*status);
                continue;
            }
            let outcome = match status {
                Status::Pending => yard.reopen(id),
                Status::InProgress => yard.start(id),
                Status::Completed => yard.done(id),
            };
            if let Done::Refused(refusal) = outcome? {
                self.site.tell(WorkEvent::NotUpdated(refusal));
            }
        }
        Ok(wanted)
    }

    fn was_blocked_before(&self) -> bool {
        self.site.blocked.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.task.id)
    }

    fn remember_block(&self, is_blocked: bool) {
        let mut blocked = self.site.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        let id: TaskId = self.task.id.clone();
        if is_blocked {
            blocked.insert(id)
        } else {
            blocked.remove(&id)
        };
    }

    pub(super) fn over(&self, task: Task) -> Ended {
        Ended {
            worker: self.worker.name.clone(),
            task: Box::new(task),
            attempt: self.number,
            most_attempts: self.site.order.retries.saturating_add(1),
            took: self.started.elapsed(),
        }
    }
}

/// Performs a write, retrying if it conflicts with other writers.
pub(super) fn insist<T>(write: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 1..INSISTENCE {
        match write() {
            Err(
                error @ (Error::TooManyConflicts { .. }
                | Error::Store(StoreError::Busy { .. } | StoreError::Conflict { .. })),
            ) => tracing::warn!(%error, "trying again"),
            answer => return answer,
        }
    }
    write()
}

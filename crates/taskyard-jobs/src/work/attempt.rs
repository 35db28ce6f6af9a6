//! What a worker's command runs for, a task or messages, and what comes of it.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use taskyard::core::rules::claims::attempts::failed_attempts;
use taskyard::core::rules::leases::fate::{Fate, Loss};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Holder, Lease, Revision, Status, Task, TaskId};
use taskyard::operations::{Claimed, Hold, Keeper, Nudge, StopAnswer, Stopped};
use taskyard::process::{Ending, Stop};
use taskyard::store::StoreError;
use taskyard::{Error, Outcome as Done, Yard};

use super::briefing::{Briefing, Mail};
use super::report::{Conclusion, WorkError};
use super::site::{Site, Tail, Timer};
use super::{Ended, Failure, WorkEvent, Worker};

/// How often a write is tried that other writers keep from happening: it may be all that is left to do after hours of work.
const INSISTENCE: u32 = 5;

/// One attempt of a worker at a task.
struct Attempt {
    site: Arc<Site>,
    worker: Worker,
    task: Task,
    hold: Hold,
    /// Which attempt it is, from 1.
    number: u64,
    started: Instant,
}

/// What an attempt came to.
pub(super) struct Outcome {
    pub(super) conclusion: Result<Conclusion, WorkError>,
    /// Whether a hook wants the worker to stop altogether.
    pub(super) retires: bool,
    /// Other tasks that the command claimed and left in progress. They are released.
    pub(super) left_behind: Vec<TaskId>,
}

impl From<Result<Conclusion, Error>> for Outcome {
    fn from(conclusion: Result<Conclusion, Error>) -> Self {
        Self { conclusion: conclusion.map_err(WorkError::from), retires: false, left_behind: Vec::new() }
    }
}

impl Attempt {
    /// Gives the task back: that the command cannot be started is not the task's fault.
    fn could_not_start(&self, source: io::Error) -> Outcome {
        let program = self.site.order.program.clone();
        let error = WorkError::CannotStart { program, source };
        let conclusion = match self.hold.yard.give_back_interrupted(&self.task.id, &error.to_string()) {
            Ok(_) => Err(error),
            Err(error) => Err(error.into()),
        };
        Outcome { conclusion, retires: false, left_behind: Vec::new() }
    }

    /// Releases the other tasks that the command claimed under the worker's name and left in progress, and returns them.
    fn release_left_behind(&self) -> Vec<TaskId> {
        let released = self.left_behind().map(|leases| {
            let released = leases.iter().filter(|lease| self.release_one_left_behind(lease));
            released.map(|lease| lease.task.clone()).collect()
        });
        released.unwrap_or_else(|error| {
            tracing::warn!(%error, "what a command left behind comes back when its leases end");
            Vec::new()
        })
    }

    /// Returns the leases that the worker's name was given since this attempt began. Another `work` may use the same name: a lease that lives with
    /// a living process is not this command's.
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
            // It ended with the process that it lived with.
            Ok(Done::Refused(_)) => false,
            Err(error) => {
                tracing::warn!(%error, task = %lease.task, "what a command left behind comes back when its lease ends");
                false
            }
        }
    }

    /// Tells that the task is no longer ours, and writes nothing.
    fn lost(&self, loss: Loss) -> Result<Conclusion, Error> {
        self.site.tell(WorkEvent::Lost(self.over(self.task.clone()), loss));
        Ok(Conclusion::Lost)
    }

    /// Gives the task back because we are stopping.
    fn interrupted(&self) -> Result<Conclusion, Error> {
        let reason = "interrupted: `taskyard work` was stopped";
        match insist(|| self.hold.yard.give_back_interrupted(&self.task.id, reason))? {
            Done::Done(released) => {
                self.site.tell(WorkEvent::Interrupted(self.over(released.task)));
                Ok(Conclusion::Interrupted)
            }
            Done::Refused(_) => self.meet_fate(),
        }
    }

    /// Gives the task back after the command took longer than it may, and counts the attempt as failed.
    fn timed_out(&self, limit: Duration, output: &str) -> Result<Conclusion, Error> {
        match if self.hold.is_ours()? { None } else { self.hold.renew()? } {
            Some(Fate::Lost(loss)) => self.lost(loss),
            Some(Fate::Completed) => self.meet_fate(),
            None => self.give_back(Failure::TimedOut(limit), output),
        }
    }

    /// Concludes after the command ended by itself: hooks are asked, and the task is completed or goes back.
    fn ended(&self, code: Option<i32>, signal: Option<i32>, output: &str) -> Outcome {
        let mut retires = false;
        let conclusion = self.judge(code, signal, output, &mut retires);
        let conclusion = match conclusion {
            // We are stopping; hooks that were running have been stopped, and whether they agree is not known.
            Err(Error::Cancelled) => self.interrupted(),
            conclusion => conclusion,
        };
        Outcome { retires, ..conclusion.into() }
    }

    fn judge(
        &self,
        code: Option<i32>,
        signal: Option<i32>,
        output: &str,
        retires: &mut bool,
    ) -> Result<Conclusion, Error> {
        let fate = if self.hold.is_ours()? { None } else { self.hold.renew()? };
        if let Some(Fate::Lost(loss)) = fate {
            return self.lost(loss);
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
            return self.meet_fate();
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
            Some(failure) => self.give_back(failure, output),
        }
    }

    fn complete(&self, yard: &Yard) -> Result<Conclusion, Error> {
        let done = insist(|| yard.done(&self.task.id));
        self.site.tell_warnings();
        match done? {
            Done::Done(updated) => {
                self.site.tell(WorkEvent::Completed(self.over(updated.task)));
                Ok(Conclusion::Completed)
            }
            Done::Refused(Refusal::StaleToken { .. } | Refusal::NoSuchTask { .. }) => self.meet_fate(),
            Done::Refused(refusal) => self.give_back(Failure::Refused(refusal), ""),
        }
    }

    fn give_back(&self, failure: Failure, output: &str) -> Result<Conclusion, Error> {
        let reason = [&failure.to_string(), failure.said().unwrap_or(output)].map(str::trim_end).join("\n");
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

    /// Concludes where the lease no longer counts: the agent completed the task itself, or it is not ours any more.
    fn meet_fate(&self) -> Result<Conclusion, Error> {
        match self.hold.fate()? {
            Fate::Lost(loss) => self.lost(loss),
            Fate::Completed => {
                let task = self.hold.yard.store().read(self.hold.yard.list_id())?.find(&self.task.id)?.task();
                self.site.tell(WorkEvent::Completed(self.over(task.unwrap_or_else(|| self.task.clone()))));
                Ok(Conclusion::Completed)
            }
        }
    }

    /// Changes the tasks that hooks want changed; returns what they want of the one this is about.
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

    fn over(&self, task: Task) -> Ended {
        Ended {
            worker: self.worker.name.clone(),
            task: Box::new(task),
            attempt: self.number,
            most_attempts: self.site.order.retries.saturating_add(1),
            took: self.started.elapsed(),
        }
    }
}

/// Writes, and tries again where other writers were in the way.
fn insist<T>(write: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
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

/// A task in the hands of a worker.
pub(super) struct Assignment {
    attempt: Attempt,
    is_resumed: bool,
    stop: Stop,
    keeper: Keeper,
    mail: Mail,
}

impl Assignment {
    /// Takes a task that was claimed after the revision `before`. From here on its lease is kept alive.
    pub(super) fn new(site: &Arc<Site>, worker: &Worker, claimed: Claimed, before: Revision) -> Self {
        let Claimed { task, lease, is_resumed, revision, .. } = claimed;
        let hold = Hold {
            yard: site.yard.acting_as(worker.name.clone()).proving(lease.token),
            task: task.id.clone(),
            token: lease.token,
            since: revision.unwrap_or(before),
        };
        let stop = site.stop.part();
        let asked_to_end = stop.clone();
        let keeper = Keeper::of(hold.clone(), site.order.ttl, move |_| asked_to_end.ask());
        let attempt = Attempt {
            site: Arc::clone(site),
            worker: worker.clone(),
            number: failed_attempts(&task).saturating_add(1),
            started: Instant::now(),
            task,
            hold,
        };
        Self { attempt, is_resumed, stop, keeper, mail: Mail::default() }
    }

    /// Gives the command what was written to the worker.
    pub(super) fn with_mail(self, mail: Mail) -> Self {
        Self { mail, ..self }
    }

    /// Returns what lets the keeper of the lease look at once.
    pub(super) fn nudge(&self) -> Nudge {
        self.keeper.nudge()
    }

    /// Returns the task's id.
    pub(super) fn task(&self) -> &TaskId {
        &self.attempt.task.id
    }

    /// Runs the command, and completes the task or gives it back.
    pub(super) fn carry_out(self) -> Outcome {
        let Self { attempt, is_resumed, stop, keeper, mail } = self;
        let (order, list) = (&attempt.site.order, attempt.site.yard.list_id());
        let briefing = Briefing { order, worker: &attempt.worker, list, mail: &mail };
        let program = briefing.for_task(&attempt.task, attempt.hold.token, attempt.number);
        let tail = Tail::default();
        let sink = || tail.sink(format!("#{}", attempt.task.id), &attempt.site.listener);
        let timer = Timer::start(order.time_limit, &stop);
        let ending = order.jobs.run_tied(&program, [sink(), sink()], &stop, || {
            attempt.site.tell(WorkEvent::Started {
                worker: attempt.worker.name.clone(),
                task: Box::new(attempt.task.clone()),
                attempt: attempt.number,
                is_resumed,
            });
        });
        let lost = keeper.finish();
        if matches!(ending, Ok(Ending::Exited(0))) {
            mail.acknowledge(&attempt.site.yard);
        }
        let left_behind = attempt.release_left_behind();
        let outcome = match (ending, lost) {
            (Err(source), _) => attempt.could_not_start(source),
            (Ok(_), Some(loss)) => attempt.lost(loss).into(),
            (Ok(Ending::Cancelled | Ending::TimedOut), None) => {
                let exceeded = timer.as_ref().and_then(Timer::exceeded).filter(|_| !attempt.site.is_stopping());
                exceeded.map_or_else(|| attempt.interrupted(), |limit| attempt.timed_out(limit, &tail.text())).into()
            }
            (Ok(Ending::Exited(code)), None) => attempt.ended(Some(code), None, &tail.text()),
            (Ok(Ending::Signalled(signal)), None) => attempt.ended(None, Some(signal), &tail.text()),
        };
        Outcome { left_behind, ..outcome }
    }
}

/// Messages in the hands of a worker.
pub(super) struct Errand {
    pub(super) site: Arc<Site>,
    pub(super) worker: Worker,
    pub(super) mail: Mail,
}

/// What came of messages.
pub(super) enum ErrandOutcome {
    /// The command had them.
    Done,
    /// It did not; they will come again.
    Failed(Mail),
    /// We are stopping, and they will come again.
    Interrupted,
    /// The command cannot be started.
    NotStarted(WorkError),
}

impl Errand {
    /// Runs the command, and says that the messages were had where it succeeded.
    pub(super) fn carry_out(self) -> ErrandOutcome {
        let Self { site, worker, mail } = self;
        let (order, list) = (&site.order, site.yard.list_id());
        let program = Briefing { order, worker: &worker, list, mail: &mail }.for_messages();
        let (tail, stop) = (Tail::default(), site.stop.part());
        let sink = || tail.sink(worker.name.as_str().to_owned(), &site.listener);
        let (messages, timer) = (mail.len(), Timer::start(order.time_limit, &stop));
        let ending = order.jobs.run_tied(&program, [sink(), sink()], &stop, || {
            site.tell(WorkEvent::Attending { worker: worker.name.clone(), messages });
        });
        let failure = match ending {
            Err(source) => {
                let program = site.order.program.clone();
                return ErrandOutcome::NotStarted(WorkError::CannotStart { program, source });
            }
            Ok(Ending::Cancelled | Ending::TimedOut) => {
                match timer.as_ref().and_then(Timer::exceeded).filter(|_| !site.is_stopping()) {
                    Some(limit) => Some(Failure::TimedOut(limit)),
                    None => return ErrandOutcome::Interrupted,
                }
            }
            Ok(Ending::Exited(0)) => None,
            Ok(Ending::Exited(code)) => Some(Failure::Exited(code)),
            Ok(Ending::Signalled(signal)) => Some(Failure::Signalled(signal)),
        };
        if failure.is_none() {
            mail.acknowledge(&site.yard);
        }
        let is_done = failure.is_none();
        site.tell(WorkEvent::Attended { worker: worker.name.clone(), messages, failure });
        if is_done { ErrandOutcome::Done } else { ErrandOutcome::Failed(mail) }
    }
}

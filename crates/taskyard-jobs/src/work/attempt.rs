//! One run of a worker's command: its input and the handling of its result.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use taskyard::core::dialect::inbox::read_protocol;
use taskyard::core::dialect::native::Shape;
use taskyard::core::rules::agents::{Departure, first, urgency};
use taskyard::core::rules::claims::claiming::failed_attempts;
use taskyard::core::rules::leases::leasing::{Fate, Loss};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard::core::{AgentName, Holder, Lease, ListId, MessageKey, Protocol, Revision, Status, Task, TaskId, Token};
use taskyard::operations::{Claimed, Hold, Keeper, Nudge, StopAnswer, Stopped};
use taskyard::process::{CommandLine, Ending, Program, Stop};
use taskyard::store::StoreError;
use taskyard::teams::{Delivery, Seat};
use taskyard::{Error, Outcome as Done, Yard};

use super::branching::Entered;
use super::report::{Conclusion, WorkError};
use super::site::{Site, Tail, Timer};
use super::{Ended, Failure, Order, WorkEvent, Worker};

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
    fn could_not_start(&self, source: io::Error) -> Outcome {
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
    fn timed_out(&self, limit: Duration, output: &str) -> Result<Conclusion, Error> {
        match if self.hold.is_ours()? { None } else { self.hold.renew()? } {
            Some(Fate::Lost(loss)) => self.lost(loss),
            Some(Fate::Completed) => self.meet_fate(),
            None => self.give_back(Failure::TimedOut(limit), output),
        }
    }

    /// Concludes after the command ended by itself: runs hooks, then completes or releases the task.
    fn ended(&self, code: Option<i32>, signal: Option<i32>, output: &str) -> Outcome {
        let mut retires = false;
        let conclusion = self.judge(code, signal, output, &mut retires);
        let conclusion = match conclusion {
            // The run is stopping. The hooks that were running have been stopped, so their verdict is unknown.
            Err(WorkError::Yard(Error::Cancelled)) => self.interrupted().map_err(WorkError::from),
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

/// A claimed task and its worker.
pub(super) struct Assignment {
    attempt: Attempt,
    is_resumed: bool,
    stop: Stop,
    keeper: Keeper,
    mail: Mail,
}

impl Assignment {
    /// Takes over a task that was claimed after revision `before`, and starts renewing its lease.
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
            tree: None,
        };
        Self { attempt, is_resumed, stop, keeper, mail: Mail::default() }
    }

    /// Passes messages to the worker along with the task.
    pub(super) fn with_mail(self, mail: Mail) -> Self {
        Self { mail, ..self }
    }

    /// Returns a handle that makes the lease keeper check immediately.
    pub(super) fn nudge(&self) -> Nudge {
        self.keeper.nudge()
    }

    pub(super) fn task(&self) -> &TaskId {
        &self.attempt.task.id
    }

    /// Runs the command, and completes or releases the task.
    pub(super) fn carry_out(self) -> Outcome {
        let Self { mut attempt, is_resumed, stop, keeper, mail } = self;
        let site = Arc::clone(&attempt.site);
        let (order, list) = (&site.order, site.yard.list_id());
        let briefing = Briefing { order, worker: &attempt.worker, list, mail: &mail };
        let mut program = briefing.for_task(&attempt.task, attempt.hold.token, attempt.number);
        if let Some(trees) = &order.worktrees {
            match attempt.enter_worktree(trees, &stop) {
                Ok(Entered::Runs) => attempt.in_worktree(trees, &mut program),
                Ok(Entered::Ended(conclusion)) => {
                    return Outcome { conclusion: Ok(conclusion), retires: false, left_behind: Vec::new() };
                }
                Err(error) => {
                    drop(keeper.finish());
                    return attempt.without_worktree(error);
                }
            }
        }
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

/// Messages to handle, and their worker.
pub(super) struct Errand {
    pub(super) site: Arc<Site>,
    pub(super) worker: Worker,
    pub(super) mail: Mail,
}

/// The result of handling messages.
pub(super) enum ErrandOutcome {
    /// The command succeeded.
    Done,
    /// The command failed; the messages are delivered again.
    Failed(Mail),
    /// The run is stopping; the messages are delivered again.
    Interrupted,
    /// The command could not be started.
    NotStarted(WorkError),
}

impl Errand {
    /// Runs the command, and acknowledges the messages if it succeeded.
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

/// The maximum length of a variable's value. Linux limits a string to 128 KiB, including the name.
const LONGEST_VALUE: usize = 96 * 1024;

/// The context of a command, whatever it is started for.
pub(super) struct Briefing<'a> {
    pub(super) order: &'a Order,
    pub(super) worker: &'a Worker,
    pub(super) list: &'a ListId,
    pub(super) mail: &'a Mail,
}

impl Briefing<'_> {
    /// Returns the command with a task on stdin and in the environment.
    pub(super) fn for_task(&self, task: &Task, token: Token, attempt: u64) -> Program {
        let metadata = task.metadata.as_ref().map_or_else(|| "{}".to_owned(), |it| Value::from(it.clone()).to_string());
        let values = [
            ("TASKYARD_TASK_ID", task.id.as_str().to_owned()),
            ("TASKYARD_TASK_SUBJECT", task.subject.clone()),
            ("TASKYARD_TASK_DESCRIPTION", task.description.clone()),
            ("TASKYARD_TASK_ACTIVE_FORM", task.active_form.clone().unwrap_or_default()),
            ("TASKYARD_TASK_TOKEN", token.to_string()),
            // A truncated object would be invalid; the whole object is on stdin.
            ("TASKYARD_TASK_METADATA", whole(metadata).unwrap_or_default()),
            ("TASKYARD_TASK_ATTEMPT", attempt.to_string()),
        ];
        self.program(values, line(&Shape(task)))
    }

    /// Returns the command with only messages, on stdin and in the environment.
    pub(super) fn for_messages(&self) -> Program {
        self.program([], line(&json!({ "messages": self.mail.as_json() })))
    }

    fn program(&self, values: impl IntoIterator<Item = (&'static str, String)>, stdin: Vec<u8>) -> Program {
        let order = self.order;
        let around = [
            ("TASKYARD_LIST", self.list.directory().to_owned()),
            ("TASKYARD_STORE", order.store_address.clone()),
            ("TASKYARD_AGENT", self.worker.name.as_str().to_owned()),
            // A client that the command starts shares the list.
            ("CLAUDE_CODE_TASK_LIST_ID", self.list.directory().to_owned()),
        ];
        // A truncated list would be invalid; a command that needs more can run `taskyard inbox`.
        let messages = (self.mail.len() > 0).then(|| self.mail.as_json().to_string()).and_then(whole);
        let messages = messages.map(|messages| ("TASKYARD_MESSAGES", messages));
        let variables = values.into_iter().chain(around).chain(messages);
        let variables = variables.map(|(name, value)| (name.into(), fitting(value).into()));
        // Overrides come first, so that the store address below takes precedence.
        let replaced = order.jobs.options().environment.iter().cloned();
        Program {
            command: CommandLine::Words(order.program.clone(), order.arguments.clone()),
            directory: order.directory.clone(),
            environment: replaced.chain(variables).collect(),
            stdin,
            timeout: None,
        }
    }
}

/// Serialises a value as one line of JSON.
fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("text, lists and maps with text for keys can be written as JSON");
    line.push(b'\n');
    line
}

/// Returns a text if a variable can hold it whole, otherwise `None`.
fn whole(text: String) -> Option<String> {
    (text.len() <= LONGEST_VALUE).then_some(text)
}

/// Truncates a text to what a variable can hold, and removes NUL characters.
pub(super) fn fitting(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_VALUE));
    text.retain(|character| character != '\0');
    text
}

/// The unacknowledged messages to a worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    seat: Option<Box<Seat>>,
    deliveries: Vec<Delivery>,
}

/// The result of checking a worker's inbox.
pub(super) enum Attended {
    /// The worker was asked to shut down, and has left the team.
    Left,
    /// The worker continues, with these messages.
    GoesOn(Mail),
}

/// Checks a worker's inbox, and lets the worker leave its team if it was asked to shut down.
pub(super) fn attend(yard: &Yard, worker: &AgentName) -> Result<Attended, Error> {
    let Some(teams) = yard.teams() else { return Ok(Attended::GoesOn(Mail::default())) };
    let Some(seat) = teams.only_seat(worker)? else { return Ok(Attended::GoesOn(Mail::default())) };
    let mut deliveries = teams.receive(&seat)?.deliveries;
    let lead = seat.team.lead().to_owned();
    let urgent = first(deliveries.iter().map(|delivery| &delivery.message), &lead);
    let request = urgent.and_then(|message| Some((message.key(), read_protocol(&message.text)?)));
    if let Some((key, Protocol::ShutdownRequest { request, .. })) = request {
        // A refusal means that the team is gone, and with it all members to notify.
        let _ = teams.answer_shutdown(&seat, &request, None)?;
        teams.acknowledge(&seat, &[key])?;
        let _ = yard.leave_team(teams, &seat, Departure::Shutdown)?;
        return Ok(Attended::Left);
    }
    // The sort is stable, so each sender's messages stay in order.
    deliveries.sort_by_key(|delivery| urgency(&delivery.message, &lead));
    Ok(Attended::GoesOn(Mail { seat: Some(Box::new(seat)), deliveries }))
}

impl Mail {
    fn as_json(&self) -> Value {
        let shape = |delivery: &Delivery| {
            let message = &delivery.message;
            json!({
                "id": message.msg_id, "from": message.from, "text": message.text, "summary": message.summary,
                "timestamp": message.timestamp,
            })
        };
        self.deliveries.iter().map(shape).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &MessageKey> {
        self.deliveries.iter().flat_map(|delivery| &delivery.keys)
    }

    /// Returns the messages if they are worth a separate command, which requires that a team member wrote a message in
    /// words. Protocol messages, notices about departed members, and messages whose command failed too often wait for
    /// the next task.
    pub(super) fn worth_an_errand(mut self, is_given_up: impl Fn(&MessageKey) -> bool) -> Option<Self> {
        let seat = self.seat.as_ref()?;
        self.deliveries.retain(|delivery| !delivery.keys.iter().any(&is_given_up));
        let is_prompt = |delivery: &Delivery| {
            let message = &delivery.message;
            seat.team.member(&message.from).is_some() && read_protocol(&message.text).is_none()
        };
        self.deliveries.iter().any(is_prompt).then_some(self)
    }

    /// Acknowledges the messages.
    pub(super) fn acknowledge(&self, yard: &Yard) {
        let (Some(teams), Some(seat)) = (yard.teams(), &self.seat) else { return };
        let keys: Vec<MessageKey> = self.keys().cloned().collect();
        if !keys.is_empty()
            && let Err(error) = teams.acknowledge(seat, &keys)
        {
            tracing::warn!(%error, "messages will come again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_VALUE, fitting};

    #[test]
    fn a_variable_holds_what_the_system_takes() {
        assert_eq!(fitting("a\0b".into()), "ab");
        let long = fitting("é".repeat(LONGEST_VALUE));
        assert!(long.len() <= LONGEST_VALUE && long.len() > LONGEST_VALUE - 2);
    }
}

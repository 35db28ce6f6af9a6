//! A worker's command for a task or for messages: its input, and running it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use taskyard::core::dialect::inbox::read_protocol;
use taskyard::core::dialect::native::Shape;
use taskyard::core::rules::agents::{Departure, first, urgency};
use taskyard::core::rules::claims::claiming::failed_attempts;
use taskyard::core::rules::worktrees::briefing::briefing;
use taskyard::core::{AgentName, ListId, MessageKey, Protocol, Revision, Task, TaskId, Token};
use taskyard::operations::{Claimed, Hold, Keeper, Nudge};
use taskyard::process::{CommandLine, Ending, Program, Stop};
use taskyard::teams::{Delivery, Seat};
use taskyard::{Error, Yard};

use super::attempt::{Attempt, Outcome};
use super::branching::Entered;
use super::report::WorkError;
use super::site::{Site, Tail, Timer};
use super::{Failure, Order, WorkEvent, Worker, WorktreeOrder};

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
                Ok(Entered::Runs) => in_worktree(&attempt, trees, &mut program),
                Ok(Entered::Ended(conclusion)) => {
                    return Outcome { conclusion: Ok(conclusion), retires: false, left_behind: Vec::new() };
                }
                Err(error) => {
                    drop(keeper.finish());
                    return attempt.failed_by(error);
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

/// Makes the command of an attempt run in its worktree.
fn in_worktree(attempt: &Attempt, trees: &WorktreeOrder, program: &mut Program) {
    let Some(tree) = &attempt.tree else { return };
    let (top, path) = (trees.repository.top(), Path::new(&tree.path));
    // Work that began below the top of the checkout continues at the same relative path.
    let below = program.directory.strip_prefix(top).map(|below| path.join(below));
    program.directory = below.ok().filter(|below| below.is_dir()).unwrap_or_else(|| path.to_owned());
    let values = [
        ("TASKYARD_WORKTREE", Some(tree.path.clone())),
        ("TASKYARD_BRANCH", Some(tree.branch.clone())),
        ("TASKYARD_BASE", Some(tree.base.clone())),
        ("TASKYARD_BRIEFING", briefing(&attempt.task).map(fitting)),
    ];
    let set = values.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into())));
    program.environment.extend(set);
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
struct Briefing<'a> {
    order: &'a Order,
    worker: &'a Worker,
    list: &'a ListId,
    mail: &'a Mail,
}

impl Briefing<'_> {
    /// Returns the command with a task on stdin and in the environment.
    fn for_task(&self, task: &Task, token: Token, attempt: u64) -> Program {
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
    fn for_messages(&self) -> Program {
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
fn fitting(mut text: String) -> String {
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

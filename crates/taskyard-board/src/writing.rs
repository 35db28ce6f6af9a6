//! The thread that runs operations, one after the other.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use taskyard::core::forms::one_line::{InlineTask, without_taken_times};
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::render::{Look, numbered};
use taskyard::core::timing::Clock;
use taskyard::core::view::{Property, PropertyChange};
use taskyard::core::{MessageKey, Revision, Status, TaskId, Timestamp};
use taskyard::operations::{
    Claim, Move, NewTask, OwnerChange, Patch, RestoreWhich, UndoRange, Undone, Update, Updated, now_ready,
};
use taskyard::teams::Letter;
use taskyard::{Outcome, WrittenLists, Yard};
use taskyard_jobs::{Jobs, Stopping};

use super::messages::{Answer, AppEvent, EventSender, Operation, Refused, WriteRequest};

/// How long leaving the board waits for pending operations.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the thread needs to run operations.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) yard: Yard,
    pub(super) jobs: Option<Jobs>,
    /// The terms of claims.
    pub(super) claim: Claim,
    /// The time zone of typed dates.
    pub(super) zone: &'static TimeZone,
    /// The length of a day in estimates.
    pub(super) working_day: Duration,
}

/// The thread that runs operations.
#[derive(Debug)]
pub(super) struct WriteThread {
    deeds: Sender<WriteRequest>,
    ended: Receiver<()>,
}

impl WriteThread {
    pub(super) fn start(hands: Writer, events: EventSender) -> Self {
        let (deeds, received) = channel::<WriteRequest>();
        let (end, ended) = channel();
        let work = move || {
            for request in received {
                events.send(AppEvent::Answered(Box::new(hands.on(&request))));
            }
            drop(end);
        };
        if let Err(error) = thread::Builder::new().name("taskyard-doing".to_owned()).spawn(work) {
            tracing::error!(%error, "nothing can be done from the board");
        }
        Self { deeds, ended }
    }

    pub(super) fn submit(&self, request: WriteRequest) {
        let _ = self.deeds.send(request);
    }

    /// Waits for pending operations, with a timeout.
    pub(super) fn finish(self) {
        drop(self.deeds);
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

/// The result of an operation, with a description.
struct Done {
    words: String,
    undone: Vec<Revision>,
    made: Option<TaskId>,
}

fn words(words: impl Into<String>) -> Done {
    Done { words: words.into(), undone: Vec::new(), made: None }
}

/// Returns the answer to an operation that was refused or failed.
pub(super) fn refused(problem: &Problem) -> Answer {
    let report = problem.report();
    let said = report.said.as_deref().map(|said| format!(": {}", said.trim())).unwrap_or_default();
    let message = format!("{}{said}", report.message);
    let refused = Refused { code: report.code, message, hint: report.hint.clone() };
    Answer { answer: Err(refused), ..Answer::without_changes() }
}

impl Writer {
    fn on(&self, request: &WriteRequest) -> Answer {
        let written = WrittenLists::with_revisions();
        let yard = self.yard.on(request.list.clone()).for_one_call().noting_in(written.clone());
        let yard = if request.is_forced { yard.overruling() } else { yard };
        let acted = self.act(&yard, &request.operation);
        let revisions = written.revisions(&request.list);
        match acted {
            Ok(Done { words, undone, made }) => {
                Answer { answer: Ok(words), undone, revisions, made, ..Answer::without_changes() }
            }
            // With several tasks, the first ones may have been changed.
            Err(problem) => Answer { revisions, forcible: forcible(&request.operation, &problem), ..refused(&problem) },
        }
    }

    fn act(&self, yard: &Yard, operation: &Operation) -> Result<Done, Problem> {
        match operation {
            Operation::Create { line, parent } => self.create(yard, line, parent.as_ref()),
            Operation::Set { tasks, property, value } => self.set(yard, tasks, *property, value),
            Operation::Rename { task, subject } => {
                let patch = Patch { subject: Some(subject.clone()), ..Patch::default() };
                changed("Changed", &[yard.update(task, Update { patch, ..Update::default() })?.done()?])
            }
            Operation::Note { tasks, text } => {
                each(tasks, |id| Ok(yard.note(id, text)?.done()?))?;
                Ok(words(format!("Noted on {}", numbered(tasks))))
            }
            Operation::Claim(tasks) => self.claim(yard, tasks),
            Operation::Release(tasks) => {
                each(tasks, |id| Ok(yard.release(id)?.done()?))?;
                Ok(words(format!("Released {}", numbered(tasks))))
            }
            Operation::Assign { tasks, to } => {
                let owner = to.clone().map_or(OwnerChange::Clear, OwnerChange::Set);
                let patch = Patch { owner: Some(owner), ..Patch::default() };
                let give = Move::Update(Box::new(Update { patch, ..Update::default() }));
                let updated = together(yard.move_together(tasks, &give))?;
                let whose = to.as_ref().map_or("nobody's".to_owned(), |to| format!("{to}'s"));
                let failed = updated.iter().filter_map(|updated| updated.owner_message.as_ref()?.failure()).next();
                let warning = failed.map(|why| format!("; it could not be notified: {why}")).unwrap_or_default();
                Ok(words(format!("{} is {whose} now{warning}", numbered(tasks))))
            }
            Operation::Start(tasks) => changed("Started", &together(yard.move_together(tasks, &Move::Start))?),
            Operation::Done(tasks) => changed("Done", &together(yard.move_together(tasks, &Move::Done))?),
            Operation::Cancel(tasks) => changed("Cancelled", &together(yard.move_together(tasks, &Move::Cancel))?),
            Operation::Reopen(tasks) => changed("Reopened", &together(yard.move_together(tasks, &Move::Reopen))?),
            Operation::Move { tasks, to } => moved(yard, tasks, *to),
            Operation::BlockedBy { tasks, on } => {
                each(tasks, |id| Ok(yard.depend(id, std::slice::from_ref(on))?.done()?))?;
                Ok(words(format!("{} now waits for #{on}", numbered(tasks))))
            }
            Operation::Unblock { tasks, from } => {
                each(tasks, |id| Ok(yard.undepend(id, std::slice::from_ref(from))?.done()?))?;
                Ok(words(format!("{} no longer waits for #{from}", numbered(tasks))))
            }
            Operation::Delete(tasks) => {
                yard.delete(tasks)?.done()?;
                Ok(words(format!("Deleted {}; undo restores it", numbered(tasks))))
            }
            Operation::Restore => {
                let restored = yard.restore(RestoreWhich::All)?.done()?;
                let ids: Vec<TaskId> = restored.tasks.iter().map(|task| task.id.clone()).collect();
                let none = "Nothing can be restored".to_owned();
                Ok(words(if ids.is_empty() { none } else { format!("Restored {}", numbered(&ids)) }))
            }
            Operation::Undo(ranges) => {
                let mut undone = Vec::with_capacity(ranges.len());
                for range in ranges {
                    undone.push(yard.undo(*range)?.done()?);
                }
                let revisions = undone.iter().map(|undone| undone.revision).collect();
                Ok(Done { words: took_back(&undone), undone: revisions, made: None })
            }
            Operation::StopJob(id) => match self.jobs()?.stop(id, yard.actor())? {
                Stopping::Stopped(job) => Ok(words(format!("Stopped {} {}", job.id, job.description))),
                Stopping::WasOver(job) => Err(Problem::new(
                    ProblemKind::Refused,
                    "job_not_running",
                    format!("job {} is not running (status: {})", job.id, job.state()),
                )),
            },
            Operation::Send { to, text } => send(yard, to, text),
            Operation::Acknowledge(keys) => acknowledge(yard, keys),
        }
    }

    fn clock(&self) -> Clock {
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        Clock { working_day: self.working_day, ..Clock::new(now, self.zone.clone()) }
    }

    fn create(&self, yard: &Yard, line: &str, parent: Option<&TaskId>) -> Result<Done, Problem> {
        let bad = |message: String| Problem::usage("bad_attribute", message);
        let inline = InlineTask::of_line(line, &self.clock()).map_err(|error| bad(error.to_string()))?;
        let kind = inline.extras.kind.as_deref().and_then(|word| word.parse().ok());
        let mut metadata = inline.extras.metadata(self.working_day);
        metadata.iter_mut().for_each(without_taken_times);
        let new = NewTask {
            subject: inline.title,
            owner: inline.owner,
            blocked_by: inline.after,
            kind,
            metadata: metadata.filter(|metadata| !metadata.is_empty()),
            parent: parent.cloned(),
            ..NewTask::default()
        };
        let task = yard.create(new)?.done()?.task;
        let words = format!("Created #{} {}", task.id, task.shown_subject());
        Ok(Done { words, undone: Vec::new(), made: Some(task.id) })
    }

    /// Sets a property of several tasks in one revision.
    fn set(&self, yard: &Yard, tasks: &[TaskId], property: Property, value: &str) -> Result<Done, Problem> {
        let clock = self.clock();
        let change = property.change(value, &clock).map_err(|why| Problem::usage("bad_attribute", why))?;
        let look = Look { now: Some(clock.now), zone: self.zone, ..Look::PIPE };
        let meaning = change.meaning(&look).unwrap_or_else(|| value.trim().to_owned());
        let PropertyChange { metadata, tags, kind } = change;
        let update = Update { patch: Patch { metadata, ..Patch::default() }, tags, kind, ..Update::default() };
        together(yard.move_together(tasks, &Move::Update(Box::new(update))))?;
        Ok(words(format!("{} of {}: {meaning}", property.name(), numbered(tasks))))
    }

    fn claim(&self, yard: &Yard, tasks: &[TaskId]) -> Result<Done, Problem> {
        for id in tasks {
            yard.claim(id, &self.claim)?.done()?;
        }
        Ok(words(format!("{} is yours", numbered(tasks))))
    }

    fn jobs(&self) -> Result<&Jobs, Problem> {
        let nowhere = || Problem::new(ProblemKind::CouldNot, "no_place", "jobs are not supported here");
        self.jobs.as_ref().ok_or_else(nowhere)
    }
}

/// Applies an operation to one task after the other, until one is refused.
fn each<T>(tasks: &[TaskId], act: impl Fn(&TaskId) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
    let mut done = Vec::with_capacity(tasks.len());
    for id in tasks {
        done.push(act(id).map_err(|problem| match done.len() {
            0 => problem,
            before => {
                let message = format!("{before} of {} done, then: {}", tasks.len(), problem.report().message);
                problem.saying(message)
            }
        })?);
    }
    Ok(done)
}

fn together(outcome: Result<Outcome<Vec<Updated>>, taskyard::Error>) -> Result<Vec<Updated>, Problem> {
    Ok(outcome?.done()?)
}

fn changed(verb: &str, updated: &[Updated]) -> Result<Done, Problem> {
    let ids: Vec<TaskId> = updated.iter().map(|updated| updated.task.id.clone()).collect();
    let mut text = match updated {
        [Updated { task, .. }] => format!("{verb} #{} {}", task.id, task.shown_subject()),
        _ => format!("{verb} {}", numbered(&ids)),
    };
    let ready = now_ready(updated);
    if !ready.is_empty() {
        text.push_str(&format!("; {} can start now", numbered(&ready)));
    }
    Ok(words(text))
}

/// Returns the operation that the user can force in place of a refused one, if any.
fn forcible(operation: &Operation, problem: &Problem) -> Option<Operation> {
    let report = problem.report();
    let revision = |key: &str| report.details.get(key)?.as_u64().map(Revision);
    match (operation, report.code) {
        (Operation::Undo(_), "nothing_to_undo") if report.details.contains_key("newest") => {
            Some(Operation::Undo(vec![UndoRange::Newest]))
        }
        (Operation::Undo(_), "changed_since") => {
            Some(Operation::Undo(vec![UndoRange::Range(revision("revision")?, revision("rangeEnd")?)]))
        }
        (Operation::Claim(tasks), "leased" | "already_claimed") => Some(Operation::Start(tasks.clone())),
        (_, "leased" | "already_claimed" | "open_parts") => Some(operation.clone()),
        _ => None,
    }
}

fn moved(yard: &Yard, tasks: &[TaskId], to: Status) -> Result<Done, Problem> {
    match to {
        Status::Completed => changed("Done", &together(yard.move_together(tasks, &Move::Done))?),
        Status::InProgress => changed("Started", &together(yard.move_together(tasks, &Move::Start))?),
        Status::Pending => changed("Put back", &together(yard.move_together(tasks, &Move::Reopen))?),
    }
}

fn took_back(undone: &[Undone]) -> String {
    let revisions: Vec<String> = undone.iter().flat_map(|undone| &undone.revisions).map(ToString::to_string).collect();
    let ids: Vec<TaskId> = undone.iter().flat_map(|undone| &undone.tasks).take(8).map(|(id, _)| id.clone()).collect();
    format!("Undid {} ({})", revisions.join(", "), numbered(&ids))
}

fn send(yard: &Yard, to: &str, text: &str) -> Result<Done, Problem> {
    let (teams, seat) = seated(yard)?;
    let letter = Letter { text: text.to_owned(), summary: None };
    if to == "*" {
        let (sent, failed) = teams.broadcast(&seat, &letter)?.done()?;
        let missed: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        let but = if missed.is_empty() { String::new() } else { format!(", but not to {}", missed.join(", ")) };
        return Ok(words(format!("Sent to {}{but}", sent.len())));
    }
    let sent = teams.send(&seat, to, &letter)?.done()?;
    Ok(words(format!("Sent to {}", sent.to)))
}

fn acknowledge(yard: &Yard, keys: &[MessageKey]) -> Result<Done, Problem> {
    let (teams, seat) = seated(yard)?;
    teams.acknowledge(&seat, keys)?;
    Ok(words("Acknowledged"))
}

fn seated(yard: &Yard) -> Result<(&taskyard::teams::Teams, taskyard::teams::Seat), Problem> {
    let nobody = || {
        Problem::new(ProblemKind::Refused, "not_in_a_team", format!("{} is not in a team of this list", yard.actor()))
            .hint("join one with `taskyard team join`")
    };
    let teams = yard.teams().ok_or_else(nobody)?;
    Ok((teams, yard.seat()?.ok_or_else(nobody)?))
}

//! Doing what was asked for, one thing after the other, on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use taskyard::core::render::numbered;
use taskyard::core::{MessageKey, Revision, Status, Task, TaskId};
use taskyard::operations::{
    Claim, ClaimOutcome, Move, NewTask, Outcome, OwnerChange, Patch, RestoreWhich, Undone, Update, Updated, now_ready,
};
use taskyard::teams::Letter;
use taskyard::{WrittenLists, Yard};
use taskyard_jobs::{Jobs, Stopping};

use super::deed::{Deed, What};
use super::news::{Did, News, Refused, Teller};
use taskyard::core::problem::{Problem, ProblemKind};

/// How long leaving waits for what is being done.
const PATIENCE: Duration = Duration::from_secs(5);

/// What deeds are done with.
#[derive(Debug)]
pub(super) struct Hands {
    pub(super) yard: Yard,
    pub(super) jobs: Option<Jobs>,
    /// How tasks are claimed.
    pub(super) claim: Claim,
}

/// The thread that does what is asked for.
#[derive(Debug)]
pub(super) struct Doer {
    deeds: Sender<Deed>,
    ended: Receiver<()>,
}

impl Doer {
    /// Starts the thread.
    pub(super) fn start(hands: Hands, teller: Teller) -> Self {
        let (deeds, received) = channel::<Deed>();
        let (end, ended) = channel();
        let work = move || {
            for deed in received {
                teller.tell(News::Did(Box::new(hands.on(&deed))));
            }
            drop(end);
        };
        if let Err(error) = thread::Builder::new().name("taskyard-doing".to_owned()).spawn(work) {
            tracing::error!(%error, "nothing can be done from the board");
        }
        Self { deeds, ended }
    }

    /// Has something done.
    pub(super) fn have_done(&self, deed: Deed) {
        let _ = self.deeds.send(deed);
    }

    /// Waits until what was asked for is done, for a while.
    pub(super) fn finish(self) {
        drop(self.deeds);
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

/// What came of something, in words.
struct Done {
    words: String,
    undid: Vec<Revision>,
    made: Option<TaskId>,
}

fn words(words: impl Into<String>) -> Done {
    Done { words: words.into(), undid: Vec::new(), made: None }
}

fn refused(problem: &Problem) -> Did {
    let report = problem.report();
    let said = report.said.as_deref().map(|said| format!(": {}", said.trim())).unwrap_or_default();
    let refused = Refused { message: format!("{}{said}", report.message), hint: report.hint.clone() };
    Did { answer: Err(refused), ..Did::without_changes() }
}

impl Hands {
    fn on(&self, deed: &Deed) -> Did {
        let written = WrittenLists::with_revisions();
        let yard = self.yard.on(deed.list.clone()).for_one_call().noting_in(written.clone());
        let acted = self.act(&yard, &deed.what);
        let revisions = written.revisions(&deed.list);
        match acted {
            Ok(Done { words, undid, made }) => Did { answer: Ok(words), undid, revisions, made },
            // Of several tasks the first ones may have been changed.
            Err(problem) => Did { revisions, ..refused(&problem) },
        }
    }

    fn act(&self, yard: &Yard, what: &What) -> Result<Done, Problem> {
        match what {
            What::Create { subject, parent } => create(yard, subject, parent.as_ref()),
            What::Rename { task, subject } => {
                let patch = Patch { subject: Some(subject.clone()), ..Patch::default() };
                changed("Changed", &[yard.update(task, Update { patch, ..Update::default() })?.done()?])
            }
            What::Note { tasks, text } => {
                each(tasks, |id| Ok(yard.note(id, text)?.done()?))?;
                Ok(words(format!("Noted on {}", numbered(tasks))))
            }
            What::Claim(tasks) => self.claim(yard, tasks),
            What::Release(tasks) => {
                each(tasks, |id| Ok(yard.release(id)?.done()?))?;
                Ok(words(format!("Gave back {}", numbered(tasks))))
            }
            What::Assign { tasks, to } => {
                let owner = to.clone().map_or(OwnerChange::Clear, OwnerChange::Set);
                let patch = Patch { owner: Some(owner), ..Patch::default() };
                let give = Move::Update(Box::new(Update { patch, ..Update::default() }));
                let updated = together(yard.move_together(tasks, &give))?;
                let whose = to.as_ref().map_or("nobody's".to_owned(), |to| format!("{to}'s"));
                let failed = updated.iter().filter_map(|updated| updated.owner_message.as_ref()?.failure()).next();
                let warning = failed.map(|why| format!("; it could not be told: {why}")).unwrap_or_default();
                Ok(words(format!("{} is {whose} now{warning}", numbered(tasks))))
            }
            What::Start(tasks) => changed("Started", &together(yard.move_together(tasks, &Move::Start))?),
            What::Done(tasks) => changed("Done", &together(yard.move_together(tasks, &Move::Done))?),
            What::Cancel(tasks) => changed("Cancelled", &together(yard.move_together(tasks, &Move::Cancel))?),
            What::Reopen(tasks) => changed("Reopened", &together(yard.move_together(tasks, &Move::Reopen))?),
            What::Move { tasks, to } => moved(yard, tasks, *to),
            What::BlockedBy { tasks, on } => {
                each(tasks, |id| Ok(yard.depend(id, std::slice::from_ref(on))?.done()?))?;
                Ok(words(format!("{} waits for #{on} now", numbered(tasks))))
            }
            What::Unblock { tasks, from } => {
                each(tasks, |id| Ok(yard.undepend(id, std::slice::from_ref(from))?.done()?))?;
                Ok(words(format!("{} no longer waits for #{from}", numbered(tasks))))
            }
            What::Delete(tasks) => {
                yard.delete(tasks)?.done()?;
                Ok(words(format!("Removed {}; undo brings it back", numbered(tasks))))
            }
            What::Restore => {
                let restored = yard.restore(RestoreWhich::All)?.done()?;
                let ids: Vec<TaskId> = restored.tasks.iter().map(|task| task.id.clone()).collect();
                let none = "Nothing is missing that could be brought back".to_owned();
                Ok(words(if ids.is_empty() { none } else { format!("Brought back {}", numbered(&ids)) }))
            }
            What::Undo(ranges) => {
                let mut undone = Vec::with_capacity(ranges.len());
                for range in ranges {
                    undone.push(yard.undo(*range)?.done()?);
                }
                let undid = undone.iter().map(|undone| undone.revision).collect();
                Ok(Done { words: took_back(&undone), undid, made: None })
            }
            What::StopJob(id) => match self.jobs()?.stop(id, yard.actor())? {
                Stopping::Stopped(job) => Ok(words(format!("Stopped {} {}", job.id, job.description))),
                Stopping::WasOver(job) => Err(Problem::new(
                    ProblemKind::Refused,
                    "job_not_running",
                    format!("job {} is not running (status: {})", job.id, job.state()),
                )),
            },
            What::Send { to, text } => send(yard, to, text),
            What::Acknowledge(keys) => acknowledge(yard, keys),
        }
    }

    fn claim(&self, yard: &Yard, tasks: &[TaskId]) -> Result<Done, Problem> {
        for id in tasks {
            if let ClaimOutcome::Refused { refusal, .. } = yard.claim(id, &self.claim)? {
                let message = format!("task {id} cannot be claimed: {refusal}");
                return Err(Problem::new(ProblemKind::Refused, refusal.as_str(), message));
            }
        }
        Ok(words(format!("{} is yours", numbered(tasks))))
    }

    fn jobs(&self) -> Result<&Jobs, Problem> {
        let nowhere = || Problem::new(ProblemKind::CouldNot, "no_place", "there is no place for jobs here");
        self.jobs.as_ref().ok_or_else(nowhere)
    }
}

/// Does something to one task after the other, until one is refused.
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

fn create(yard: &Yard, subject: &str, parent: Option<&TaskId>) -> Result<Done, Problem> {
    let new = NewTask { subject: subject.to_owned(), parent: parent.cloned(), ..NewTask::default() };
    let Task { id, .. } = yard.create(new)?.done()?.task;
    Ok(Done { words: format!("Created #{id} {subject}"), undid: Vec::new(), made: Some(id) })
}

/// Moves tasks to another column.
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
    format!("Took back {} ({})", revisions.join(", "), numbered(&ids))
}

fn send(yard: &Yard, to: &str, text: &str) -> Result<Done, Problem> {
    let (teams, seat) = seated(yard)?;
    let letter = Letter { text: text.to_owned(), summary: None };
    if to == "*" {
        let (sent, failed) = teams.broadcast(&seat, &letter)??;
        let missed: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        let but = if missed.is_empty() { String::new() } else { format!(", but not to {}", missed.join(", ")) };
        return Ok(words(format!("Sent to {}{but}", sent.len())));
    }
    let sent = teams.send(&seat, to, &letter)??;
    Ok(words(format!("Sent to {}", sent.to)))
}

fn acknowledge(yard: &Yard, keys: &[MessageKey]) -> Result<Done, Problem> {
    let (teams, seat) = seated(yard)?;
    teams.acknowledge(&seat, keys)?;
    Ok(words("Acknowledged"))
}

fn seated(yard: &Yard) -> Result<(&taskyard::teams::Teams, taskyard::teams::Seat), Problem> {
    let nobody = || {
        Problem::new(ProblemKind::Refused, "not_in_a_team", format!("{} is in no team of this list", yard.actor()))
            .hint("join one with `taskyard team join`")
    };
    let teams = yard.teams().ok_or_else(nobody)?;
    Ok((teams, yard.seat()?.ok_or_else(nobody)?))
}

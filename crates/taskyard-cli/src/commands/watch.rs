//! `taskyard watch`

use std::collections::HashSet;
use std::sync::mpsc::{self, Receiver};

use clap::Args;
use serde::Serialize;
use taskyard::core::render::{Line, Look, Tone, entry_line, job_line};
use taskyard::core::{Event, JobId, Revision, TaskId, Timestamp};
use taskyard::leases::Warden;
use taskyard::notices::Notice;
use taskyard::store::HistoryQuery;

use crate::arguments::parse_revision;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{EntryShape, JobShape, Output, when_reader_leaves};
use crate::problem::Problem;

/// Show changes as they happen, one line each, until it is stopped
///
/// In a pipe and with --json every line is a JSON object. Changes by other programs are shown too. Who was interrupted goes on
/// with --since and the last revision of which the line with "last":true has come. That a job of the list has ended is a line of
/// its own; with --since those come again that nobody has acknowledged.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Begin with what happened after this revision; with what happens from now on where none is given
    #[arg(long, value_name = "REV", value_parser = parse_revision)]
    since: Option<Revision>,
}

/// So many words may wait to be told; whoever has more waits, so that a journal is not read faster than somebody takes it.
const AHEAD: usize = 8;

/// What there is to wait for.
enum Word {
    Happened(Event),
    Ended(Box<Notice>),
    ReaderLeft,
    Lost,
}

/// Says that nobody follows the list any more, when the listener is dropped.
struct Follower(mpsc::SyncSender<Word>);

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.send(Word::Lost);
    }
}

/// A line in a pipe: the entry, and whether the commit it belongs to is told in full with it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    entry: EntryShape<'a>,
    last: bool,
}

/// A line in a pipe: a job of the list has ended. It belongs to no revision.
#[derive(Serialize)]
struct Notified<'a> {
    at: String,
    actor: &'a str,
    op: &'static str,
    task: Option<&'a str>,
    job: JobShape<'a>,
}

impl Watch {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let store = yard.store();
        let since = match self.since {
            Some(revision) => revision,
            None => store.read(yard.list_id())?.revision(),
        };
        let (sender, receiver) = mpsc::sync_channel::<Word>(AHEAD);
        let (left, ended) = (sender.clone(), sender.clone());
        let follower = Follower(sender);
        let listener = move |event: &Event| {
            // The receiver lives as long as the subscription; past it nobody wants to know.
            let _ = follower.0.send(Word::Happened(event.clone()));
        };
        // What the dead held comes back as soon as they are dead, and not when somebody next writes.
        let _warden = Warden::over(&yard)?;
        let _caretaker = context.caretaker();
        let notices = context.notices()?;
        let new = move |notice: &Notice| drop(ended.send(Word::Ended(Box::new(notice.clone()))));
        let _notices = notices.follow(yard.list_id(), Box::new(new))?;
        let _subscription = store.watch(yard.list_id(), since, Box::new(listener))?;
        // It ends before the subscriptions do: their ends wait for listeners, and those wait for room in it.
        let words = receiver;
        // A job that was lost tells nobody of it before somebody has looked.
        if let Err(error) = context.jobs()?.reconcile() {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
        // After following began, so that none falls between them; those that come both ways are told once.
        let again = if self.since.is_some() { notices.waiting(yard.list_id())? } else { Vec::new() };
        let told: HashSet<JobId> = again.iter().map(|notice| notice.job.id.clone()).collect();
        if output.is_terminal() && !output.is_quiet() {
            let mut line = Line::new().with(Tone::Dim, "watching ").with(Tone::Strong, yard.list_id().as_str());
            line.push(Tone::Dim, " after revision ");
            line.push(Tone::Dim, &since.to_string());
            output.line(&line)?;
            output.flush()?;
        }
        context.warn_of_journals(output)?;
        when_reader_leaves(move || drop(left.send(Word::ReaderLeft)));
        for notice in again {
            tell_of_end(&notice, output)?;
        }
        match tell_all(words, &told, output)? {
            Followed::ToTheEnd => Ok(Exit::Done),
            // Whoever asks once more is told why.
            Followed::Lost => {
                let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
                Ok(store.history(yard.list_id(), &newest).map(|_| Exit::Done)?)
            }
        }
    }
}

/// How the following of a list came to its end.
enum Followed {
    /// Nobody reads it any more.
    ToTheEnd,
    /// The list is no longer followed.
    Lost,
}

/// Tells what happens until nobody reads it any more. Of the jobs in `told` it was said already that they ended.
fn tell_all(words: Receiver<Word>, told: &HashSet<JobId>, output: &mut Output) -> Result<Followed, Problem> {
    for word in words {
        match word {
            Word::Happened(event) => tell(&event, output)?,
            Word::Ended(notice) if told.contains(&notice.job.id) => {}
            Word::Ended(notice) => tell_of_end(&notice, output)?,
            Word::Lost => return Ok(Followed::Lost),
            Word::ReaderLeft => break,
        }
    }
    Ok(Followed::ToTheEnd)
}

fn tell(event: &Event, output: &mut Output) -> Result<(), Problem> {
    for (number, entry) in event.entries.iter().enumerate() {
        if output.is_terminal() {
            let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
            output.line(&entry_line(entry, &Look { now, ..output.look() }))?;
        } else {
            output.document(Told { entry: EntryShape(entry), last: number + 1 == event.entries.len() })?;
        }
    }
    Ok(output.flush()?)
}

fn tell_of_end(notice: &Notice, output: &mut Output) -> Result<(), Problem> {
    let job = &notice.job;
    if output.is_terminal() {
        let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
        output.line(&job_line("", job, &Look { now, ..output.look() }))?;
    } else {
        output.document(Notified {
            at: notice.queued.to_string(),
            actor: notice.agent.as_str(),
            op: "job_ended",
            task: job.task.as_ref().map(TaskId::as_str),
            job: JobShape(job),
        })?;
    }
    Ok(output.flush()?)
}

//! `taskyard watch`

use std::collections::BTreeMap;

use clap::Args;
use taskyard::core::answers::history::{WatchedEntry, WatchedJob, WatchedOp, WatchedReturn};
use taskyard::core::render::{Line, Look, Tone, entry_line, job_line};
use taskyard::core::{Entry, ListId, Revision, TaskId, Timestamp};
use taskyard::leases::Warden;
use taskyard::notices::Notice;
use taskyard::stream::{Cursor, Happening, Interest};

use crate::arguments::{Since, parse_since};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, when_reader_leaves};
use crate::problem::Problem;

/// Show changes as they happen, one line each, until it is stopped
///
/// In a pipe and with --json every line is a JSON object. It also shows what other programs change, and which jobs of the list have
/// ended. To resume, pass --since the last revision whose `"last":true` line you received; ends of jobs that nobody has acknowledged
/// are then shown again.
///
/// A query shows only changes of tasks that match it after the change, or that matched it before they were removed (see
/// `taskyard list --help`).
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Only changes of tasks that match
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Begin after this revision (`41`), or at a time that has passed (`2h`, `yesterday`); without it, with what happens from now on
    #[arg(long, value_name = "REV|TIME", value_parser = parse_since)]
    since: Option<Since>,
}

impl Watch {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let query = context.query_of(&self.query)?;
        let yard = context.yard()?;
        let since = match self.since {
            Some(Since::Revision(revision)) => revision,
            Some(Since::Moment(moment)) => yard.revision_before(moment)?,
            None => yard.store().read(yard.list_id())?.revision(),
        };
        let cursor = match self.since {
            Some(_) => Cursor::after(yard.list_id(), since),
            None => Cursor { lists: BTreeMap::from([(yard.list_id().clone(), since)]), ..Cursor::now() },
        };
        // What the dead held comes back as soon as they are dead, and not when an agent next writes.
        let _warden = Warden::over(&yard)?;
        let _caretaker = context.caretaker();
        let interest = Interest { jobs: true, ..Interest::in_list(yard.list_id()) };
        // Without a place for what we remember there are no jobs to tell of.
        context.notices()?;
        let stream = yard.follow_only(interest, cursor)?;
        // A job that was lost tells no agent of it before a process has looked.
        if let Err(error) = context.jobs()?.reconcile() {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
        if output.is_terminal() && !output.is_quiet() {
            let mut line = Line::new().with(Tone::Dim, "watching ").with(Tone::Strong, yard.list_id().as_str());
            line.push(Tone::Dim, " after revision ");
            line.push(Tone::Dim, &since.to_string());
            output.line(&line)?;
            output.flush()?;
        }
        context.warn_of_journals(output)?;
        let control = stream.control();
        when_reader_leaves(move || control.stop());
        for happening in stream {
            match happening? {
                Happening::Commit(event) => tell(&yard.entries_about(&event, &query)?, output)?,
                Happening::JobEnded(notice) => tell_of_end(&notice, output)?,
                Happening::WentBack { list, revision } => tell_of_going_back(&list, revision, output)?,
                _ => {}
            }
        }
        Ok(Exit::Done)
    }
}

fn tell(entries: &[Entry], output: &mut Output) -> Result<(), Problem> {
    for (number, entry) in entries.iter().enumerate() {
        if output.is_terminal() {
            let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
            output.line(&entry_line(entry, &Look { now, by_clock: true, ..output.look() }))?;
        } else {
            output.document(WatchedEntry { entry: entry.into(), last: number + 1 == entries.len() })?;
        }
    }
    Ok(output.flush()?)
}

fn tell_of_going_back(list: &ListId, revision: Revision, output: &mut Output) -> Result<(), Problem> {
    if output.is_terminal() {
        let words = format!("the database of list {list} went back to revision {revision}; earlier lines may be lost");
        output.line(&Line::new().with(Tone::Strong, &words))?;
    } else {
        output.document(WatchedReturn { op: WatchedOp::WentBack, revision: revision.0 })?;
    }
    Ok(output.flush()?)
}

fn tell_of_end(notice: &Notice, output: &mut Output) -> Result<(), Problem> {
    let job = &notice.job;
    if output.is_terminal() {
        let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
        output.line(&job_line("", job, &Look { now, by_clock: true, ..output.look() }))?;
    } else {
        output.document(WatchedJob {
            at: notice.queued.to_string(),
            actor: notice.agent.as_str(),
            op: WatchedOp::JobEnded,
            task: job.task.as_ref().map(TaskId::as_str),
            job: job.into(),
        })?;
    }
    Ok(output.flush()?)
}

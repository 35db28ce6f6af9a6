//! `taskyard history` and `watch`

use std::collections::BTreeMap;

use clap::Args;
use taskyard::answers::StreamedEntries;
use taskyard::core::answers::history_answers::{WatchedEntry, WatchedJob, WatchedOp, WatchedReturn};
use taskyard::core::render::{Line, Look, Tone, entry_line, entry_lines, is_summed_up, job_line, revision_line};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Entry, ListId, Revision, TaskId, Timestamp, answers};
use taskyard::lease_watch::Warden;
use taskyard::notices::Notice;
use taskyard::store::HistoryQuery;
use taskyard::stream::{Cursor, Happening, Interest};

use crate::arguments::{NotifyFlag, Since, parse_id, parse_since};
use crate::context::Context;
use crate::displays::notices::{notify_of_done, notify_of_end};
use crate::exit::{Exit, Problem};
use crate::output::{Output, when_reader_leaves};

/// Default number of revisions on a terminal.
const SHOWN: usize = 30;

/// Show the journal: who changed what, and when
///
/// Oldest first. A revision that touched many tasks is one line. By default a terminal shows the newest 30 revisions; a
/// pipe gets all of them.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Only what happened to this task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: Option<TaskId>,

    /// Only what happened after this revision (`41`), or since a time: `2h`, `yesterday`, `fri 17:00`, `2026-11-20`
    #[arg(long, value_name = "REV|TIME", value_parser = parse_since)]
    pub(crate) since: Option<Since>,

    /// The maximum number of revisions, newest first
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) number: Option<usize>,

    /// Show every task of a revision that changed many
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl History {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let shown = (output.is_terminal() && self.since.is_none()).then_some(SHOWN);
        let yard = context.yard()?;
        let since = match self.since {
            Some(Since::Moment(moment)) => yard.revision_before(moment)?,
            Some(Since::Revision(revision)) => revision,
            None => Revision::default(),
        };
        let query =
            HistoryQuery { task: self.id.clone(), since, newest: self.number.or(shown), ..HistoryQuery::default() };
        let mut pages = yard.history_in_pages(query)?;
        // Report an error on the first page before anything is written.
        let first = pages.next().transpose()?;
        if let Some(id) = self.id.as_ref().filter(|_| first.is_none())
            && !yard.is_known(id)?
        {
            return Err(Refusal::NoSuchTask { task: id.clone() }.into());
        }
        let is_empty = first.is_none();
        let pages = first.map(Ok).into_iter().chain(pages);
        if output.is_json() {
            let entries = StreamedEntries::of(pages);
            let written = output.document(answers::history_answers::History { entries: &entries });
            return match entries.into_failure() {
                Some(error) => {
                    // The answer is incomplete; put the error on a line of its own.
                    output.text("\n")?;
                    Err(error.into())
                }
                None => Ok(written.map(|()| Exit::Done)?),
            };
        }
        if let Some(Since::Moment(moment)) = self.since.filter(|_| output.is_terminal()) {
            let since = output.look().moment(moment);
            output.say(&Line::new().with(Tone::Dim, &format!("since {since}")))?;
        }
        if is_empty {
            output.say(&Line::plain("Nothing has happened here yet"))?;
        }
        let mut told = 0;
        for page in pages {
            for revision in page?.chunk_by(|one, two| one.revision == two.revision) {
                self.tell(revision, output)?;
                told += 1;
            }
        }
        if self.number.is_none() && shown == Some(told) {
            output.say(&Line::new().with(Tone::Dim, "the newest 30 revisions; more with ").with(Tone::Hint, "-n N"))?;
        }
        Ok(Exit::Done)
    }

    /// Shows one revision.
    fn tell(&self, revision: &[Entry], output: &mut Output) -> Result<(), Problem> {
        let look = output.look();
        if let Some(line) = revision_line(revision, &look).filter(|_| !self.verbose && is_summed_up(revision.len())) {
            output.line(&line)?;
        } else if output.is_terminal() {
            revision.iter().try_for_each(|entry| output.lines(&entry_lines(entry, &look)))?;
        } else {
            revision.iter().try_for_each(|entry| output.line(&entry_line(entry, &look)))?;
        }
        Ok(())
    }
}

/// Print changes as they happen, one per line, until stopped
///
/// In a pipe and with --json every line is a JSON object. It also shows changes by other programs and the ends of the
/// list's jobs. To resume, pass --since the last revision whose `"last":true` line you received; unacknowledged ends of
/// jobs are then shown again.
///
/// A query shows only changes of tasks that match it after the change, or that matched it before they were removed (see
/// `taskyard list --help`).
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Only changes of tasks that match
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Start after this revision (`41`) or at a past time (`2h`, `yesterday`); default: now
    #[arg(long, value_name = "REV|TIME", value_parser = parse_since)]
    since: Option<Since>,

    #[command(flatten)]
    notify: NotifyFlag,
}

impl Watch {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let query = context.query_of(&self.query)?;
        let notifier = context.notifier(self.notify)?;
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
        // Release tasks of dead agents immediately, not when an agent next writes.
        let _warden = Warden::over(&yard)?;
        let _caretaker = context.caretaker();
        let interest = Interest { jobs: true, ..Interest::in_list(yard.list_id()) };
        // Without a data directory there are no jobs to report.
        context.notices()?;
        let stream = yard.follow_only(interest, cursor)?;
        // A lost job is only reported after a process has detected it.
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
                Happening::Commit(event) => {
                    let entries = yard.entries_about(&event, &query)?;
                    tell(&entries, output)?;
                    notifier.iter().for_each(|notifier| notify_of_done(notifier, &entries));
                }
                Happening::JobEnded(notice) => {
                    tell_of_end(&notice, output)?;
                    notify_of_end(notifier.as_ref(), &notice.job);
                }
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

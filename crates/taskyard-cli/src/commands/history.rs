//! `taskyard history`

use clap::Args;
use taskyard::answers::StreamedEntries;
use taskyard::core::render::{Line, Tone, entry_line, entry_lines, is_summed_up, revision_line};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Entry, Revision, TaskId, answers};
use taskyard::store::HistoryQuery;

use crate::arguments::{Since, parse_id, parse_since};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// How many revisions a terminal shows where the user does not say.
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

    /// At most so many revisions, the newest
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) number: Option<usize>,

    /// Every task of a revision that touched many
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
        // What is wrong from the beginning is told before anything is written.
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
            let written = output.document(answers::history::History { entries: &entries });
            return match entries.into_failure() {
                Some(error) => {
                    // The answer is cut short, and the error stands on a line of its own.
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

    /// Tells what one revision did.
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

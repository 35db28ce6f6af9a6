//! `taskyard undo`

use std::collections::BTreeSet;

use clap::Args;
use taskyard::Yard;
use taskyard::core::render::{Line, Tone, is_summed_up, revision_line};
use taskyard::core::rules::agents::naming::is_same_agent;
use taskyard::core::{Entry, Timestamp, answers};
use taskyard::operations::{UndoRange, Undone};

use crate::arguments::parse_revisions;
use crate::context::Context;
use crate::displays::answers::did;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Undo whole revisions, by default your newest
///
/// Without a revision it takes back the newest change that you (the actor, see `taskyard whoami`) made to this list. A
/// revision that you name may be anyone's; on a terminal it asks first if another actor made it within the last day. It
/// is refused, with the reason, if a task has changed since. An undo is a revision too, and can be undone by its number.
/// Changes by other programs are undone only if you name their revision.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// A revision (41) or a range of them (41..45), as `taskyard history` shows them
    #[arg(value_name = "REV", value_parser = parse_revisions)]
    pub(crate) revisions: Option<UndoRange>,

    /// Take back the newest revision of any actor
    #[arg(long, conflicts_with = "revisions")]
    pub(crate) anyone: bool,

    /// Do not ask before taking back what another actor did
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Overrule the leases of agents that work on these tasks
    #[arg(long)]
    pub(crate) force: bool,

    /// Report every task, however many there are
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl Undo {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let yard = if self.force { yard.overruling() } else { yard };
        let range = self.revisions.unwrap_or(if self.anyone { UndoRange::Newest } else { UndoRange::OwnNewest });
        let Some(range) = self.agreed(&yard, range, output)? else {
            output.say(&Line::plain("Nothing was taken back"))?;
            return Ok(Exit::Refused);
        };
        let undone = yard.undo(range)?.done()?;
        if output.is_json() {
            output.document(answers::history::Undone::from(&undone))?;
            return Ok(Exit::Done);
        }
        let revisions: Vec<String> = undone.revisions.iter().map(ToString::to_string).collect();
        let took_back = format!("Took back {}:", revisions.join(", "));
        if is_summed_up(undone.tasks.len()) && !self.verbose {
            output.say(&Line::plain(&format!("{took_back} {}", summed_up(&undone))))?;
            return Ok(Exit::Done);
        }
        output.say(&Line::plain(&took_back))?;
        for (id, now) in &undone.tasks {
            match now {
                Some(task) => {
                    let mut line = Line::new().with(Tone::Plain, "  ");
                    line.append(did("back to", task));
                    line.push(Tone::Dim, &format!(" [{}]", task.status));
                    output.say(&line)?;
                }
                None => output.say(&Line::plain("  gone again: ").with(Tone::Id, &format!("#{id}")))?,
            }
        }
        Ok(Exit::Done)
    }

    /// Asks on a terminal whether a recent change of another actor is meant. Returns the revisions that were shown, or `None` if the
    /// answer is no.
    fn agreed(&self, yard: &Yard, range: UndoRange, output: &mut Output) -> Result<Option<UndoRange>, Problem> {
        if self.yes || range == UndoRange::OwnNewest || !output.can_ask() {
            return Ok(Some(range));
        }
        let entries = yard.entries_to_undo(range)?.done()?;
        let yesterday = Timestamp(yard.store().now().map_err(taskyard::Error::from)?.wall.0 - DAY);
        let is_recent = |entry: &Entry| entry.at > yesterday;
        let is_own = |entry: &Entry| is_same_agent(entry.actor.as_str(), yard.actor().as_str());
        if !entries.iter().any(|entry| is_recent(entry) && !is_own(entry)) {
            return Ok(Some(range));
        }
        let look = output.look();
        for revision in entries.chunk_by(|one, two| one.revision == two.revision) {
            if let Some(line) = revision_line(revision, &look) {
                output.line(&line)?;
            }
        }
        let others: BTreeSet<&str> = entries.iter().filter(|entry| !is_own(entry)).map(whose).collect();
        let others: Vec<&str> = others.into_iter().collect();
        let question = format!("{} did this. Take it back?", others.join(", "));
        let revisions = (entries.first().map(|entry| entry.revision), entries.last().map(|entry| entry.revision));
        Ok(match (output.ask(&question)?, revisions) {
            (true, (Some(first), Some(last))) if first == last => Some(UndoRange::One(first)),
            (true, (Some(first), Some(last))) => Some(UndoRange::Range(first, last)),
            _ => None,
        })
    }
}

/// A day in milliseconds: older changes of other actors are taken back without asking.
const DAY: i64 = 24 * 60 * 60 * 1000;

fn whose(entry: &Entry) -> &str {
    if entry.op.is_elsewhere() { "another program" } else { entry.actor.as_str() }
}

/// Counts the tasks that are as they were before, and those that are gone again.
fn summed_up(undone: &Undone) -> String {
    let counted = |count: usize| if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
    let gone = undone.tasks.iter().filter(|(_, task)| task.is_none()).count();
    let back = undone.tasks.len() - gone;
    match (back, gone) {
        (back, 0) => format!("{} as before", counted(back)),
        (0, gone) => format!("{} gone again", counted(gone)),
        (back, gone) => format!("{} as before, {gone} gone again", counted(back)),
    }
}

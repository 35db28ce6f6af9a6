//! `taskyard delete` and `clear`

use clap::Args;
use taskyard::answers;
use taskyard::core::answers::task_answers::Cleared;
use taskyard::core::render::{Line, Tone, numbered};

use super::several::{is_agreed, none_is_like_that, tell_rehearsal};
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::displays::{did, exit_of_refused, tell_refused, way_back};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Delete tasks and the dependencies on them
///
/// All of them in one revision; `taskyard undo` or `taskyard restore --deleted` restores them, dependencies and numbers
/// included. A task that is missing, because another program removed it, counts as deleted on purpose from then on.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Also delete their parts; otherwise the parts move up to the parent of the deleted task
    #[arg(long)]
    pub(crate) with_parts: bool,

    /// Do not ask for confirmation, however many tasks `--where` chooses
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Delete {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let ids = context.ids_of(&self.which, &yard)?;
        if ids.is_empty() {
            return none_is_like_that(output);
        }
        if !self.yes && !is_agreed("Delete", (&self.which, &ids), &yard, output)? {
            return Ok(Exit::Refused);
        }
        let yard = if self.which.dry_run { yard.rehearsing() } else { yard };
        let (deleted, refused) = match (self.which.keep_going, self.with_parts) {
            (false, true) => (Some(yard.delete_with_parts(&ids)?.done()?), Vec::new()),
            (false, false) => (Some(yard.delete(&ids)?.done()?), Vec::new()),
            (true, true) => yard.delete_possible_with_parts(&ids)?,
            (true, false) => yard.delete_possible(&ids)?,
        };
        if self.which.dry_run {
            let tasks = deleted.map(|deleted| deleted.tasks).unwrap_or_default();
            return tell_rehearsal("Would delete", &tasks.iter().collect::<Vec<_>>(), &refused, output);
        }
        if output.is_json() {
            output.document(answers::deleted(deleted.as_ref(), &refused))?;
            return Ok(exit_of_refused(&refused));
        }
        let Some(deleted) = deleted else {
            tell_refused(&refused, output)?;
            return Ok(exit_of_refused(&refused));
        };
        for task in &deleted.tasks {
            let mut line = did("Deleted", task);
            if deleted.missing.contains(&task.id) {
                line.push(Tone::Dim, ", which was missing and is now deleted on purpose");
            }
            output.say(&line)?;
        }
        if !deleted.lifted.is_empty() {
            let parts = numbered(&deleted.lifted);
            output.say(&Line::new().with(Tone::Dim, &format!("  its parts moved up to its place: {parts}")))?;
        }
        way_back(deleted.revision, output)?;
        tell_refused(&refused, output)?;
        Ok(exit_of_refused(&refused))
    }
}

/// Delete every task of the list
///
/// In one revision, so that one `taskyard undo` restores everything. Numbers are never used again. Tasks that are
/// missing, because another program removed them, count as deleted on purpose from then on.
#[derive(Debug, Args)]
pub(crate) struct Clear {
    /// Override the leases of agents that work on tasks of the list
    #[arg(long)]
    pub(crate) force: bool,
}

impl Clear {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let yard = if self.force { yard.overruling() } else { yard };
        let cleared = yard.clear()?.done()?;
        if output.is_json() {
            output.document(Cleared::from(&cleared))?;
            return Ok(Exit::Done);
        }
        let mut line = Line::plain(&match cleared.tasks.len() {
            0 => "There was nothing to remove in ".to_owned(),
            1 => "Removed 1 task from ".to_owned(),
            count => format!("Removed {count} tasks from "),
        });
        line.push(Tone::Strong, yard.list_id().as_str());
        output.say(&line)?;
        let missing = match cleared.missing.len() {
            0 => None,
            1 => Some("1 missing task now counts as deleted on purpose".to_owned()),
            count => Some(format!("{count} missing tasks now count as deleted on purpose")),
        };
        if let Some(missing) = missing {
            let mut line = Line::plain(&format!("{missing}; "));
            line.push(Tone::Hint, "taskyard restore --all --deleted");
            line.push(Tone::Plain, " brings back what was deleted");
            output.say(&line)?;
        }
        if let Some(revision) = cleared.revision {
            way_back(revision, output)?;
        }
        Ok(Exit::Done)
    }
}

//! `taskyard restore`

use std::path::PathBuf;

use clap::Args;
use taskyard::core::render::{Line, Tone, op_in_words};
use taskyard::core::{Entry, Op, TaskId, answers};
use taskyard::opening::Address;
use taskyard::operations::{Absence, CopiesWanted, Restorable, RestoreWhich};

use super::restore_from::RestoreFrom;
use super::several::tell_rehearsal;
use crate::arguments::parse_id;
use crate::context::Context;
use crate::displays::answers::did;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Bring back what is missing: what another program removed, and what an undo of a restore took away
///
/// Without arguments it shows what is missing. Tasks return with their numbers and edges. Where another program put a
/// different task under a number, the old one returns under a new number. Tasks that you deleted or cleared with
/// Taskyard come back only with --deleted.
#[derive(Debug, Default, Args)]
pub(crate) struct Restore {
    /// The tasks to bring back
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) ids: Vec<TaskId>,

    /// Everything that is missing
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,

    /// Bring back from a backup instead of from the history: everything, one list (--list), or the tasks that are
    /// named. It overwrites nothing that is there
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,

    /// Only show what would come back
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also bring back what was deleted or cleared on purpose; among named tasks also those that moved to another list
    /// or whose creation was undone
    #[arg(long)]
    pub(crate) deleted: bool,
}

impl Restore {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(path) = &self.from {
            let wanted = if self.deleted { CopiesWanted::WithDeleted } else { CopiesWanted::Missing };
            let from = RestoreFrom { path, ids: self.ids, wanted };
            return if self.dry_run { from.look(context, output) } else { from.run(context, output) };
        }
        let yard = context.yard()?;
        let yard = if self.dry_run { yard.rehearsing() } else { yard };
        let which = match (self.all, self.ids) {
            (true, _) => RestoreWhich::All,
            (false, ids) if !ids.is_empty() => RestoreWhich::Some(ids),
            (false, _) if self.deleted => return choices(&yard.restorable_with_deleted()?, self.deleted, output),
            (false, _) => return choices(&yard.restorable()?, self.deleted, output),
        };
        let restored = if self.deleted { yard.restore_with_deleted(which) } else { yard.restore(which) }?.done()?;
        if self.dry_run {
            return tell_rehearsal("Would restore", &restored.tasks.iter().collect::<Vec<_>>(), &[], output);
        }
        if output.is_json() {
            output.document(answers::history::Restored::from(&restored))?;
            return Ok(Exit::Done);
        }
        if restored.tasks.is_empty() {
            output.say(&Line::plain("Nothing is missing"))?;
        }
        for task in &restored.tasks {
            output.say(&did("Restored", task))?;
        }
        if restored.nothing_is_open && *context.address()? == Address::Claude {
            output.warn(
                "every task of this list is completed: an open session of Claude Code 2.1.34 on it clears it again after 5 seconds; close \
                 that first, or reopen one of the tasks",
            )?;
        }
        for (waiting, on) in &restored.dropped_edges {
            output.warn(&format!("#{waiting} no longer waits for #{on}: that edge could not come back"))?;
        }
        Ok(Exit::Done)
    }
}

fn choices(restorable: &[Restorable], with_deleted: bool, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(taskyard::answers::restorable(restorable))?;
        return Ok(Exit::Done);
    }
    if restorable.is_empty() {
        output.say(&Line::plain("Nothing is missing"))?;
        return Ok(Exit::Done);
    }
    let look = output.look();
    for Restorable { task, absence, removed } in restorable {
        let mut line = Line::new()
            .with(Tone::Id, &format!("#{}", task.id))
            .with(Tone::Plain, &format!(" {}", task.shown_subject()));
        line.push(
            Tone::Dim,
            &format!("  {}, {} (revision {})", went(*absence, removed), look.time(removed.at), removed.revision),
        );
        output.line(&look.fitted(line))?;
    }
    let flag = if with_deleted { " --deleted" } else { "" };
    let mut line = Line::new().with(Tone::Dim, "bring them back with ");
    line.push(Tone::Hint, &format!("taskyard restore ID{flag}"));
    line.push(Tone::Dim, " or ");
    line.push(Tone::Hint, &format!("taskyard restore --all{flag}"));
    output.say(&line)?;
    Ok(Exit::Done)
}

/// Says how a task went, and by whom.
fn went(absence: Absence, removed: &Entry) -> String {
    match removed.op {
        _ if absence == Absence::Replaced => {
            "another program put a different task there; it comes back under a new number".to_owned()
        }
        Op::RemovedElsewhere | Op::DeletedElsewhere => op_in_words(removed.op).to_owned(),
        // No reader has noticed yet that it went; this is the last that was done to it.
        _ if removed.after.is_some() => "gone since it was last changed".to_owned(),
        Op::Undo => format!("taken away by an undo by {}", removed.actor),
        Op::Mend => "found absent when the damaged journal was mended".to_owned(),
        op => format!("{} by {}", op_in_words(op), removed.actor),
    }
}

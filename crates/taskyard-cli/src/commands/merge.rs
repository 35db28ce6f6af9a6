//! `taskyard merge`

use clap::Args;
use taskyard::answers;
use taskyard::core::ListId;
use taskyard::core::render::{Line, Look, Tone};
use taskyard::operations::{MergeWhich, Merged};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, quoted};
use crate::problem::Problem;

/// Move every task of one list into another
///
/// The tasks get new numbers, and their edges follow. Both lists change, or neither.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The list they leave
    pub(crate) from: String,

    /// The list they come to
    pub(crate) into: String,

    /// Only what is not completed
    #[arg(long)]
    pub(crate) open: bool,

    /// Overrule the leases of agents that work on tasks that move
    #[arg(long)]
    pub(crate) force: bool,
}

impl Merge {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (from, into) = (context.list_named(&self.from)?, context.list_named(&self.into)?);
        let which = if self.open { MergeWhich::Open } else { MergeWhich::All };
        let yard = context.yard()?.on(into.clone());
        let yard = if self.force { yard.overruling() } else { yard };
        let merged = yard.merge(&from, &into, which)?.done()?;
        output.consider_list_named();
        if output.is_json() {
            output.document(answers::merged(&merged, &from, &into))?;
            return Ok(Exit::Done);
        }
        tell(&merged, &from, &into, output)?;
        Ok(Exit::Done)
    }
}

/// Tells what moved, and how to take it back.
pub(super) fn tell(merged: &Merged, from: &ListId, into: &ListId, output: &mut Output) -> Result<(), Problem> {
    let look: Look = output.look();
    let tasks = if merged.tasks.len() == 1 { "task" } else { "tasks" };
    let mut line = Line::plain(&format!("Moved {} {tasks} from ", merged.tasks.len()));
    line.push(Tone::Strong, from.as_str());
    line.push(Tone::Plain, " to ");
    line.push(Tone::Strong, into.as_str());
    output.say(&line)?;
    for ((old, new), task) in merged.mapping.iter().zip(&merged.tasks) {
        let mut line = Line::new().with(Tone::Dim, &format!("  #{old} {} ", look.arrow()));
        line.push(Tone::Id, &format!("#{new}"));
        line.push(Tone::Plain, &format!(" {}", task.shown_subject()));
        output.say(&look.fitted(line))?;
    }
    for (waiting, on) in &merged.dropped_edges {
        output.warn(&format!("#{waiting} waited for #{on}, which stayed behind: that edge is gone"))?;
    }
    if !merged.tasks.is_empty() {
        let mut line = Line::new().with(Tone::Dim, "  take it back with ");
        line.push(Tone::Hint, &format!("taskyard undo --list {}", quoted(into)));
        line.push(Tone::Dim, " and ");
        line.push(Tone::Hint, &format!("taskyard undo --list {}", quoted(from)));
        output.say(&line)?;
    }
    Ok(())
}

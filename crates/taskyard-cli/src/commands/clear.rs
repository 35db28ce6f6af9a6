//! `taskyard clear`

use clap::Args;
use taskyard::core::answers::tasks::Cleared;
use taskyard::core::render::{Line, Tone};

use crate::context::Context;
use crate::displays::answers::way_back;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Remove every task of the list
///
/// In one revision, so that one `taskyard undo` brings all of it back. Numbers are never given out again. Tasks that are missing, because
/// another program removed them, count as deleted on purpose from then on.
#[derive(Debug, Args)]
pub(crate) struct Clear {
    /// Overrule the leases of agents that work on tasks of the list
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
            1 => Some("1 missing task counts as deleted on purpose now".to_owned()),
            count => Some(format!("{count} missing tasks count as deleted on purpose now")),
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

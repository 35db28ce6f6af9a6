//! `taskyard undo`

use clap::Args;
use serde::Serialize;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{Line, Tone};
use taskyard::operations::{UndoRange, Undone};

use super::answers::did;
use crate::arguments::parse_revisions;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Take whole revisions back, the newest where none is named
///
/// Refused, with the reason, where a task has changed since. An undo is a revision too, and can be undone by its number. What
/// other programs did is taken back only where its number is given.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// A revision (41) or a range of them (41..45), as `taskyard history` shows them
    #[arg(value_name = "REV", value_parser = parse_revisions)]
    revisions: Option<UndoRange>,

    /// Overrule the leases of whoever is working on these tasks
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    undone: Vec<u64>,
    revision: u64,
    tasks: Vec<Shape<'a>>,
    removed: Vec<&'a str>,
}

impl Undo {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let yard = if self.force { yard.overruling() } else { yard };
        let undone = yard.undo(self.revisions.unwrap_or(UndoRange::Newest))?.done()?;
        if output.is_json() {
            output.document(shape(&undone))?;
            return Ok(Exit::Done);
        }
        let revisions: Vec<String> = undone.revisions.iter().map(|revision| format!("r{revision}")).collect();
        let plural = if revisions.len() == 1 { "revision" } else { "revisions" };
        output.say(&Line::plain(&format!("Took back {plural} {}", revisions.join(", "))))?;
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
}

fn shape(undone: &Undone) -> Answer<'_> {
    Answer {
        undone: undone.revisions.iter().map(|revision| revision.0).collect(),
        revision: undone.revision.0,
        tasks: undone.tasks.iter().filter_map(|(_, task)| task.as_ref().map(Shape)).collect(),
        removed: undone.tasks.iter().filter(|(_, task)| task.is_none()).map(|(id, _)| id.as_str()).collect(),
    }
}

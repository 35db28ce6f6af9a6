//! `taskyard undo`

use clap::Args;
use serde::Serialize;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{Line, Tone, is_summed_up};
use taskyard::operations::{UndoRange, Undone};

use crate::arguments::parse_revisions;
use crate::context::Context;
use crate::displays::answers::did;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Undo whole revisions, by default the newest
///
/// It is refused, with the reason, if a task has changed since. An undo is a revision too, and can be undone by its
/// number. Changes by other programs are undone only if you name their revision.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// A revision (41) or a range of them (41..45), as `taskyard history` shows them
    #[arg(value_name = "REV", value_parser = parse_revisions)]
    pub(crate) revisions: Option<UndoRange>,

    /// Overrule the leases of agents that work on these tasks
    #[arg(long)]
    pub(crate) force: bool,

    /// Report every task, however many there are
    #[arg(long, short)]
    pub(crate) verbose: bool,
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
        let took_back = format!("Took back {plural} {}", revisions.join(", "));
        if is_summed_up(undone.tasks.len()) && !self.verbose {
            output.say(&Line::plain(&format!("{took_back}: {}", summed_up(&undone))))?;
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

fn shape(undone: &Undone) -> Answer<'_> {
    Answer {
        undone: undone.revisions.iter().map(|revision| revision.0).collect(),
        revision: undone.revision.0,
        tasks: undone.tasks.iter().filter_map(|(_, task)| task.as_ref().map(Shape)).collect(),
        removed: undone.tasks.iter().filter(|(_, task)| task.is_none()).map(|(id, _)| id.as_str()).collect(),
    }
}

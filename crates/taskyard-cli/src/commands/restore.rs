//! `taskyard restore`

use clap::Args;
use serde::Serialize;
use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{Line, Tone, op_in_words};
use taskyard::operations::{Restorable, RestoreWhich, Restored};

use super::answers::did;
use crate::arguments::parse_id;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{EntryShape, Output, Shapes};
use crate::problem::Problem;

/// Bring back what was removed, here or by another program
///
/// Without arguments it shows what can be brought back. Tasks return with their numbers and edges.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The tasks to bring back
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',')]
    ids: Vec<TaskId>,

    /// Everything that was removed
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

#[derive(Serialize)]
struct Choices<'a> {
    restorable: Vec<RestorableShape<'a>>,
}

#[derive(Serialize)]
struct RestorableShape<'a> {
    task: Shape<'a>,
    removed: EntryShape<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    tasks: Shapes<'a>,
    dropped_edges: Vec<[&'a str; 2]>,
    revision: Option<u64>,
}

impl Restore {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let which = match (self.all, self.ids) {
            (true, _) => RestoreWhich::All,
            (false, ids) if !ids.is_empty() => RestoreWhich::Some(ids),
            (false, _) => return choices(&yard, output),
        };
        let restored = yard.restore(which)?.done()?;
        if output.is_json() {
            output.document(shape(&restored))?;
            return Ok(Exit::Done);
        }
        if restored.tasks.is_empty() {
            output.say(&Line::plain("Nothing is missing"))?;
        }
        for task in &restored.tasks {
            output.say(&did("Restored", task))?;
        }
        for (waiting, on) in &restored.dropped_edges {
            output.warn(&format!("#{waiting} no longer waits for #{on}: that edge could not come back"))?;
        }
        Ok(Exit::Done)
    }
}

fn choices(yard: &Yard, output: &mut Output) -> Result<Exit, Problem> {
    let restorable = yard.restorable()?;
    if output.is_json() {
        output.document(Choices { restorable: restorable.iter().map(restorable_shape).collect() })?;
        return Ok(Exit::Done);
    }
    if restorable.is_empty() {
        output.say(&Line::plain("Nothing is missing"))?;
        return Ok(Exit::Done);
    }
    let look = output.look();
    for Restorable { task, removed } in &restorable {
        let mut line = Line::new()
            .with(Tone::Id, &format!("#{}", task.id))
            .with(Tone::Plain, &format!(" {}", task.shown_subject()));
        let who = if removed.op.is_elsewhere() { String::new() } else { format!(" by {}", removed.actor) };
        let when =
            format!("  {}{who}, {} (revision {})", op_in_words(removed.op), look.time(removed.at), removed.revision);
        line.push(Tone::Dim, &when);
        output.line(&match look.width {
            Some(width) => line.cut(width, look.ellipsis()),
            None => line,
        })?;
    }
    let mut line = Line::new().with(Tone::Dim, "bring them back with ").with(Tone::Hint, "taskyard restore ID");
    line.push(Tone::Dim, " or ");
    line.push(Tone::Hint, "taskyard restore --all");
    output.say(&line)?;
    Ok(Exit::Done)
}

fn restorable_shape(Restorable { task, removed }: &Restorable) -> RestorableShape<'_> {
    RestorableShape { task: Shape(task), removed: EntryShape(removed) }
}

fn shape(restored: &Restored) -> Answer<'_> {
    Answer {
        tasks: Shapes(&restored.tasks),
        dropped_edges: restored.dropped_edges.iter().map(|(one, two)| [one.as_str(), two.as_str()]).collect(),
        revision: restored.revision.map(|revision| revision.0),
    }
}

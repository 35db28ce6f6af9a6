//! Several new tasks at once: `create --batch`, and what it shares with templates.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::Read as _;

use taskyard::Yard;
use taskyard::core::forms::batch::{BatchEntry, BatchMistake, read};
use taskyard::core::render::{Line, Tone, graph, numbered};
use taskyard::core::{Task, TaskId};
use taskyard::operations::CreatedBatch;

use crate::context::Context;
use crate::displays::{did, way_back};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Maximum size of a batch in bytes.
const LARGEST_BATCH: u64 = 16 * 1024 * 1024;

/// Creates the tasks of a batch, or shows what would be created.
pub(super) fn create_batch(from: &str, dry_run: bool, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let text = text_of(from, context)?;
    let batch = read(&text, &context.clock()?).map_err(|mistake| problem(from, &mistake))?;
    create_entries(&batch, &|mistake| problem(from, mistake), dry_run, context, output)
}

/// Creates several tasks together, or shows what would be created.
pub(super) fn create_entries(
    batch: &[BatchEntry],
    problem: &dyn Fn(&BatchMistake) -> Problem,
    dry_run: bool,
    context: &Context,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let yard = context.yard()?;
    let outcome = if dry_run { yard.preview_batch(batch)? } else { yard.create_batch(batch)? };
    let created = outcome.done()?.map_err(|mistake| problem(&mistake))?;
    if output.is_json() {
        output.document(taskyard::answers::created_batch(batch, &created, dry_run))?;
        return Ok(Exit::Done);
    }
    if dry_run {
        return draw(&created, &yard, output);
    }
    for task in &created.tasks {
        match output.is_quiet() {
            true => output.line(&Line::plain(task.id.as_str()))?,
            false => output.say(&did("Created", task))?,
        }
    }
    if let Some(revision) = created.revision {
        way_back(revision, output)?;
    }
    Ok(Exit::Done)
}

/// Shows the dependencies and subtasks that would be created.
fn draw(created: &CreatedBatch, yard: &Yard, output: &mut Output) -> Result<Exit, Problem> {
    let count = created.tasks.len();
    let many = if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
    output.say(
        &Line::new().with(Tone::Dim, &format!("Would create {many} in {}; nothing was created:", yard.list_id())),
    )?;
    let mut tasks: Vec<Task> = created.neighbours.iter().chain(&created.tasks).cloned().collect();
    tasks.sort_by(|one, two| one.id.cmp(&two.id));
    output.lines(&graph::text(&tasks, &output.look(), yard.rules()))?;
    let mut parents: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for task in &created.tasks {
        if let Some(parent) = task.parent() {
            parents.entry(parent).or_default().push(task.id.clone());
        }
    }
    for (parent, parts) in parents {
        output.line(&Line::new().with(Tone::Dim, &format!("  parts of #{parent}: {}", numbered(&parts))))?;
    }
    Ok(Exit::Done)
}

fn problem(from: &str, mistake: &BatchMistake) -> Problem {
    let place = if from == "-" { "stdin" } else { from };
    Problem::usage("bad_batch", format!("`{}`, {mistake}", place.escape_debug()))
        .hint("nothing was created; `taskyard create --help` shows the two forms")
        .detail("line", mistake.line)
}

fn text_of(from: &str, context: &Context) -> Result<String, Problem> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => Problem::usage("not_utf8", format!("`{}` is not UTF-8", from.escape_debug())),
        _ => Problem::io(&format!("cannot read `{}`", from.escape_debug()), &error),
    };
    let mut text = String::new();
    let read = match from {
        "-" => io::stdin().lock().take(LARGEST_BATCH + 1).read_to_string(&mut text),
        path => {
            let path = context.directory()?.join(path);
            File::open(path).and_then(|file| file.take(LARGEST_BATCH + 1).read_to_string(&mut text))
        }
    };
    read.map_err(failed)?;
    if text.len() as u64 > LARGEST_BATCH {
        return Err(Problem::usage(
            "too_large",
            format!("the batch is too large (the limit is {LARGEST_BATCH} bytes)"),
        ));
    }
    Ok(text)
}

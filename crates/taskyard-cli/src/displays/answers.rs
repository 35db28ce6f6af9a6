//! What several commands say in the same words.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value, json};
use taskyard::Yard;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{Line, Tone, changes_in_words, numbered};
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::{Revision, Task, TaskId};
use taskyard::operations::{Field, Possible, TaskMessage, Updated, now_ready};
use taskyard::store::UnreadableTask;

use super::refused_tasks::{refused_as_json, tell_refused};
use crate::output::{Ids, Output, expires_at};
use crate::problem::Problem;

/// The answer to a change of one task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdatedShape<'a> {
    task: Shape<'a>,
    updated: Vec<&'static str>,
    changes: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_change: Option<Value>,
    now_ready: Ids<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_blockers: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependents_started: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_left: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
}

/// Tells what became of one task, beginning with the verb.
pub(crate) fn updated(verb: &str, updated: &Updated, yard: &Yard, output: &mut Output) -> Result<(), Problem> {
    if output.is_json() {
        return Ok(output.document(shape(updated))?);
    }
    // One of several may be what the others became.
    let nothing = updated.revision.is_none() || (updated.before == updated.task && updated.lease.is_none());
    let mut line = did(if nothing { "Nothing to change in" } else { verb }, &updated.task);
    if !nothing && verb == "Updated" {
        let changes = changes_in_words(&updated.before, &updated.task, &output.look());
        line.push(Tone::Dim, &format!(" ({})", changes.join("; ")));
    }
    output.say(&line)?;
    if let Some(lease) = &updated.lease {
        let until = output.look().lease(lease, &LeaseState::Live);
        let verb = if updated.before.owner() == updated.task.owner() { "keeps" } else { "has" };
        let terms = format!("  {} {verb} it, {until}; token {}", lease.agent, lease.token);
        output.say(&Line::new().with(Tone::Dim, &terms))?;
    }
    if !updated.now_ready.is_empty() {
        output.say(&ready_line(&updated.now_ready, &updated.task.id, yard, output)?)?;
    }
    if !updated.open_blockers.is_empty() {
        output.warn(&format!(
            "#{} was waiting for {}, still open",
            updated.task.id,
            numbered(&updated.open_blockers)
        ))?;
    }
    if let Some(why) = &updated.block_left {
        output.warn(&format!("the block in the description of #{} was left as it is: {why}", updated.task.id))?;
    }
    if let Some(TaskMessage::Failed { to, why }) = &updated.owner_message {
        output.warn(&format!("{to} could not be told that it is theirs now: {why}"))?;
    }
    if !updated.dependents_started.is_empty() {
        let started = numbered(&updated.dependents_started);
        output.warn(&format!("{started} had already been started, and waits for #{} again", updated.task.id))?;
    }
    Ok(())
}

/// The answer to a change of several tasks.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AllUpdatedShape<'a> {
    tasks: Vec<Shape<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    changes: Map<String, Value>,
    now_ready: Ids<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
}

/// Tells what became of tasks of which those were changed with which it could be done, and of the others.
pub(crate) fn updated_some(
    verb: &str,
    possible: &Possible<Updated>,
    yard: &Yard,
    output: &mut Output,
) -> Result<(), Problem> {
    told_together(verb, &possible.done, refused_as_json(&possible.refused), yard, output)?;
    if output.is_json() { Ok(()) } else { tell_refused(&possible.refused, output) }
}

/// Tells what became of tasks that changed together, beginning each with the verb.
pub(crate) fn updated_all(verb: &str, all: &[Updated], yard: &Yard, output: &mut Output) -> Result<(), Problem> {
    told_together(verb, all, None, yard, output)
}

fn told_together(
    verb: &str,
    all: &[Updated],
    refused: Option<Value>,
    yard: &Yard,
    output: &mut Output,
) -> Result<(), Problem> {
    let ready = now_ready(all);
    if output.is_json() {
        let changes =
            |updated: &Updated| (updated.task.id.as_str().to_owned(), changes_as_json(&updated.before, &updated.task));
        return Ok(output.document(AllUpdatedShape {
            tasks: all.iter().map(|updated| Shape(&updated.task)).collect(),
            changes: all.iter().filter(|updated| updated.before != updated.task).map(changes).collect(),
            now_ready: Ids(&ready),
            refused,
            revision: all.iter().find_map(|updated| updated.revision).map(|revision| revision.0),
        })?);
    }
    for one in all {
        updated(verb, &Updated { now_ready: Vec::new(), ..one.clone() }, yard, output)?;
    }
    if let Some(first) = all.first().filter(|_| !ready.is_empty()) {
        output.say(&ready_line(&ready, &first.task.id, yard, output)?)?;
    }
    Ok(())
}

/// Returns what changed about a task, from what to what, for programs.
fn changes_as_json(before: &Task, after: &Task) -> Value {
    let object = |task: &Task| serde_json::to_value(Shape(task)).ok().and_then(|shape| shape.as_object().cloned());
    let (before, after) = (object(before).unwrap_or_default(), object(after).unwrap_or_default());
    let mut changes = Vec::new();
    let mut compare = |field: String, from: Option<&Value>, to: Option<&Value>| {
        if from != to {
            changes.push(json!({"field": field, "from": from, "to": to}));
        }
    };
    let keys = |one: &Map<String, Value>, two: &Map<String, Value>| -> Vec<String> {
        one.keys().chain(two.keys().filter(|key| !one.contains_key(*key))).cloned().collect()
    };
    for key in keys(&before, &after).into_iter().filter(|key| key != "metadata") {
        compare(key.clone(), before.get(&key), after.get(&key));
    }
    let metadata = |task: &Map<String, Value>| task.get("metadata").and_then(Value::as_object).cloned();
    let (before, after) = (metadata(&before).unwrap_or_default(), metadata(&after).unwrap_or_default());
    for key in keys(&before, &after) {
        compare(format!("metadata.{key}"), before.get(&key), after.get(&key));
    }
    Value::Array(changes)
}

fn shape(updated: &Updated) -> UpdatedShape<'_> {
    let some = |ids: &'_ Vec<TaskId>| !ids.is_empty();
    UpdatedShape {
        task: Shape(&updated.task),
        updated: updated.updated.iter().copied().map(Field::as_str).collect(),
        changes: changes_as_json(&updated.before, &updated.task),
        status_change: updated.status_change.map(|(from, to)| json!({"from": from.as_str(), "to": to.as_str()})),
        now_ready: Ids(&updated.now_ready),
        open_blockers: some(&updated.open_blockers).then_some(Ids(&updated.open_blockers)),
        dependents_started: some(&updated.dependents_started).then_some(Ids(&updated.dependents_started)),
        token: updated.lease.as_ref().map(|lease| lease.token.0),
        expires_at: updated.lease.as_ref().and_then(expires_at),
        block_left: updated.block_left.as_ref().map(ToString::to_string),
        revision: updated.revision.map(|revision| revision.0),
    }
}

/// So many tasks that can start now are named; programs are told of all.
const NAMED: usize = 20;

/// Names the tasks that can start since one was completed; their titles are looked up again, since the answer has the numbers only.
fn ready_line(ready: &[TaskId], completed: &TaskId, yard: &Yard, output: &Output) -> Result<Line, Problem> {
    let mut line = Line::new().with(Tone::Plain, "  ").with(Tone::Done, output.look().arrow());
    line.push(Tone::Plain, " now ready:");
    let named = &ready[..ready.len().min(NAMED)];
    for (number, (id, task)) in named.iter().zip(tasks_tied_to(completed, named, yard)?).enumerate() {
        line.push(Tone::Plain, if number == 0 { " " } else { ", " });
        line.push(Tone::Id, &format!("#{id}"));
        if let Some(task) = task {
            line.push(Tone::Plain, &format!(" {}", task.shown_subject()));
            if let Some(owner) = task.owner() {
                line.push(Tone::Plain, &format!(" ({owner})"));
            }
        }
    }
    if let more @ 1.. = ready.len().saturating_sub(NAMED) {
        line.push(Tone::Plain, &format!(" and {more} more"));
    }
    Ok(output.look().fitted(line))
}

/// Returns tasks that most likely wait for another one: what is around that one is read, if the store can, or else the list.
fn tasks_tied_to(task: &TaskId, wanted: &[TaskId], yard: &Yard) -> Result<Vec<Option<Task>>, Problem> {
    if let Some(around) = yard.store().read_around(yard.list_id(), task)? {
        let found = |id: &TaskId| around.tasks.iter().find(|task| task.id == *id).cloned();
        let found: Vec<Option<Task>> = wanted.iter().map(found).collect();
        if found.iter().all(Option::is_some) {
            return Ok(found);
        }
    }
    let list = yard.store().read(yard.list_id())?;
    wanted.iter().map(|id| Ok(list.find(id)?.task())).collect()
}

/// Returns `VERB #7 Title`.
pub(crate) fn did(verb: &str, task: &Task) -> Line {
    Line::new()
        .with(Tone::Plain, &format!("{verb} "))
        .with(Tone::Id, &format!("#{}", task.id))
        .with(Tone::Plain, &format!(" {}", task.shown_subject()))
}

/// Tells how to take a revision back.
pub(crate) fn way_back(revision: Revision, output: &mut Output) -> io::Result<()> {
    let undo = format!("taskyard undo {revision}{}", output.list_flag());
    output.say(&Line::new().with(Tone::Dim, "  take it back with ").with(Tone::Hint, &undo))
}

/// Returns what lies among the tasks and is none, for programs.
pub(crate) fn defects_as_json(problems: &[UnreadableTask]) -> Value {
    let shape = |problem: &UnreadableTask| {
        let path = problem.path.display().to_string();
        json!({"task": problem.task.as_str(), "file": file_name(problem), "path": path, "message": problem.why.to_string()})
    };
    Value::Array(problems.iter().map(shape).collect())
}

/// Tells on stderr what lies among the tasks and is none.
pub(crate) fn warn_of_defects(problems: &[UnreadableTask], output: &mut Output) -> io::Result<()> {
    for problem in problems {
        let shown = if problem.last_known.is_some() { ", its last known state is shown" } else { "" };
        output.warn(&format!(
            "{} cannot be read: {}{shown}; run `taskyard doctor`",
            file_name(problem),
            problem.why
        ))?;
    }
    Ok(())
}

/// Returns counts for programs.
pub(crate) fn counts_as_json([pending, in_progress, completed]: [usize; 3]) -> Value {
    json!({"pending": pending, "in_progress": in_progress, "completed": completed})
}

fn file_name(problem: &UnreadableTask) -> String {
    match problem.path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => format!("{}.json", problem.task),
    }
}

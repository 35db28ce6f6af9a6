//! The moves people make with tasks: start, done, cancel, reopen; one, or several at once. And what waits for what.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::core::answers;

use super::inputs::{Proof, SeveralTasks, SeveralWithParts, WithParts, lease, only, several};
use super::operation::{Operation, Parts, ids};
use crate::commands::{Cancel, Command, Depend, Done, Reopen, Start, Undepend};
use crate::problem::Problem;

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post::<answers::tasks::Updated<'_>>(
            "startTask",
            "/lists/{list}/tasks/{id}/start",
            "Put a task in progress",
        )
        .with(start),
        Operation::post::<answers::tasks::Updated<'_>>(
            "completeTask",
            "/lists/{list}/tasks/{id}/done",
            "Complete a task",
        )
        .with(done),
        Operation::post::<answers::tasks::Updated<'_>>(
            "cancelTask",
            "/lists/{list}/tasks/{id}/cancel",
            "Close a task without doing it",
        )
        .or::<answers::tasks::UpdatedTogether<'_>>()
        .with(cancel),
        Operation::post::<answers::tasks::Updated<'_>>(
            "reopenTask",
            "/lists/{list}/tasks/{id}/reopen",
            "Open a closed task again",
        )
        .with(reopen),
        Operation::post::<answers::tasks::UpdatedTogether<'_>>(
            "startTasks",
            "/lists/{list}/start",
            "Put tasks in progress, all or none",
        )
        .or::<answers::tasks::Updated<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(start_several),
        Operation::post::<answers::tasks::UpdatedTogether<'_>>(
            "completeTasks",
            "/lists/{list}/done",
            "Complete tasks, all or none",
        )
        .or::<answers::tasks::Updated<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(done_several),
        Operation::post::<answers::tasks::UpdatedTogether<'_>>(
            "cancelTasks",
            "/lists/{list}/cancel",
            "Close tasks without doing them",
        )
        .or::<answers::tasks::Updated<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(cancel_several),
        Operation::post::<answers::tasks::UpdatedTogether<'_>>(
            "reopenTasks",
            "/lists/{list}/reopen",
            "Open closed tasks again",
        )
        .or::<answers::tasks::Updated<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(reopen_several),
        Operation::post::<answers::tasks::Updated<'_>>(
            "addDependencies",
            "/lists/{list}/tasks/{id}/dependencies",
            "Let a task wait for others",
        )
        .with(depend),
        Operation::delete::<answers::tasks::Updated<'_>>(
            "removeDependencies",
            "/lists/{list}/tasks/{id}/dependencies",
            "Let a task no longer wait for others",
        )
        .with(undepend),
    ]
}

fn start(parts: &Parts, proof: Proof) -> Result<Command, Problem> {
    Ok(Command::Start(Start { which: only(parts)?, lease: lease(proof.token, proof.force) }))
}

fn start_several(_: &Parts, given: SeveralTasks) -> Result<Command, Problem> {
    let which = several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    Ok(Command::Start(Start { which, lease: lease(given.token, given.force) }))
}

fn done(parts: &Parts, proof: Proof) -> Result<Command, Problem> {
    Ok(Command::Done(Done { which: only(parts)?, yes: true, lease: lease(proof.token, proof.force) }))
}

fn done_several(_: &Parts, given: SeveralTasks) -> Result<Command, Problem> {
    let which = several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    Ok(Command::Done(Done { which, yes: true, lease: lease(given.token, given.force) }))
}

fn cancel(parts: &Parts, given: WithParts) -> Result<Command, Problem> {
    let lease = lease(given.token, given.force);
    Ok(Command::Cancel(Cancel { which: only(parts)?, with_parts: given.with_parts, yes: true, lease }))
}

fn cancel_several(_: &Parts, given: SeveralWithParts) -> Result<Command, Problem> {
    let which = several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    let lease = lease(given.token, given.force);
    Ok(Command::Cancel(Cancel { which, with_parts: given.with_parts, yes: true, lease }))
}

/// How a task is opened again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reopening {
    /// Its owner keeps it, with a new lease
    keep_owner: bool,
    token: Option<u64>,
    force: bool,
}

fn reopen(parts: &Parts, given: Reopening) -> Result<Command, Problem> {
    let lease = lease(given.token, given.force);
    Ok(Command::Reopen(Reopen { which: only(parts)?, keep_owner: given.keep_owner, lease }))
}

/// Which tasks are opened again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reopenings {
    /// Ids, and ranges such as `7-9`
    ids: Vec<String>,
    /// Those of which a query is true
    #[serde(rename = "where")]
    query: Option<String>,
    keep_going: bool,
    /// Answer what would be done, and do nothing; hooks and checks are not asked
    dry_run: bool,
    keep_owner: bool,
    token: Option<u64>,
    force: bool,
}

fn reopen_several(_: &Parts, given: Reopenings) -> Result<Command, Problem> {
    let which = several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    let lease = lease(given.token, given.force);
    Ok(Command::Reopen(Reopen { which, keep_owner: given.keep_owner, lease }))
}

/// What a task waits for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edges {
    /// The tasks it waits for
    #[schemars(length(min = 1))]
    on: Vec<String>,
    /// Answer what would be done, and do nothing
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    token: Option<u64>,
    #[serde(default)]
    force: bool,
}

impl Edges {
    fn on(&self) -> Result<Vec<taskyard::core::TaskId>, Problem> {
        match self.on.is_empty() {
            true => Err(Problem::usage("no_tasks", "`on` names no task")),
            false => ids(&self.on),
        }
    }
}

fn depend(parts: &Parts, edges: Edges) -> Result<Command, Problem> {
    Ok(Command::Depend(Depend {
        id: parts.task()?,
        on: edges.on()?,
        dry_run: edges.dry_run,
        lease: lease(edges.token, edges.force),
    }))
}

fn undepend(parts: &Parts, edges: Edges) -> Result<Command, Problem> {
    Ok(Command::Undepend(Undepend {
        id: parts.task()?,
        on: edges.on()?,
        dry_run: edges.dry_run,
        lease: lease(edges.token, edges.force),
    }))
}

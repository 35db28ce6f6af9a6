//! Operations that change the status of one or several tasks (start, done, cancel, reopen), and their dependencies.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::answers::rehearsed;
use taskyard::core::problem::Problem;
use taskyard::core::{TaskId, answers};
use taskyard::operations::{DEFAULT_LEASE, Move, Possible, Updated};
use taskyard::{Error, Outcome, Yard};

use super::inputs::{Chosen, Proof, SeveralTasks, SeveralWithParts, WithParts, none_chosen};
use super::operation::{Asked, Operation, Parts, Reply, ids};
use crate::web::call::Call;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post::<answers::task_answers::Updated<'_>>(
            "startTask",
            "/lists/{list}/tasks/{id}/start",
            "Put a task in progress",
        )
        .with(start),
        Operation::post::<answers::task_answers::Updated<'_>>(
            "completeTask",
            "/lists/{list}/tasks/{id}/done",
            "Complete a task",
        )
        .with(done),
        Operation::post::<answers::task_answers::Updated<'_>>(
            "cancelTask",
            "/lists/{list}/tasks/{id}/cancel",
            "Close a task without doing it",
        )
        .or::<answers::task_answers::UpdatedTogether<'_>>()
        .with(cancel),
        Operation::post::<answers::task_answers::Updated<'_>>(
            "reopenTask",
            "/lists/{list}/tasks/{id}/reopen",
            "Open a closed task again",
        )
        .with(reopen),
        Operation::post::<answers::task_answers::UpdatedTogether<'_>>(
            "startTasks",
            "/lists/{list}/start",
            "Put tasks in progress, all or none",
        )
        .or::<answers::task_answers::Updated<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(start_several),
        Operation::post::<answers::task_answers::UpdatedTogether<'_>>(
            "completeTasks",
            "/lists/{list}/done",
            "Complete tasks, all or none",
        )
        .or::<answers::task_answers::Updated<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(done_several),
        Operation::post::<answers::task_answers::UpdatedTogether<'_>>(
            "cancelTasks",
            "/lists/{list}/cancel",
            "Close tasks without doing them",
        )
        .or::<answers::task_answers::Updated<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(cancel_several),
        Operation::post::<answers::task_answers::UpdatedTogether<'_>>(
            "reopenTasks",
            "/lists/{list}/reopen",
            "Open closed tasks again",
        )
        .or::<answers::task_answers::Updated<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(reopen_several),
        Operation::post::<answers::task_answers::Updated<'_>>(
            "addDependencies",
            "/lists/{list}/tasks/{id}/dependencies",
            "Make a task depend on others",
        )
        .with(depend),
        Operation::delete::<answers::task_answers::Updated<'_>>(
            "removeDependencies",
            "/lists/{list}/tasks/{id}/dependencies",
            "Remove dependencies of a task",
        )
        .with(undepend),
    ]
}

/// Applies a status change to the selected tasks.
pub(super) fn make_move(yard: &Yard, wanted: &Move, chosen: &Chosen, call: &Call) -> Result<Reply, Problem> {
    move_these(yard, wanted, &chosen.ids(call)?, chosen)
}

fn move_these(yard: &Yard, wanted: &Move, ids: &[TaskId], chosen: &Chosen) -> Result<Reply, Problem> {
    if ids.is_empty() {
        return none_chosen();
    }
    let rehearsal = chosen.dry_run.then(|| yard.clone().rehearsing());
    let yard = rehearsal.as_ref().unwrap_or(yard);
    let possible = match chosen.keep_going {
        true => yard.move_possible(ids, wanted)?,
        false => Possible { done: yard.move_together(ids, wanted)?.done()?, refused: Vec::new() },
    };
    match possible.done.as_slice() {
        _ if chosen.dry_run => {
            Reply::of(rehearsed(possible.done.iter().map(|updated| &updated.task), &possible.refused))
        }
        [one] if chosen.is_one => Reply::of(answers::task_answers::Updated::from(one)),
        _ => Reply::of(answers::task_answers::UpdatedTogether::from(&possible)),
    }
}

/// Returns a request for a status change whose only options are the lease's token and `force`.
fn simply(wanted: Move, chosen: Chosen, (token, force): (Option<u64>, bool)) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| make_move(&call.proving(token, force), &wanted, &chosen, call)))
}

fn start(parts: &Parts, proof: Proof) -> Result<Asked, Problem> {
    simply(Move::Start, Chosen::only(parts)?, (proof.token, proof.force))
}

fn start_several(_: &Parts, given: SeveralTasks) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    simply(Move::Start, chosen, (given.token, given.force))
}

fn done(parts: &Parts, proof: Proof) -> Result<Asked, Problem> {
    simply(Move::Done, Chosen::only(parts)?, (proof.token, proof.force))
}

fn done_several(_: &Parts, given: SeveralTasks) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    simply(Move::Done, chosen, (given.token, given.force))
}

fn cancel(parts: &Parts, given: WithParts) -> Result<Asked, Problem> {
    cancelling(Chosen::only(parts)?, given.with_parts, (given.token, given.force))
}

fn cancel_several(_: &Parts, given: SeveralWithParts) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    cancelling(chosen, given.with_parts, (given.token, given.force))
}

fn cancelling(chosen: Chosen, with_parts: bool, (token, force): (Option<u64>, bool)) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let yard = call.proving(token, force);
        let ids = chosen.ids(call)?;
        let ids = if with_parts { yard.with_open_parts(&ids)? } else { ids };
        move_these(&yard, &Move::Cancel, &ids, &chosen)
    }))
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

fn reopen(parts: &Parts, given: Reopening) -> Result<Asked, Problem> {
    reopening(Chosen::only(parts)?, given.keep_owner, (given.token, given.force))
}

fn reopening(chosen: Chosen, keep_owner: bool, (token, force): (Option<u64>, bool)) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let wanted = match keep_owner {
            true => Move::ReopenForOwner(call.served.config.lease().unwrap_or(DEFAULT_LEASE)),
            false => Move::Reopen,
        };
        make_move(&call.proving(token, force), &wanted, &chosen, call)
    }))
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

fn reopen_several(_: &Parts, given: Reopenings) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    reopening(chosen, given.keep_owner, (given.token, given.force))
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
    fn on(&self) -> Result<Vec<TaskId>, Problem> {
        match self.on.is_empty() {
            true => Err(Problem::usage("no_tasks", "`on` does not name a task")),
            false => ids(&self.on),
        }
    }
}

fn depend(parts: &Parts, edges: Edges) -> Result<Asked, Problem> {
    tying(parts, edges, Yard::depend)
}

fn undepend(parts: &Parts, edges: Edges) -> Result<Asked, Problem> {
    tying(parts, edges, Yard::undepend)
}

/// Adds or removes dependencies of a task.
type TiesTasks = fn(&Yard, &TaskId, &[TaskId]) -> Result<Outcome<Updated>, Error>;

fn tying(parts: &Parts, edges: Edges, ties: TiesTasks) -> Result<Asked, Problem> {
    let (id, on) = (parts.task()?, edges.on()?);
    Ok(Asked::to(move |call| {
        let yard = call.proving(edges.token, edges.force);
        let yard = if edges.dry_run { yard.rehearsing() } else { yard };
        let updated = ties(&yard, &id, &on)?.done()?;
        match edges.dry_run {
            true => Reply::of(rehearsed([&updated.task], &[])),
            false => Reply::of(answers::task_answers::Updated::from(&updated)),
        }
    }))
}

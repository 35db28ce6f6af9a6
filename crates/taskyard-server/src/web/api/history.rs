//! Operations on history: reading the journal and undoing changes.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::answers::{StreamedEntries, restorable};
use taskyard::core::problem::Problem;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Revision, answers};
use taskyard::operations::{RestoreWhich, UndoRange};
use taskyard::store::HistoryQuery;

use super::operation::{Asked, Operation, Parts, Reply, id, ids};

/// Default number of revisions returned, the newest.
const NEWEST: usize = 100;
/// Maximum number of revisions returned.
const MOST: usize = 10_000;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::history_answers::History<Vec<answers::answer_values::Entry<'_>>>>(
            "showHistory",
            "/lists/{list}/history",
            "The journal of a list",
        )
        .with(history),
        Operation::get::<answers::history_answers::History<Vec<answers::answer_values::Entry<'_>>>>(
            "showTaskHistory",
            "/lists/{list}/tasks/{id}/history",
            "The journal of one task",
        )
        .with(history_of_task),
        Operation::post::<answers::history_answers::Undone<'_>>(
            "undo",
            "/lists/{list}/undo",
            "Undo whole revisions; undoing an undo is a redo",
        )
        .with(undo),
        Operation::get::<answers::history_answers::Restorable<'_>>(
            "listRestorable",
            "/lists/{list}/restorable",
            "The tasks that can be restored",
        )
        .with(list_restorable),
        Operation::post::<answers::history_answers::Restored<'_>>(
            "restoreTasks",
            "/lists/{list}/restore",
            "Restore removed tasks",
        )
        .with(restore),
    ]
}

/// How much of the journal.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct HowMuch {
    /// Only what came after this revision
    since: u64,
    /// Only what came before this revision: to read backwards, the oldest one of the last answer
    before: Option<u64>,
    /// Only the newest so many revisions; 100 where nothing is said
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<usize>,
    /// Only what happened to this task
    task: Option<String>,
}

fn history(_: &Parts, wanted: HowMuch) -> Result<Asked, Problem> {
    let task = wanted.task.as_deref().map(id).transpose()?;
    Ok(Asked::to(move |call| {
        let mut pages = call.yard.history_in_pages(HistoryQuery {
            task: task.clone(),
            since: Revision(wanted.since),
            until: wanted.before.map(|before| Revision(before.saturating_sub(1))),
            newest: Some(wanted.limit.unwrap_or(NEWEST).clamp(1, MOST)),
            ..HistoryQuery::default()
        })?;
        let first = pages.next().transpose()?;
        if let Some(task) = task.filter(|_| first.is_none())
            && !call.yard.is_known(&task)?
        {
            return Err(Refusal::NoSuchTask { task }.into());
        }
        let entries = StreamedEntries::of(first.map(Ok).into_iter().chain(pages));
        let reply = Reply::of(answers::history_answers::History { entries: &entries });
        match entries.into_failure() {
            Some(error) => Err(error.into()),
            None => reply,
        }
    }))
}

/// How much of the journal of a task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct HowMuchOfTask {
    /// Only what came after this revision
    since: u64,
    /// Only what came before this revision: to read backwards, the oldest one of the last answer
    before: Option<u64>,
    /// Only the newest so many revisions; 100 where nothing is said
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<usize>,
}

fn history_of_task(parts: &Parts, wanted: HowMuchOfTask) -> Result<Asked, Problem> {
    let HowMuchOfTask { since, before, limit } = wanted;
    history(parts, HowMuch { since, before, limit, task: Some(parts.task()?.as_str().to_owned()) })
}

/// What is taken back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Undoing {
    /// The revision, by any actor
    revision: Option<u64>,
    /// The last of several, where `revision` is the first
    last: Option<u64>,
    /// The caller's own newest revision, in place of `revision`
    mine: bool,
    /// Overrule the leases of others
    force: bool,
}

fn undo(_: &Parts, undoing: Undoing) -> Result<Asked, Problem> {
    let range = match (undoing.revision, undoing.last, undoing.mine) {
        (None, None, true) => UndoRange::OwnNewest,
        (Some(one), None, false) => UndoRange::One(Revision(one)),
        (Some(first), Some(last), false) if first <= last => UndoRange::Range(Revision(first), Revision(last)),
        (Some(_), Some(_), false) | (None, Some(_), _) => {
            return Err(Problem::usage("bad_input", "`last` must be a revision after `revision`"));
        }
        (Some(_), _, true) | (None, None, false) => {
            return Err(Problem::usage("bad_input", "give either `revision` or `mine`")
                .hint("`\"mine\": true` undoes your own newest revision"));
        }
    };
    Ok(Asked::to(move |call| {
        let undone = call.proving(None, undoing.force).undo(range)?.done()?;
        Reply::of(answers::history_answers::Undone::from(&undone))
    }))
}

/// What may come back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Choice {
    /// Also what was deleted on purpose
    deleted: bool,
}

fn list_restorable(_: &Parts, choice: Choice) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let tasks = if choice.deleted { call.yard.restorable_with_deleted() } else { call.yard.restorable() };
        Reply::of(restorable(&tasks?))
    }))
}

/// What comes back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Return {
    ids: Vec<String>,
    /// Everything that is missing
    all: bool,
    /// Also what was deleted on purpose
    deleted: bool,
}

fn restore(_: &Parts, wanted: Return) -> Result<Asked, Problem> {
    if wanted.ids.is_empty() != wanted.all {
        return Err(Problem::usage("bad_input", "give either `ids` or `all`"));
    }
    let which = if wanted.all { RestoreWhich::All } else { RestoreWhich::Some(ids(&wanted.ids)?) };
    Ok(Asked::to(move |call| {
        let yard = &call.yard;
        let restored = if wanted.deleted { yard.restore_with_deleted(which) } else { yard.restore(which) };
        Reply::of(answers::history_answers::Restored::from(&restored?.done()?))
    }))
}

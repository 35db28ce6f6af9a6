//! Tasks: listing, making, showing, changing, deleting them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use taskyard::core::{Status, answers};

use super::inputs::{Extras, PriorityWord, SeveralWithParts, StatusWord, WithParts, lease, only, several};
use super::operation::{Asked, Operation, Parts, id, ids};
use crate::arguments::{ListedState, WhichTasks};
use crate::commands::{Command, Create, Delete, List, Note, Show, Update};
use crate::problem::Problem;

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::tasks::Listing<'_>>(
            "listTasks",
            "/lists/{list}/tasks",
            "The tasks of a list, chosen by a query",
        )
        .with(list),
        Operation::post::<answers::tasks::Created<'_>>("createTask", "/lists/{list}/tasks", "Make a task")
            .makes("/lists/{list}/tasks/{task.id}")
            .with(create),
        Operation::post::<answers::tasks::CreatedTogether<'_>>(
            "createTasks",
            "/lists/{list}/batch",
            "Make many tasks in one revision",
        )
        .makes("/lists/{list}/tasks")
        .takes_files()
        .with(create_batch),
        Operation::get::<answers::tasks::Shown<'_>>("showTask", "/lists/{list}/tasks/{id}", "One task in full")
            .runs(show),
        Operation::patch::<answers::tasks::Updated<'_>>(
            "updateTask",
            "/lists/{list}/tasks/{id}",
            "Change any field of a task",
        )
        .or::<answers::tasks::Unchanged<'_>>()
        .with(update),
        Operation::patch::<answers::tasks::UpdatedTogether<'_>>(
            "updateTasks",
            "/lists/{list}/tasks",
            "Change tasks, all in one revision or none",
        )
        .or::<answers::tasks::Updated<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(update_several),
        Operation::delete::<answers::tasks::Deleted<'_>>("deleteTask", "/lists/{list}/tasks/{id}", "Delete a task")
            .with(delete),
        Operation::post::<answers::tasks::Deleted<'_>>(
            "deleteTasks",
            "/lists/{list}/delete",
            "Delete tasks, all in one revision or none",
        )
        .or::<answers::tasks::Unchanged<'_>>()
        .with(delete_several),
        Operation::post::<answers::tasks::Noted<'_>>(
            "noteOnTask",
            "/lists/{list}/tasks/{id}/notes",
            "Add a dated, signed remark",
        )
        .makes("/lists/{list}/tasks/{id}")
        .with(note),
    ]
}

/// Which tasks are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// In the query language: `status:pending tag:db not owner:ana`
    query: Option<String>,
    /// In one of these states
    status: Vec<StateWord>,
    /// Who has it
    owner: Option<String>,
    /// Only tasks of the caller
    mine: bool,
    /// Only what can start now
    ready: bool,
    /// Only what waits for others
    blocked: bool,
    tag: Option<String>,
    priority: Option<PriorityWord>,
    /// Only parts of this task
    parent: Option<String>,
    /// Keys to sort by; a `-` before one turns it round
    sort: Vec<String>,
    /// No more than so many
    #[schemars(range(max = 1_000_000))]
    limit: Option<usize>,
    /// Internal ones, too
    all: bool,
}

/// A state that is looked for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StateWord {
    Pending,
    InProgress,
    Completed,
    /// It waits for others
    Blocked,
}

impl From<StateWord> for ListedState {
    fn from(word: StateWord) -> Self {
        match word {
            StateWord::Pending => Self::Is(Status::Pending),
            StateWord::InProgress => Self::Is(Status::InProgress),
            StateWord::Completed => Self::Is(Status::Completed),
            StateWord::Blocked => Self::Blocked,
        }
    }
}

fn list(_: &Parts, wanted: Wanted) -> Result<Command, Problem> {
    let sort = |key: &String| key.parse().map_err(|error| Problem::usage("bad_sort", format!("{error}")));
    Ok(Command::List(List {
        query: wanted.query.into_iter().collect(),
        states: wanted.status.into_iter().map(Into::into).collect(),
        owner: wanted.owner,
        mine: wanted.mine,
        ready: wanted.ready,
        blocked: wanted.blocked,
        tag: wanted.tag,
        priority: wanted.priority.map(Into::into),
        parent: wanted.parent.as_deref().map(id).transpose()?,
        sort: wanted.sort.iter().map(sort).collect::<Result<_, _>>()?,
        limit: wanted.limit,
        format: None,
        all: wanted.all,
        style: None,
    }))
}

/// A new task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewTask {
    /// The title
    subject: String,
    /// What there is to do
    #[serde(default)]
    description: Option<String>,
    /// What is being done while it is in progress
    #[serde(default)]
    active_form: Option<String>,
    /// Tasks it waits for
    #[serde(default)]
    blocked_by: Vec<String>,
    /// Tasks that wait for it
    #[serde(default)]
    blocks: Vec<String>,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    priority: Option<PriorityWord>,
    #[serde(default)]
    tags: Vec<String>,
    /// The task it is a part of
    #[serde(default)]
    parent: Option<String>,
    /// A kind of task of the MACF dialect, or a word of one's own
    #[serde(default)]
    kind: Option<String>,
    /// When it has to be done: a time, or words like `fri 17:00`
    #[serde(default)]
    due: Option<String>,
    /// Before when it is not ready
    #[serde(default)]
    defer: Option<String>,
    /// How long it is expected to take: `2h`
    #[serde(default)]
    estimate: Option<String>,
    /// Anything else, kept as it is
    #[serde(default)]
    metadata: Map<String, Value>,
}

fn create(_: &Parts, new: NewTask) -> Result<Command, Problem> {
    let extras = Extras {
        priority: new.priority,
        tags: new.tags,
        parent: new.parent,
        kind: new.kind,
        due: new.due,
        defer: new.defer,
        estimate: new.estimate,
        metadata: new.metadata,
    };
    Ok(Command::Create(Box::new(Create {
        subject: new.subject,
        batch: None,
        dry_run: false,
        description: new.description,
        active_form: new.active_form,
        blocked_by: ids(&new.blocked_by)?,
        blocks: ids(&new.blocks)?,
        owner: new.owner,
        metadata: extras.flags()?,
        repo: None,
        version: None,
    })))
}

/// Many new tasks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Batch {
    /// Each with the keys of a task, and `name`, which `blockedBy`, `blocks` and `parent` of the others may use
    tasks: Vec<Map<String, Value>>,
    /// The same as Markdown, in place of `tasks`
    markdown: Option<String>,
    /// Only show what would be made
    dry_run: bool,
}

fn create_batch(_: &Parts, batch: Batch) -> Result<Asked, Problem> {
    let text = match (batch.markdown, batch.tasks.is_empty()) {
        (Some(markdown), true) => markdown,
        (Some(_), false) => return Err(Problem::usage("bad_input", "`tasks` and `markdown` do not go together")),
        (None, _) => batch.tasks.into_iter().map(|task| Value::Object(task).to_string() + "\n").collect(),
    };
    let command = Create { batch: Some("-".to_owned()), dry_run: batch.dry_run, ..Create::default() };
    Ok(Asked::reading(Command::Create(Box::new(command)), text.into_bytes()))
}

fn show(parts: &Parts) -> Result<Command, Problem> {
    Ok(Command::Show(Show { id: parts.task()? }))
}

/// What changes about a task. What is not given stays as it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Change {
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    status: Option<StatusWord>,
    /// Who has it; an empty text means that nobody does any more
    owner: Option<String>,
    priority: Option<PriorityWord>,
    /// The tags it shall have, in place of those it has
    tags: Option<Vec<String>>,
    /// Tags to add
    add_tags: Vec<String>,
    /// Tags to take away
    remove_tags: Vec<String>,
    /// The task it is a part of
    parent: Option<String>,
    kind: Option<String>,
    /// A time, or `none`
    due: Option<String>,
    /// A time, or `none`
    defer: Option<String>,
    /// A duration, or `none`
    estimate: Option<String>,
    add_blocks: Vec<String>,
    add_blocked_by: Vec<String>,
    remove_blocks: Vec<String>,
    remove_blocked_by: Vec<String>,
    /// Keys to set; null takes one away
    metadata: Map<String, Value>,
    /// Several tasks, in place of the one in the path: ids, and ranges such as `7-9`
    ids: Vec<String>,
    /// Those of which a query is true
    #[serde(rename = "where")]
    query: Option<String>,
    /// Of several, change those that can be changed, and tell of the others
    keep_going: bool,
    /// Answer what would be done, and do nothing; hooks and checks are not asked
    dry_run: bool,
    /// The token of the lease
    token: Option<u64>,
    /// Overrule the lease of another
    force: bool,
}

fn update(parts: &Parts, change: Change) -> Result<Command, Problem> {
    if !change.ids.is_empty() || change.query.is_some() || change.keep_going {
        return Err(
            Problem::usage("bad_input", "the path names the task").hint("PATCH /lists/{list}/tasks changes several")
        );
    }
    changing(WhichTasks { dry_run: change.dry_run, ..only(parts)? }, change)
}

fn update_several(_: &Parts, mut change: Change) -> Result<Command, Problem> {
    changing(several(&change.ids, change.query.take(), change.keep_going, change.dry_run)?, change)
}

fn changing(which: crate::arguments::WhichTasks, change: Change) -> Result<Command, Problem> {
    let no_owner = change.owner.as_deref() == Some("");
    let extras = Extras {
        priority: change.priority,
        tags: change.add_tags,
        parent: change.parent,
        kind: change.kind,
        due: change.due,
        defer: change.defer,
        estimate: change.estimate,
        metadata: change.metadata,
    };
    Ok(Command::Update(Box::new(Update {
        which,
        subject: change.subject,
        description: change.description,
        active_form: change.active_form,
        status: change.status.map(Into::into),
        owner: change.owner.filter(|_| !no_owner),
        no_owner,
        add_blocks: ids(&change.add_blocks)?,
        add_blocked_by: ids(&change.add_blocked_by)?,
        remove_blocks: ids(&change.remove_blocks)?,
        remove_blocked_by: ids(&change.remove_blocked_by)?,
        untag: change.remove_tags,
        tags: change.tags,
        metadata: extras.flags()?,
        lease: lease(change.token, change.force),
    })))
}

fn delete(parts: &Parts, deletion: WithParts) -> Result<Command, Problem> {
    let lease = lease(deletion.token, deletion.force);
    Ok(Command::Delete(Delete { which: only(parts)?, with_parts: deletion.with_parts, yes: true, lease }))
}

fn delete_several(_: &Parts, deletions: SeveralWithParts) -> Result<Command, Problem> {
    let which = several(&deletions.ids, deletions.query, deletions.keep_going, deletions.dry_run)?;
    Ok(Command::Delete(Delete {
        which,
        with_parts: deletions.with_parts,
        yes: true,
        lease: lease(deletions.token, deletions.force),
    }))
}

/// A remark.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Remark {
    text: String,
}

fn note(parts: &Parts, remark: Remark) -> Result<Command, Problem> {
    Ok(Command::Note(Note { id: parts.task()?, text: vec![remark.text] }))
}

//! Operations on tasks: listing, creating, showing, changing and deleting.

use std::iter;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use taskyard::answers::{created_batch, deleted, listing, rehearsed, shown};
use taskyard::config::Marks;
use taskyard::core::dialect::macf::{Kind, describe_making, stated_parent};
use taskyard::core::forms::batch::{BatchMistake, read};
use taskyard::core::forms::one_line::{Extras, InlineTask, without_taken_times};
use taskyard::core::problem::Problem;
use taskyard::core::{Status, Task, answers};
use taskyard::liveness::ClientNames;
use taskyard::machine::Checkout;
use taskyard::operations;
use taskyard::operations::{Filter, Move, OwnerChange, OwnerSession, Patch, TagChange, TaskMessage, Update};

use super::inputs::{Chosen, ExtrasGiven, PriorityWord, SeveralWithParts, StatusWord, WithParts, none_chosen};
use super::moves::make_move;
use super::operation::{Asked, Operation, Parts, Reply, id, ids};
use crate::web::call::{Call, clock_of_machine};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::task_answers::Listing<'_>>(
            "listTasks",
            "/lists/{list}/tasks",
            "The tasks of a list, chosen by a query",
        )
        .with(list),
        Operation::post::<answers::task_answers::Created<'_>>("createTask", "/lists/{list}/tasks", "Create a task")
            .makes("/lists/{list}/tasks/{task.id}")
            .with(create),
        Operation::post::<answers::task_answers::CreatedTogether<'_>>(
            "createTasks",
            "/lists/{list}/batch",
            "Create several tasks in one revision",
        )
        .makes("/lists/{list}/tasks")
        .takes_files()
        .with(create_batch),
        Operation::get::<answers::task_answers::Shown<'_>>("showTask", "/lists/{list}/tasks/{id}", "One task in full")
            .runs(show),
        Operation::patch::<answers::task_answers::Updated<'_>>(
            "updateTask",
            "/lists/{list}/tasks/{id}",
            "Change any field of a task",
        )
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(update),
        Operation::patch::<answers::task_answers::UpdatedTogether<'_>>(
            "updateTasks",
            "/lists/{list}/tasks",
            "Change tasks, all in one revision or none",
        )
        .or::<answers::task_answers::Updated<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(update_several),
        Operation::delete::<answers::task_answers::Deleted<'_>>(
            "deleteTask",
            "/lists/{list}/tasks/{id}",
            "Delete a task",
        )
        .with(delete),
        Operation::post::<answers::task_answers::Deleted<'_>>(
            "deleteTasks",
            "/lists/{list}/delete",
            "Delete tasks, all in one revision or none",
        )
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(delete_several),
        Operation::post::<answers::task_answers::Noted<'_>>(
            "noteOnTask",
            "/lists/{list}/tasks/{id}/notes",
            "Add a dated, signed comment",
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

impl StateWord {
    /// Returns the status; `None` for `blocked`, which is not a status.
    const fn status(self) -> Option<Status> {
        match self {
            Self::Pending => Some(Status::Pending),
            Self::InProgress => Some(Status::InProgress),
            Self::Completed => Some(Status::Completed),
            Self::Blocked => None,
        }
    }
}

fn list(_: &Parts, wanted: Wanted) -> Result<Asked, Problem> {
    let sort = |key: &String| key.parse().map_err(|error| Problem::usage("bad_sort", format!("{error}")));
    let sort = wanted.sort.iter().map(sort).collect::<Result<_, _>>()?;
    let parent = wanted.parent.as_deref().map(id).transpose()?;
    Ok(Asked::to(move |call| {
        let found = call.yard.list(&Filter {
            statuses: wanted.status.iter().filter_map(|word| word.status()).collect(),
            or_blocked: wanted.status.iter().any(|word| word.status().is_none()),
            owner: if wanted.mine { Some(call.yard.actor().as_str().to_owned()) } else { wanted.owner },
            ready: wanted.ready,
            blocked: wanted.blocked,
            tag: wanted.tag,
            priority: wanted.priority.map(Into::into),
            parent,
            query: call.query(wanted.query.as_deref())?,
            sort,
            limit: wanted.limit,
            with_times: false,
            internal: wanted.all,
        })?;
        Reply::of(listing(&found, call.yard.list_id()))
    }))
}

/// A new task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewTask {
    /// The title
    subject: String,
    /// Whether the title may have attributes in it, as `taskyard add` has them: `Write docs +docs due:fri pri:high parent:3`
    #[serde(default)]
    inline: bool,
    /// What there is to do
    #[serde(default)]
    description: Option<String>,
    /// Text while in progress
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

fn create(_: &Parts, mut new: NewTask) -> Result<Asked, Problem> {
    let mut written = Extras::default();
    let mut after = Vec::new();
    if new.inline {
        let line = InlineTask::of_line(&new.subject, &clock_of_machine())
            .map_err(|bad| Problem::usage("bad_attribute", bad.to_string()))?;
        (new.subject, after, written) = (line.title, line.after, line.extras);
        new.owner = new.owner.or(line.owner);
        new.kind = new.kind.or_else(|| written.kind.clone());
    }
    if new.subject.trim().is_empty() {
        return Err(Problem::usage("empty_subject", "a task needs a title"));
    }
    let kind = new.kind.as_deref().and_then(|word| word.parse::<Kind>().ok());
    let description = new.description.unwrap_or_default();
    let has_parent = new.parent.is_some() || written.parent.is_some() || stated_parent(&description).is_some();
    if let Some(kind) = kind.filter(|kind| kind.needs_parent() && !has_parent) {
        return Err(Problem::usage("no_parent", format!("a {kind} is always a part of another task"))
            .hint("give it with `parent`"));
    }
    let (mut blocked_by, blocks) = (ids(&new.blocked_by)?, ids(&new.blocks)?);
    blocked_by.extend(after);
    let extras = ExtrasGiven {
        priority: new.priority,
        tags: new.tags,
        parent: new.parent,
        kind: new.kind.filter(|_| written.kind.is_none()),
        due: new.due,
        defer: new.defer,
        estimate: new.estimate,
        metadata: new.metadata,
    };
    let twice = |name: &str| Problem::usage("bad_input", format!("`{name}` is given twice"));
    let extras = extras.read()?.and(written).map_err(twice)?;
    Ok(Asked::to(move |call| {
        let mut metadata = extras.metadata(call.served.config.working_day());
        metadata.iter_mut().for_each(without_taken_times);
        let (description, block_left) = match kind {
            Some(_) => describe_making(description, &mut metadata, call.yard.actor(), Vec::new()),
            None => (description, None),
        };
        let created = call.yard.create(operations::NewTask {
            kind,
            has_compact_marks: call.served.config.marks() == Some(Marks::Compact),
            subject: new.subject,
            description,
            active_form: new.active_form,
            owner: new.owner,
            blocks,
            blocked_by,
            metadata: metadata.filter(|metadata| !metadata.is_empty()),
            ..operations::NewTask::default()
        })?;
        let created = created.done()?;
        let block_left = block_left.as_ref().map(ToString::to_string);
        Reply::of(answers::task_answers::Created { block_left, ..(&created).into() })
    }))
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
        (Some(_), false) => return Err(Problem::usage("bad_input", "`tasks` and `markdown` cannot be combined")),
        (None, _) => batch.tasks.into_iter().map(|task| Value::Object(task).to_string() + "\n").collect(),
    };
    let dry_run = batch.dry_run;
    Ok(Asked::to(move |call| {
        let batch = read(&text, &call.clock()).map_err(|mistake| bad_batch(&mistake))?;
        let made = if dry_run { call.yard.preview_batch(&batch)? } else { call.yard.create_batch(&batch)? };
        let made = made.done()?.map_err(|mistake| bad_batch(&mistake))?;
        Reply::of(created_batch(&batch, &made, dry_run))
    }))
}

fn bad_batch(mistake: &BatchMistake) -> Problem {
    Problem::usage("bad_batch", mistake.to_string()).hint("nothing was created").detail("line", mistake.line)
}

fn show(parts: &Parts) -> Result<Asked, Problem> {
    let id = parts.task()?;
    Ok(Asked::to(move |call| {
        let found = call.yard.show(&id)?.done()?;
        // If the job records cannot be read, the task is shown without them.
        let jobs = call.jobs().of_task(call.yard.list_id(), &id).unwrap_or_default();
        let made = call.yard.making_of(&id)?;
        let session = session_of_owner(call, &found.task);
        Reply::of(shown(&found, &jobs, made.as_ref(), session.as_ref()))
    }))
}

/// Finds the client session in which a task's owner works. Returns `None` if the client's files cannot be read.
pub(crate) fn session_of_owner(call: &Call, task: &Task) -> Option<OwnerSession> {
    let places = &call.served.places;
    let directory = places.directory.as_deref()?;
    let top = Checkout::around(directory).map(|checkout| checkout.top).filter(|top| top != directory);
    let directories: Vec<&Path> = iter::once(directory).chain(top.as_deref()).collect();
    let names = ClientNames::in_data(places.data.as_ref()?);
    let found = call.yard.session_of_owner(places.client.as_ref()?, &directories, &names, task);
    found.inspect_err(|error| tracing::debug!(%error, "the owner's session is unknown")).ok().flatten()
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

fn update(parts: &Parts, change: Change) -> Result<Asked, Problem> {
    if !change.ids.is_empty() || change.query.is_some() || change.keep_going {
        return Err(Problem::usage("bad_input", "the task is given in the path")
            .hint("PATCH /lists/{list}/tasks changes several"));
    }
    changing(Chosen::only(parts)?.rehearsed(change.dry_run), change)
}

fn update_several(_: &Parts, mut change: Change) -> Result<Asked, Problem> {
    changing(Chosen::several(&change.ids, change.query.take(), change.keep_going, change.dry_run)?, change)
}

fn changing(chosen: Chosen, change: Change) -> Result<Asked, Problem> {
    let extras = ExtrasGiven {
        priority: change.priority,
        tags: Vec::new(),
        parent: change.parent,
        kind: change.kind,
        due: change.due,
        defer: change.defer,
        estimate: change.estimate,
        metadata: change.metadata,
    };
    let extras = extras.read()?;
    let kind = extras.kind.as_deref().and_then(|word| word.parse::<Kind>().ok());
    let mut update = Update {
        patch: Patch {
            subject: change.subject,
            description: change.description,
            active_form: change.active_form,
            status: change.status.map(Into::into),
            owner: change
                .owner
                .map(|owner| if owner.is_empty() { OwnerChange::Clear } else { OwnerChange::Set(owner) }),
            metadata: None,
        },
        add_blocks: ids(&change.add_blocks)?,
        add_blocked_by: ids(&change.add_blocked_by)?,
        remove_blocks: ids(&change.remove_blocks)?,
        remove_blocked_by: ids(&change.remove_blocked_by)?,
        kind,
        tags: TagChange {
            set: change.tags.map(|tags| tags.into_iter().filter(|tag| !tag.is_empty()).collect()),
            add: change.add_tags,
            remove: change.remove_tags,
        },
        lease_for_owner: None,
    };
    Ok(Asked::to(move |call| {
        update.patch.metadata = extras.metadata(call.served.config.working_day());
        if update == Update::default() {
            return Err(Problem::usage("nothing_given", "no change was given"));
        }
        make_move(&call.proving(change.token, change.force), &Move::Update(Box::new(update)), &chosen, call)
    }))
}

fn delete(parts: &Parts, deletion: WithParts) -> Result<Asked, Problem> {
    deleting(Chosen::only(parts)?, deletion.with_parts, (deletion.token, deletion.force))
}

fn delete_several(_: &Parts, deletions: SeveralWithParts) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&deletions.ids, deletions.query, deletions.keep_going, deletions.dry_run)?;
    deleting(chosen, deletions.with_parts, (deletions.token, deletions.force))
}

fn deleting(chosen: Chosen, with_parts: bool, (token, force): (Option<u64>, bool)) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let yard = call.proving(token, force);
        let ids = chosen.ids(call)?;
        if ids.is_empty() {
            return none_chosen();
        }
        let yard = if chosen.dry_run { yard.rehearsing() } else { yard };
        let (gone, refused) = match (chosen.keep_going, with_parts) {
            (false, true) => (Some(yard.delete_with_parts(&ids)?.done()?), Vec::new()),
            (false, false) => (Some(yard.delete(&ids)?.done()?), Vec::new()),
            (true, true) => yard.delete_possible_with_parts(&ids)?,
            (true, false) => yard.delete_possible(&ids)?,
        };
        match chosen.dry_run {
            true => Reply::of(rehearsed(gone.iter().flat_map(|gone| &gone.tasks), &refused)),
            false => Reply::of(deleted(gone.as_ref(), &refused)),
        }
    }))
}

/// A remark.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Remark {
    text: String,
}

fn note(parts: &Parts, remark: Remark) -> Result<Asked, Problem> {
    let id = parts.task()?;
    if remark.text.trim().is_empty() {
        return Err(Problem::usage("nothing_given", format!("no text was given for the note on task {id}")));
    }
    Ok(Asked::to(move |call| {
        let noted = call.yard.note(&id, &remark.text)?.done()?;
        for message in &noted.messages {
            if let TaskMessage::Failed { to, why } = message {
                tracing::warn!(to, %why, "an agent is not told of a note");
            }
        }
        Reply::of(answers::task_answers::Noted::from(&noted))
    }))
}

//! Creates tasks, one or many.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use taskyard_core::dialect::macf::{Kind, Subject, stated_parent};
use taskyard_core::forms::batch::{BatchEntry, BatchMistake, Resolved, ids_of, possible_ids, resolve};
use taskyard_core::rules::changes::patching::{OwnerChange, Patch};
use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::hooks::HookEvent;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{DUE, Event, Metadata, Op, Priority, Revision, Rules, Status, Task, TaskId, Timestamp};

use super::Update;
use super::changing::consequences;
use super::consulting::changed;
use crate::hooks::{Found, Hooks};
use crate::operations::depend::{blocking, connect_as_the_client, connect_strictly, waiting_for};
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::{Workbench, with_owner};
use crate::store::{Lookup, StoreError, Txn};
use crate::teams::Seat;
use crate::{Error, Outcome, Yard};

/// A task to be created.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    /// The requested id; `None` if the store assigns one.
    pub id: Option<TaskId>,
    /// The title.
    pub subject: String,
    /// What there is to do.
    pub description: String,
    /// What is being done, while it is being done.
    pub active_form: Option<String>,
    /// The initial status; `None` for pending.
    pub status: Option<Status>,
    /// Who has it.
    pub owner: Option<String>,
    /// The tasks that it blocks.
    pub blocks: Vec<TaskId>,
    /// The tasks that block it.
    pub blocked_by: Vec<TaskId>,
    /// How urgent it is; `None` if unspecified.
    pub priority: Option<Priority>,
    /// Its tags.
    pub tags: Vec<String>,
    /// When it is due.
    pub due: Option<Timestamp>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// Other metadata.
    pub metadata: Option<Metadata>,
    /// The kind whose conventions its texts follow; `None` keeps them as they are given.
    pub kind: Option<Kind>,
    /// Whether the marks of its kind are written as in older tools: without columns, and with dim text ended by `ESC
    /// [0m`.
    pub has_compact_marks: bool,
    /// Whether it may be blocked by tasks that do not exist, as some dialects allow.
    pub may_wait_for_nothing: bool,
}

/// A task that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The task, with its new number.
    pub task: Task,
    /// The commit that made it.
    pub revision: Revision,
}

impl Yard {
    /// Creates a task, and the list if it does not exist, in one commit. If a hook blocks the task, it is removed
    /// again. An initial status other than pending is judged like a change to that status.
    pub fn create(&self, new: NewTask) -> Result<Outcome<Created>, Error> {
        let judges = self.judges_of_creation();
        let _attending = judges.as_ref().map(|(hooks, _)| hooks.cancel().attend());
        let created = match self.judge_and_make(new)? {
            Outcome::Done(created) => created,
            refused => return Ok(refused),
        };
        let Some((hooks, found)) = judges else { return Ok(Outcome::Done(created)) };
        match self.ask(hooks, &found, HookEvent::TaskCreated, &created.task, &|| self.list_for_hooks(|_| Vec::new())) {
            Ok(None) => Ok(Outcome::Done(created)),
            Ok(Some(refusal)) => {
                self.take_back(std::slice::from_ref(&created.task))?;
                Ok(Outcome::Refused(refusal))
            }
            Err(error) => {
                self.take_back(std::slice::from_ref(&created.task))?;
                Err(error)
            }
        }
    }

    /// Creates a task, after the hooks and checks for its initial status have passed.
    fn judge_and_make(&self, mut new: NewTask) -> Result<Outcome<Created>, Error> {
        let Some(status) = new.first_status() else { return self.make(&new, None) };
        let seat = self.seat()?;
        let gives_id = new.id.is_none() && self.hooks().is_some();
        loop {
            if gives_id {
                // Hooks are given the id of a task that does not exist yet.
                new.id = Some(self.look_in_turn(|txn| txn.new_id())?);
            }
            let task = new.clone().into_task(new.id.clone().unwrap_or_else(|| TaskId::stored("")));
            let update = with_owner(beginning(status), &task, seat.as_ref());
            if let Some(refusal) = self.forbidden_by_plan(seat.as_ref(), &update, &task)? {
                return Ok(Outcome::Refused(refusal));
            }
            let _consulted = match self.consult(&[Some(task)], &|_| update.clone())? {
                Outcome::Done(consulted) => consulted,
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            };
            if let Some(OwnerChange::Set(owner)) = update.patch.owner {
                new.owner = Some(owner);
            }
            match self.make(&new, seat.as_ref())? {
                // Another agent took the id while hooks ran.
                Outcome::Refused(Refusal::TaskExists { .. }) if gives_id => {}
                outcome => return Ok(outcome),
            }
        }
    }

    fn make(&self, new: &NewTask, seat: Option<&Seat>) -> Result<Outcome<Created>, Error> {
        let outcome = self.transact(Op::Create, |txn, signature| {
            let id = match &new.id {
                Some(id) if matches!(txn.find(id)?, Lookup::Missing) => TaskId::stored(id.file_stem()),
                Some(id) => return Err(Refusal::TaskExists { task: id.clone() }.into()),
                None => txn.new_id()?,
            };
            let mut task = new.clone().into_task(id.clone());
            // The number before the title must refer to an existing task.
            if let (Some(_), Some(parent)) = (new.kind, task.parent())
                && matches!(txn.find(&parent)?, Lookup::Missing)
            {
                return Err(Refusal::NoSuchTask { task: parent }.into());
            }
            let mut edges: Vec<Edge> = blocking(&id, &new.blocks).chain(waiting_for(&id, &new.blocked_by)).collect();
            if new.may_wait_for_nothing {
                for on in &new.blocked_by {
                    if matches!(txn.find(on)?, Lookup::Missing) && *on != id && !task.blocked_by.contains(on) {
                        task.blocked_by.push(on.clone());
                    }
                }
                edges.retain(|edge| !task.blocked_by.contains(&edge.on));
            }
            match self.rules() {
                Rules::Client(_) => {
                    txn.put_new(task)?;
                    for edge in &edges {
                        connect_as_the_client(self, txn, edge)?;
                    }
                }
                Rules::Strict => {
                    let mut bench = Workbench::on(txn);
                    let is_part = task.parent().is_some();
                    bench.put_new(task);
                    let parts: &[TaskId] = if is_part { std::slice::from_ref(&id) } else { &[] };
                    connect_strictly(&mut bench, &edges, parts)?;
                    bench.stage()?;
                }
            }
            if new.may_wait_for_nothing
                && let Some(task) = txn.find(&id)?.task()
            {
                let ordered = ordered_as(&task.blocked_by, &new.blocked_by);
                if ordered != task.blocked_by {
                    txn.put(Task { blocked_by: ordered, ..task })?;
                }
            }
            if let (Some(status), Some(before)) = (new.first_status(), txn.find(&id)?.task()) {
                let after = changed(&before, &beginning(status), self.rules());
                let consequences = consequences(&mut Workbench::on(txn), &before, &after, self.rules())?;
                signature.remark.now_ready = consequences.now_ready;
                txn.put(after.clone())?;
                if !self.rules().is_client() {
                    self.respect_limit(txn, &before, &after, seat, &[])?;
                }
            }
            let task = txn.find(&id)?.task().unwrap_or_else(|| new.clone().into_task(id));
            Ok((task, txn.revision()))
        })?;
        Ok(outcome.map(|((task, before), event)| {
            let revision = event.as_ref().map_or(before, |event| event.revision);
            // The store may have had to assign another number.
            let made = event.as_ref().and_then(|event| made(event).next());
            Created { task: made.unwrap_or(task), revision }
        }))
    }
}

/// Returns ids in the order in which they were given.
fn ordered_as(ids: &[TaskId], given: &[TaskId]) -> Vec<TaskId> {
    let place: HashMap<&TaskId, usize> = given.iter().enumerate().rev().map(|(place, id)| (id, place)).collect();
    let mut ordered = ids.to_vec();
    ordered.sort_by_key(|id| place.get(id).copied().unwrap_or(usize::MAX));
    ordered
}

/// Returns the change from pending to the initial status.
fn beginning(status: Status) -> Update {
    Update { patch: Patch { status: Some(status), ..Patch::default() }, ..Update::default() }
}

/// Returns the tasks that a commit created, by the numbers they were staged under.
pub(super) fn made(event: &Event) -> impl Iterator<Item = Task> {
    let made = event.entries.iter().filter(|entry| entry.before.is_none());
    made.filter_map(|entry| entry.after.as_ref()?.task(&entry.task).ok())
}

impl NewTask {
    /// Returns the initial status if it is not pending.
    fn first_status(&self) -> Option<Status> {
        self.status.filter(|status| *status != Status::Pending)
    }

    fn into_task(self, id: TaskId) -> Task {
        let new = self.with_fields_in_metadata();
        match new.kind {
            Some(kind) => new.by_the_conventions(kind, &id).into_plain_task(id),
            None => new.into_plain_task(id),
        }
    }

    /// Stores in the metadata what a task file has no field for.
    fn with_fields_in_metadata(mut self) -> Self {
        let tags = std::mem::take(&mut self.tags);
        let fields = [
            ("priority", self.priority.map(|priority| priority.as_str().into())),
            ("tags", (!tags.is_empty()).then(|| tags.into())),
            (DUE, self.due.map(|due| due.to_string().into())),
            ("parent", self.parent.as_ref().map(|parent| parent.as_str().into())),
        ];
        for (key, value) in fields.into_iter().filter_map(|(key, value): (_, Option<Value>)| Some((key, value?))) {
            self.metadata.get_or_insert_default().insert(key.to_owned(), value);
        }
        self
    }

    /// Formats the texts by the conventions of the kind: the title starts with the numbers of the task and its parent.
    fn by_the_conventions(mut self, kind: Kind, id: &TaskId) -> Self {
        let title = Subject::parse(&self.subject).title.to_owned();
        let metadata = self.metadata.get_or_insert_default();
        metadata.insert("kind".to_owned(), kind.as_str().into());
        let stated = stated_parent(&self.description);
        let parent = stated.as_ref().map(TaskId::as_str).or(metadata.get("parent").and_then(Value::as_str));
        let compose = if self.has_compact_marks { Subject::compose_compact } else { Subject::compose };
        let subject = compose(id.as_str(), parent, &kind.marked(&title));
        let active_form = self.active_form.take().or_else(|| Some(format!("Working on {title}")));
        Self { subject, active_form, ..self }
    }

    fn into_plain_task(self, id: TaskId) -> Task {
        Task {
            description: self.description,
            active_form: self.active_form,
            owner: self.owner,
            metadata: self.metadata,
            ..Task::new(id, self.subject)
        }
    }
}

/// Tasks that were created together, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedBatch {
    /// The tasks, in the order of the batch.
    pub tasks: Vec<Task>,
    /// The tasks of the list that they are connected with by edges.
    pub neighbours: Vec<Task>,
    /// The commit; `None` if nothing was created.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Creates the tasks of a batch, and the list if it does not exist, all in one commit or none. If a hook blocks one
    /// of them, all are removed again.
    pub fn create_batch(&self, batch: &[BatchEntry]) -> Result<Outcome<Result<CreatedBatch, BatchMistake>>, Error> {
        let judges = self.judges_of_creation();
        let _attending = judges.as_ref().map(|(hooks, _)| hooks.cancel().attend());
        let outcome = self.transact(Op::Create, |txn, _| {
            let ids = ids_of(batch, &txn.new_ids(batch.len())?);
            match resolve(batch, &ids, &named_tasks(txn, batch)?) {
                Ok(resolved) => match self.stage_batch(txn, resolved) {
                    Err(Halt::Refused(Refusal::Cycle { path })) => Ok(Err(BatchMistake::cycle(batch, &ids, &path))),
                    staged => Ok(Ok(staged?)),
                },
                Err(mistake) => Ok(Err(mistake)),
            }
        })?;
        let created = match outcome {
            Outcome::Done((Ok(created), event)) => match event {
                // The store may have had to assign other numbers.
                Some(event) => {
                    let made: Vec<Task> = made(&event).collect();
                    let tasks = if made.len() == created.tasks.len() { made } else { created.tasks };
                    CreatedBatch { tasks, revision: Some(event.revision), ..created }
                }
                None => created,
            },
            Outcome::Done((Err(mistake), _)) => return Ok(Outcome::Done(Err(mistake))),
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
        };
        match self.judged_creation(judges, &created.tasks)? {
            None => Ok(Outcome::Done(Ok(created))),
            Some(refusal) => Ok(Outcome::Refused(refusal)),
        }
    }

    /// Runs the hooks for new tasks. If one blocks a task or fails to run, all tasks are removed again.
    pub(super) fn judged_creation(
        &self,
        judges: Option<(&Hooks, Found)>,
        created: &[Task],
    ) -> Result<Option<Refusal>, Error> {
        let Some((hooks, found)) = judges else { return Ok(None) };
        for task in created {
            match self.ask(hooks, &found, HookEvent::TaskCreated, task, &|| self.list_for_hooks(|_| Vec::new())) {
                Ok(None) => {}
                Ok(Some(refusal)) => {
                    self.take_back(created)?;
                    return Ok(Some(refusal));
                }
                Err(error) => {
                    self.take_back(created)?;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Stages the tasks of a batch that has been previewed, and returns their ids.
    pub(super) fn stage_entries(&self, txn: &mut dyn Txn, batch: &[BatchEntry]) -> Result<Vec<TaskId>, Halt> {
        let ids = ids_of(batch, &txn.new_ids(batch.len())?);
        let named = named_tasks(txn, batch)?;
        // A task that the batch names has been removed since the preview.
        let gone = |_| Refusal::NoSuchTask { task: ids.first().cloned().unwrap_or_else(|| TaskId::stored("")) };
        let resolved = resolve(batch, &ids, &named).map_err(gone)?;
        self.stage_batch(txn, resolved)?;
        Ok(ids)
    }

    /// Returns what [`Yard::create_batch`] would create, with the numbers that are free now, and creates nothing.
    pub fn preview_batch(&self, batch: &[BatchEntry]) -> Result<Outcome<Result<CreatedBatch, BatchMistake>>, Error> {
        // A missing list is not created just for a preview.
        let is_there = self.store().read(self.list_id())?.exists()?;
        let nowhere = crate::store::MemoryStore::new(self.rules());
        let store: &dyn crate::store::Store = if is_there { self.store() } else { &nowhere };
        let mut txn = store.write(self.list_id())?;
        let ids = ids_of(batch, &txn.new_ids(batch.len())?);
        let resolved = match resolve(batch, &ids, &named_tasks(&mut *txn, batch)?) {
            Ok(resolved) => resolved,
            Err(mistake) => return Ok(Outcome::Done(Err(mistake))),
        };
        match self.stage_batch(&mut *txn, resolved) {
            Ok(created) => Ok(Outcome::Done(Ok(created))),
            Err(Halt::Refused(Refusal::Cycle { path })) => {
                Ok(Outcome::Done(Err(BatchMistake::cycle(batch, &ids, &path))))
            }
            Err(Halt::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => Err(error.into()),
        }
    }

    fn stage_batch(&self, txn: &mut dyn Txn, resolved: Resolved) -> Result<CreatedBatch, Halt> {
        let Resolved { tasks, edges, parts } = resolved;
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let of_batch: HashSet<TaskId> = ids.iter().cloned().collect();
        match self.rules() {
            Rules::Client(_) => {
                for task in tasks {
                    txn.put_new(task)?;
                }
                for edge in &edges {
                    connect_as_the_client(self, txn, edge)?;
                }
            }
            Rules::Strict => {
                let mut bench = Workbench::on(txn);
                tasks.into_iter().for_each(|task| bench.put_new(task));
                connect_strictly(&mut bench, &edges, &parts)?;
                bench.stage()?;
            }
        }
        let mut others: Vec<TaskId> = edges.into_iter().flat_map(|edge| [edge.task, edge.on]).collect();
        others.retain(|id| !of_batch.contains(id));
        others.sort();
        others.dedup();
        let find = |ids: &[TaskId]| {
            let found = ids.iter().map(|id| Ok(txn.find(id)?.task()));
            found.collect::<Result<Vec<_>, Halt>>().map(|tasks| tasks.into_iter().flatten().collect())
        };
        Ok(CreatedBatch { tasks: find(&ids)?, neighbours: find(&others)?, revision: None })
    }
}

/// Returns the tasks of the list that a batch names by non-numeric ids.
fn named_tasks(txn: &mut dyn Txn, batch: &[BatchEntry]) -> Result<HashSet<TaskId>, StoreError> {
    let mut found = possible_ids(batch);
    for id in found.clone() {
        if matches!(txn.find(&id)?, Lookup::Missing) {
            found.remove(&id);
        }
    }
    Ok(found)
}

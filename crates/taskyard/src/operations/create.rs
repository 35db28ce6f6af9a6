//! Making a task.

use std::collections::HashMap;

use serde_json::Value;
use taskyard_core::dialect::macf::{Kind, Subject, stated_parent};
use taskyard_core::rules::changes::patching::{OwnerChange, Patch};
use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::hooks::hooking::HookEvent;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{DUE, Event, Metadata, Op, Priority, Revision, Rules, Status, Task, TaskId, Timestamp};

use super::Update;
use super::change_terms::with_owner;
use super::changing::consequences;
use super::consulting::changed;
use super::edges::{blocking, connect_as_the_client, connect_strictly, waiting_for};
use super::workbench::Workbench;
use crate::store::Lookup;
use crate::teams::Seat;
use crate::{Error, Outcome, Yard};

/// A task to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    /// The id it shall have, where it is not the store's to give one.
    pub id: Option<TaskId>,
    /// The title.
    pub subject: String,
    /// What there is to do.
    pub description: String,
    /// What is being done, while it is being done.
    pub active_form: Option<String>,
    /// The state it begins in; none: pending.
    pub status: Option<Status>,
    /// Who has it.
    pub owner: Option<String>,
    /// The tasks that will wait for it.
    pub blocks: Vec<TaskId>,
    /// The tasks it will wait for.
    pub blocked_by: Vec<TaskId>,
    /// How urgent it is; `None` if nobody said.
    pub priority: Option<Priority>,
    /// Its tags.
    pub tags: Vec<String>,
    /// When it is due.
    pub due: Option<Timestamp>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// What else is kept with it.
    pub metadata: Option<Metadata>,
    /// The kind by whose conventions its texts are written; none: as they are given.
    pub kind: Option<Kind>,
    /// Whether the marks of its kind are written as older tools do: without columns, and dim ended by `ESC [0m`.
    pub has_compact_marks: bool,
    /// Whether it may wait for tasks that do not exist, as some dialects have it.
    pub may_wait_for_nothing: bool,
}

/// A task that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The task, with its new number.
    pub task: Task,
    /// The commit that made it.
    pub revision: Revision,
}

impl Yard {
    /// Makes a task, and the list where there is none yet, in one commit. A task that a hook forbids is removed again. One that
    /// begins in another state than pending is judged as if it had changed to it.
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

    /// Makes a task; first asks the hooks and checks of the status it is to begin in.
    fn judge_and_make(&self, mut new: NewTask) -> Result<Outcome<Created>, Error> {
        let Some(status) = new.first_status() else { return self.make(&new, None) };
        let seat = self.seat()?;
        let gives_id = new.id.is_none() && self.hooks().is_some();
        loop {
            if gives_id {
                // Hooks are told the id of a task that is not there yet.
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
                // Another agent took the id while hooks were asked.
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
            // What stands before the title is to lead somewhere.
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
            // The store may have had to give it another number than it was put under.
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

/// Returns the change from pending to the state that a new task begins in.
fn beginning(status: Status) -> Update {
    Update { patch: Patch { status: Some(status), ..Patch::default() }, ..Update::default() }
}

/// Returns the tasks a commit made, by the numbers they were put under.
pub(super) fn made(event: &Event) -> impl Iterator<Item = Task> {
    let made = event.entries.iter().filter(|entry| entry.before.is_none());
    made.filter_map(|entry| entry.after.as_ref()?.task(&entry.task).ok())
}

impl NewTask {
    /// Returns the state it begins in, where that is not pending.
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

    /// Puts what a task file has no field for where it has its place there.
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

    /// Writes the texts as the tools of these conventions do: the number and the parent's before the title.
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

//! The tools of other dialects.

use serde_json::{Value, json};
use taskyard::core::rules::agents::is_same_agent;
use taskyard::core::rules::changes::patching::{OwnerChange, Patch};
use taskyard::core::rules::leases::leasing::DEFAULT_LEASE;
use taskyard::core::rules::refusal::{ClaimRefusal, Refusal};
use taskyard::core::tools::dialects::document_tools::TodoWrite;
use taskyard::core::tools::dialects::{document_tools, export_tools, teaching_tools};
use taskyard::core::tools::{Answer, catalogue, explain};
use taskyard::core::{AgentName, Metadata, Status, Task, TaskId};
use taskyard::operations::{Claim, Filter, NewTask, Update};
use taskyard::{Outcome, system};

use super::Toolbox;
use super::toolbox::NoAnswer;
use crate::calls::task_calls::logged;

/// How many times to retry with a task that other agents create and delete at the same time.
const ATTEMPTS: u32 = 16;

impl Toolbox {
    /// Calls a tool of the active dialect.
    pub(super) fn call_in_dialect(&self, name: &str, input: &Value) -> Result<Answer, NoAnswer> {
        match name {
            "TodoWrite" => self.write_todo(input),
            "TodoRead" => {
                let wanted = document_tools::read_read(input, self.yard.rules())?;
                Ok(document_tools::shown(&self.elements()?, &wanted, &self.unreadable()?))
            }
            "create_task" => self.create_taught(input),
            "list_tasks" => {
                teaching_tools::read_list(input, self.yard.rules())?;
                Ok(teaching_tools::listed(&self.tasks()?, &self.unreadable()?))
            }
            "get_task" => {
                let id = teaching_tools::read_id(&teaching_tools::GET, input, self.yard.rules())?;
                Ok(self.find(&id)?.map_or_else(|| teaching_tools::not_found(&id), |task| teaching_tools::found(&task)))
            }
            "claim_task" => self.claim_taught(input),
            "complete_task" => self.complete_taught(input),
            "TaskCreate" => self.create_exported(input),
            "TaskUpdate" => self.move_exported(input),
            "TaskList" => {
                export_tools::read_list(input, self.yard.rules())?;
                Ok(export_tools::listed(&self.tasks()?, &self.unreadable()?))
            }
            name => Ok(catalogue::not_available(name)),
        }
    }

    fn write_todo(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let write = document_tools::read_write(input, self.yard.rules())?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let there = match &write.id {
                Some(id) => self.find(id)?,
                None => None,
            };
            let outcome = match there {
                Some(task) => {
                    let updated = self.yard.update(&task.id, update(&write, &task))?;
                    updated.map(|updated| (updated.task.id, updated.now_ready))
                }
                None => self.yard.create(new(&write))?.map(|created| (created.task.id, Vec::new())),
            };
            match outcome {
                Outcome::Done((id, now_ready)) => {
                    return Ok(document_tools::written(&id, &now_ready, &self.elements()?));
                }
                // Another agent has created or deleted it since we looked.
                Outcome::Refused(Refusal::TaskExists { task } | Refusal::NoSuchTask { task })
                    if attempts < ATTEMPTS && write.id.as_ref() == Some(&task) => {}
                Outcome::Refused(refusal) => return self.forbidden(&refusal),
            }
        }
    }

    fn create_taught(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let teaching_tools::CreateTask { subject, description, blocked_by } =
            teaching_tools::read_create(input, self.yard.rules())?;
        let new = NewTask { subject, description, blocked_by, may_wait_for_nothing: true, ..NewTask::default() };
        match self.yard.create(new)? {
            Outcome::Done(created) => Ok(teaching_tools::created(&created.task)),
            Outcome::Refused(refusal) => self.forbidden(&refusal),
        }
    }

    fn claim_taught(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let (id, owner) = teaching_tools::read_claim(input, self.yard.rules())?;
        let Some(task) = self.find(&id)? else { return Ok(teaching_tools::not_found(&id)) };
        if task.status != Status::Pending {
            return Ok(teaching_tools::wrong_state(&task, "claimed"));
        }
        let yard = match owner.and_then(|name| AgentName::new(name).ok()) {
            Some(owner) => self.yard.acting_as(owner),
            None => self.yard.clone(),
        };
        // Other programs that use the folder complete only tasks in progress, whatever the client does with its own.
        match yard.claim(&id, &Claim { always_begins: true, ..self.claim.clone() })? {
            Outcome::Done(claimed) => {
                self.claimed_for.remember(self.yard.actor(), &claimed.task.id, yard.actor());
                Ok(teaching_tools::claimed(&claimed.task))
            }
            Outcome::Refused(Refusal::Claim(lost)) => Ok(match &lost.reason {
                ClaimRefusal::Blocked { by, .. } => teaching_tools::blocked(&id, by),
                ClaimRefusal::TaskNotFound => teaching_tools::not_found(&id),
                _ => teaching_tools::wrong_state(lost.task.as_deref().unwrap_or(&task), "claimed"),
            }),
            Outcome::Refused(refusal) => self.forbidden(&refusal),
        }
    }

    fn complete_taught(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let id = teaching_tools::read_id(&teaching_tools::COMPLETE, input, self.yard.rules())?;
        let Some(task) = self.find(&id)? else { return Ok(teaching_tools::not_found(&id)) };
        if task.status != Status::InProgress {
            return Ok(teaching_tools::wrong_state(&task, "completed"));
        }
        // A task that was claimed through these tools is completed by the agent it was claimed for.
        let owner =
            self.claimed_for.owner(self.yard.actor(), &task.id).filter(|owner| task.owner() == Some(owner.as_str()));
        let yard = owner.map_or_else(|| self.yard.clone(), |owner| self.yard.acting_as(owner));
        match yard.done(&task.id)? {
            Outcome::Done(updated) => {
                self.claimed_for.forget(self.yard.actor(), &task.id);
                let tasks = self.tasks()?;
                let waited = |other: &&Task| {
                    other.status == Status::Pending
                        && other.blocked_by.contains(&task.id)
                        && teaching_tools::unmet(other, &tasks).is_empty()
                };
                let unblocked: Vec<Task> = tasks.iter().filter(waited).cloned().collect();
                Ok(teaching_tools::completed(&updated.task, &unblocked))
            }
            Outcome::Refused(refusal) => self.forbidden(&refusal),
        }
    }

    fn create_exported(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let export_tools::Create { subject, description, dependencies, owner, mut metadata } =
            export_tools::read_create(input, self.yard.rules())?;
        metadata.extend(times(&["created_at", "updated_at"]));
        let mut second = system::now().0.div_euclid(1000);
        loop {
            let new = NewTask {
                id: Some(TaskId::stored(format!("task_{second}"))),
                subject: subject.clone(),
                description: description.clone(),
                blocked_by: dependencies.clone(),
                owner: owner.clone(),
                metadata: Some(metadata.clone()),
                ..NewTask::default()
            };
            match self.yard.create(new)? {
                Outcome::Done(created) => return Ok(export_tools::one(&self.tasks()?, &created.task.id)),
                // Another task was created in the same second.
                Outcome::Refused(Refusal::TaskExists { .. }) => second += 1,
                Outcome::Refused(refusal) => return self.forbidden(&refusal),
            }
        }
    }

    fn move_exported(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let export_tools::Move { id, status, notes, owner, metadata: more } =
            export_tools::read_update(input, self.yard.rules())?;
        let (to, cancelled) = match status.as_str() {
            "cancelled" => (Status::Completed, Value::Bool(true)),
            "blocked" => (Status::Pending, Value::Null),
            word => (word.parse().unwrap_or(Status::Pending), Value::Null),
        };
        // A task is blocked by its dependencies. If a caller sets `blocked` on a task without any, that is stored as
        // metadata.
        let carried = match status.as_str() {
            "blocked" => json!({ "instead": { "status": { "said": "pending", "is": "blocked" } } }),
            _ => Value::Null,
        };
        let mut metadata = more;
        metadata.extend([("cancelled".to_owned(), cancelled), ("export".to_owned(), carried)]);
        metadata.extend(times(&["updated_at"]));
        let begins = to == Status::InProgress;
        if let Some(refusal) = self.is_anothers(&id, owner.as_deref())?.filter(|_| begins) {
            return self.forbidden(&refusal);
        }
        // An agent that starts a free task gets it, with a lease in the same commit: if two start it, one gets it.
        let update = |task: &Task| {
            let takes = begins && task.owner().is_none();
            let owner = owner.clone().or_else(|| takes.then(|| self.yard.actor().to_string()));
            let is_own = owner.as_deref().or(task.owner()).is_some_and(|owner| self.is_actor(owner));
            let change = |name: String| if name.is_empty() { OwnerChange::Clear } else { OwnerChange::Set(name) };
            let patch = Patch {
                status: Some(to),
                owner: owner.map(change),
                metadata: Some(metadata.clone()),
                ..Patch::default()
            };
            let ttl = self.claim.ttl.unwrap_or(DEFAULT_LEASE);
            Update { patch, lease_for_owner: (begins && is_own).then_some(ttl), ..Update::default() }
        };
        match self.yard.update_with_note(&id, &update, notes.as_deref())? {
            Outcome::Done(updated) => {
                if updated.lease.is_some() {
                    // Bind the lease to the same holder as this agent's other leases.
                    self.yard.claim(&updated.task.id, &self.claim)?;
                }
                Ok(export_tools::one(&self.tasks()?, &updated.task.id))
            }
            Outcome::Refused(refusal) => self.forbidden(&refusal),
        }
    }

    /// Returns the refusal if another agent has a task. `agent` defaults to the actor.
    fn is_anothers(&self, id: &TaskId, agent: Option<&str>) -> Result<Option<Refusal>, NoAnswer> {
        // Tasks of dead agents have no owner.
        let task = self.tasks()?.into_iter().find(|task| task.id == *id && task.status.is_open());
        let Some(task) = task else { return Ok(None) };
        let is_wanted = |owner: &&str| match agent {
            Some(agent) => is_same_agent(owner, agent),
            None => self.is_actor(owner),
        };
        let other = task.owner().filter(|owner| !is_wanted(owner)).and_then(|name| AgentName::new(name).ok());
        Ok(other.map(|holder| Refusal::Leased { task: task.id.clone(), holder, since: None, until: None }))
    }

    fn is_actor(&self, name: &str) -> bool {
        is_same_agent(name, self.yard.actor().as_str())
    }

    fn tasks(&self) -> Result<Vec<Task>, NoAnswer> {
        let mut tasks = self.yard.list(&Filter::default())?.tasks;
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        Ok(tasks)
    }

    /// Returns the names of files that could not be read, and logs them; empty under client rules.
    pub(super) fn unreadable(&self) -> Result<Vec<String>, NoAnswer> {
        let list = self.yard.store().read(self.yard.list_id()).map_err(taskyard::Error::from)?;
        let named = logged(&list.problems().map_err(taskyard::Error::from)?);
        Ok(if self.yard.rules().is_client() { Vec::new() } else { named })
    }

    fn find(&self, id: &TaskId) -> Result<Option<Task>, NoAnswer> {
        let list = self.yard.store().read(self.yard.list_id()).map_err(taskyard::Error::from)?;
        Ok(list.find(id).map_err(taskyard::Error::from)?.task())
    }

    fn elements(&self) -> Result<Vec<Value>, NoAnswer> {
        let care = self.yard.store().care();
        Ok(care.map_or(Ok(Vec::new()), |care| care.elements(self.yard.list_id())).map_err(taskyard::Error::from)?)
    }

    fn forbidden(&self, refusal: &Refusal) -> Result<Answer, NoAnswer> {
        self.explained(|around| Answer::error(explain(refusal, around)))
    }
}

/// Returns metadata that sets these times to now.
fn times(names: &[&str]) -> Metadata {
    let now = system::now().to_string();
    names.iter().map(|name| ((*name).to_owned(), Value::String(now.clone()))).collect()
}

/// Returns the new task for a write.
fn new(write: &TodoWrite) -> NewTask {
    NewTask {
        id: write.id.clone(),
        subject: write.subject.clone(),
        description: write.description.clone(),
        status: write.status,
        owner: write.assignee.clone().filter(|name| !name.is_empty()),
        blocked_by: write.dependencies.clone().unwrap_or_default(),
        metadata: write.metadata.clone(),
        ..NewTask::default()
    }
}

/// Returns the update that makes a task match a write.
fn update(write: &TodoWrite, task: &Task) -> Update {
    let patch = Patch {
        subject: Some(write.subject.clone()),
        description: Some(write.description.clone()),
        status: write.status,
        owner: write.assignee.clone().map(|name| match name.is_empty() {
            true => OwnerChange::Clear,
            false => OwnerChange::Set(name),
        }),
        metadata: write.metadata.clone(),
        ..Patch::default()
    };
    let Some(wanted) = &write.dependencies else { return Update { patch, ..Update::default() } };
    let without = |ids: &[TaskId], others: &[TaskId]| -> Vec<TaskId> {
        ids.iter().filter(|id| !others.contains(id)).cloned().collect()
    };
    Update {
        patch,
        add_blocked_by: without(wanted, &task.blocked_by),
        remove_blocked_by: without(&task.blocked_by, wanted),
        ..Update::default()
    }
}

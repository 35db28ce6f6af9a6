//! Runs hooks and checks before a change is made, and the hooks for an agent that stops.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use taskyard_core::dialect::hook_input::{
    SubagentStopInput, TaskEventInput, Teammate, TeammateIdleInput, Times, task_array,
};
use taskyard_core::rules::agents::given_back;
use taskyard_core::rules::changes::patching;
use taskyard_core::rules::changes::transitions::demanded_checks;
use taskyard_core::rules::hooks::{HookEvent, completes};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{ClientVersion, Op, Rules, Status, Task, TaskId};

use super::Update;
use crate::hooks::{Found, HookQuestion, HookTurn, Hooks, line};
use crate::operations::delete::forget;
use crate::operations::staged_tasks::without_old_cancellation;
use crate::store::StoreError;
use crate::{Error, Outcome, Yard, system};

/// The result of the checks and hooks for one task.
pub(super) enum Consulted {
    /// The change does not complete the task, so no hook or check ran.
    NotNeeded,
    /// The hooks and these checks passed.
    Passed { checks: Vec<String> },
}

/// The result of the checks and hooks for tasks that are changed together.
pub(super) struct Consultation {
    /// The result for each task.
    pub(super) about: Vec<Consulted>,
    /// The turn in which hooks received the list. Until it is dropped, after the change, no other process passes the
    /// list to hooks.
    _turn: Option<Arc<HookTurn>>,
}

impl Consulted {
    /// Returns whether the hooks and checks have judged this change of the task in its current state.
    pub(super) fn covers(&self, task: &Task, update: &Update, rules: Rules) -> bool {
        match self {
            _ if !completes(task, &changed(task, update, rules), rules) => true,
            Self::Passed { checks } => demanded_checks(task).iter().all(|check| checks.contains(check)),
            Self::NotNeeded => false,
        }
    }
}

impl Yard {
    /// Runs checks and hooks before tasks are changed together. `tasks` are the tasks before the change, `None` for a
    /// missing one. The caller must hold no lock of the list.
    ///
    /// All checks run before the first hook, so that after a hook has run only other hooks can still block the
    /// completion.
    pub(super) fn consult(
        &self,
        tasks: &[Option<Task>],
        update: &impl Fn(&Task) -> Update,
    ) -> Result<Outcome<Consultation>, Error> {
        let after = |task: &Task| changed(task, &update(task), self.rules());
        let is_completed = |task: &&Task| completes(task, &after(task), self.rules());
        let completed: Vec<&Task> = match self.hooks() {
            Some(_) => tasks.iter().flatten().filter(is_completed).collect(),
            None => Vec::new(),
        };
        let mut turn = None;
        if let Some(hooks) = self.hooks().filter(|_| !completed.is_empty()) {
            let found = hooks.find(HookEvent::TaskCompleted, None);
            let is_asked = !found.is_empty() || completed.iter().any(|task| !demanded_checks(task).is_empty());
            let _attending = is_asked.then(|| hooks.cancel().attend());
            for task in &completed {
                if let Some(refusal) = hooks.verify(task, &demanded_checks(task))? {
                    return Ok(Outcome::Refused(refusal));
                }
            }
            turn = self.take_turn(hooks, &found)?;
            let yard = self.in_turn(turn.clone());
            // All of them receive the same array, which shows every task as it will be.
            let array: OnceCell<Vec<u8>> = OnceCell::new();
            let list = || {
                if array.get().is_none() {
                    let ahead = tasks.iter().flatten().map(after).collect();
                    let _ = array.set(yard.list_for_hooks(|tasks| put_ahead(tasks, ahead))?);
                }
                Ok(array.get().cloned().unwrap_or_default())
            };
            for task in completed.iter().filter(|_| !found.is_empty()) {
                if let Some(refusal) = yard.ask(hooks, &found, HookEvent::TaskCompleted, task, &list)? {
                    return Ok(Outcome::Refused(refusal));
                }
            }
        }
        let asked_about: HashSet<&TaskId> = completed.iter().map(|task| &task.id).collect();
        let consulted = |task: &Option<Task>| match task {
            Some(task) if asked_about.contains(&task.id) => Consulted::Passed { checks: demanded_checks(task) },
            _ => Consulted::NotNeeded,
        };
        Ok(Outcome::Done(Consultation { about: tasks.iter().map(consulted).collect(), _turn: turn }))
    }

    /// Returns a consultation for changes of this many tasks that have not been read yet; `None` if there are hooks to
    /// run. The change is not applied if it completes a task that requires a check.
    pub(super) fn consultation_of_nobody(&self, count: usize) -> Option<Consultation> {
        let has_hooks = self.hooks().is_some_and(|hooks| !hooks.find(HookEvent::TaskCompleted, None).is_empty());
        let about = || (0..count).map(|_| Consulted::Passed { checks: Vec::new() }).collect();
        (!has_hooks).then(|| Consultation { about: about(), _turn: None })
    }

    /// Returns whether a hook or a check judges the change of one of these tasks.
    pub(super) fn is_judged(&self, tasks: &[Option<Task>], update: &impl Fn(&Task) -> Update) -> bool {
        let Some(hooks) = self.hooks() else { return false };
        let is_completed = |task: &&Task| completes(task, &changed(task, &update(task), self.rules()), self.rules());
        let mut completed = tasks.iter().flatten().filter(is_completed).peekable();
        completed.peek().is_some()
            && (!hooks.find(HookEvent::TaskCompleted, None).is_empty()
                || completed.any(|task| !demanded_checks(task).is_empty()))
    }

    /// Waits until hooks may receive the list, unless the turn has already begun.
    pub(super) fn take_turn(&self, hooks: &Hooks, found: &Found) -> Result<Option<Arc<HookTurn>>, Error> {
        match self.turn() {
            Some(turn) => Ok(Some(Arc::clone(turn))),
            None => Ok(hooks.turn(found, self.list_id())?.map(Arc::new)),
        }
    }

    /// Returns the hooks that judge a new task; `None` if there are none.
    pub(super) fn judges_of_creation(&self) -> Option<(&Hooks, Found)> {
        if self.rules() == Rules::Client(ClientVersion::V2_1_34) {
            return None;
        }
        let hooks = self.hooks()?;
        let found = hooks.find(HookEvent::TaskCreated, None);
        (!found.is_empty()).then_some((hooks, found))
    }

    /// Runs hooks for a task, and returns the refusal if one of them blocks. `list` is the array for hooks that read
    /// the whole list.
    pub(super) fn ask(
        &self,
        hooks: &Hooks,
        found: &Found,
        event: HookEvent,
        task: &Task,
        list: &dyn Fn() -> Result<Vec<u8>, Error>,
    ) -> Result<Option<Refusal>, Error> {
        let common = hooks.common();
        let input = line(&TaskEventInput {
            common: common.shape(),
            hook_event_name: event.as_str(),
            task_id: task.shown_id(),
            task_subject: &task.subject,
            task_description: &task.description,
            teammate: hooks.teammate(),
        });
        let turn = self.take_turn(hooks, found)?;
        let told = HookQuestion { event: input, task: Some(task), list, turn: turn.as_deref() };
        let blocked = hooks.ask(found, &told)?.blocked(event);
        Ok(blocked.map(|feedback| Refusal::HookBlocked { event, task: task.id.clone(), feedback }))
    }

    /// Removes new tasks that a hook blocks, in one commit. Their numbers are not reused.
    pub(super) fn take_back(&self, tasks: &[Task]) -> Result<(), Error> {
        let taken_back = self.transact(Op::Delete, |txn, _| {
            let mut gone = Vec::with_capacity(tasks.len());
            for Task { id, .. } in tasks {
                // Another agent may have removed it already.
                if let Some(task) = txn.find(id)?.task() {
                    txn.remove(id)?;
                    gone.push(task);
                }
            }
            if !gone.is_empty() {
                forget(txn, &gone, self.rules())?;
            }
            Ok(())
        });
        match taken_back {
            // The removal is committed, and will be finished.
            Ok(_) | Err(Error::Store(StoreError::Unfinished { .. })) => Ok(()),
            // The tasks still exist.
            Err(Error::Store(cause)) => Err(StoreError::unfinished(None, cause).into()),
            Err(Error::TooManyConflicts { task, .. }) => {
                Err(StoreError::unfinished(None, StoreError::Conflict { task }).into())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the whole list as the array that hooks may read, with pending changes applied. `ahead` applies them and
    /// returns the ids of the changed tasks.
    pub(super) fn list_for_hooks(&self, ahead: impl FnOnce(&mut Vec<Task>) -> Vec<TaskId>) -> Result<Vec<u8>, Error> {
        let mut times = self.known_times()?;
        let mut tasks = self.look()?.tasks;
        let now = system::now();
        for id in ahead(&mut tasks) {
            times.entry(id).or_insert(Times { created: now, updated: now }).updated = now;
        }
        Ok(line(&task_array(&tasks, &times)))
    }
}

/// Replaces existing tasks by their changed versions, and appends those that do not exist yet.
fn put_ahead(tasks: &mut Vec<Task>, ahead: Vec<Task>) -> Vec<TaskId> {
    let mut ahead: BTreeMap<TaskId, Task> = ahead.into_iter().map(|task| (task.id.clone(), task)).collect();
    let changed = ahead.keys().cloned().collect();
    for task in tasks.iter_mut() {
        if let Some(after) = ahead.remove(&task.id) {
            *task = after;
        }
    }
    tasks.extend(ahead.into_values());
    changed
}

/// Returns the task with the update's fields applied.
pub(super) fn changed(task: &Task, update: &Update, rules: Rules) -> Task {
    let patch = update.patch.clone();
    let patch = if rules.is_client() { patch } else { without_old_cancellation(patch, task) };
    patching::apply(&patch, task).task
}

/// An agent that stopped.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The agent.
    pub agent_id: String,
    /// The type of the agent, which a hook's matcher may name.
    pub agent_type: String,
    /// Whether the agent is running only because a hook blocked an earlier stop.
    pub stop_hook_active: bool,
    /// The tasks it completed.
    pub tasks_completed: Vec<TaskId>,
    /// The result of its work.
    pub result: Value,
    /// The task it worked on, for hooks that read it.
    pub task: Option<Task>,
}

/// The combined answer of hooks to an agent's stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopAnswer {
    /// If a hook blocks: the feedback with which the agent must continue, in the client's words.
    pub blocked: Option<String>,
    /// If the agent must stop altogether: the reason.
    pub stop: Option<String>,
    /// The status changes that the hooks request.
    pub tasks_to_update: Vec<(TaskId, Status)>,
    /// How many hooks did not run because their directory is not trusted.
    pub skipped: usize,
}

/// The combined answer of hooks to an idle agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleAnswer {
    /// If a hook blocks: the feedback with which the agent must continue, in the client's words.
    pub keep_working: Option<String>,
    /// If the agent must stop altogether: the reason.
    pub stop: Option<String>,
    /// How many hooks did not run because their directory is not trusted.
    pub skipped: usize,
}

/// The permission mode reported for our agents: the client's name for the default.
const PERMISSION_MODE: &str = "default";

impl Yard {
    /// Waits until the stop hooks of this agent type may receive the list, and returns a yard that runs them, and all
    /// other hooks, in that turn. The changes that they request must be made with that yard. The turn ends when it and
    /// its clones are dropped.
    pub fn in_turn_at_stop(&self, agent_type: &str) -> Result<Self, Error> {
        let Some(hooks) = self.hooks() else { return Ok(self.clone()) };
        Ok(self.in_turn(self.take_turn(hooks, &hooks.find(HookEvent::SubagentStop, Some(agent_type)))?))
    }

    /// Runs the `SubagentStop` hooks. The changes they request are returned, not applied. Hooks that read the whole
    /// list see the tasks the agent completed as completed, and the one it did not complete as released.
    pub fn subagent_stop(&self, stopped: &Stopped) -> Result<StopAnswer, Error> {
        let Some(hooks) = self.hooks() else { return Ok(StopAnswer::default()) };
        let found = hooks.find(HookEvent::SubagentStop, Some(&stopped.agent_type));
        let common = hooks.common();
        let event = line(&SubagentStopInput {
            common: common.shape(),
            permission_mode: PERMISSION_MODE,
            hook_event_name: HookEvent::SubagentStop.as_str(),
            stop_hook_active: stopped.stop_hook_active,
            agent_id: &stopped.agent_id,
            agent_transcript_path: "",
            agent_type: &stopped.agent_type,
            tasks_completed: stopped.tasks_completed.iter().map(TaskId::as_str).collect(),
            result: &stopped.result,
        });
        let _attending = hooks.cancel().attend();
        let turn = self.take_turn(hooks, &found)?;
        let list = || self.list_for_hooks(|tasks| assume_stopped(tasks, stopped));
        let told = HookQuestion { event, task: stopped.task.as_ref(), list: &list, turn: turn.as_deref() };
        let answers = hooks.ask(&found, &told)?;
        Ok(StopAnswer {
            blocked: answers.blocked(HookEvent::SubagentStop),
            stop: answers.stopped(),
            skipped: answers.skipped,
            tasks_to_update: answers.into_answers().into_iter().flat_map(|answer| answer.tasks_to_update).collect(),
        })
    }

    /// Runs the `TeammateIdle` hooks for an agent that has nothing left to do.
    pub fn teammate_idle(&self, teammate: &Teammate) -> Result<IdleAnswer, Error> {
        let Some(hooks) = self.hooks() else { return Ok(IdleAnswer::default()) };
        let found = hooks.find(HookEvent::TeammateIdle, None);
        let common = hooks.common();
        let event = line(&TeammateIdleInput {
            common: common.shape(),
            permission_mode: PERMISSION_MODE,
            hook_event_name: HookEvent::TeammateIdle.as_str(),
            teammate,
        });
        let _attending = hooks.cancel().attend();
        let turn = self.take_turn(hooks, &found)?;
        let list = || self.list_for_hooks(|_| Vec::new());
        let answers = hooks.ask(&found, &HookQuestion { event, task: None, list: &list, turn: turn.as_deref() })?;
        Ok(IdleAnswer {
            keep_working: answers.blocked(HookEvent::TeammateIdle),
            stop: answers.stopped(),
            skipped: answers.skipped,
        })
    }
}

/// Applies what happens to the agent's tasks if no hook blocks it, and returns their ids.
fn assume_stopped(tasks: &mut [Task], stopped: &Stopped) -> Vec<TaskId> {
    let mut changed = Vec::new();
    for task in tasks.iter_mut().filter(|task| task.status.is_open()) {
        if stopped.tasks_completed.contains(&task.id) {
            task.status = Status::Completed;
        } else if stopped
            .task
            .as_ref()
            .is_some_and(|worked_on| worked_on.id == task.id && worked_on.owner == task.owner)
        {
            *task = given_back(task);
        } else {
            continue;
        }
        changed.push(task.id.clone());
    }
    changed
}

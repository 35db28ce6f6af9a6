//! Asking hooks and checks before a change stands.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use taskyard_core::dialect::hook_input::{TaskEventInput, Times, task_array};
use taskyard_core::rules::changes::patching;
use taskyard_core::rules::changes::verifying::demanded_checks;
use taskyard_core::rules::hooks::hooking::{HookEvent, completes};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{ClientVersion, Op, Rules, Task, TaskId};

use super::Update;
use super::change_terms::without_old_cancellation;
use super::forgetting::forget;
use crate::hooks::{Found, HookQuestion, HookTurn, Hooks, line};
use crate::store::StoreError;
use crate::{Error, Outcome, Yard, clock};

/// What came of asking before a task is completed.
pub(super) enum Consulted {
    /// The change completes nothing, so no hook or check was asked.
    NotNeeded,
    /// The hooks and these checks let it pass.
    Passed { checks: Vec<String> },
}

/// What came of asking before tasks are changed together.
pub(super) struct Consultation {
    /// What came of it for each.
    pub(super) about: Vec<Consulted>,
    /// The turn in which hooks were handed the list: until the change is made, no other process hands it to hooks.
    _turn: Option<Arc<HookTurn>>,
}

impl Consulted {
    /// Tells whether a change of the task as it is now has been asked about.
    pub(super) fn covers(&self, task: &Task, update: &Update, rules: Rules) -> bool {
        match self {
            _ if !completes(task, &changed(task, update, rules), rules) => true,
            Self::Passed { checks } => demanded_checks(task).iter().all(|check| checks.contains(check)),
            Self::NotNeeded => false,
        }
    }
}

impl Yard {
    /// Asks checks and hooks before tasks are changed together, with the tasks as they are before; none where a task is not there. No
    /// lock of the list is held.
    ///
    /// All checks come before the first hook: a hook that is told of a completion hears of one that only hooks can still forbid.
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
            // The same array for each of them: it shows what all of them will be.
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

    /// Returns what stands for asking about changes of this many tasks without having seen them; `None` if there are hooks to ask. The
    /// change is not made if it completes a task that demands a check.
    pub(super) fn consultation_of_nobody(&self, count: usize) -> Option<Consultation> {
        let has_hooks = self.hooks().is_some_and(|hooks| !hooks.find(HookEvent::TaskCompleted, None).is_empty());
        let about = || (0..count).map(|_| Consulted::Passed { checks: Vec::new() }).collect();
        (!has_hooks).then(|| Consultation { about: about(), _turn: None })
    }

    /// Tells whether a hook or a check judges the change of one of these tasks.
    pub(super) fn is_judged(&self, tasks: &[Option<Task>], update: &impl Fn(&Task) -> Update) -> bool {
        let Some(hooks) = self.hooks() else { return false };
        let is_completed = |task: &&Task| completes(task, &changed(task, &update(task), self.rules()), self.rules());
        let mut completed = tasks.iter().flatten().filter(is_completed).peekable();
        completed.peek().is_some()
            && (!hooks.find(HookEvent::TaskCompleted, None).is_empty()
                || completed.any(|task| !demanded_checks(task).is_empty()))
    }

    /// Waits until hooks may be handed the list, where that is not so already.
    pub(super) fn take_turn(&self, hooks: &Hooks, found: &Found) -> Result<Option<Arc<HookTurn>>, Error> {
        match self.turn() {
            Some(turn) => Ok(Some(Arc::clone(turn))),
            None => Ok(hooks.turn(found, self.list_id())?.map(Arc::new)),
        }
    }

    /// Returns the hooks that judge a new task; none where there are none to run.
    pub(super) fn judges_of_creation(&self) -> Option<(&Hooks, Found)> {
        if self.rules() == Rules::Client(ClientVersion::V2_1_34) {
            return None;
        }
        let hooks = self.hooks()?;
        let found = hooks.find(HookEvent::TaskCreated, None);
        (!found.is_empty()).then_some((hooks, found))
    }

    /// Asks hooks about a task, and returns the refusal where one of them blocks. `list` is the array for those that read the whole list.
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

    /// Takes new tasks back that a hook forbids, in one commit. Their numbers are not given out again.
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
            // They are going.
            Ok(_) | Err(Error::Store(StoreError::Unfinished { .. })) => Ok(()),
            // They are there, and stay.
            Err(Error::Store(cause)) => Err(StoreError::unfinished(None, cause).into()),
            Err(Error::TooManyConflicts { task, .. }) => {
                Err(StoreError::unfinished(None, StoreError::Conflict { task }).into())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the whole list as the array that hooks may ask for, with what is about to change as it will be. `ahead` makes those changes and
    /// says which tasks they are.
    pub(super) fn list_for_hooks(&self, ahead: impl FnOnce(&mut Vec<Task>) -> Vec<TaskId>) -> Result<Vec<u8>, Error> {
        let mut times = self.known_times()?;
        let mut tasks = self.look()?.tasks;
        let now = clock::now();
        for id in ahead(&mut tasks) {
            times.entry(id).or_insert(Times { created: now, updated: now }).updated = now;
        }
        Ok(line(&task_array(&tasks, &times)))
    }
}

/// Puts tasks in the place of those that are there, and those that are not there yet after them.
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

/// Returns what a change makes of a task's fields.
pub(super) fn changed(task: &Task, update: &Update, rules: Rules) -> Task {
    let patch = update.patch.clone();
    let patch = if rules.is_client() { patch } else { without_old_cancellation(patch, task) };
    patching::apply(&patch, task).task
}

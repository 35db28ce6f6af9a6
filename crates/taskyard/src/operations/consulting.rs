//! Asking hooks and checks before a change stands.

use std::collections::HashMap;

use taskyard_core::dialect::hook_input::{TaskEventInput, Times, task_array};
use taskyard_core::rules::hooking::{HookEvent, completes};
use taskyard_core::rules::patching;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::rules::verifying::demanded_checks;
use taskyard_core::{ClientVersion, Op, Rules, Task, TaskId};

use super::Update;
use super::delete::forget;
use super::update::without_old_cancellation;
use crate::hooks::{Found, Hooks, Told, line};
use crate::store::HistoryQuery;
use crate::{Error, Yard};

/// What came of asking before a task is completed.
pub(super) enum Consulted {
    /// The change completes nothing, so nobody was asked.
    NotNeeded,
    /// The hooks and these checks let it pass.
    Passed { checks: Vec<String> },
    /// One of them forbids it.
    Refused(Refusal),
}

impl Consulted {
    /// Tells whether a change of the task as it is now has been asked about.
    pub(super) fn covers(&self, task: &Task, update: &Update, rules: Rules) -> bool {
        match self {
            _ if !completes(task, &changed(task, update, rules), rules) => true,
            Self::Passed { checks } => demanded_checks(task).iter().all(|check| checks.contains(check)),
            Self::NotNeeded | Self::Refused(_) => false,
        }
    }
}

impl Yard {
    /// Asks checks and hooks before a task is completed, with the task as it is before. No lock is held.
    pub(super) fn consult(&self, task: Option<&Task>, update: &impl Fn(&Task) -> Update) -> Result<Consulted, Error> {
        let (Some(hooks), Some(task)) = (self.hooks(), task) else { return Ok(Consulted::NotNeeded) };
        if !completes(task, &changed(task, &update(task), self.rules()), self.rules()) {
            return Ok(Consulted::NotNeeded);
        }
        let (checks, found) = (demanded_checks(task), hooks.find(HookEvent::TaskCompleted, None));
        if checks.is_empty() && found.is_empty() {
            return Ok(Consulted::Passed { checks });
        }
        let _attending = hooks.cancel().attend();
        if let Some(refusal) = hooks.verify(task, &checks)? {
            return Ok(Consulted::Refused(refusal));
        }
        match self.ask(hooks, &found, HookEvent::TaskCompleted, task)? {
            Some(refusal) => Ok(Consulted::Refused(refusal)),
            None => Ok(Consulted::Passed { checks }),
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

    /// Asks hooks about a task, and returns the refusal where one of them blocks.
    pub(super) fn ask(
        &self,
        hooks: &Hooks,
        found: &Found,
        event: HookEvent,
        task: &Task,
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
        let told = Told { event: input, task: Some(task), list: &|| self.list_for_hooks() };
        let blocked = hooks.ask(found, &told)?.blocked(event);
        Ok(blocked.map(|feedback| Refusal::HookBlocked { event, task: task.id.clone(), feedback }))
    }

    /// Takes a new task back that a hook forbids. Its number is not given out again.
    pub(super) fn take_back(&self, id: &TaskId) -> Result<(), Error> {
        self.transact(Op::Delete, |txn, _| {
            // Somebody may have removed it already.
            if let Some(task) = txn.find(id)?.task() {
                txn.remove(id)?;
                forget(txn, &[task], self.rules())?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Returns the whole list as the array that hooks may ask for.
    pub(super) fn list_for_hooks(&self) -> Result<Vec<u8>, Error> {
        let mut times: HashMap<TaskId, Times> = HashMap::new();
        for entry in self.store().history(self.list_id(), &HistoryQuery::default())? {
            match times.get_mut(&entry.task) {
                Some(known) if entry.before.is_some() => known.updated = entry.at,
                _ => drop(times.insert(entry.task, Times { created: entry.at, updated: entry.at })),
            }
        }
        Ok(line(&task_array(&self.look()?.tasks, &times)))
    }
}

/// Returns what a change makes of a task's fields.
pub(super) fn changed(task: &Task, update: &Update, rules: Rules) -> Task {
    let patch = update.patch.clone();
    let patch = if rules.is_client() { patch } else { without_old_cancellation(patch, task) };
    patching::apply(&patch, task).task
}

//! Telling hooks that an agent ended its work, or has none left.

use serde_json::Value;
use taskyard_core::dialect::hook_input::{SubagentStopInput, Teammate, TeammateIdleInput};
use taskyard_core::rules::agents::departing::given_back;
use taskyard_core::rules::hooks::hooking::HookEvent;
use taskyard_core::{Status, Task, TaskId};

use crate::hooks::{HookQuestion, line};
use crate::{Error, Yard};

/// An agent that ended its work.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The agent.
    pub agent_id: String,
    /// What kind of agent it is; a matcher of a hook may name it.
    pub agent_type: String,
    /// Whether it goes on only because a hook blocked its end before.
    pub stop_hook_active: bool,
    /// The tasks it completed.
    pub tasks_completed: Vec<TaskId>,
    /// What came of its work.
    pub result: Value,
    /// The task it worked on, for hooks that ask for it.
    pub task: Option<Task>,
}

/// What hooks answer to the end of an agent's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopAnswer {
    /// The feedback with which the agent is to go on, in the client's words.
    pub blocked: Option<String>,
    /// The reason for which it is to stop altogether.
    pub stop: Option<String>,
    /// The tasks the hooks want changed.
    pub tasks_to_update: Vec<(TaskId, Status)>,
    /// How many hooks did not run because their directory is not trusted.
    pub skipped: usize,
}

/// What hooks answer to an agent that has nothing left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleAnswer {
    /// The feedback with which it is to go on, in the client's words.
    pub keep_working: Option<String>,
    /// The reason for which it is to stop altogether.
    pub stop: Option<String>,
    /// How many hooks did not run because their directory is not trusted.
    pub skipped: usize,
}

/// What an agent of ours may do without asking: the client's word for the usual.
const PERMISSION_MODE: &str = "default";

impl Yard {
    /// Waits until the hooks that are told of the end of such an agent may be handed the list, and returns a yard that asks them, and every
    /// other hook, in that turn. What their answers ask for is to be done with that yard. The turn ends when it and its clones are dropped.
    pub fn in_turn_at_stop(&self, agent_type: &str) -> Result<Self, Error> {
        let Some(hooks) = self.hooks() else { return Ok(self.clone()) };
        Ok(self.in_turn(self.take_turn(hooks, &hooks.find(HookEvent::SubagentStop, Some(agent_type)))?))
    }

    /// Tells the `SubagentStop` hooks that an agent ended its work. What they want changed is returned, not done. Those that read the whole
    /// list read it with the tasks it completed as completed, and the one that it did not as given back.
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
        let list = || self.list_for_hooks(|tasks| put_ahead(tasks, stopped));
        let told = HookQuestion { event, task: stopped.task.as_ref(), list: &list, turn: turn.as_deref() };
        let answers = hooks.ask(&found, &told)?;
        Ok(StopAnswer {
            blocked: answers.blocked(HookEvent::SubagentStop),
            stop: answers.stopped(),
            skipped: answers.skipped,
            tasks_to_update: answers.into_answers().into_iter().flat_map(|answer| answer.tasks_to_update).collect(),
        })
    }

    /// Tells the `TeammateIdle` hooks that an agent has nothing left to do.
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

/// Puts what becomes of an agent's tasks in their place where no hook forbids it, and returns which those are.
fn put_ahead(tasks: &mut [Task], stopped: &Stopped) -> Vec<TaskId> {
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

//! Asking the hooks of an event.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use taskyard_core::Task;
use taskyard_core::dialect::hook_input::Teammate;
use taskyard_core::dialect::native::Shape;
use taskyard_core::rules::hooks::hooking::{HookAnswer, HookEvent, feedback};

use super::catalogue::Catalogue;
use super::hook::Hook;
use super::hook_turn::HookTurn;
use super::setup::CommonTexts;
use super::{HookSetup, HookWarning};
use crate::Error;
use crate::config::HookInput;
use crate::process::{Cancel, Workplace, wait_aside};

/// The hooks and checks of one place, the cancellation that ends them, and what there is to tell the user of them.
///
/// The files are read anew for every event, so that one of these can serve for as long as a server lives.
#[derive(Debug)]
pub struct Hooks {
    pub(super) setup: HookSetup,
    pub(super) cancel: Cancel,
    pub(super) workplace: Option<Arc<dyn Workplace>>,
    warnings: Mutex<Vec<HookWarning>>,
}

/// Hooks that were found and may run.
#[derive(Debug)]
pub(crate) struct Found(Catalogue);

/// What hooks are told, in each of the forms they may ask for.
pub(crate) struct HookQuestion<'a> {
    /// The client's event.
    pub(crate) event: Vec<u8>,
    /// The task it is about.
    pub(crate) task: Option<&'a Task>,
    /// Returns the whole list, as the array that hooks may ask for.
    pub(crate) list: &'a dyn Fn() -> Result<Vec<u8>, Error>,
    /// The turn in which the list is handed out.
    pub(crate) turn: Option<&'a HookTurn>,
}

/// What hooks answered.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    answers: Vec<HookAnswer>,
    /// How many did not run because their directory is not trusted.
    pub(crate) skipped: usize,
}

impl Hooks {
    /// Returns the hooks of a place; cancelling ends those that run.
    pub fn new(setup: HookSetup, cancel: Cancel) -> Self {
        Self { setup, cancel, workplace: None, warnings: Mutex::default() }
    }

    /// Returns the same hooks for another call, with a cancellation and warnings of its own.
    #[must_use]
    pub fn for_call(&self, cancel: Cancel) -> Self {
        Self::new(self.setup.clone(), cancel)
    }

    /// Lets the hooks be waited for aside from a place among workers.
    #[must_use]
    pub fn at(mut self, workplace: Arc<dyn Workplace>) -> Self {
        self.workplace = Some(workplace);
        self
    }

    /// Returns what ends them.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns what the user should know, each thing once, and forgets it.
    pub fn take_warnings(&self) -> Vec<HookWarning> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the member of a team who acts.
    pub fn teammate(&self) -> Option<&Teammate> {
        self.setup.teammate.as_ref()
    }

    /// Looks which hooks an event has.
    pub(crate) fn find(&self, event: HookEvent, agent_type: Option<&str>) -> Found {
        let mut catalogue = self.setup.catalogue(event, agent_type);
        self.warn(std::mem::take(&mut catalogue.warnings));
        Found(catalogue)
    }

    /// Runs the hooks that were found and returns what they answered. No lock may be held.
    pub(crate) fn ask(&self, found: &Found, told: &HookQuestion<'_>) -> Result<Answers, Error> {
        let hooks = &found.0.hooks;
        let wants = |input| hooks.iter().any(|hook| hook.stdin == Some(input));
        let list = if wants(HookInput::Tasks) { (told.list)()? } else { Vec::new() };
        let task = told.task.map_or_else(|| told.event.clone(), |task| line(&Shape(task)));
        let input = |input| match input {
            None => told.event.as_slice(),
            Some(HookInput::Task) => task.as_slice(),
            Some(HookInput::Tasks) => list.as_slice(),
        };
        let hooks: Vec<_> = hooks.iter().map(|hook| (hook, input(hook.stdin))).collect();
        let workplace = self.workplace.as_ref().filter(|_| !hooks.is_empty());
        let run = || self.setup.run_all(&hooks, told.turn, &self.cancel);
        let (answers, warnings) = wait_aside(workplace, run).map_err(|_| Error::Cancelled)?;
        self.warn(warnings);
        Ok(Answers { answers, skipped: found.0.left_out })
    }

    /// Returns what every event of the client begins with.
    pub(crate) fn common(&self) -> CommonTexts {
        self.setup.common()
    }

    pub(super) fn warn(&self, new: Vec<HookWarning>) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in new {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
}

impl Found {
    pub(super) fn hooks(&self) -> &[Hook] {
        &self.0.hooks
    }

    /// Tells whether there is nothing to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.hooks.is_empty()
    }
}

impl Answers {
    /// Returns the feedback of the hooks that block, in the client's words; none where none does.
    pub(crate) fn blocked(&self, event: HookEvent) -> Option<String> {
        let feedbacks: Vec<String> = self.answers.iter().filter_map(|answer| answer.blocks.clone()).collect();
        (!feedbacks.is_empty()).then(|| feedback(event, &feedbacks))
    }

    /// Returns the first reason for which the agent is to stop.
    pub(crate) fn stopped(&self) -> Option<String> {
        self.answers.iter().find_map(|answer| answer.stops.clone())
    }

    /// Returns everything the hooks said, one after the other.
    pub(crate) fn into_answers(self) -> Vec<HookAnswer> {
        self.answers
    }
}

/// Returns a value as one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("text, lists and maps with text for keys can be written as JSON");
    line.push(b'\n');
    line
}

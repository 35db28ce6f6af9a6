//! The context of one request to a server: what the server found out once is not found out again.

use std::io::Read;
use std::sync::Arc;

use taskyard::WrittenLists;
use taskyard::process::Cancel;

use super::Context;
use super::input::Input;
use super::requested::{ExpectedTask, Requested};
use crate::arguments::Globals;
use crate::problem::Problem;

impl Context {
    /// Returns what `-` stands for; none where it is a text like any other.
    pub(crate) fn input(&self) -> Option<Box<dyn Read + '_>> {
        self.input.reader()
    }

    /// Finds out everything now that all requests have in common, so that none has to wait for it.
    pub(crate) fn prepare(&self) -> Result<(), Problem> {
        self.config()?;
        self.address()?;
        self.places()?;
        self.opened()?;
        self.hooks()?;
        self.choice().map(drop)
    }

    /// Returns the context of one request, which cancelling ends.
    pub(crate) fn for_request(&self, requested: Requested, cancel: Cancel) -> Result<Self, Problem> {
        let Requested { list, agent, is_browser, input, recording } = requested;
        let list = match list {
            Some(list) => list,
            None => self.choice()?.list,
        };
        let globals = Globals {
            list: Some(list.as_str().to_owned()),
            agent: agent.map(|agent| agent.as_str().to_owned()).or_else(|| self.globals.agent.clone()),
            ..self.globals.clone()
        };
        let hooks = Arc::new(self.hooks()?.for_call(cancel.clone()));
        Ok(Self {
            directory: self.directory.clone(),
            config: self.config.clone(),
            config_is_told: true.into(),
            hooks: hooks.into(),
            address: self.address.clone(),
            places: self.places.clone(),
            opened: self.opened.clone(),
            recorder: self.recorder()?.into(),
            input: input.map_or(Input::Nothing, Input::Given),
            recording,
            is_browser: Some(is_browser),
            written: WrittenLists::with_revisions(),
            ..Self::new(globals, self.environment.clone(), cancel)
        })
    }

    /// Returns the same context, whose changes are made only if a task is as the caller expects it.
    pub(crate) fn expecting(self, expected: Option<ExpectedTask>) -> Self {
        Self { expected, ..self }
    }

    /// Returns the same context with its configuration still to be read. What lives at the address of the store stays open, where the
    /// configuration does not name another.
    pub(crate) fn reloaded(&self) -> Self {
        let fresh = Self::new(self.globals.clone(), self.environment.clone(), self.cancel.clone());
        let fresh = Self { directory: self.directory.clone(), ..fresh };
        let is_same = matches!((fresh.address(), self.address()), (Ok(one), Ok(two)) if one == two);
        match is_same {
            true => Self { opened: self.opened.clone(), ..fresh },
            false => fresh,
        }
    }
}

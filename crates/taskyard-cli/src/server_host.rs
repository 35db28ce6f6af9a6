//! The host of a web server: it serves the store that a context leads to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard::core::answers::answer_words::NameSource;
use taskyard::core::{AgentName, ListId};
use taskyard_jobs::Jobs;
use taskyard_server::{Host, Served};

use crate::context::Context;
use crate::ended_agents::reopen_tasks_everywhere;
use crate::exit::Problem;

/// The context in which the server was started.
#[derive(Debug)]
pub(crate) struct ContextHost(Mutex<Context>);

impl ContextHost {
    pub(crate) fn of(context: Context) -> Self {
        Self(Mutex::new(context))
    }

    fn context(&self) -> MutexGuard<'_, Context> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for ContextHost {
    fn served(&self, before: Option<&Served>) -> Result<Served, Problem> {
        let mut context = self.context();
        if before.is_none() {
            return served(&context);
        }
        let reloaded = context.reloaded();
        let served = served(&reloaded)?;
        *context = reloaded;
        Ok(served)
    }

    fn list_of_member(&self, agent: &AgentName) -> Result<ListId, Problem> {
        let context = self.context().acting_as(agent);
        context.list_of_member()
    }

    fn let_children_in(&self) -> Result<(), Problem> {
        self.context().let_children_in()
    }

    fn reopen_tasks_everywhere(&self, jobs: &Jobs) -> Result<(), Problem> {
        let environment = self.context().environment().clone();
        reopen_tasks_everywhere(jobs, &environment)
    }
}

fn served(context: &Context) -> Result<Served, Problem> {
    let rules = context.rules()?;
    let (agent, source) = context.actor_and_source()?;
    // A client need not know whether a flag or the request named the agent.
    let source = if source == NameSource::Flag { NameSource::Request } else { source };
    Ok(Served {
        opened: context.opened()?.clone(),
        address: context.address()?.clone(),
        places: context.places()?.clone(),
        config: context.config()?.clone(),
        ignored: context.ignored_settings()?,
        hooks: Some(Arc::clone(context.hooks()?)),
        list: context.choice()?.list,
        // Without a working directory, there is no directory list.
        directory_list: context.list_of_directory().ok().map(|own| own.list),
        agent: (agent, source),
        is_named: context.named_agent().is_some_and(|name| AgentName::new(name).is_ok()),
        has_teams: context.has_teams(rules),
        claim_limit: context.claim_limit()?,
        plan_mode_required: context.environment().plan_mode_required == Some(true),
        session: context.environment().client_session.clone(),
        jobs: context.jobs()?.options().clone(),
        before_writing: context.before_writing()?,
    })
}

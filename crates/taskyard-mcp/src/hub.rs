//! What all connections of one server share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ErrorData;
use rmcp::model::Tool;
use taskyard::Yard;
use taskyard::core::tools::{Answer, Scope};
use taskyard::core::{AgentName, Rules};
use taskyard::process::Cancel;
use tokio::sync::{OnceCell, RwLock};

use super::announced_jobs::AnnouncedJobs;
use super::caller::CallKey;
use super::mailed_agents::MailedAgents;
use super::news::News;
use super::options::{Leases, Options};
use super::served_list::ServedList;
use super::serving::{self, Repeats, Work, Workers, open_files};
use super::tool_list;
use crate::host::{Host, Names, OneYard, Surroundings, Unserved};

/// The maximum number of calls that look, and of calls that change something, which are made at once.
const MOST_SEATS: usize = 4;

/// What all connections of one server share.
#[derive(Debug)]
pub struct Hub {
    /// What the server does and how.
    pub(crate) options: Options,
    /// The rules in force where the server was started; they decide which tools are listed.
    pub(crate) rules: Rules,
    /// The tools that are listed, each with the scope it needs.
    pub(crate) tools: Vec<(Scope, Tool)>,
    /// Ends every call when the process is asked to stop.
    pub(crate) cancel: Cancel,
    /// What changes in the list is told here.
    pub(crate) news: News,
    /// The calls whose answers are remembered.
    pub(crate) repeats: Repeats<AgentName, CallKey, Answer>,
    /// The threads calls are made on.
    pub(crate) workers: Workers,
    /// What agents were told of their jobs.
    pub(crate) announced_jobs: Arc<AnnouncedJobs>,
    /// The name that was given for the acting agent, by flag or variable.
    pub(crate) named_agent: Option<AgentName>,
    /// The name that agents of the client have where they were given no other, before the first call of a tool.
    session_agent: Option<AgentName>,
    /// The name that they have from then on.
    client_name: OnceCell<Option<AgentName>>,
    /// The client's session, where it said so.
    pub(crate) session: Option<String>,
    /// The agents that are told of their messages.
    agents: MailedAgents,
    /// Whether a connection wants to know what changes.
    is_followed: AtomicBool,
    host: Arc<dyn Host>,
    /// Held for writing while the place is being decided, so that calls wait for the decision.
    served: RwLock<Result<Arc<ServedList>, Unserved>>,
}

impl Hub {
    /// Serves one yard to every caller.
    pub fn over(yard: Yard, options: Options) -> Self {
        let (host, here) = (OneYard(yard.clone()), Surroundings::of(yard));
        Self::open(Arc::new(host), here, Names::default(), options, Cancel::new())
    }

    /// Serves what is here, and what the host says is elsewhere: a client may say later that its work is there.
    pub fn open(host: Arc<dyn Host>, here: Surroundings, names: Names, options: Options, cancel: Cancel) -> Self {
        let served = ServedList::open(here, options);
        Self {
            options,
            rules: served.rules(),
            tools: tool_list::offered(options, served.rules()),
            cancel,
            news: News::default(),
            repeats: Repeats::default(),
            workers: Workers::new(MOST_SEATS, open_files()),
            announced_jobs: Arc::default(),
            named_agent: names.agent,
            session_agent: names.session_agent,
            client_name: OnceCell::new(),
            session: names.session,
            agents: MailedAgents::default(),
            is_followed: AtomicBool::new(false),
            host,
            served: RwLock::new(Ok(Arc::new(served))),
        }
    }

    /// Lets claims live by time: over HTTP no connection says that an agent lives.
    pub(crate) fn with_leases_by_time(mut self) -> Self {
        self.options.leases = Leases::Time;
        if let Some(served) = self.served.get_mut().as_mut().ok().and_then(Arc::get_mut) {
            served.lease_by_time();
        }
        self
    }

    /// Returns what ends every call when the process is asked to stop.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Finds out the name that agents of the client have where they were given no other. Called before each call of a tool.
    pub(crate) async fn settle_client_name(&self) {
        if self.named_agent.is_some() || self.options.leases != Leases::Connection {
            return;
        }
        let ask = || async {
            let host = Arc::clone(&self.host);
            let named = self.workers.run(Work::Looks, move || host.name_client()).await;
            named.inspect_err(|error| tracing::error!(%error, "the name of the client is not known")).ok().flatten()
        };
        self.client_name.get_or_init(ask).await;
    }

    /// Returns the name that agents of the client have where they were given no other.
    pub(crate) fn client_name(&self) -> Option<AgentName> {
        self.client_name.get().cloned().flatten().or_else(|| self.session_agent.clone())
    }

    /// Returns where calls are made, waiting while that is being decided.
    pub(crate) async fn served(&self) -> Result<Arc<ServedList>, Unserved> {
        let served = self.served.read().await.clone()?;
        if served.needs_warden() {
            let served = Arc::clone(&served);
            serving::spawn(move || served.set_warden());
        }
        Ok(served)
    }

    /// Sees to it that changes of the list are told, from now on at the latest, whichever list it will be.
    pub(crate) async fn follow(&self) -> Result<(), ErrorData> {
        self.is_followed.store(true, Ordering::SeqCst);
        // A place that cannot be opened changes in no way that a connection could be told of.
        let Ok(served) = self.served().await else { return Ok(()) };
        let news = self.news.clone();
        let followed = self.workers.run(Work::Looks, move || served.follow(&news)).await;
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        followed.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
    }

    /// Sees to it that messages for an agent are told, from now on, whichever list is served, until a connection no longer wants
    /// it: see [`Self::unfollow_inboxes`].
    pub(crate) fn follow_inbox(self: &Arc<Self>, agent: &AgentName) {
        if self.agents.add(agent) {
            let (hub, agent) = (Arc::clone(self), agent.clone());
            tokio::spawn(async move { hub.keep_up_with_inboxes(vec![agent]).await });
        }
    }

    /// Says that a connection has ended that told these agents of messages.
    pub(crate) fn unfollow_inboxes(self: &Arc<Self>, agents: &[AgentName]) {
        let were_last = agents.iter().filter(|agent| self.agents.remove(agent)).count() > 0;
        // Without a runtime the whole server ends.
        if let (true, Ok(runtime)) = (were_last, tokio::runtime::Handle::try_current()) {
            let hub = Arc::clone(self);
            runtime.spawn(async move { hub.keep_up_with_inboxes(Vec::new()).await });
        }
    }

    /// Forgets what is remembered of an agent that was named after a session which has ended, and gives back what it had claimed.
    pub(crate) fn forget(self: &Arc<Self>, agent: AgentName) {
        self.repeats.forget_sender(&agent);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let hub = Arc::clone(self);
            runtime.spawn(async move {
                let Ok(served) = hub.served.read().await.clone() else { return };
                if let Err(error) = hub.workers.run(Work::Changes, move || served.forget(&agent)).await {
                    tracing::error!(%error, "what is known of an agent stays");
                }
            });
        }
    }

    async fn keep_up_with_inboxes(self: &Arc<Self>, new: Vec<AgentName>) {
        let Ok(served) = self.served().await else { return };
        let hub = Arc::clone(self);
        let followed = self.workers.run(Work::Looks, move || {
            served.follow_inboxes(&hub.agents, &hub.news);
            new.iter().for_each(|agent| served.take_out_ghosts_around(agent));
        });
        if let Err(error) = followed.await {
            tracing::error!(%error, "messages will not be told");
        }
    }

    /// Ends the signs of life of this process, where it holds nothing that other agents could wait for. Called when no client makes calls
    /// any more.
    pub(crate) fn end_signs(&self) {
        if let Ok(served) = &*self.served.blocking_read() {
            served.yard().end_signs();
        }
    }

    /// Decides anew where calls are made: in the first of these directories that is there. Calls wait meanwhile.
    pub(crate) async fn move_to(self: &Arc<Self>, directories: impl Future<Output = Vec<PathBuf>>) {
        let mut served = self.served.write().await;
        let directories = directories.await;
        let (hub, here) = (Arc::clone(self), served.as_ref().ok().and_then(|served| served.directory().cloned()));
        let opened = serving::spawn(move || {
            let directory = directories.into_iter().find(|directory| directory.is_dir())?;
            if here.as_ref() == Some(&directory) {
                return None;
            }
            Some(hub.host.surroundings(&directory).map(|there| ServedList::open(there, hub.options)))
        });
        match opened.await {
            Ok(None) => return,
            Ok(Some(opened)) => {
                let left = std::mem::replace(&mut *served, opened.map(Arc::new));
                // It waits for the warden of the leases there.
                serving::spawn(move || drop(left));
            }
            Err(error) => tracing::error!(%error, "the client's directory could not be looked at"),
        }
        drop(served);
        self.keep_up_with_inboxes(self.agents.all().into_iter().collect()).await;
        if self.is_followed.load(Ordering::SeqCst)
            && let Err(error) = self.follow().await
        {
            tracing::warn!(%error, "changes will not be told");
        }
        self.news.tell_of_another_list();
    }
}

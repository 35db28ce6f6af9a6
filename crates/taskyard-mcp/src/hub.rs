//! State shared by all connections of a server, including which ended jobs each agent was told about.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::Tool;
use taskyard::Yard;
use taskyard::core::dialect::message_protocol::{HEADING, block};
use taskyard::core::rules::teams::mailing::UnheardJobs;
use taskyard::core::tools::{Answer, Scope};
use taskyard::core::{AgentName, Rules};
use taskyard::notices::Notice;
use taskyard::process::Cancel;
use tokio::sync::{OnceCell, RwLock};

use super::news::News;
use super::served_list::ServedList;
use super::serving;
use super::serving::{Repeats, Work, Workers, open_files};
use crate::host::{Host, Leases, Names, OneYard, Options, Surroundings, Unserved};
use crate::news::MailedAgents;
use crate::resources_and_prompts;
use crate::served_list::CallKey;

/// The maximum number of concurrent reading calls, and of concurrent writing calls.
const MOST_SEATS: usize = 4;

/// The state shared by all connections of a server.
#[derive(Debug)]
pub struct Hub {
    pub(crate) options: Options,
    /// The rules in force where the server was started. They determine which tools are listed.
    pub(crate) rules: Rules,
    /// The listed tools, each with the scope it needs.
    pub(crate) tools: Vec<(Scope, Tool)>,
    /// Ends every call when the process is asked to stop.
    pub(crate) cancel: Cancel,
    /// Reports changes of the list.
    pub(crate) news: News,
    /// The calls whose answers are remembered.
    pub(crate) repeats: Repeats<AgentName, CallKey, Answer>,
    /// The threads on which calls are made.
    pub(crate) workers: Workers,
    /// The job notices that agents were shown.
    pub(crate) announced_jobs: Arc<AnnouncedJobs>,
    /// The configured name of the acting agent, from a flag or variable.
    pub(crate) named_agent: Option<AgentName>,
    /// The name of the client's agents that were given no other name, before the first tool call.
    session_agent: Option<AgentName>,
    /// The name that they have from then on.
    client_name: OnceCell<Option<AgentName>>,
    /// The client's session, if known.
    pub(crate) session: Option<String>,
    /// The agents whose messages are reported.
    agents: MailedAgents,
    /// Whether a connection wants to be told of changes.
    is_followed: AtomicBool,
    host: Arc<dyn Host>,
    /// Locked for writing while the list to serve is being determined, so that calls wait for that.
    served: RwLock<Result<Arc<ServedList>, Unserved>>,
}

impl Hub {
    /// Serves one yard to every client.
    pub fn over(yard: Yard, options: Options) -> Self {
        let (host, here) = (OneYard(yard.clone()), Surroundings::of(yard));
        Self::open(Arc::new(host), here, Names::default(), options, Cancel::new())
    }

    /// Serves `here`, and what the host returns for other directories, because a client may report later that it works
    /// elsewhere.
    pub fn open(host: Arc<dyn Host>, here: Surroundings, names: Names, options: Options, cancel: Cancel) -> Self {
        let served = ServedList::open(here, options);
        Self {
            options,
            rules: served.rules(),
            tools: resources_and_prompts::offered(options, served.rules()),
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

    /// Lets claims expire by time: over HTTP, no connection shows that an agent is alive.
    pub(crate) fn with_leases_by_time(mut self) -> Self {
        self.options.leases = Leases::Time;
        if let Some(served) = self.served.get_mut().as_mut().ok().and_then(Arc::get_mut) {
            served.lease_by_time();
        }
        self
    }

    /// Returns the cancellation that ends every call when the process is asked to stop.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Determines the name of the client's agents that were given no other name. Called before each tool call.
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

    /// Returns the name of the client's agents that were given no other name.
    pub(crate) fn client_name(&self) -> Option<AgentName> {
        self.client_name.get().cloned().flatten().or_else(|| self.session_agent.clone())
    }

    /// Returns the list to serve, waiting while it is being determined.
    pub(crate) async fn served(&self) -> Result<Arc<ServedList>, Unserved> {
        let served = self.served.read().await.clone()?;
        if served.needs_warden() {
            let served = Arc::clone(&served);
            serving::spawn(move || served.set_warden());
        }
        Ok(served)
    }

    /// Ensures that changes of the list are reported from now on, even if another list is served later.
    pub(crate) async fn follow(&self) -> Result<(), ErrorData> {
        self.is_followed.store(true, Ordering::SeqCst);
        // If the list cannot be opened, there are no changes to report.
        let Ok(served) = self.served().await else { return Ok(()) };
        let news = self.news.clone();
        let followed = self.workers.run(Work::Looks, move || served.follow(&news)).await;
        let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        followed.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
    }

    /// Ensures that messages for an agent are reported from now on, whichever list is served, until
    /// [`Self::unfollow_inboxes`] is called.
    pub(crate) fn follow_inbox(self: &Arc<Self>, agent: &AgentName) {
        if self.agents.add(agent) {
            let (hub, agent) = (Arc::clone(self), agent.clone());
            tokio::spawn(async move { hub.keep_up_with_inboxes(vec![agent]).await });
        }
    }

    /// Records that a connection which reported messages to these agents has closed.
    pub(crate) fn unfollow_inboxes(self: &Arc<Self>, agents: &[AgentName]) {
        let were_last = agents.iter().filter(|agent| self.agents.remove(agent)).count() > 0;
        // Without a runtime, the whole server is ending.
        if let (true, Ok(runtime)) = (were_last, tokio::runtime::Handle::try_current()) {
            let hub = Arc::clone(self);
            runtime.spawn(async move { hub.keep_up_with_inboxes(Vec::new()).await });
        }
    }

    /// Discards the state of an agent that was named after an ended session, and releases its claims.
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

    /// Stops the heartbeats of this process if it holds nothing that other agents could wait for. Called when no client
    /// makes calls any more.
    pub(crate) fn end_signs(&self) {
        if let Ok(served) = &*self.served.blocking_read() {
            served.yard().end_signs();
        }
    }

    /// Switches to the list of the first of these directories that exists. Calls wait in the meantime.
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
                // Dropping it waits for the thread that watches its leases.
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

/// The job notices that this server has shown to each agent.
#[derive(Debug, Default)]
pub(crate) struct AnnouncedJobs(Mutex<HashMap<AgentName, UnheardJobs>>);

impl AnnouncedJobs {
    /// Returns whether some notices were shown and are not acknowledged.
    pub(crate) fn has_told(&self, agent: &AgentName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(agent)
    }

    /// Called when a call of an agent begins: the notices that it was shown before count as acknowledged.
    pub(crate) fn hear(&self, served: &ServedList, agent: &AgentName, call: Option<&str>) {
        let heard = self.change(agent, |told| told.call_begins(call).to_vec());
        // Not while holding the mutex: other connections lock it on the thread that handles all messages.
        match served.notices().acknowledge(&heard) {
            Ok(_) => self.change(agent, |told| told.acknowledged(&heard)),
            Err(error) => tracing::warn!(%error, "what was heard is not recorded, and tried again"),
        }
    }

    /// Returns the notices to send with the answer to a call.
    pub(crate) fn tell(&self, served: &ServedList, agent: &AgentName, call: Option<&str>) -> Option<String> {
        let waiting = match served.notice_board().waiting(agent) {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::warn!(%error, "cannot look for notifications");
                return None;
            }
        };
        let mut new: Vec<Notice> = self.change(agent, |told| {
            let new: Vec<Notice> = waiting.into_iter().filter(|notice| told.is_new(&notice.job.id)).collect();
            for notice in &new {
                told.goes_out(notice.job.id.clone(), call);
            }
            new
        });
        // Notices that another server of this agent has acknowledged in the meantime stay here until the next call, and
        // are acknowledged again.
        if let Err(error) = served.notices().deliver(&mut new) {
            tracing::warn!(%error, "that notifications were told is not recorded");
        }
        (!new.is_empty()).then(|| text(&new, served))
    }

    /// Changes the state of an agent, and drops it if it is empty afterwards.
    fn change<T>(&self, agent: &AgentName, change: impl FnOnce(&mut UnheardJobs) -> T) -> T {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = agents.remove(agent).unwrap_or_default();
        let answer = change(&mut told);
        if !told.is_empty() {
            agents.insert(agent.clone(), told);
        }
        answer
    }
}

/// Formats notices for a model.
pub(crate) fn text(notices: &[Notice], served: &ServedList) -> String {
    let version = served.rules().client_version();
    let blocks: Vec<String> = notices.iter().map(|notice| block(&notice.job, version)).collect();
    format!("{HEADING}\n\n{}", blocks.join("\n\n"))
}

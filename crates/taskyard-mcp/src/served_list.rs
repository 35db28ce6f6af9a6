//! The list that calls work on, and the caller with its permissions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use rmcp::model::Extensions;
use serde_json::Value;
use taskyard::config::{Config, ConfigWarning};
use taskyard::core::rules::hooks::System;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::{Answer, Scope};
use taskyard::core::{AgentName, Holder, Lease, ListId, Rules};
use taskyard::hooks::Hooks;
use taskyard::lease_watch::Warden;
use taskyard::liveness::{longest_silence, own_mark};
use taskyard::notices::{NoticeBoard, Notices};
use taskyard::operations::{Claim, DEFAULT_LEASE, Pruned, Resuming};
use taskyard::process::{Cancel, Workplace};
use taskyard::teams::Teams;
use taskyard::todos::TodoLists;
use taskyard::{Error, Yard};
use tokio_util::sync::CancellationToken;

use super::news::{Following, News};
use super::serving::Seat;
use crate::calls::{ClaimedFor, JobDesk, LastListing, Rights, SharedConnection, Toolbox};
use crate::host::{Leases, Options, Surroundings};
use crate::news::{FollowingInboxes, MailedAgents};

/// The minimum time between two checks for lost jobs: agents call often.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The number of todo lists above which the locks of lists without waiting calls are dropped.
const TODO_TURNS: usize = 256;

/// A list with its hooks, jobs and claim terms.
#[derive(Debug)]
pub(crate) struct ServedList {
    directory: Option<PathBuf>,
    yard: Yard,
    /// Whether calls work on the list of the caller's team, because the user did not name a list explicitly.
    follows_team: bool,
    /// The list of the directory itself; `None` if answers need not say that they are about another list.
    own_list: Option<ListId>,
    hooks: Option<Arc<Hooks>>,
    config: Config,
    /// Configuration warnings that no agent has been shown yet.
    config_warnings: Mutex<Vec<ConfigWarning>>,
    claim: Claim,
    options: Options,
    todos: TodoLists,
    zone: TimeZone,
    todo_turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    last_listing: Arc<LastListing>,
    claimed_for: Arc<ClaimedFor>,
    /// What the client's agents share that call over this server's pipe; `None` over HTTP.
    shared: Option<Arc<SharedConnection>>,
    following: Following,
    following_inboxes: FollowingInboxes,
    board: NoticeBoard,
    /// `None` if there are no jobs.
    desk: Option<JobDesk>,
    /// When jobs were last checked.
    looked_at_jobs: Mutex<Option<Instant>>,
    warden: OnceLock<Option<Warden>>,
    is_warden_called: AtomicBool,
}

/// The tools for one call, and the hooks that are run during it.
pub(crate) struct Bench {
    pub(crate) toolbox: Toolbox,
    pub(crate) hooks: Option<Arc<Hooks>>,
    /// The list that the call works on and the list of the directory, if they differ.
    pub(crate) other_list: Option<(ListId, ListId)>,
    /// The team members that were removed during this call because their processes had ended.
    pub(crate) gone: Vec<Pruned>,
}

impl ServedList {
    pub(crate) fn open(there: Surroundings, options: Options) -> Self {
        let Surroundings { yard, directory, follows_team, own_list, config, hooks, jobs, .. } = there;
        let yard = yard.lasting();
        config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        // A caller over HTTP works in another directory than the server. Answers in the client's own format and in
        // other dialects have no place for a list name.
        let is_ours = options.system == System::Tasks && !yard.rules().is_client();
        let names_lists = is_ours && options.leases == Leases::Connection;
        let desk = jobs.map(|served| JobDesk {
            jobs: served.jobs,
            notices: Arc::clone(&there.notices),
            runs_commands: options.runs_commands,
            longest_output: served.longest_output,
            directory: directory.clone().unwrap_or_else(|| PathBuf::from("/")),
            store: served.store,
            session: served.session.filter(|_| options.leases == Leases::Connection),
            tool_use: None,
            cancel: Cancel::new(),
            workplace: None,
        });
        Self {
            directory,
            hooks,
            claim: Claim { limit: there.claim_limit, client: there.client, ..terms(&config, options.leases) },
            config_warnings: Mutex::new(config.warnings.clone()),
            config,
            options,
            todos: there.todos,
            zone: there.zone,
            todo_turns: Mutex::default(),
            last_listing: Arc::default(),
            claimed_for: Arc::default(),
            shared: there.shared,
            following: Following::default(),
            following_inboxes: FollowingInboxes::default(),
            board: NoticeBoard::new(there.notices, yard.list_id().clone()),
            desk,
            looked_at_jobs: Mutex::new(None),
            warden: OnceLock::new(),
            is_warden_called: AtomicBool::new(false),
            follows_team,
            own_list: own_list.filter(|_| names_lists),
            yard,
        }
    }

    /// Lets claims expire by time, and treats callers as working in another directory.
    pub(crate) fn lease_by_time(&mut self) {
        self.options.leases = Leases::Time;
        self.claim = Claim { limit: self.claim.limit, ..terms(&self.config, Leases::Time) };
        self.own_list = None;
        if let Some(desk) = &mut self.desk {
            desk.session = None;
        }
    }

    /// Returns the directory that the list was resolved from.
    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        self.directory.as_ref()
    }

    /// Takes the configuration warnings that no client has been shown yet.
    pub(crate) fn take_config_warnings(&self) -> Vec<ConfigWarning> {
        std::mem::take(&mut *self.config_warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn rules(&self) -> Rules {
        self.yard.rules()
    }

    /// Returns the yard for reading; it acts as no particular agent.
    pub(crate) fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Returns whether no thread watches the leases of the list yet. Only the first call returns `true`, and its caller
    /// has to start one.
    pub(crate) fn needs_warden(&self) -> bool {
        !self.is_warden_called.swap(true, Ordering::SeqCst)
    }

    /// Starts watching the leases of the list, unless that is already done.
    pub(crate) fn set_warden(&self) {
        self.warden.get_or_init(|| {
            let leases = self.options.leases;
            let warden = Warden::guarding(&self.yard, move |lease| is_given_here(lease, leases));
            warden.inspect_err(|error| tracing::warn!(%error, "leases are not watched over")).ok()
        });
    }

    /// Called after a call that may have granted or ended leases.
    pub(crate) fn look_after_leases(&self) {
        if let Some(Some(warden)) = self.warden.get() {
            warden.look_again();
        }
    }

    /// Starts reporting changes of the list, unless that is already done.
    pub(crate) fn follow(&self, news: &News) -> Result<(), Error> {
        self.following.begin(&self.yard, news)
    }

    pub(crate) fn notices(&self) -> &dyn Notices {
        self.board.notices()
    }

    pub(crate) fn notice_board(&self) -> &NoticeBoard {
        &self.board
    }

    /// Returns whether it is time to check for lost jobs, and records that they are checked now. Does not block.
    pub(crate) fn is_time_to_look_at_jobs(&self) -> bool {
        let Ok(mut looked) = self.looked_at_jobs.try_lock() else { return false };
        let is_time = looked.is_none_or(|looked| looked.elapsed() > BETWEEN_LOOKS);
        if is_time {
            *looked = Some(Instant::now());
        }
        is_time
    }

    /// Checks for lost jobs: the agent of a job whose supervisor was killed is not notified before a process has
    /// checked.
    pub(crate) fn look_at_jobs(&self) {
        if let Some(desk) = &self.desk
            && desk.jobs.may_be_any()
            && let Err(error) = desk.jobs.reconcile_few()
        {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
    }

    /// Returns whether an agent may have pending notices. Answers in the client's format have no place for them.
    pub(crate) fn may_have_notices_for(&self, agent: &AgentName) -> bool {
        !self.rules().is_client() && self.board.may_have_any(agent)
    }

    /// Returns the cached answer to a call if it is certain to be unchanged. Does not block.
    pub(crate) fn answer_at_once(&self, tool: &str, input: &Value) -> Option<Answer> {
        // Only file-backed stores can tell without reading that nothing changed.
        self.yard.store().care()?;
        // If there are teams, the list depends on the caller.
        let may_differ = self.follows_team && self.yard.teams().is_some_and(|teams| teams.are_any());
        let may_reopen = self.desk.as_ref().is_some_and(|desk| desk.jobs.may_reopen_tasks());
        if self.options.system != System::Tasks || may_differ || may_reopen {
            return None;
        }
        let answer = self.last_listing.again(&self.yard, tool, input)?;
        let structured = answer.structured.as_ref().filter(|_| self.options.structured).cloned();
        Some(Answer { text: answer.text.clone(), structured, is_error: answer.is_error })
    }

    /// Reports the messages of the agents that have connections now, and of no others.
    pub(crate) fn follow_inboxes(&self, agents: &MailedAgents, news: &News) {
        if self.yard.teams().is_some() {
            self.following_inboxes.keep_up(&self.yard, agents, news);
        }
    }

    /// Discards the state of an agent that will not call again, and releases its claims.
    pub(crate) fn forget(&self, agent: &AgentName) {
        if let Err(error) = self.give_back_claims(agent) {
            tracing::warn!(%agent, %error, "what an agent had claimed comes back when its leases end");
        }
        self.look_after_leases();
        self.todos.forget(agent.as_str());
        self.todo_turns.lock().unwrap_or_else(PoisonError::into_inner).remove(agent.as_str());
    }

    fn give_back_claims(&self, agent: &AgentName) -> Result<(), Error> {
        let yard = self.yard.acting_as(agent.clone());
        let yard = if self.follows_team { yard.in_team_list()? } else { yard };
        let leases = yard.store().read(yard.list_id())?.leases()?;
        for lease in leases.into_iter().filter(|lease| lease.agent == *agent) {
            yard.proving(lease.token).release(&lease.task)?;
        }
        Ok(())
    }

    /// Removes members whose processes have ended from the team of an agent, if it is in one.
    pub(crate) fn take_out_ghosts_around(&self, agent: &AgentName) {
        let Some(teams) = self.yard.teams() else { return };
        if let Err(error) = self.take_out_ghosts(teams, agent) {
            tracing::warn!(%error, "those who no longer live stay in the team");
        }
    }

    /// Removes members whose processes have ended from the team of an agent. The client's rules have no such members.
    fn take_out_ghosts(&self, teams: &Teams, agent: &AgentName) -> Result<(), Error> {
        let seat = if self.rules().is_client() { None } else { teams.only_seat(agent)? };
        let Some(seat) = seat else { return Ok(()) };
        for ghost in self.yard.acting_as(agent.clone()).prune_team_of(teams, &seat)? {
            tracing::info!(name = ghost.name, notice = ghost.departed.notice, "taken out of the team");
        }
        Ok(())
    }

    /// Returns the tools of an agent for one call, which `cancel` ends. Fails if the team's list cannot be determined:
    /// working on another list would do harm.
    pub(crate) fn bench(&self, caller: &Caller, cancel: &Cancel, seat: &Arc<Seat>) -> Result<Bench, Error> {
        let workplace = Arc::clone(seat) as Arc<dyn Workplace>;
        let for_call = |hooks: &Arc<Hooks>| Arc::new(hooks.for_call(cancel.clone()).at(Arc::clone(&workplace)));
        let hooks = self.hooks.as_ref().map(for_call);
        let yard = self.yard.acting_as(caller.agent.clone());
        let yard = hooks.iter().fold(yard, |yard, hooks| yard.with_hooks(Arc::clone(hooks))).for_one_call();
        let yard = if self.follows_team { yard.in_team_list()? } else { yard };
        let desk = self.desk.clone().map(|desk| JobDesk {
            tool_use: caller.call.clone(),
            cancel: cancel.clone(),
            workplace: Some(workplace),
            ..desk
        });
        self.reopen_tasks();
        let gone = yard.take_out_ended().unwrap_or_else(|error| {
            tracing::warn!(%error, "those who have ended stay in their teams");
            Vec::new()
        });
        let is_here = yard.list_id() == self.yard.list_id();
        let other_list = self.own_list.clone().filter(|own| own != yard.list_id());
        let other_list = other_list.map(|own| (yard.list_id().clone(), own));
        let toolbox = Toolbox::new(yard, self.options.system).within(caller.rights).until(cancel.clone());
        // The cached listing is that of the directory's list, and an agent may work on its team's list.
        let toolbox = if is_here { toolbox.with_last_listing(Arc::clone(&self.last_listing)) } else { toolbox };
        let toolbox = desk.into_iter().fold(toolbox, Toolbox::with_jobs);
        let toolbox = toolbox.with_claimed_for(Arc::clone(&self.claimed_for)).in_zone(self.zone.clone());
        let toolbox = match (&self.shared, &caller.clients_call) {
            (Some(shared), Some(call)) => toolbox.on_shared_connection(Arc::clone(shared), call.clone()),
            _ => toolbox,
        };
        let toolbox = match self.options.system {
            System::Tasks | System::Document | System::Teaching | System::Export => {
                toolbox.claiming(self.claim(caller))
            }
            System::Todos => toolbox.with_todos(self.todos.of(&caller.todos_of)),
        };
        Ok(Bench { toolbox, hooks, gone, other_list })
    }

    /// Reopens the tasks whose jobs failed or were lost. Called before the list is read or changed.
    pub(crate) fn reopen_tasks(&self) {
        if let Some(desk) = &self.desk
            && let Err(error) = desk.jobs.reopen_tasks(&self.yard, &desk.store)
        {
            tracing::warn!(%error, "tasks of jobs that were lost are not opened again");
        }
    }

    /// Returns the lock that serialises the calls on one todo list, in their order of arrival.
    pub(crate) fn todo_turn(&self, todos_of: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.todo_turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= TODO_TURNS {
            turns.retain(|_, unused| Arc::strong_count(unused) > 1);
        }
        Arc::clone(turns.entry(todos_of.to_owned()).or_default())
    }

    fn claim(&self, caller: &Caller) -> Claim {
        let roles = self.config.roles(&caller.agent).to_vec();
        Claim { roles, resuming: caller.resuming, ..self.claim.clone() }
    }
}

/// Returns the terms on which callers claim tasks.
fn terms(config: &Config, leases: Leases) -> Claim {
    let (ttl, holder) = match leases {
        // A claim outlives the server of a connection by a grace period, so that a restarted server finds it.
        Leases::Connection => (None, Some(Holder::Connection { process: own_mark(), grace: longest_silence() })),
        Leases::Time => (config.lease().or(Some(DEFAULT_LEASE)), None),
    };
    Claim { ttl, holder, ..Claim::default() }
}

/// Returns whether this server may have granted a lease. Over HTTP, the lease may also be another process's that
/// expires by time.
fn is_given_here(lease: &Lease, leases: Leases) -> bool {
    match leases {
        Leases::Connection => lease.holder.as_ref().is_some_and(|holder| *holder.process() == own_mark()),
        Leases::Time => lease.holder.is_none(),
    }
}

/// The permissions of a caller over HTTP. The program that admits requests puts one into the extensions of each
/// request; a request without one may do everything.
#[derive(Clone, Debug)]
pub struct Access {
    /// The tools it may call. `tools/list` names no others.
    pub scope: Scope,
    /// Identifies the caller. A session belongs to the caller that opened it; for all others it does not exist.
    pub key: String,
    /// The agent that the caller is known to be, if known.
    pub name: Option<String>,
    /// Cancelled when the caller's access ends. Its sessions end then.
    pub end: CancellationToken,
}

impl Access {
    /// Returns the access of an HTTP request; `None` over pipes.
    pub(crate) fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get::<Parts>()?.extensions.get::<Self>().cloned()
    }
}

/// The caller of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) agent: AgentName,
    /// The owner of the todo list: in a session of the client, a caller without a name is the session itself.
    pub(crate) todos_of: String,
    /// The id of the call, if it has one.
    pub(crate) call: Option<String>,
    /// The same id, if the client set it and the call does not name its agent: the client's transcripts tell which of
    /// its agents made the call.
    pub(crate) clients_call: Option<String>,
    /// Whether the agent is named after an HTTP session, so that no agent can call under its name once that has ended.
    pub(crate) is_of_session: bool,
    pub(crate) rights: Rights,
    /// Which of its own tasks the agent is given again when it asks for the next one.
    pub(crate) resuming: Resuming,
}

/// Identifies one call of an agent: its id, the tool, a digest of its input, and the caller's scope. If a client reuses
/// an id with another input, that is another call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    id: String,
    tool: &'static str,
    input: u64,
    scope: Scope,
}

/// Calls with longer ids are not remembered.
const LONGEST_ID: usize = 255;

impl CallKey {
    /// Returns the key of a call; `None` if its id is too long to be remembered.
    pub(crate) fn new(id: String, tool: &'static str, input: &Value, scope: Scope) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        input.to_string().hash(&mut hasher);
        (id.len() <= LONGEST_ID).then(|| Self { id, tool, input: hasher.finish(), scope })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use taskyard::core::tools::Scope;

    use super::CallKey;

    #[test]
    fn an_id_with_another_input_or_scope_is_another_call() {
        let key = |input, scope| CallKey::new("1".into(), "TaskCreate", &input, scope).unwrap();
        let first = key(json!({}), Scope::All);
        assert_eq!(first, key(json!({}), Scope::All));
        assert_ne!(first, key(json!({ "subject": "x" }), Scope::All));
        assert_ne!(first, key(json!({}), Scope::Read));
        assert!(CallKey::new("x".repeat(256), "TaskCreate", &json!({}), Scope::All).is_none());
    }
}

//! Where calls are made: a list, the hooks around it, and how its tasks are claimed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::calls::{ClaimedFor, JobDesk, LastListing, SharedConnection, Toolbox};
use serde_json::Value;
use taskyard::config::{Config, ConfigWarning};
use taskyard::core::rules::hooks::gate::System;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::Answer;
use taskyard::core::{AgentName, Holder, Lease, ListId, Rules};
use taskyard::hooks::Hooks;
use taskyard::leases::Warden;
use taskyard::liveness::{longest_silence, own_mark};
use taskyard::notices::{NoticeBoard, Notices};
use taskyard::operations::{Claim, DEFAULT_LEASE, Pruned};
use taskyard::process::{Cancel, Workplace};
use taskyard::teams::Teams;
use taskyard::todos::TodoLists;
use taskyard::{Error, Yard};

use super::caller::Caller;
use super::mail::FollowingInboxes;
use super::mailed_agents::MailedAgents;
use super::news::{Following, News};
use super::options::{Leases, Options};
use super::serving::Seat;
use crate::host::Surroundings;

/// How often is looked whether jobs were lost, at most: agents call often.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The number of todo lists above which turns without a waiting call are dropped.
const TODO_TURNS: usize = 256;

/// A list, the hooks around it, and how its tasks are claimed.
#[derive(Debug)]
pub(crate) struct ServedList {
    directory: Option<PathBuf>,
    yard: Yard,
    /// Whether calls are made on the list of the team their agent works for here: the user did not say in so many words which list it is.
    follows_team: bool,
    /// The list of the directory itself; none where answers need not say that they are about another.
    own_list: Option<ListId>,
    hooks: Option<Arc<Hooks>>,
    config: Config,
    /// What of the configuration does not count, until an agent was told.
    config_warnings: Mutex<Vec<ConfigWarning>>,
    claim: Claim,
    options: Options,
    todos: TodoLists,
    zone: TimeZone,
    todo_turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    last_listing: Arc<LastListing>,
    claimed_for: Arc<ClaimedFor>,
    /// What the client's agents share that call over this server's pipe; none over HTTP.
    shared: Option<Arc<SharedConnection>>,
    following: Following,
    following_inboxes: FollowingInboxes,
    board: NoticeBoard,
    /// None where there are no jobs.
    desk: Option<JobDesk>,
    /// When was last looked whether jobs were lost.
    looked_at_jobs: Mutex<Option<Instant>>,
    warden: OnceLock<Option<Warden>>,
    is_warden_called: AtomicBool,
}

/// The tools of one call, and the hooks that are asked during it.
pub(crate) struct Bench {
    pub(crate) toolbox: Toolbox,
    pub(crate) hooks: Option<Arc<Hooks>>,
    /// The list that is worked on and that of the directory, where those are two.
    pub(crate) other_list: Option<(ListId, ListId)>,
    /// The members of teams that were taken out on this occasion, because they had ended.
    pub(crate) gone: Vec<Pruned>,
}

impl ServedList {
    /// Takes what is to be served.
    pub(crate) fn open(there: Surroundings, options: Options) -> Self {
        let Surroundings { yard, directory, follows_team, own_list, config, hooks, jobs, .. } = there;
        let yard = yard.lasting();
        config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        // A caller over HTTP works in some other directory than the server. The client's own answers and those of other
        // dialects have no place for it.
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

    /// Lets claims live by time, and takes the caller for one that works elsewhere.
    pub(crate) fn lease_by_time(&mut self) {
        self.options.leases = Leases::Time;
        self.claim = Claim { limit: self.claim.limit, ..terms(&self.config, Leases::Time) };
        self.own_list = None;
        if let Some(desk) = &mut self.desk {
            desk.session = None;
        }
    }

    /// Returns the directory all this was found from.
    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        self.directory.as_ref()
    }

    /// Returns what of the configuration does not count and no client was told of, and takes note that one is told now.
    pub(crate) fn take_config_warnings(&self) -> Vec<ConfigWarning> {
        std::mem::take(&mut *self.config_warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the rules in force.
    pub(crate) fn rules(&self) -> Rules {
        self.yard.rules()
    }

    /// Returns the yard, acting as no agent in particular: for looking.
    pub(crate) fn yard(&self) -> &Yard {
        &self.yard
    }

    /// Tells whether no thread watches over the leases of the list yet: the first caller is to start one.
    pub(crate) fn needs_warden(&self) -> bool {
        !self.is_warden_called.swap(true, Ordering::SeqCst)
    }

    /// Begins to watch over the leases of the list, where that has not begun.
    pub(crate) fn set_warden(&self) {
        self.warden.get_or_init(|| {
            let leases = self.options.leases;
            let warden = Warden::guarding(&self.yard, move |lease| is_given_here(lease, leases));
            warden.inspect_err(|error| tracing::warn!(%error, "leases are not watched over")).ok()
        });
    }

    /// Says that a call may have given leases, or ended some.
    pub(crate) fn look_after_leases(&self) {
        if let Some(Some(warden)) = self.warden.get() {
            warden.look_again();
        }
    }

    /// Begins to tell of changes, where that has not begun.
    pub(crate) fn follow(&self, news: &News) -> Result<(), Error> {
        self.following.begin(&self.yard, news)
    }

    /// Returns what agents are told of their jobs.
    pub(crate) fn notices(&self) -> &dyn Notices {
        self.board.notices()
    }

    /// Returns what waits for the agents of the list.
    pub(crate) fn notice_board(&self) -> &NoticeBoard {
        &self.board
    }

    /// Tells whether it is time to look whether jobs were lost, and takes note that this is done now. Waits for no lock.
    pub(crate) fn is_time_to_look_at_jobs(&self) -> bool {
        let Ok(mut looked) = self.looked_at_jobs.try_lock() else { return false };
        let is_time = looked.is_none_or(|looked| looked.elapsed() > BETWEEN_LOOKS);
        if is_time {
            *looked = Some(Instant::now());
        }
        is_time
    }

    /// Looks whether jobs were lost: one whose supervisor was killed tells no agent of it before a process has looked.
    pub(crate) fn look_at_jobs(&self) {
        if let Some(desk) = &self.desk
            && desk.jobs.may_be_any()
            && let Err(error) = desk.jobs.reconcile_few()
        {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
    }

    /// Tells whether an agent may have to be told something besides an answer. The client's answers have no place for that.
    pub(crate) fn may_have_notices_for(&self, agent: &AgentName) -> bool {
        !self.rules().is_client() && self.board.may_have_any(agent)
    }

    /// Returns the answer to a call that is certain to be the same as last time. Waits for no lock.
    pub(crate) fn answer_at_once(&self, tool: &str, input: &Value) -> Option<Answer> {
        // Only files can be told to be as they were without being read.
        self.yard.store().care()?;
        // Where there are teams, the list depends on who calls.
        let may_differ = self.follows_team && self.yard.teams().is_some_and(|teams| teams.are_any());
        let may_reopen = self.desk.as_ref().is_some_and(|desk| desk.jobs.may_reopen_tasks());
        if self.options.system != System::Tasks || may_differ || may_reopen {
            return None;
        }
        let answer = self.last_listing.again(&self.yard, tool, input)?;
        let structured = answer.structured.as_ref().filter(|_| self.options.structured).cloned();
        Some(Answer { text: answer.text.clone(), structured, is_error: answer.is_error })
    }

    /// Tells the agents of a server of their messages: those there are by now, and no others.
    pub(crate) fn follow_inboxes(&self, agents: &MailedAgents, news: &News) {
        if self.yard.teams().is_some() {
            self.following_inboxes.keep_up(&self.yard, agents, news);
        }
    }

    /// Forgets what is remembered of an agent that will not call again, and gives back what it had claimed.
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

    /// Takes those out of the team of an agent that no longer live, where it is in one.
    pub(crate) fn take_out_ghosts_around(&self, agent: &AgentName) {
        let Some(teams) = self.yard.teams() else { return };
        if let Err(error) = self.take_out_ghosts(teams, agent) {
            tracing::warn!(%error, "those who no longer live stay in the team");
        }
    }

    /// Takes those out of the team of an agent that no longer live. The client's rules know of none.
    fn take_out_ghosts(&self, teams: &Teams, agent: &AgentName) -> Result<(), Error> {
        let seat = if self.rules().is_client() { None } else { teams.only_seat(agent)? };
        let Some(seat) = seat else { return Ok(()) };
        for ghost in self.yard.acting_as(agent.clone()).prune_team_of(teams, &seat)? {
            tracing::info!(name = ghost.name, notice = ghost.departed.notice, "taken out of the team");
        }
        Ok(())
    }

    /// Returns the tools of an agent for one call, which cancelling ends. Where it cannot be told which team's list is meant, that is
    /// an error: on another list the call would do harm.
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
        // What is remembered is of the list of this place, and an agent may work on its team's.
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

    /// Opens the tasks again whose jobs failed or were lost: before every look at the list, and every change.
    pub(crate) fn reopen_tasks(&self) {
        if let Some(desk) = &self.desk
            && let Err(error) = desk.jobs.reopen_tasks(&self.yard, &desk.store)
        {
            tracing::warn!(%error, "tasks of jobs that were lost are not opened again");
        }
    }

    /// Returns what the calls on one todo list take their turns by, in the order in which they came.
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

/// Returns how all callers claim tasks.
fn terms(config: &Config, leases: Leases) -> Claim {
    let (ttl, holder) = match leases {
        // A claim outlives the server of a connection a while, so that a restarted one finds it.
        Leases::Connection => (None, Some(Holder::Connection { process: own_mark(), grace: longest_silence() })),
        Leases::Time => (config.lease().or(Some(DEFAULT_LEASE)), None),
    };
    Claim { ttl, holder, ..Claim::default() }
}

/// Tells whether a lease is one that this server gives. Over HTTP it may also be another's that lives by its time.
fn is_given_here(lease: &Lease, leases: Leases) -> bool {
    match leases {
        Leases::Connection => lease.holder.as_ref().is_some_and(|holder| *holder.process() == own_mark()),
        Leases::Time => lease.holder.is_none(),
    }
}

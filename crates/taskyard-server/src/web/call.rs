//! What one request works with: the store that is served, with the list and the agent that the request names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use taskyard::core::answers::words::NameSource;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::timing::{Clock, TimeZone};
use taskyard::core::{AgentName, ListId, Revision, Task, TaskId, Timestamp, Token};
use taskyard::machine::{DatabaseError, Machine, MachineError, Recording};
use taskyard::notices::Notices;
use taskyard::opening::Address;
use taskyard::operations::{Claimed, DEFAULT_LEASE, Query, Resuming};
use taskyard::process::Cancel;
use taskyard::teams::Teams;
use taskyard::tidying::Household;
use taskyard::todos::{TodoList, TodoLists};
use taskyard::{StartLease, WrittenLists, Yard};
use taskyard_jobs::Jobs;

use super::host::{Host, Served};

/// What a request says of itself.
#[derive(Debug)]
pub(crate) struct Requested {
    /// The list; `None` for the server's.
    pub(crate) list: Option<ListId>,
    /// The agent that acts; `None` for the one that acts for the server.
    pub(crate) agent: Option<AgentName>,
    /// Whether a person acts, in a browser.
    pub(crate) is_browser: bool,
    /// Whether the list's name keeps the directory that it gets. What only looks must not fill the machine's database with names.
    pub(crate) recording: Recording,
}

impl Default for Requested {
    fn default() -> Self {
        Self { list: None, agent: None, is_browser: false, recording: Recording::Nothing }
    }
}

/// What one request works with.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) served: Arc<Served>,
    /// The yard of the list that is meant, on which every operation is called.
    pub(crate) yard: Yard,
    pub(crate) cancel: Cancel,
    /// Where the name of the actor comes from.
    pub(crate) source: NameSource,
    /// Whether a person acts, in a browser.
    pub(crate) is_person: bool,
    is_named: bool,
    teams: Option<Arc<Teams>>,
    recording: Recording,
    written: WrittenLists,
    /// The tasks that were claimed, and that the agent did not have before.
    claims: RefCell<Vec<(TaskId, Token)>>,
}

impl Call {
    /// Prepares a request, which cancelling ends.
    pub(crate) fn new(
        host: Arc<dyn Host>,
        served: Arc<Served>,
        requested: Requested,
        cancel: Cancel,
    ) -> Result<Self, Problem> {
        let Requested { list, agent, is_browser, recording } = requested;
        let list =
            list.map_or_else(|| Ok(served.list.clone()), |list| list_named(&served, list.as_str(), recording))?;
        let is_named = agent.is_some() || served.is_named;
        let (actor, source) = agent.map_or_else(|| served.agent.clone(), |agent| (agent, NameSource::Request));
        let written = WrittenLists::with_revisions();
        let teams = served.opened.teams.as_ref().map(|teams| Arc::new(teams.for_one_call()));
        let ttl = Some(served.config.lease().unwrap_or(DEFAULT_LEASE));
        let mut yard = Yard::new(Arc::clone(&served.opened.store), list, actor)
            .with_rules(served.places.rules)
            .noting_in(written.clone())
            .in_world(Arc::clone(&served.opened.world))
            .with_start_lease((!is_browser).then_some(StartLease { ttl, holder: None }))
            .with_limit(served.claim_limit);
        if let Some(hooks) = &served.hooks {
            yard = yard.with_hooks(Arc::new(hooks.for_call(cancel.clone())));
        }
        if let Some(notices) = &served.opened.notices {
            yard = yard.with_notices(Arc::clone(notices));
        }
        if let Some(teams) = teams.as_ref().filter(|_| served.has_teams) {
            yard = yard.with_teams(Arc::clone(teams));
        }
        if let Some(before_writing) = served.before_writing.clone() {
            yard = yard.before_writing(move |list| before_writing(list));
        }
        if served.config.put_back() == Some(false) {
            yard = yard.without_putting_back();
        }
        let claims = RefCell::default();
        let is_person = is_browser;
        Ok(Self { host, served, yard, cancel, source, is_person, is_named, teams, recording, written, claims })
    }

    /// Returns the same call, whose changes are made only if a task is as the caller expects it.
    pub(crate) fn expecting(self, task: TaskId, is_met: impl Fn(&Task) -> bool + Send + Sync + 'static) -> Self {
        Self { yard: self.yard.expecting(task, is_met), ..self }
    }

    /// Returns the yard whose writes prove a lease by its token, or overrule the leases of others.
    pub(crate) fn proving(&self, token: Option<u64>, force: bool) -> Yard {
        match (force, token) {
            (true, _) => self.yard.overruling(),
            (false, Some(token)) => self.yard.proving(Token(token)),
            (false, None) => self.yard.clone(),
        }
    }

    /// Returns the list that is meant by a name.
    pub(crate) fn list_named(&self, name: &str) -> Result<ListId, Problem> {
        list_named(&self.served, name, self.recording)
    }

    /// Returns the name that was given for the actor.
    pub(crate) fn named_agent(&self) -> Option<&AgentName> {
        self.is_named.then(|| self.yard.actor())
    }

    /// Returns which of its own tasks the actor is given again when it asks for the next one: none if it was given no name, since all agents
    /// of one login have that name.
    pub(crate) fn resuming(&self) -> Resuming {
        if self.is_named { Resuming::All } else { Resuming::Nothing }
    }

    /// Returns the teams of the store.
    pub(crate) fn teams(&self) -> Result<&Arc<Teams>, Problem> {
        self.teams.as_ref().ok_or_else(no_place)
    }

    /// Returns what agents are told of their jobs.
    pub(crate) fn notices(&self) -> Result<Arc<dyn Notices>, Problem> {
        self.served.opened.notices.clone().ok_or_else(no_place)
    }

    /// Returns the jobs of this machine.
    pub(crate) fn jobs(&self) -> Jobs {
        Jobs::new(self.served.jobs.clone())
    }

    /// Returns the jobs of this machine and of all others that share the store.
    pub(crate) fn shared_jobs(&self) -> Jobs {
        let is_remote = matches!(self.served.address, Address::Remote(_));
        let shared = self.served.opened.jobs.clone().filter(|_| is_remote);
        shared.into_iter().fold(self.jobs(), Jobs::with_shared)
    }

    /// Returns what we remember on this machine, and how long that is kept.
    pub(crate) fn household(&self) -> Option<Household> {
        let config = &self.served.config;
        let data = self.served.data().cloned();
        data.map(|data| Household { data, keep: config.keep(), max_size: config.max_size() })
    }

    /// Returns the todo list of the actor: in a session of the client that session's, of the agent that was named, else of the session.
    pub(crate) fn todo_list(&self) -> Result<Arc<TodoList>, Problem> {
        let actor = self.yard.actor().as_str();
        let session = self.served.session.as_deref().unwrap_or(actor);
        let agent = self.named_agent().map_or(session, AgentName::as_str);
        let todos = self.served.opened.todos.clone().ok_or_else(no_place)?;
        Ok(TodoLists::new(todos, session).of(agent))
    }

    /// Reads a query. Days are in the zone of this machine, and working days as configured.
    pub(crate) fn query(&self, text: Option<&str>) -> Result<Query, Problem> {
        Ok(self.as_meant(Query::of_arguments(text.as_slice())?))
    }

    /// Reads a query that is searched for, whose words are looked for one by one.
    pub(crate) fn query_of_words(&self, text: &str) -> Result<Query, Problem> {
        Ok(self.as_meant(Query::of_words(&[text])?))
    }

    /// Returns a query with its days in the zone of this machine, and with working days as configured.
    pub(crate) fn as_meant(&self, query: Query) -> Query {
        let query = if query.asks_for_days() { query.in_zone(local_zone().clone()) } else { query };
        if query.asks_for_work() { query.with_working_day(self.served.config.working_day()) } else { query }
    }

    /// Returns the clock by which times in requests are meant.
    pub(crate) fn clock(&self) -> Clock {
        Clock { working_day: self.served.config.working_day(), ..clock_of_machine() }
    }

    /// Returns the names of lists that had to be changed, by the directories they have.
    pub(crate) fn list_names(&self) -> Result<BTreeMap<String, String>, Problem> {
        Ok(self.machine()?.map(|machine| machine.list_names()).transpose()?.unwrap_or_default())
    }

    /// Returns the directories that use the list.
    pub(crate) fn directories(&self) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.served.address.to_string();
        let used = |machine: Machine| machine.directories_of(self.yard.list_id(), Some(&store));
        Ok(self.machine()?.map(used).transpose()?.unwrap_or_default())
    }

    /// Returns the repositories that have the list.
    pub(crate) fn repositories(&self) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.served.address.to_string();
        let having = |machine: Machine| machine.repositories_of(self.yard.list_id(), Some(&store));
        Ok(self.machine()?.map(having).transpose()?.unwrap_or_default())
    }

    /// Reads the machine's database; one that a newer Taskyard wrote as far as it can be understood.
    fn machine(&self) -> Result<Option<Machine>, Problem> {
        let Some(data) = self.served.data() else { return Ok(None) };
        match Machine::read(data) {
            Err(MachineError::Database(DatabaseError::Newer { .. })) => Ok(Machine::glance(data)),
            machine => Ok(machine?),
        }
    }

    /// Takes note of a write that the journal does not tell of: a lease began anew.
    pub(crate) fn note_write(&self) {
        self.written.add(self.yard.list_id());
    }

    /// Takes note that a task was claimed.
    pub(crate) fn note_claim(&self, claimed: &Claimed) {
        self.note_write();
        if !claimed.is_resumed {
            self.claims.borrow_mut().push((claimed.task.id.clone(), claimed.lease.token));
        }
    }

    /// Returns the tasks that were claimed and that the agent did not have before, each with the token of its lease.
    pub(crate) fn claims(&self) -> Vec<(TaskId, Token)> {
        self.claims.borrow().clone()
    }

    /// Returns the revisions that the request made on its list, oldest first.
    pub(crate) fn revisions_made(&self) -> Vec<Revision> {
        self.written.revisions(self.yard.list_id())
    }
}

/// Returns the clock of this machine, in its zone.
pub(crate) fn clock_of_machine() -> Clock {
    Clock::new(now(), local_zone().clone())
}

/// Returns the time by the clock of this machine.
pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

fn local_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system)
}

fn list_named(served: &Served, name: &str, recording: Recording) -> Result<ListId, Problem> {
    match served.data() {
        Some(data) => Ok(Machine::list_named(data, name, recording)?),
        None => Ok(ListId::new(name)?),
    }
}

fn no_place() -> Problem {
    Problem::new(ProblemKind::CouldNot, "no_place", "this store has no place for that")
}

//! The context of one request: the store, and the list and agent that the request names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use taskyard::core::answers::answer_words::NameSource;
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

/// The context that a request asks for.
#[derive(Debug)]
pub(crate) struct Requested {
    /// The list; `None` for the server's default.
    pub(crate) list: Option<ListId>,
    /// The acting agent; `None` for the server's own.
    pub(crate) agent: Option<AgentName>,
    /// Whether a person acts, using a browser.
    pub(crate) is_browser: bool,
    /// Whether to record the directory chosen for the list's name. Read-only requests must not fill the machine's
    /// database with names.
    pub(crate) recording: Recording,
}

impl Default for Requested {
    fn default() -> Self {
        Self { list: None, agent: None, is_browser: false, recording: Recording::Nothing }
    }
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) served: Arc<Served>,
    /// The yard of the requested list, on which operations are called.
    pub(crate) yard: Yard,
    pub(crate) cancel: Cancel,
    /// Where the actor's name comes from.
    pub(crate) source: NameSource,
    /// Whether a person acts, using a browser.
    pub(crate) is_person: bool,
    is_named: bool,
    teams: Option<Arc<Teams>>,
    recording: Recording,
    written: WrittenLists,
    /// The tasks newly claimed by this request.
    claims: RefCell<Vec<(TaskId, Token)>>,
}

impl Call {
    /// Prepares a request, which `cancel` can end.
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

    /// Makes changes conditional on the state of a task.
    pub(crate) fn expecting(self, task: TaskId, is_met: impl Fn(&Task) -> bool + Send + Sync + 'static) -> Self {
        Self { yard: self.yard.expecting(task, is_met), ..self }
    }

    /// Returns a yard whose writes prove a lease by its token, or override the leases of others.
    pub(crate) fn proving(&self, token: Option<u64>, force: bool) -> Yard {
        match (force, token) {
            (true, _) => self.yard.overruling(),
            (false, Some(token)) => self.yard.proving(Token(token)),
            (false, None) => self.yard.clone(),
        }
    }

    /// Resolves the name of a list.
    pub(crate) fn list_named(&self, name: &str) -> Result<ListId, Problem> {
        list_named(&self.served, name, self.recording)
    }

    /// Returns the actor's name if one was given.
    pub(crate) fn named_agent(&self) -> Option<&AgentName> {
        self.is_named.then(|| self.yard.actor())
    }

    /// Returns which of its own tasks the actor gets again when it asks for the next one. None if no name was given,
    /// since all agents of one login share the default name.
    pub(crate) fn resuming(&self) -> Resuming {
        if self.is_named { Resuming::All } else { Resuming::Nothing }
    }

    /// Returns the teams of the store.
    pub(crate) fn teams(&self) -> Result<&Arc<Teams>, Problem> {
        self.teams.as_ref().ok_or_else(no_place)
    }

    /// Returns the notices of the store.
    pub(crate) fn notices(&self) -> Result<Arc<dyn Notices>, Problem> {
        self.served.opened.notices.clone().ok_or_else(no_place)
    }

    pub(crate) fn jobs(&self) -> Jobs {
        Jobs::new(self.served.jobs.clone())
    }

    /// Returns the jobs of all machines that share the store.
    pub(crate) fn shared_jobs(&self) -> Jobs {
        let is_remote = matches!(self.served.address, Address::Remote(_));
        let shared = self.served.opened.jobs.clone().filter(|_| is_remote);
        shared.into_iter().fold(self.jobs(), Jobs::with_shared)
    }

    /// Returns the data kept on this machine, with its retention settings; `None` without a data directory.
    pub(crate) fn household(&self) -> Option<Household> {
        let config = &self.served.config;
        let data = self.served.data().cloned();
        data.map(|data| Household { data, keep: config.keep(), max_size: config.max_size() })
    }

    /// Returns the actor's todo list: that of the client session the server runs in, or that of the named agent.
    pub(crate) fn todo_list(&self) -> Result<Arc<TodoList>, Problem> {
        let actor = self.yard.actor().as_str();
        let session = self.served.session.as_deref().unwrap_or(actor);
        let agent = self.named_agent().map_or(session, AgentName::as_str);
        let todos = self.served.opened.todos.clone().ok_or_else(no_place)?;
        Ok(TodoLists::new(todos, session).of(agent))
    }

    /// Parses a query. Days are in this machine's time zone, and working days as configured.
    pub(crate) fn query(&self, text: Option<&str>) -> Result<Query, Problem> {
        Ok(self.as_meant(Query::of_arguments(text.as_slice())?))
    }

    /// Parses a search text, whose words are matched one by one.
    pub(crate) fn query_of_words(&self, text: &str) -> Result<Query, Problem> {
        Ok(self.as_meant(Query::of_words(&[text])?))
    }

    /// Applies this machine's time zone and the configured working day to a query.
    pub(crate) fn as_meant(&self, query: Query) -> Query {
        let query = if query.asks_for_days() { query.in_zone(local_zone().clone()) } else { query };
        if query.asks_for_work() { query.with_working_day(self.served.config.working_day()) } else { query }
    }

    /// Returns the clock that times in requests refer to.
    pub(crate) fn clock(&self) -> Clock {
        Clock { working_day: self.served.config.working_day(), ..clock_of_machine() }
    }

    /// Returns the original names of lists whose directory has another name, keyed by directory.
    pub(crate) fn list_names(&self) -> Result<BTreeMap<String, String>, Problem> {
        Ok(self.machine()?.map(|machine| machine.list_names()).transpose()?.unwrap_or_default())
    }

    /// Returns the directories that use the list.
    pub(crate) fn directories(&self) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.served.address.to_string();
        let used = |machine: Machine| machine.directories_of(self.yard.list_id(), Some(&store));
        Ok(self.machine()?.map(used).transpose()?.unwrap_or_default())
    }

    /// Returns the repositories that use the list.
    pub(crate) fn repositories(&self) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.served.address.to_string();
        let having = |machine: Machine| machine.repositories_of(self.yard.list_id(), Some(&store));
        Ok(self.machine()?.map(having).transpose()?.unwrap_or_default())
    }

    /// Updates the directories that use a renamed list, and returns their number.
    pub(crate) fn rename_uses(&self, from: &ListId, to: &ListId) -> Result<usize, Problem> {
        let Some(data) = self.served.data() else { return Ok(0) };
        Ok(Machine::open(data)?.rename_uses(from, to, &self.served.address.to_string())?)
    }

    /// Reads the machine's database. One written by a newer Taskyard is read as far as possible.
    fn machine(&self) -> Result<Option<Machine>, Problem> {
        let Some(data) = self.served.data() else { return Ok(None) };
        match Machine::read(data) {
            Err(MachineError::Database(DatabaseError::Newer { .. })) => Ok(Machine::glance(data)),
            machine => Ok(machine?),
        }
    }

    /// Records a write that is not in the journal, such as a new lease.
    pub(crate) fn note_write(&self) {
        self.written.add(self.yard.list_id());
    }

    /// Records that a task was claimed.
    pub(crate) fn note_claim(&self, claimed: &Claimed) {
        self.note_write();
        if !claimed.is_resumed {
            self.claims.borrow_mut().push((claimed.task.id.clone(), claimed.lease.token));
        }
    }

    /// Returns the newly claimed tasks, each with the token of its lease.
    pub(crate) fn claims(&self) -> Vec<(TaskId, Token)> {
        self.claims.borrow().clone()
    }

    /// Returns the revisions that the request created on its list, oldest first.
    pub(crate) fn revisions_made(&self) -> Vec<Revision> {
        self.written.revisions(self.yard.list_id())
    }
}

pub(crate) fn clock_of_machine() -> Clock {
    Clock::new(now(), local_zone().clone())
}

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
    Problem::new(ProblemKind::CouldNot, "no_place", "this store does not support that")
}

//! `Yard`: a list and the actor that works on it. Every operation is a method of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use taskyard_core::rules::leases::leasing::{DEFAULT_LEASE, LeaseState};
use taskyard_core::{AgentName, Event, Holder, Lease, ListId, Moment, Op, Proof, Revision, Rules, Task, TaskId, Token};

use crate::hooks::{HookTurn, Hooks};
use crate::liveness::{ThisMachine, World};
use crate::notices::Notices;
use crate::store::{Store, StoreError};
use crate::system::about_to_block;
use crate::teams::Teams;

/// How long a change waits for other writers of the same list by default.
pub(crate) const DEFAULT_PATIENCE: Duration = Duration::from_secs(12);

/// A store, one of its lists, the rules in force, and the acting agent.
#[derive(Clone, Debug)]
pub struct Yard {
    store: Arc<dyn Store>,
    list: ListId,
    rules: Rules,
    actor: AgentName,
    world: Arc<dyn World>,
    proof: Proof,
    hooks: Option<Arc<Hooks>>,
    teams: Option<Arc<Teams>>,
    notices: Option<Arc<dyn Notices>>,
    /// The lease granted when the actor starts a task; `None` for a person.
    start_lease: Option<StartLease>,
    /// Recorders of the lists written to.
    written: Vec<WrittenLists>,
    limit: Option<usize>,
    patience: Duration,
    /// The turn in which hooks receive the list, if it has already begun.
    turn: Option<Arc<HookTurn>>,
    /// Whether changes overwritten by other programs' stale writes are reapplied automatically.
    puts_back: bool,
    /// The agent whose departure notice lists every released task, so its lease expiry is not announced separately.
    departing: Option<AgentName>,
    /// The precondition of a change.
    expectation: Option<Expectation>,
    /// Whether changes are judged but not applied (dry run).
    rehearses: bool,
    /// The task for which `work` started this process.
    run: Option<Run>,
    before_writing: Option<BeforeWriting>,
}

/// The task for which `work` started a process, and the lease that the process holds on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The list of the task.
    pub list: ListId,
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
}

type Prepares = dyn Fn(&ListId) -> Result<(), StoreError> + Send + Sync;

/// A callback that runs before a list is written to.
#[derive(Clone)]
struct BeforeWriting(Arc<Prepares>);

impl fmt::Debug for BeforeWriting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BeforeWriting")
    }
}

/// The lease that an agent gets when it starts a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartLease {
    /// How long it lives without being renewed; `None` if it does not expire by time.
    pub ttl: Option<Duration>,
    /// The process it is bound to; `None` if it is bound to none.
    pub holder: Option<Holder>,
}

impl Default for StartLease {
    fn default() -> Self {
        Self { ttl: Some(DEFAULT_LEASE), holder: None }
    }
}

/// A condition that a task must meet for a change to be applied.
#[derive(Clone)]
pub(crate) struct Expectation {
    pub(crate) task: TaskId,
    pub(crate) is_met: Arc<dyn Fn(&Task) -> bool + Send + Sync>,
}

impl fmt::Debug for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Expectation").field("task", &self.task).finish_non_exhaustive()
    }
}

impl Yard {
    /// Returns a yard over one list of a store, with strict rules.
    pub fn new(store: Arc<dyn Store>, list: ListId, actor: AgentName) -> Self {
        Self {
            store,
            list,
            rules: Rules::Strict,
            actor,
            world: Arc::new(ThisMachine::default()),
            proof: Proof::Name,
            hooks: None,
            teams: None,
            notices: None,
            start_lease: Some(StartLease::default()),
            written: Vec::new(),
            limit: None,
            patience: DEFAULT_PATIENCE,
            turn: None,
            puts_back: true,
            departing: None,
            expectation: None,
            rehearses: false,
            run: None,
            before_writing: None,
        }
    }

    /// Sets the task for which `work` started this process. Claims return that task, writes to it prove its lease, and
    /// no other task can be claimed or started before it is completed or released.
    #[must_use]
    pub fn in_run(self, run: Option<Run>) -> Self {
        Self { run, ..self }
    }

    /// Returns the task for which `work` started this process; `None` if there is none or it is in another list.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref().filter(|run| run.list.directory() == self.list.directory())
    }

    /// Sets the rules. They must be the ones the store was opened with.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Sets the hooks and checks that judge the creation and completion of tasks. Without them none run.
    #[must_use]
    pub fn with_hooks(self, hooks: Arc<Hooks>) -> Self {
        Self { hooks: Some(hooks), ..self }
    }

    /// Returns a yard that judges and answers changes as usual without applying them (dry run). Its answers have no
    /// revision. Hooks and checks do not run, and teams are not notified.
    #[must_use]
    pub fn rehearsing(self) -> Self {
        Self { rehearses: true, hooks: None, teams: None, ..self }
    }

    /// Sets a callback that runs before each write to a list, with no lock held. If it fails, nothing is written.
    #[must_use]
    pub fn before_writing(self, prepare: impl Fn(&ListId) -> Result<(), StoreError> + Send + Sync + 'static) -> Self {
        Self { before_writing: Some(BeforeWriting(Arc::new(prepare))), ..self }
    }

    /// Runs the callback set by [`Self::before_writing`], except in a dry run.
    pub(crate) fn prepare_to_write(&self, list: &ListId) -> Result<(), StoreError> {
        match &self.before_writing {
            Some(BeforeWriting(prepare)) if !self.rehearses => prepare(list),
            _ => Ok(()),
        }
    }

    /// Sets the teams: the actor may be a member of one, and members are notified of changes that concern them.
    #[must_use]
    pub fn with_teams(self, teams: Arc<Teams>) -> Self {
        Self { teams: Some(teams), ..self }
    }

    /// Sets the notices through which followers of the list learn about its jobs.
    #[must_use]
    pub fn with_notices(self, notices: Arc<dyn Notices>) -> Self {
        Self { notices: Some(notices), ..self }
    }

    /// Adds a recorder of the lists written to; recorders set before remain.
    #[must_use]
    pub fn noting_in(mut self, written: WrittenLists) -> Self {
        self.written.push(written);
        self
    }

    /// Sets the lease that is granted when the actor starts a task. The default is one hour. A person gets no lease
    /// (`None`): a task started by a person is returned only by that person, `release` or `doctor`.
    #[must_use]
    pub fn with_start_lease(self, start_lease: Option<StartLease>) -> Self {
        Self { start_lease, ..self }
    }

    /// Limits how many tasks of its own the acting agent may have in progress when it changes tasks. A claim has a
    /// limit of its own.
    #[must_use]
    pub fn with_limit(self, limit: Option<usize>) -> Self {
        Self { limit, ..self }
    }

    /// Sets how long a change waits for other writers of the same list before it fails with [`StoreError::Busy`]. The
    /// default is 12 s. A program that must answer sooner, such as a user interface, can set a shorter timeout and
    /// retry itself.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Disables the automatic reapplication of changes that other programs' stale writes overwrote. They are still
    /// detected, and left to `doctor`.
    #[must_use]
    pub fn without_putting_back(self) -> Self {
        Self { puts_back: false, ..self }
    }

    /// Sets the world that decides which leases have ended, instead of this machine's processes.
    #[must_use]
    pub fn in_world(self, world: Arc<dyn World>) -> Self {
        Self { world, ..self }
    }

    /// Returns the same yard for another agent.
    #[must_use]
    pub fn acting_as(&self, actor: AgentName) -> Self {
        Self { actor, ..self.clone() }
    }

    /// Returns a yard whose writes prove the lease on a task by its token. They are refused if the token is no longer
    /// valid.
    #[must_use]
    pub fn proving(&self, token: Token) -> Self {
        Self { proof: Proof::Token(token), ..self.clone() }
    }

    /// Returns a yard whose writes override the leases of other agents. For people who know better.
    #[must_use]
    pub fn overruling(&self) -> Self {
        Self { proof: Proof::Force, ..self.clone() }
    }

    /// Returns a yard whose changes are applied only if `is_met` holds for a task. This is checked in the transaction
    /// of each change, so nothing can come between the check and the change. If it does not hold, the change is refused
    /// with the current task. If the task does not exist, the change itself decides. Do not use such a yard for claims:
    /// they check themselves whether a task may be claimed.
    #[must_use]
    pub fn expecting(&self, task: TaskId, is_met: impl Fn(&Task) -> bool + Send + Sync + 'static) -> Self {
        Self { expectation: Some(Expectation { task, is_met: Arc::new(is_met) }), ..self.clone() }
    }

    pub(crate) fn expectation(&self) -> Option<&Expectation> {
        self.expectation.as_ref()
    }

    /// Returns a yard for releasing all tasks of an agent. Leases of that agent that expire in the meantime are not
    /// announced one by one.
    pub(crate) fn seeing_off(&self, agent: &AgentName) -> Self {
        Self { departing: Some(agent.clone()), ..self.clone() }
    }

    /// Returns a yard whose hooks receive the list in a turn that has already begun.
    pub(crate) fn in_turn(&self, turn: Option<Arc<HookTurn>>) -> Self {
        Self { turn, ..self.clone() }
    }

    /// Returns the turn in which hooks receive the list, if it has already begun.
    pub(crate) fn turn(&self) -> Option<&Arc<HookTurn>> {
        self.turn.as_ref()
    }

    /// Returns the same yard over another list.
    #[must_use]
    pub fn on(&self, list: ListId) -> Self {
        Self { list, ..self.clone() }
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn Store {
        about_to_block("asking a store");
        &*self.store
    }

    /// Returns the list that every operation works on.
    pub fn list_id(&self) -> &ListId {
        &self.list
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the acting agent.
    pub fn actor(&self) -> &AgentName {
        &self.actor
    }

    /// Returns the hooks, or `None` if none are set.
    pub fn hooks(&self) -> Option<&Hooks> {
        self.hooks.as_deref()
    }

    /// Returns the teams, or `None` if none are set.
    pub fn teams(&self) -> Option<&Arc<Teams>> {
        about_to_block("asking teams");
        self.teams.as_ref()
    }

    pub(crate) fn notices(&self) -> Option<&Arc<dyn Notices>> {
        self.notices.as_ref()
    }

    /// Returns the store, for a caller that keeps it.
    pub(crate) fn shared_store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Returns the world that decides which leases have ended.
    pub fn world(&self) -> &dyn World {
        &*self.world
    }

    /// Returns the current time by the store's clock.
    pub(crate) fn now(&self) -> Result<Moment, StoreError> {
        self.store.now()
    }

    /// Judges a lease at the current time.
    pub fn judge(&self, lease: &Lease) -> Result<LeaseState, StoreError> {
        Ok(self.world.judge_at(lease, &self.now()?))
    }

    /// Returns whether changes overwritten by other programs' stale writes are reapplied automatically. Never with
    /// client rules: they do nothing that the client would not do.
    pub(crate) fn puts_back(&self) -> bool {
        self.puts_back && !self.rules.is_client()
    }

    /// Returns the limit set by [`Self::with_limit`].
    pub(crate) fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns the lease granted when the actor starts a task; `None` for a person.
    pub(crate) fn start_lease(&self) -> Option<&StartLease> {
        self.start_lease.as_ref()
    }

    /// Returns the proof that the writes of this yard present against leases.
    pub(crate) fn proof(&self) -> Proof {
        self.proof
    }

    /// Returns the proof that a write to a task presents against its lease: in a run the token of the run's task,
    /// unless the caller set another proof. Once that task is completed, there is no lease left to prove.
    pub(crate) fn proof_on(&self, task: &Task) -> Proof {
        let is_of_run = |run: &&Run| run.task == task.id && task.status.is_open() && !self.rules.is_client();
        match self.run().filter(is_of_run) {
            Some(run) if self.proof == Proof::Name => Proof::Token(run.token),
            _ => self.proof,
        }
    }

    pub(crate) const fn rehearses(&self) -> bool {
        self.rehearses
    }

    /// Returns the agent whose departure notice lists every released task.
    pub(crate) fn departing(&self) -> Option<&AgentName> {
        self.departing.as_ref()
    }

    /// Records the list that was written to.
    pub(crate) fn note_commit(&self, commit: &Event) {
        self.written.iter().for_each(|written| written.note(commit));
    }
}

/// The lists written to through a yard and the yards derived from it, in the order of the first write. Lease expiry
/// does not count, since no agent causes it.
#[derive(Clone, Debug, Default)]
pub struct WrittenLists(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    lists: Vec<ListId>,
    /// The committed revisions, if they are kept.
    revisions: Option<Vec<(ListId, Revision)>>,
}

impl WrittenLists {
    /// Also keeps the number of each revision. Use it for a single call only, since their number is unbounded.
    pub fn with_revisions() -> Self {
        Self(Arc::new(Mutex::new(Written { lists: Vec::new(), revisions: Some(Vec::new()) })))
    }

    /// Adds a list.
    pub fn add(&self, list: &ListId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(list);
    }

    /// Returns all recorded lists.
    pub fn all(&self) -> Vec<ListId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lists.clone()
    }

    /// Returns the revisions of a list that the caller committed, oldest first, or nothing if revisions are not kept.
    /// Changes that were reapplied automatically are not included.
    pub fn revisions(&self, list: &ListId) -> Vec<Revision> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let revisions = written.revisions.iter().flatten().filter(|(written, _)| written == list);
        revisions.map(|(_, revision)| *revision).collect()
    }

    /// Forgets all recorded lists and revisions.
    pub fn clear(&self) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.lists.clear();
        written.revisions.iter_mut().for_each(Vec::clear);
    }

    pub(crate) fn note(&self, commit: &Event) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = |op: Op| op != Op::Expire && op != Op::PutBack;
        if commit.entries.iter().any(|entry| entry.op != Op::Expire) {
            written.add(&commit.list);
        }
        if let Some(revisions) =
            written.revisions.as_mut().filter(|_| commit.entries.iter().any(|entry| is_own(entry.op)))
        {
            revisions.push((commit.list.clone(), commit.revision));
        }
    }
}

impl Written {
    fn add(&mut self, list: &ListId) {
        if !self.lists.contains(list) {
            self.lists.push(list.clone());
        }
    }
}

//! The thing every operation is called on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::rules::leases::leasing::{DEFAULT_LEASE, LeaseState};
use taskyard_core::{AgentName, Event, Holder, Lease, ListId, Moment, Proof, Rules, Task, TaskId, Token};

use crate::WrittenLists;
use crate::blocking::about_to_block;
use crate::hooks::{HookTurn, Hooks};
use crate::liveness::{ThisMachine, World};
use crate::notices::Notices;
use crate::store::{Store, StoreError};
use crate::teams::Teams;

/// How long a change waits for other writers at the same list where nothing else is said.
pub(crate) const DEFAULT_PATIENCE: Duration = Duration::from_secs(12);

/// A store, one of its lists, the rules in force, and who acts.
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
    /// The lease that comes with a task which the actor starts; `None` for a person.
    start_lease: Option<StartLease>,
    /// Where it is noted which lists are written to.
    written: Vec<WrittenLists>,
    limit: Option<usize>,
    patience: Duration,
    /// The turn in which hooks are handed the list, where it has begun already.
    turn: Option<Arc<HookTurn>>,
    /// Whether what stale writes of other programs took back is put back without asking.
    puts_back: bool,
    /// Whose departure is told with all that came back, so that the end of its leases is not told before.
    departing: Option<AgentName>,
    /// How a task has to be for a change to be made.
    expectation: Option<Expectation>,
    /// Whether changes are judged and not made.
    rehearses: bool,
    /// What `work` started this process for.
    run: Option<Run>,
    before_writing: Option<BeforeWriting>,
}

/// What `work` started a process for: one task, and the lease that it holds on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The list of the task.
    pub list: ListId,
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
}

/// Prepares the writing to a list.
type Prepares = dyn Fn(&ListId) -> Result<(), StoreError> + Send + Sync;

/// What is done before a list is written to.
#[derive(Clone)]
struct BeforeWriting(Arc<Prepares>);

impl fmt::Debug for BeforeWriting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BeforeWriting")
    }
}

/// The lease that an agent gets with a task which it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartLease {
    /// How long it lives without a sign of life; `None` if time does not end it.
    pub ttl: Option<Duration>,
    /// What it lives with.
    pub holder: Option<Holder>,
}

impl Default for StartLease {
    fn default() -> Self {
        Self { ttl: Some(DEFAULT_LEASE), holder: None }
    }
}

/// How a task has to be for a change to be made.
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
    /// Returns a yard over one list of a store, in strict rules.
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

    /// Says what `work` started this process for. Claims are answered with that task, writes to it prove its lease, and no other task is claimed
    /// or started before it is completed or released.
    #[must_use]
    pub fn in_run(self, run: Option<Run>) -> Self {
        Self { run, ..self }
    }

    /// Returns what `work` started this process for; `None` if that is a task of another list.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref().filter(|run| run.list.directory() == self.list.directory())
    }

    /// Puts other rules in force. They must be the ones the store was opened with.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Has hooks and checks asked before tasks are made and completed. Without this none is asked.
    #[must_use]
    pub fn with_hooks(self, hooks: Arc<Hooks>) -> Self {
        Self { hooks: Some(hooks), ..self }
    }

    /// Returns a yard whose changes of the list are judged and answered as ever, and not made: the answers carry no revision. Hooks, checks and
    /// teams are neither asked nor told.
    #[must_use]
    pub fn rehearsing(self) -> Self {
        Self { rehearses: true, hooks: None, teams: None, ..self }
    }

    /// Has something done before a list is written to, each time, with no lock held. If it fails, nothing is written.
    #[must_use]
    pub fn before_writing(self, prepare: impl Fn(&ListId) -> Result<(), StoreError> + Send + Sync + 'static) -> Self {
        Self { before_writing: Some(BeforeWriting(Arc::new(prepare))), ..self }
    }

    /// Does what has to be done before a list is written to.
    pub(crate) fn prepare_to_write(&self, list: &ListId) -> Result<(), StoreError> {
        match &self.before_writing {
            Some(BeforeWriting(prepare)) if !self.rehearses => prepare(list),
            _ => Ok(()),
        }
    }

    /// Has teams count: who acts may be a member of one, and its members are told of what concerns them.
    #[must_use]
    pub fn with_teams(self, teams: Arc<Teams>) -> Self {
        Self { teams: Some(teams), ..self }
    }

    /// Has followers of the list told of its jobs.
    #[must_use]
    pub fn with_notices(self, notices: Arc<dyn Notices>) -> Self {
        Self { notices: Some(notices), ..self }
    }

    /// Has it noted which lists are written to, here and wherever it was noted before.
    #[must_use]
    pub fn noting_in(mut self, written: WrittenLists) -> Self {
        self.written.push(written);
        self
    }

    /// Sets the lease that comes with a task which the actor starts: one of an hour if nothing is said. A person gets none: only the person,
    /// `release` or `doctor` returns what a person has started.
    #[must_use]
    pub fn with_start_lease(self, start_lease: Option<StartLease>) -> Self {
        Self { start_lease, ..self }
    }

    /// Limits how many tasks of its own the acting agent may have in progress when it changes tasks. A claim says so
    /// for itself.
    #[must_use]
    pub fn with_limit(self, limit: Option<usize>) -> Self {
        Self { limit, ..self }
    }

    /// Sets how long a change waits for other writers at the same list before it fails with [`StoreError::Busy`]: 12 s where nothing is
    /// said. A program that must answer sooner, an interface say, waits less and tries again when it pleases.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Leaves what stale writes of other programs took back to `doctor`: it is noticed, and not put back without asking.
    #[must_use]
    pub fn without_putting_back(self) -> Self {
        Self { puts_back: false, ..self }
    }

    /// Lets another world than this machine's processes decide which leases have ended.
    #[must_use]
    pub fn in_world(self, world: Arc<dyn World>) -> Self {
        Self { world, ..self }
    }

    /// Returns the same yard for another agent.
    #[must_use]
    pub fn acting_as(&self, actor: AgentName) -> Self {
        Self { actor, ..self.clone() }
    }

    /// Returns a yard whose writes prove the lease on a task by its token. Where it no longer counts, they are refused.
    #[must_use]
    pub fn proving(&self, token: Token) -> Self {
        Self { proof: Proof::Token(token), ..self.clone() }
    }

    /// Returns a yard whose writes overrule the leases of other agents, for people who know better.
    #[must_use]
    pub fn overruling(&self) -> Self {
        Self { proof: Proof::Force, ..self.clone() }
    }

    /// Returns a yard whose changes are made only if a task is as the caller expects it. That is judged in the transaction of each change, so
    /// nothing comes between the judgement and the change; if it does not hold, the change is refused with the task as it is now. A task that is
    /// not there is left to the change itself. Claims are not for such a yard: they judge themselves whether a task may be taken.
    #[must_use]
    pub fn expecting(&self, task: TaskId, is_met: impl Fn(&Task) -> bool + Send + Sync + 'static) -> Self {
        Self { expectation: Some(Expectation { task, is_met: Arc::new(is_met) }), ..self.clone() }
    }

    /// Returns how a task has to be for a change to be made.
    pub(crate) fn expectation(&self) -> Option<&Expectation> {
        self.expectation.as_ref()
    }

    /// Returns a yard for giving back all that an agent has: the leases of that agent that end meanwhile are not told of one by one.
    pub(crate) fn seeing_off(&self, agent: &AgentName) -> Self {
        Self { departing: Some(agent.clone()), ..self.clone() }
    }

    /// Returns a yard whose hooks are handed the list in a turn that has begun already.
    pub(crate) fn in_turn(&self, turn: Option<Arc<HookTurn>>) -> Self {
        Self { turn, ..self.clone() }
    }

    /// Returns the turn in which hooks are handed the list, where it has begun already.
    pub(crate) fn turn(&self) -> Option<&Arc<HookTurn>> {
        self.turn.as_ref()
    }

    /// Returns the same yard over another list.
    #[must_use]
    pub fn on(&self, list: ListId) -> Self {
        Self { list, ..self.clone() }
    }

    /// Returns how long a change waits for other writers.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn Store {
        about_to_block("asking a store");
        &*self.store
    }

    /// Returns the list every operation works on.
    pub fn list_id(&self) -> &ListId {
        &self.list
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns who acts.
    pub fn actor(&self) -> &AgentName {
        &self.actor
    }

    /// Returns the hooks that are asked.
    pub fn hooks(&self) -> Option<&Hooks> {
        self.hooks.as_deref()
    }

    /// Returns the teams that count.
    pub fn teams(&self) -> Option<&Arc<Teams>> {
        about_to_block("asking teams");
        self.teams.as_ref()
    }

    /// Returns what agents are told of their jobs.
    pub(crate) fn notices(&self) -> Option<&Arc<dyn Notices>> {
        self.notices.as_ref()
    }

    /// Returns the store, for a caller that keeps it.
    pub(crate) fn shared_store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Returns what decides which leases have ended.
    pub fn world(&self) -> &dyn World {
        &*self.world
    }

    /// Returns the moment it is, by the clock of the store.
    pub(crate) fn now(&self) -> Result<Moment, StoreError> {
        self.store.now()
    }

    /// Judges a lease at this moment.
    pub fn judge(&self, lease: &Lease) -> Result<LeaseState, StoreError> {
        Ok(self.world.judge_at(lease, &self.now()?))
    }

    /// Tells whether what stale writes of other programs took back is put back without asking. In the client's rules nothing happens that
    /// the client would not do.
    pub(crate) fn puts_back(&self) -> bool {
        self.puts_back && !self.rules.is_client()
    }

    /// Returns how many tasks of its own the acting agent may have in progress, where that is limited.
    pub(crate) fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns the lease that comes with a task which the actor starts; `None` for a person.
    pub(crate) fn start_lease(&self) -> Option<&StartLease> {
        self.start_lease.as_ref()
    }

    /// Returns what the writes of this yard bring against leases.
    pub(crate) fn proof(&self) -> Proof {
        self.proof
    }

    /// Returns what a write to a task brings against its lease: in a run the token of the run's task, unless the caller says otherwise. Once that
    /// task is completed, no lease is left to prove.
    pub(crate) fn proof_on(&self, task: &Task) -> Proof {
        let is_of_run = |run: &&Run| run.task == task.id && task.status.is_open() && !self.rules.is_client();
        match self.run().filter(is_of_run) {
            Some(run) if self.proof == Proof::Name => Proof::Token(run.token),
            _ => self.proof,
        }
    }

    /// Tells whether changes are judged and not made.
    pub(crate) const fn rehearses(&self) -> bool {
        self.rehearses
    }

    /// Returns whose departure is told with all that came back.
    pub(crate) fn departing(&self) -> Option<&AgentName> {
        self.departing.as_ref()
    }

    /// Notes which list was written to.
    pub(crate) fn note_commit(&self, commit: &Event) {
        self.written.iter().for_each(|written| written.note(commit));
    }
}

//! The tools of one agent, and the state they share.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;
use taskyard::core::rules::hooks::System;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::catalogue::Surface;
use taskyard::core::tools::{Answer, InputError, Scope, Surroundings, ToolNames, catalogue, task_list, todo_write};
use taskyard::core::{AgentName, Lease, Rules, TaskId};
use taskyard::notices::Notices;
use taskyard::opening::Address;
use taskyard::operations::{Claim, Filter};
use taskyard::process::{Cancel, Workplace, wait_aside};
use taskyard::store::Sighting;
use taskyard::teams::TeamError;
use taskyard::todos::{TodoList, TodoLists};
use taskyard::{Error, StartLease, StoreError, Yard};
use taskyard_jobs::Jobs;

use crate::calls::transcripts::SharedCall;

/// The tools of one agent: the yard it acts in, its claim terms and its todo list.
#[derive(Clone, Debug)]
pub struct Toolbox {
    pub(super) yard: Yard,
    pub(super) claim: Claim,
    pub(super) system: System,
    pub(super) todos: Arc<TodoList>,
    pub(super) desk: Option<JobDesk>,
    pub(super) last_listing: Arc<LastListing>,
    pub(super) claimed_for: Arc<ClaimedFor>,
    pub(super) rights: Rights,
    pub(super) zone: TimeZone,
    /// Cancelled when the caller no longer waits.
    pub(super) cancel: Cancel,
    /// The call, if several agents share its connection.
    pub(super) shared: Option<SharedCall>,
}

/// The permissions of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The scope of its token. Tools that need a wider scope are refused.
    pub scope: Scope,
    /// Whether the caller has proved that it is the agent it acts as. A caller with the scope to work may stop only
    /// that agent's jobs.
    pub is_proved: bool,
}

impl Rights {
    /// The permissions of the user who runs the program.
    pub const ALL: Self = Self { scope: Scope::All, is_proved: true };
}

impl Toolbox {
    /// Returns the tools of the agent that the yard acts as. The todo list lives as long as the toolbox.
    pub fn new(yard: Yard, system: System) -> Self {
        Self {
            yard,
            claim: Claim::default(),
            system,
            todos: TodoLists::in_memory().of(""),
            desk: None,
            last_listing: Arc::default(),
            claimed_for: Arc::default(),
            rights: Rights::ALL,
            zone: TimeZone::UTC,
            cancel: Cancel::new(),
            shared: None,
        }
    }

    /// Sets the terms of claims: leases, roles and limits. A task that the agent starts gets the same lease.
    #[must_use]
    pub fn claiming(self, claim: Claim) -> Self {
        let start_lease = StartLease { ttl: claim.ttl, holder: claim.holder.clone() };
        Self { yard: self.yard.with_start_lease(Some(start_lease)), claim, ..self }
    }

    /// Uses this todo list.
    #[must_use]
    pub fn with_todos(self, todos: Arc<TodoList>) -> Self {
        Self { todos, ..self }
    }

    /// Interprets dates and times in this zone instead of UTC.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// Enables the tools for jobs.
    #[must_use]
    pub fn with_jobs(self, desk: JobDesk) -> Self {
        Self { desk: Some(desk), ..self }
    }

    /// Returns what determines the available tools.
    fn surface(&self) -> Surface {
        let runs_commands = self.desk.as_ref().is_some_and(|desk| desk.runs_commands);
        Surface { system: self.system, rules: self.yard.rules(), runs_commands }
    }

    /// Caches the last answer to `TaskList` here, for later calls.
    #[must_use]
    pub(crate) fn with_last_listing(self, last_listing: Arc<LastListing>) -> Self {
        Self { last_listing, ..self }
    }

    /// Records here for whom tasks were claimed, for later calls.
    #[must_use]
    pub(crate) fn with_claimed_for(self, claimed_for: Arc<ClaimedFor>) -> Self {
        Self { claimed_for, ..self }
    }

    /// Limits what the caller may do.
    #[must_use]
    pub fn within(self, rights: Rights) -> Self {
        Self { rights, ..self }
    }

    /// Releases a claim that is won after the caller has stopped waiting.
    #[must_use]
    pub fn until(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Calls a tool by name. Invalid input and missing permissions yield an answer; an error means that the outcome
    /// could not be determined, and can be turned into an answer with [`super::failed`].
    pub fn call(&self, name: &str, input: &Value) -> Result<Answer, Error> {
        let Some(tool) = catalogue::find_in(self.surface(), name) else {
            return Ok(catalogue::not_available(name));
        };
        if self.rights.scope < tool.scope {
            return Ok(catalogue::out_of_scope(name, tool.scope));
        }
        self.show_life(name);
        let answer = match tool.name {
            name if !tool.system.is_the_clients() => self.call_in_dialect(name, input),
            "TaskCreate" => self.create(input),
            "TaskGet" => self.get(input),
            "TaskUpdate" => self.update(input),
            "TaskList" => self.list(input),
            "TaskClaim" => self.take(input),
            "TaskRelease" => self.release(input),
            "TodoWrite" => self.write_todos(input),
            "TeamCreate" => self.create_team(input),
            "TeamDelete" => self.delete_team(input),
            "SendMessage" => self.send_message(input),
            "InboxRead" => self.read_inbox(input),
            "ListAgents" => self.list_agents(input),
            "TaskRun" => self.run_job(input),
            "TaskOutput" => self.job_output(input),
            "TaskStop" => self.stop_job(input),
            _ => Ok(catalogue::not_available(name)),
        };
        answer.or_else(|no_answer| match no_answer {
            NoAnswer::Input(error) => Ok(error.into()),
            NoAnswer::Answer(answer) => Ok(answer),
            NoAnswer::Failed(error) => Err(error),
        })
    }

    /// Records that the caller is alive, and its activity, for its team. Does nothing under the client's rules, which
    /// have no such record, and for callers that may only read.
    fn show_life(&self, tool: &str) {
        let is_shown = self.rights.scope >= Scope::Work && !self.yard.rules().is_client();
        let Some(teams) = self.yard.teams().filter(|_| is_shown) else { return };
        let shown = teams.only_seat(self.yard.actor()).and_then(|seat| match seat {
            Some(seat) => teams.show_life(&seat, tool),
            None => Ok(()),
        });
        if let Err(error) = shown {
            tracing::warn!(%error, "what an agent does is not shown to its team");
        }
    }

    fn write_todos(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let given = todo_write::read(input, self.yard.rules())?;
        let replaced = self.todos.replace(&given).map_err(Error::from)?;
        Ok(todo_write::replaced(&replaced.before, &given))
    }

    /// Reads the list and builds the explanation of a refusal from it.
    pub(super) fn explained(&self, explain: impl FnOnce(&Surroundings<'_>) -> Answer) -> Result<Answer, NoAnswer> {
        let tasks = self.yard.list(&Filter { internal: true, ..Filter::default() })?.tasks;
        Ok(explain(&Surroundings {
            tasks: &tasks,
            agent: self.yard.actor(),
            roles: &self.claim.roles,
            now: self.yard.store().now().map_err(Error::from)?.wall,
            rules: self.yard.rules(),
            names: ToolNames::of(self.system),
        }))
    }
}

/// Why a call ended before its tool returned.
pub(super) enum NoAnswer {
    /// The input was invalid.
    Input(InputError),
    /// The call ended early with this answer.
    Answer(Answer),
    /// The call failed.
    Failed(Error),
}

impl From<InputError> for NoAnswer {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<TeamError> for NoAnswer {
    fn from(error: TeamError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Returns the answer to a call that failed.
pub fn failed(error: &Error, rules: Rules) -> Answer {
    let is_locked = matches!(error, Error::Store(StoreError::Busy { .. } | StoreError::NoLock { .. }));
    if is_locked && rules.is_client() {
        // The client's own wording, which its models know.
        return Answer::error("Lock file is already being held");
    }
    if matches!(error, Error::Store(StoreError::Unfinished { .. })) {
        return Answer::error(format!("Not an error of the call: {error}. {}", advice(error)));
    }
    Answer::error(format!("Error: {error}. {}", advice(error)))
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::Store(StoreError::Busy { .. } | StoreError::Conflict { .. }) | Error::TooManyConflicts { .. } => {
            "Nothing was changed: call again."
        }
        Error::Store(StoreError::Unavailable { .. }) => {
            "The change may or may not have been made: check before you call again."
        }
        Error::Store(StoreError::Unfinished { .. }) => "Do not repeat the call: the change is not lost.",
        Error::Store(StoreError::TooLarge { .. }) => {
            "Nothing was changed: keep long texts in a file, and refer to the file in the task."
        }
        Error::Store(StoreError::JournalDamaged { .. }) => {
            "Nothing was changed, and the tasks are not lost: tell the user to run `taskyard doctor --fix`."
        }
        error if error.newer_database().is_some() => {
            "Nothing was changed: tell the user that this server is older than the taskyard that wrote here, and has to be \
             upgraded and restarted."
        }
        Error::Store(StoreError::Moved { has_left: false, .. }) => "Nothing was changed: call again in a moment.",
        Error::Store(StoreError::Moved { has_left: true, .. }) => {
            "Nothing was changed: tell the user that this server has to be restarted with the other store."
        }
        Error::Cancelled => "Call again if it is still wanted.",
        _ => "Repeating the call will not help: tell the user.",
    }
}

/// What the job tools need for one call.
#[derive(Clone, Debug)]
pub struct JobDesk {
    /// The jobs of this machine.
    pub jobs: Jobs,
    /// The notices about jobs.
    pub notices: Arc<dyn Notices>,
    /// Whether the agent may run commands.
    pub runs_commands: bool,
    /// The maximum number of characters of output shown at once, in UTF-16 code units as JavaScript counts.
    pub longest_output: usize,
    /// The working directory of commands.
    pub directory: PathBuf,
    /// The address of the list's store.
    pub store: Address,
    /// The client's session, if known.
    pub session: Option<String>,
    /// The id of the call, if the client gave it one.
    pub tool_use: Option<String>,
    /// Cancels waiting when the call is no longer wanted.
    pub cancel: Cancel,
    /// The worker seat of the call, which it gives up while it waits.
    pub workplace: Option<Arc<dyn Workplace>>,
}

impl JobDesk {
    /// Waits for a job; the worker seat is free for other calls in the meantime.
    pub(super) fn aside<T>(&self, wait: impl FnOnce(&Jobs) -> T) -> T {
        wait_aside(self.workplace.as_ref(), || wait(&self.jobs))
    }
}

/// The last answer to `TaskList` on one list, under one set of rules.
#[derive(Debug, Default)]
pub struct LastListing {
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    sighting: Sighting,
    /// Reading the list also renews the leases of the reader, so the answer expires early enough for that.
    until: Option<Instant>,
    answer: Arc<Answer>,
}

impl LastListing {
    /// Returns the cached answer if it is still valid for this call. Does not block.
    pub fn again(&self, yard: &Yard, tool: &str, input: &Value) -> Option<Arc<Answer>> {
        let asks_for_all = tool == task_list::TOOL.name && input.as_object().is_some_and(serde_json::Map::is_empty);
        let sighting = sighting(yard).filter(|_| asks_for_all)?;
        let kept = self.kept.try_lock().ok()?;
        let counts = |kept: &&Kept| kept.sighting == sighting && kept.until.is_none_or(|until| Instant::now() < until);
        kept.as_ref().filter(counts).map(|kept| Arc::clone(&kept.answer))
    }

    /// Makes an answer, and caches it if nothing changed in the meantime. `make` also returns the current leases.
    pub(super) fn keep<E>(
        &self,
        yard: &Yard,
        make: impl FnOnce() -> Result<(Answer, Vec<(Lease, LeaseState)>), E>,
    ) -> Result<Answer, E> {
        let now = Instant::now();
        let before = sighting(yard);
        let (answer, leases) = make()?;
        // A lease whose process is gone or not visible ends without a change that could be detected.
        let is_steady = leases.iter().all(|(_, state)| *state == LeaseState::Live);
        let kept = before.filter(|before| is_steady && sighting(yard) == Some(*before)).map(|sighting| {
            let until = leases.iter().filter_map(|(lease, _)| lease.ttl).min().map(|shortest| now + shortest / 4);
            Kept { sighting, until, answer: Arc::new(answer.clone()) }
        });
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(answer)
    }
}

/// Returns a token that changes with the yard's list, if its store supports that.
fn sighting(yard: &Yard) -> Option<Sighting> {
    yard.store().care()?.sighting(yard.list_id())
}

/// The maximum number of remembered claims; the oldest are dropped first.
const CLAIMS: usize = 4_096;

/// Records who claimed which task for whom, while the server runs.
#[derive(Debug, Default)]
pub struct ClaimedFor {
    claims: Mutex<Claims>,
}

#[derive(Debug, Default)]
struct Claims {
    owners: HashMap<(AgentName, TaskId), AgentName>,
    order: VecDeque<(AgentName, TaskId)>,
}

impl ClaimedFor {
    /// Records that an agent claimed a task for an owner.
    pub(super) fn remember(&self, agent: &AgentName, task: &TaskId, owner: &AgentName) {
        let mut claims = self.claims();
        let claim = (agent.clone(), task.clone());
        if claims.owners.insert(claim.clone(), owner.clone()).is_none() {
            claims.order.push_back(claim);
        }
        if claims.order.len() > CLAIMS
            && let Some(oldest) = claims.order.pop_front()
        {
            claims.owners.remove(&oldest);
        }
    }

    /// Returns for whom an agent claimed a task, if it did.
    pub(super) fn owner(&self, agent: &AgentName, task: &TaskId) -> Option<AgentName> {
        self.claims().owners.get(&(agent.clone(), task.clone())).cloned()
    }

    /// Drops the record of a task that is done.
    pub(super) fn forget(&self, agent: &AgentName, task: &TaskId) {
        let (mut claims, claim) = (self.claims(), (agent.clone(), task.clone()));
        if claims.owners.remove(&claim).is_some() {
            claims.order.retain(|known| *known != claim);
        }
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use taskyard::core::{ClientVersion, Rules, TaskId};

    use super::failed;
    use taskyard::store::Occupant;
    use taskyard::{Error, StoreError};

    #[test]
    fn held_lock_error_uses_client_words_only_in_client_rules() {
        let waited = Duration::from_secs(12);
        let error =
            Error::Store(StoreError::Busy { by: Occupant::LockHolder { lock: "L/.lock".into(), age: waited }, waited });
        let client = failed(&error, Rules::Client(ClientVersion::V2_1_34));
        assert_eq!((client.text.as_str(), client.is_error), ("Lock file is already being held", true));
        let ours = failed(&error, Rules::Strict).text;
        assert!(ours.starts_with("Error: lock `L/.lock` is held by another process") && ours.ends_with("call again."));
    }

    #[test]
    fn every_other_failure_is_an_error_that_says_what_to_do() {
        let error = Error::TooManyConflicts { task: TaskId::number(7), attempts: 16 };
        for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_325)] {
            let answer = failed(&error, rules);
            assert!(answer.is_error && answer.text.ends_with("Nothing was changed: call again."), "{}", answer.text);
        }
    }
}

//! The tools of one agent.

use std::sync::Arc;

use serde_json::Value;
use taskyard::core::rules::hooks::gate::System;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::catalogue::{self, Surface};
use taskyard::core::tools::{Answer, InputError, Scope, Surroundings, ToolNames, todo_write};

use super::shared_call::SharedCall;
use super::{ClaimedFor, JobDesk, LastListing};
use taskyard::operations::{Claim, Filter};
use taskyard::process::Cancel;
use taskyard::teams::TeamError;
use taskyard::todos::{TodoList, TodoLists};
use taskyard::{Error, StartLease, Yard};

/// The tools of one agent: a yard it acts in, how its claims are made, and its todo list.
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
    /// Says that the caller no longer waits.
    pub(super) cancel: Cancel,
    /// The call, where several agents share the connection it came over.
    pub(super) shared: Option<SharedCall>,
}

/// What the caller of the tools may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The scope of its token. Tools that need a wider one refuse.
    pub scope: Scope,
    /// Whether the caller has proved that it is the agent it acts as. A caller that may only work stops jobs of that agent and no others.
    pub is_proved: bool,
}

impl Rights {
    /// Those of the user who runs the program.
    pub const ALL: Self = Self { scope: Scope::All, is_proved: true };
}

impl Toolbox {
    /// Returns the tools of the agent a yard acts as. Its todo list lives as long as this.
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

    /// Makes claims in another way: with other leases, roles or limits. A task that the agent starts comes with the same lease.
    #[must_use]
    pub fn claiming(self, claim: Claim) -> Self {
        let start_lease = StartLease { ttl: claim.ttl, holder: claim.holder.clone() };
        Self { yard: self.yard.with_start_lease(Some(start_lease)), claim, ..self }
    }

    /// Keeps the todo list elsewhere.
    #[must_use]
    pub fn with_todos(self, todos: Arc<TodoList>) -> Self {
        Self { todos, ..self }
    }

    /// Reads days and times of day in this zone rather than in UTC.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// Lets the tools work on jobs. Without this there are none.
    #[must_use]
    pub fn with_jobs(self, desk: JobDesk) -> Self {
        Self { desk: Some(desk), ..self }
    }

    /// Returns what decides which tools there are.
    fn surface(&self) -> Surface {
        let runs_commands = self.desk.as_ref().is_some_and(|desk| desk.runs_commands);
        Surface { system: self.system, rules: self.yard.rules(), runs_commands }
    }

    /// Keeps the last answer to `TaskList` elsewhere, for later calls.
    #[must_use]
    pub fn with_last_listing(self, last_listing: Arc<LastListing>) -> Self {
        Self { last_listing, ..self }
    }

    /// Remembers elsewhere for whom tasks were claimed, for later calls.
    #[must_use]
    pub fn with_claimed_for(self, claimed_for: Arc<ClaimedFor>) -> Self {
        Self { claimed_for, ..self }
    }

    /// Limits what the caller may do.
    #[must_use]
    pub fn within(self, rights: Rights) -> Self {
        Self { rights, ..self }
    }

    /// Keeps no claim for a caller that no longer waits when it is won.
    #[must_use]
    pub fn until(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Calls a tool by its name. What the model did wrong or may not do is an answer; an error means we could not find out, and
    /// [`super::failed`] makes an answer of that, too.
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

    /// Lets the caller's team see that it lives, and what it does. The client's rules have nothing of that, and a caller that may only look
    /// changes nothing.
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

    /// Looks at the list and explains with it why something was refused.
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

/// Why a call ended before the tool had an answer.
pub(super) enum NoAnswer {
    /// The input was wrong.
    Input(InputError),
    /// There is an answer after all.
    Answer(Answer),
    /// We could not find out.
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

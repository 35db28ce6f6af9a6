//! The outcome of an operation that rules may refuse, and the reasons for which they refuse it.

use std::path::PathBuf;

use crate::dialect::native::Unreadable;
use crate::rules::history::vanishing::{Absence, Gone};
use crate::rules::hooks::HookEvent;
use crate::rules::teams::mailing::Unreachable;
use crate::rules::teams::membership::BadMemberName;
use crate::{AgentName, Assignee, Revision, SignedRevision, Task, TaskId, Timestamp, Token};

/// Done, or refused with the reason. After a refusal nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The operation was carried out.
    Done(T),
    /// A rule refused it.
    Refused(Refusal),
}

impl<T> Outcome<T> {
    /// Returns a refusal.
    pub fn refused(refusal: impl Into<Refusal>) -> Self {
        Self::Refused(refusal.into())
    }

    /// Converts the value of `Done`; a refusal is returned unchanged.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Done(done) => Outcome::Done(change(done)),
            Self::Refused(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Returns the refusal, or `None` if the operation was carried out.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Done(_) => None,
            Self::Refused(refusal) => Some(refusal),
        }
    }

    /// Returns the value, or the refusal as an error.
    pub fn done(self) -> Result<T, Refusal> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl<T> From<Result<T, Refusal>> for Outcome<T> {
    fn from(judged: Result<T, Refusal>) -> Self {
        match judged {
            Ok(done) => Self::Done(done),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// Why a rule refuses an operation. Nothing has changed, and the refusal names what prevents the operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The task does not exist.
    #[error("there is no task {task}")]
    NoSuchTask {
        /// The requested task.
        task: TaskId,
    },
    /// The id is already taken.
    #[error("task {task} already exists")]
    TaskExists {
        /// The existing task.
        task: TaskId,
    },
    /// A file for the task exists but cannot be parsed as one.
    #[error("task {task} cannot be read: {why}")]
    Unreadable {
        /// The requested task.
        task: TaskId,
        /// Its file.
        path: PathBuf,
        /// What is wrong with the file.
        why: Unreadable,
    },
    /// A task cannot depend on itself.
    #[error("task {task} cannot depend on itself")]
    EdgeToItself {
        /// The task.
        task: TaskId,
    },
    /// The edge would create a dependency cycle.
    #[error("that would create a dependency cycle: {}", chain(.path))]
    Cycle {
        /// The cycle. Each task depends on the next; the first task is repeated at the end.
        path: Vec<TaskId>,
    },
    /// A task cannot be its own parent.
    #[error("task {task} cannot be a part of itself")]
    PartOfItself {
        /// The task.
        task: TaskId,
    },
    /// The parent does not exist.
    #[error("there is no task {task} to be the parent")]
    NoSuchParent {
        /// The id given as the parent.
        task: TaskId,
    },
    /// The blocker does not exist.
    #[error("there is no task {task} to depend on")]
    NoSuchBlocker {
        /// The id given as the blocker.
        task: TaskId,
    },
    /// The task has open blockers.
    #[error("task {task} is blocked by {}{}", numbered(.by), as_its_parent(.through.as_ref()))]
    Blocked {
        /// The task.
        task: TaskId,
        /// The open blockers.
        by: Vec<TaskId>,
        /// The parent whose blockers these are, or `None` if they are the task's own.
        through: Option<TaskId>,
    },
    /// The task cannot be completed while it has open parts.
    #[error("task {task} has open parts: {}", numbered(.parts))]
    OpenParts {
        /// The task.
        task: TaskId,
        /// Its open parts.
        parts: Vec<TaskId>,
    },
    /// Another agent holds a lease on the task.
    #[error("{holder} is working on task {task}{}{}", since_when(*.since), until_when(*.until))]
    Leased {
        /// The task.
        task: TaskId,
        /// The holder of the lease.
        holder: AgentName,
        /// When the holder took the task, if known.
        since: Option<Timestamp>,
        /// When the lease expires, or `None` if it has no expiry time.
        until: Option<Timestamp>,
    },
    /// The token is no longer valid: its lease has ended, and another agent may hold the task.
    #[error("token {token} is no longer valid for task {task}: {}", has_it_now(.holder.as_deref(), *.is_completed))]
    StaleToken {
        /// The task.
        task: TaskId,
        /// The stale token.
        token: Token,
        /// The current owner of the task.
        holder: Option<String>,
        /// Whether the task is completed.
        is_completed: bool,
    },
    /// Another agent owns the task.
    #[error("task {task} belongs to {}{}", .owner.escape_debug(), since_when(*.since))]
    OwnedByAnother {
        /// The task that the caller tried to start.
        task: TaskId,
        /// Its owner.
        owner: String,
        /// Since when the owner has had it, if known.
        since: Option<Timestamp>,
    },
    /// The task does not have the state that the caller expected.
    #[error("task {task} was changed since it was read")]
    NotAsExpected {
        /// The task.
        task: TaskId,
        /// The current state of the task.
        current: Box<Task>,
    },
    /// A completed task cannot be released.
    #[error("task {task} is completed")]
    AlreadyCompleted {
        /// The task.
        task: TaskId,
    },
    /// A task has changed since the revision, so the revision cannot be undone.
    #[error("revision {revision} cannot be undone: task {task} has changed since{}", listed_later(.later))]
    ChangedSince {
        /// The revision to undo.
        revision: Revision,
        /// The first task that has changed.
        task: TaskId,
        /// The later revisions that changed the tasks of this one, oldest first. Empty if the journal does not have
        /// them.
        later: Vec<SignedRevision>,
        /// The last revision of a range that starts at `revision` and can be undone as a whole, if there is one.
        range_end: Option<Revision>,
    },
    /// The revision has already been undone.
    #[error("revision {revision} was already undone, in {by}")]
    AlreadyUndone {
        /// The revision to undo.
        revision: Revision,
        /// The revision that undid it.
        by: SignedRevision,
    },
    /// The journal has no such revision.
    #[error("there is no revision {revision} in this list's journal")]
    NoSuchRevision {
        /// The requested revision.
        revision: Revision,
    },
    /// Only part of the revision is left, because it is older than the range that the journal keeps in full.
    #[error("revision {revision} cannot be undone: the journal is kept in full only since revision {kept_since}")]
    RevisionThinned {
        /// The requested revision.
        revision: Revision,
        /// The first revision that is complete.
        kept_since: Revision,
    },
    /// The revision renamed the list, which `undo` cannot undo.
    #[error("revision {revision} renamed the list, and `undo` does not reverse that")]
    ListRenamed {
        /// The revision.
        revision: Revision,
    },
    /// The journal has nothing to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The journal has no change by the actor to undo.
    #[error("{actor} has made no change to this list that can be undone")]
    NothingOwnToUndo {
        /// The actor.
        actor: AgentName,
        /// The newest revision by anyone that can be undone.
        newest: SignedRevision,
    },
    /// The task cannot be restored because it exists.
    #[error("task {task} already exists")]
    NotRemoved {
        /// The task.
        task: TaskId,
    },
    /// The task was removed on purpose, and the caller did not ask to restore such tasks.
    #[error("{}", meant_to_go(.task, *.absence))]
    NotMissing {
        /// The task.
        task: TaskId,
        /// Why it is absent.
        absence: Absence,
    },
    /// A list cannot be merged into itself.
    #[error("a list cannot be merged into itself")]
    MergeIntoItself,
    /// The list does not exist.
    #[error("there is no list `{}`", .list.escape_debug())]
    NoSuchList {
        /// The requested list.
        list: String,
    },
    /// The agent must have its plan approved first, and the lead has not approved it.
    #[error("{agent} cannot start a task until {lead} approves its plan")]
    PlanNotApproved {
        /// The agent whose plan needs approval.
        agent: String,
        /// The lead who approves it.
        lead: String,
    },
    /// The agent has reached its limit of tasks in progress.
    #[error("task {task} cannot start: {} is not finished", numbered(.with))]
    AgentBusy {
        /// The task that the agent tried to start.
        task: TaskId,
        /// The agent's tasks in progress.
        with: Vec<TaskId>,
    },
    /// The branch of the task has not been merged yet.
    #[error("task {task} can be completed only by merging its branch {branch}")]
    NotMerged {
        /// The task.
        task: TaskId,
        /// The branch.
        branch: String,
    },
    /// A hook blocked the operation.
    #[error("{}", hook_forbids(*.event, .task))]
    HookBlocked {
        /// The event that the hook received.
        event: HookEvent,
        /// The task.
        task: TaskId,
        /// The feedback of the hooks, in the client's format.
        feedback: String,
    },
    /// A check that the task requires failed.
    #[error("task {task} is not completed: its check `{}` {ended}", .check.escape_debug())]
    CheckFailed {
        /// The task.
        task: TaskId,
        /// The name of the check.
        check: String,
        /// How the check ended, for example "ended with exit code 1".
        ended: String,
        /// The tail of its output.
        output: String,
    },
    /// The task requires a check that is not defined.
    #[error("task {task} requires the check `{}`, which is not defined", .check.escape_debug())]
    NoSuchCheck {
        /// The task.
        task: TaskId,
        /// The name of the check.
        check: String,
    },
    /// The task requires a check that is defined only in an untrusted directory.
    #[error("task {task} requires the check `{}`, which is defined only in `{}`, and that directory is not \
        trusted", .check.escape_debug(), .directory.display())]
    UntrustedCheck {
        /// The task.
        task: TaskId,
        /// The name of the check.
        check: String,
        /// The untrusted directory.
        directory: PathBuf,
    },
    /// A claim is refused.
    #[error("{}", .0.in_words(|at| format!("at {at}")))]
    Claim(Box<LostClaim>),
    /// A rule of teams refuses it.
    #[error(transparent)]
    Team(#[from] TeamRefusal),
}

impl Refusal {
    /// Refuses a claim on a task, or on the next one if `id` is `None`.
    pub fn claim(id: Option<&TaskId>, reason: ClaimRefusal, task: Option<Box<Task>>) -> Self {
        let (since, also_held, gone) = (None, Vec::new(), None);
        Self::Claim(Box::new(LostClaim { id: id.cloned(), reason, task, since, also_held, gone }))
    }

    /// Returns why a claim was refused, or `None` if it is not about a claim.
    pub fn of_claim(&self) -> Option<&ClaimRefusal> {
        match self {
            Self::Claim(lost) => Some(&lost.reason),
            _ => None,
        }
    }

    /// Returns the task that the refusal is about, or `None` if it is not about a task.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::NoSuchTask { task }
            | Self::TaskExists { task }
            | Self::Unreadable { task, .. }
            | Self::EdgeToItself { task }
            | Self::PartOfItself { task }
            | Self::Blocked { task, .. }
            | Self::OpenParts { task, .. }
            | Self::Leased { task, .. }
            | Self::StaleToken { task, .. }
            | Self::OwnedByAnother { task, .. }
            | Self::NotAsExpected { task, .. }
            | Self::AlreadyCompleted { task }
            | Self::ChangedSince { task, .. }
            | Self::NotRemoved { task }
            | Self::NotMissing { task, .. }
            | Self::AgentBusy { task, .. }
            | Self::NotMerged { task, .. }
            | Self::HookBlocked { task, .. }
            | Self::CheckFailed { task, .. }
            | Self::NoSuchCheck { task, .. }
            | Self::UntrustedCheck { task, .. } => Some(task),
            Self::Claim(lost) => lost.id.as_ref(),
            _ => None,
        }
    }
}

/// The refusal of a claim on the next task.
impl From<ClaimRefusal> for Refusal {
    fn from(reason: ClaimRefusal) -> Self {
        Self::claim(None, reason, None)
    }
}

fn hook_forbids(event: HookEvent, task: &TaskId) -> String {
    match event {
        event @ HookEvent::TaskCreated => format!("a {event} hook blocked this task, which would have been {task}"),
        event => format!("a {event} hook blocked the completion of task {task}"),
    }
}

fn meant_to_go(task: &TaskId, absence: Absence) -> String {
    match absence {
        Absence::Missing => format!("task {task} is missing"),
        Absence::Deleted => format!("task {task} was deleted on purpose"),
        Absence::Moved => format!("task {task} moved to another list"),
        Absence::Renumbered => format!("task {task} was renumbered"),
        Absence::Unmade => format!("task {task} does not exist because its creation was undone"),
        Absence::Replaced => format!("another program put a different task under the number {task}"),
    }
}

fn chain(path: &[TaskId]) -> String {
    path.iter().map(|task| format!("#{task}")).collect::<Vec<_>>().join(" → ")
}

pub(crate) fn numbered(tasks: &[TaskId]) -> String {
    tasks.iter().map(|task| format!("#{task}")).collect::<Vec<_>>().join(", ")
}

/// Returns the words that attribute a task's blockers to its parent.
pub(crate) fn as_its_parent(parent: Option<&TaskId>) -> String {
    parent.map(|parent| format!(", as a part of #{parent}")).unwrap_or_default()
}

fn until_when(until: Option<Timestamp>) -> String {
    until.map(|until| format!("; the lease expires {until}")).unwrap_or_default()
}

fn since_when(since: Option<Timestamp>) -> String {
    since.map(|since| format!(" (claimed {since})")).unwrap_or_default()
}

fn has_it_now(holder: Option<&str>, is_completed: bool) -> String {
    match holder {
        _ if is_completed => "it is completed".to_owned(),
        Some(holder) => format!("{} has it now", holder.escape_debug()),
        None => "it has no owner now".to_owned(),
    }
}

fn listed_later(later: &[SignedRevision]) -> String {
    let listed: Vec<String> = later.iter().take(LISTED).map(ToString::to_string).collect();
    match later.len() {
        0 => String::new(),
        length if length > LISTED => format!(" ({} and {} more)", listed.join(", "), length - LISTED),
        _ => format!(" ({})", listed.join(", ")),
    }
}

/// Maximum number of later revisions named in a message.
const LISTED: usize = 5;

/// Why a claim is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimRefusal {
    /// The task does not exist.
    #[error("there is no such task")]
    TaskNotFound,
    /// Another agent has it.
    #[error("{}", has_it(.by, *.free_at))]
    AlreadyClaimed {
        /// The name of that agent, as written in the task.
        by: String,
        /// When the task is released, if the server it was claimed through has ended.
        free_at: Option<Timestamp>,
    },
    /// It is completed.
    #[error("it is completed")]
    AlreadyResolved,
    /// It has open blockers.
    #[error("it waits for {}{}", numbered(.by), as_its_parent(.through.as_ref()))]
    Blocked {
        /// The open blockers.
        by: Vec<TaskId>,
        /// The parent whose blockers these are, or `None` if they are the task's own.
        through: Option<TaskId>,
    },
    /// The agent has reached its limit.
    #[error("{} is not finished", numbered(.with))]
    AgentBusy {
        /// The tasks it has.
        with: Vec<TaskId>,
    },
    /// `work` started the agent for one task, and either this is a different task or the agent has released that one.
    #[error("{}", outside_run(.task, *.is_over))]
    OutsideRun {
        /// The task of the run.
        task: TaskId,
        /// Whether the agent no longer holds that task.
        is_over: bool,
    },
    /// It is restricted to other agents.
    #[error("{}", not_allowed(.only_for))]
    NotAllowed {
        /// The agents and roles that may take it; empty for the client's internal tasks, which no agent may take.
        only_for: Vec<Assignee>,
    },
    /// The agent must have its plan approved first, and the lead has not approved it.
    #[error("{lead} has not approved the plan yet")]
    PlanNotApproved {
        /// The lead who approves it.
        lead: String,
    },
    /// No task can start now.
    #[error("nothing is ready")]
    NothingReady {
        /// Number of tasks that could start but are restricted to other agents.
        for_others: usize,
        /// When the next task that only waits for its start time can start.
        next_at: Option<Timestamp>,
    },
}

impl ClaimRefusal {
    /// Returns the code used in JSON.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::TaskNotFound => "task_not_found",
            Self::AlreadyClaimed { .. } => "already_claimed",
            Self::AlreadyResolved => "already_resolved",
            Self::Blocked { .. } => "blocked",
            Self::AgentBusy { .. } | Self::OutsideRun { .. } => "agent_busy",
            Self::NotAllowed { .. } => "not_allowed",
            Self::PlanNotApproved { .. } => "plan_not_approved",
            Self::NothingReady { .. } => "nothing_ready",
        }
    }
}

/// A refused claim, with what its caller should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostClaim {
    /// The requested task, or `None` if the caller asked for the next one.
    pub id: Option<TaskId>,
    /// The rule that refused the claim, with the obstacle.
    pub reason: ClaimRefusal,
    /// The requested task as it is now, if there is one.
    pub task: Option<Box<Task>>,
    /// When the owner got the task, if another agent has it and the time is known.
    pub since: Option<Timestamp>,
    /// If nothing is ready and the agent's name was not given explicitly: the tasks held under that name.
    pub also_held: Vec<TaskId>,
    /// If nothing is ready and open tasks have disappeared: what the list has lost.
    pub gone: Option<Gone>,
}

impl LostClaim {
    /// Says why the claim was refused; `when` writes the time at which something happens.
    pub fn in_words(&self, when: impl Fn(Timestamp) -> String) -> String {
        match (&self.id, &self.reason) {
            (Some(id), ClaimRefusal::TaskNotFound) => format!("there is no task {id}"),
            (Some(id), ClaimRefusal::AlreadyClaimed { by, free_at: Some(at) }) => {
                format!("task {id} cannot be claimed: {by} has it; its server has ended, free {}", when(*at))
            }
            (Some(id), reason @ ClaimRefusal::AlreadyClaimed { .. }) => {
                format!("task {id} cannot be claimed: {reason}{}", since_when(self.since))
            }
            (Some(id), reason) => format!("task {id} cannot be claimed: {reason}"),
            (None, ClaimRefusal::AgentBusy { with }) => format!("you are not finished with {}", numbered(with)),
            (None, ClaimRefusal::NothingReady { for_others: others @ 1.., .. }) => {
                format!("nothing is ready for you: {others} ready for others")
            }
            (None, ClaimRefusal::NothingReady { next_at: Some(at), .. }) => {
                format!("nothing is ready; the next deferred task can start {}", when(*at))
            }
            (None, reason) => reason.to_string(),
        }
    }
}

fn has_it(by: &str, free_at: Option<Timestamp>) -> String {
    match free_at {
        Some(at) => format!("{by} has it; its server has ended, free at {at}"),
        None => format!("{by} has it"),
    }
}

fn outside_run(task: &TaskId, is_over: bool) -> String {
    match is_over {
        false => format!("this run is for #{task}; finish or release it first"),
        true => format!("this run has given #{task} back; leave it to a later run"),
    }
}

fn not_allowed(only_for: &[Assignee]) -> String {
    if only_for.is_empty() {
        return "it is an internal task of the client".to_owned();
    }
    format!("it is restricted to {}", only_for.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// Why a rule refuses an operation on a team. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeamRefusal {
    /// There is no such team.
    #[error("there is no team `{}`", .team.escape_debug())]
    NoSuchTeam {
        /// The team that was asked for.
        team: String,
        /// The teams that exist.
        teams: Vec<String>,
    },
    /// The acting agent is not in a team.
    #[error("{agent} is not in a team")]
    NotInATeam {
        /// The acting agent.
        agent: String,
    },
    /// The acting agent is in several teams, and none was named.
    #[error("{agent} is in several teams: {}", .teams.join(", "))]
    SeveralTeams {
        /// The acting agent.
        agent: String,
        /// The names of the teams it is in.
        teams: Vec<String>,
    },
    /// The recipient cannot be written to.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The name is taken, or yields the same directory as the name of another team.
    #[error("{}", taken(.team, .by))]
    NameTaken {
        /// The name that was requested.
        team: String,
        /// The team that uses the directory.
        by: String,
    },
    /// The acting agent leads another team.
    #[error("already leading team \"{team}\"")]
    AlreadyLeading {
        /// The team it leads.
        team: String,
    },
    /// A team that has members cannot be deleted.
    #[error("team {team} still has {}", .members.join(", "))]
    MembersLeft {
        /// The team.
        team: String,
        /// The members that prevent it.
        members: Vec<String>,
    },
    /// The name cannot be used for a member.
    #[error(transparent)]
    BadMemberName(#[from] BadMemberName),
    /// The agent that wants to join already leads the team.
    #[error("{agent} already leads team {team}, as {lead}")]
    LeadsIt {
        /// The agent that wants to join.
        agent: String,
        /// The team it leads.
        team: String,
        /// The lead's name in the team.
        lead: String,
    },
    /// A living member already has that name.
    #[error("team {team} already has a member named {name}")]
    NameInUse {
        /// The name that was requested.
        name: String,
        /// The team.
        team: String,
    },
    /// The lead cannot leave.
    #[error("{name} leads team {team} and cannot leave it")]
    LeadStays {
        /// The name of the lead.
        name: String,
        /// The team it leads.
        team: String,
    },
    /// Only the lead may answer plans.
    #[error("only {lead} can answer a plan in team {team}")]
    NotTheLead {
        /// The lead.
        lead: String,
        /// The team.
        team: String,
    },
}

fn taken(team: &str, by: &str) -> String {
    if team == by {
        return format!("team {by} already exists");
    }
    format!("`{}` would share its directory with team {by}", team.escape_debug())
}

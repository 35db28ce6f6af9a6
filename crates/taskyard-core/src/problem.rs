//! Problems as reported to people and programs: a stable code, a message, a hint, and fields for programs.
//!
//! Every interface reports problems in this form. Each crate implements the conversion for its own errors.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::dialect::native::Shape;
use crate::render::numbered;
use crate::rules::hooks::HookEvent;
use crate::rules::looking::query::Mistake;
use crate::rules::refusal::{ClaimRefusal, LostClaim, Refusal, TeamRefusal};
use crate::rules::teams::mailing::Unreachable;
use crate::rules::teams::membership::BadMemberName;
use crate::{BadListName, SignedRevision, TaskId};

/// Why a request failed. Boxed to keep `Result` small.
#[derive(Clone, Debug)]
pub struct Problem(Box<Report>);

/// The kinds of problems. Each has its own exit code and HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The operating system refused, or a store is unreachable.
    CouldNot,
    /// The request is invalid.
    Usage,
    /// A rule forbids it.
    Refused,
    /// The task, list or revision does not exist.
    NotFound,
    /// Timed out waiting for a lock, or lost too many races with other writers.
    GaveUp,
    /// The change is recorded but could not be finished.
    Unfinished,
    /// It was stopped, for example by a signal.
    Stopped,
    /// The exit status of a command that was waited for is unknown.
    EndUnknown,
}

/// What went wrong. Some codes come with more keys.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct Report {
    /// Its kind.
    #[serde(skip)]
    pub kind: ProblemKind,
    /// A word that never changes
    pub code: &'static str,
    /// What happened, to what
    pub message: String,
    /// What to do next
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What a program of the user's said, shown below the message.
    #[serde(skip)]
    pub said: Option<String>,
    /// What else programs may want to know.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl Problem {
    /// Creates a usage problem.
    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ProblemKind::Usage, code, message)
    }

    /// Creates a problem.
    pub fn new(kind: ProblemKind, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Report { kind, code, message: message.into(), hint: None, said: None, details: Map::new() }))
    }

    /// Creates the problem of a failed system call.
    pub fn io(doing: &str, error: &io::Error) -> Self {
        Self::new(ProblemKind::CouldNot, "io", format!("{doing}: {error}"))
    }

    /// Changes the kind.
    #[must_use]
    pub fn of_kind(mut self, kind: ProblemKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Changes the message.
    #[must_use]
    pub fn saying(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the hint unless there is one.
    #[must_use]
    pub fn hint_where_none(mut self, hint: &str) -> Self {
        self.0.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    /// Sets the output of a user's program.
    #[must_use]
    pub fn said(mut self, text: impl Into<String>) -> Self {
        self.0.said = Some(text.into());
        self
    }

    /// Adds a field for programs.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Returns whether the reader of the output closed it, which is not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        self.0.code == BROKEN_PIPE
    }

    /// Returns the report.
    pub fn report(&self) -> &Report {
        &self.0
    }
}

const BROKEN_PIPE: &str = "broken_pipe";

/// The output could not be written.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(ProblemKind::CouldNot, BROKEN_PIPE, "the reader closed the output");
        }
        Self::new(ProblemKind::CouldNot, "output", format!("cannot write the output: {error}"))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::NoSuchTask { task } => Self::new(ProblemKind::NotFound, "task_not_found", message)
                .hint("`taskyard list --all` shows every task, `taskyard restore` those that were removed")
                .detail("task", task.as_str()),
            Refusal::Unreadable { task, path, .. } => Self::new(ProblemKind::Refused, "unreadable", message)
                .hint(format!("`{}` was not changed; `taskyard doctor` shows what is wrong with it", path.display()))
                .detail("task", task.as_str())
                .detail("path", path.display().to_string()),
            Refusal::EdgeToItself { task } => {
                Self::new(ProblemKind::Refused, "self_edge", message).detail("task", task.as_str())
            }
            Refusal::Cycle { path } => {
                Self::new(ProblemKind::Refused, "cycle", shortened_cycle(&path).unwrap_or(message))
                    .hint("remove one of these dependencies first with `taskyard undepend`")
                    .detail("path", ids(&path))
            }
            Refusal::PartOfItself { task } => {
                Self::new(ProblemKind::Refused, "self_parent", message).detail("task", task.as_str())
            }
            Refusal::TaskExists { .. } => Self::new(ProblemKind::Refused, "task_exists", message),
            Refusal::NoSuchBlocker { task } | Refusal::NoSuchParent { task } => {
                Self::new(ProblemKind::NotFound, "task_not_found", message)
                    .hint("`taskyard list --all` shows every task")
                    .detail("task", task.as_str())
            }
            Refusal::Blocked { task, by, through } => {
                let problem = Self::new(ProblemKind::Refused, "blocked", message).detail("task", task.as_str());
                blocked(problem, &by, through.as_ref())
            }
            Refusal::OpenParts { task, parts } => Self::new(ProblemKind::Refused, "open_parts", message)
                .hint(format!(
                    "finish {} first; a person can override this with --force, or use `cancel \
                    --with-parts`",
                    numbered(&parts)
                ))
                .detail("task", task.as_str())
                .detail("parts", ids(&parts)),
            Refusal::NotMerged { task, branch } => Self::new(ProblemKind::Refused, "not_merged", message)
                .hint(format!(
                    "`taskyard worktrees merge {task} --done` merges it now; a person can override this with --force"
                ))
                .detail("task", task.as_str())
                .detail("branch", branch),
            Refusal::Leased { task, holder, since, until } => Self::new(ProblemKind::Refused, "leased", message)
                .hint("take another task with `taskyard claim --next`; a person can override this with --force")
                .detail("task", task.as_str())
                .detail("holder", holder.as_str())
                .detail("since", since.map(|since| since.to_string()))
                .detail("expiresAt", until.map(|until| until.to_string())),
            Refusal::StaleToken { task, token, holder, .. } => Self::new(ProblemKind::Refused, "stale_token", message)
                .hint("stop working on it, or claim it again with `taskyard claim`")
                .detail("task", task.as_str())
                .detail("token", token.0)
                .detail("holder", holder),
            Refusal::OwnedByAnother { task, owner, since } => {
                Self::new(ProblemKind::Refused, "already_claimed", message)
                    .hint("take another task with `taskyard claim --next`; a person can take it over with --force")
                    .detail("task", task.as_str())
                    .detail("owner", owner)
                    .detail("since", since.map(|since| since.to_string()))
            }
            Refusal::NotAsExpected { task, current } => Self::new(ProblemKind::Refused, "not_as_expected", message)
                .hint("read the task again, and send the change with its new ETag")
                .detail("task", task.as_str())
                .detail("current", serde_json::to_value(Shape(&current)).unwrap_or_default()),
            Refusal::AlreadyCompleted { task } => Self::new(ProblemKind::Refused, "already_resolved", message)
                .hint(format!("reopen it with `taskyard reopen {task}`"))
                .detail("task", task.as_str()),
            Refusal::ChangedSince { revision, task, later, range_end } => {
                Self::new(ProblemKind::Refused, "changed_since", message)
                    .hint(match range_end {
                        Some(last) => {
                            format!("undo the later revisions too: `taskyard undo r{revision}..r{last}`")
                        }
                        None => format!("see `taskyard history {task}`"),
                    })
                    .detail("revision", revision.0)
                    .detail("task", task.as_str())
                    .detail("changedIn", later.first().map(|signed| signed.revision.0))
                    .detail("later", later.iter().map(signed).collect::<Vec<_>>())
                    .detail("rangeEnd", range_end.map(|revision| revision.0))
            }
            Refusal::AlreadyUndone { revision, by } => Self::new(ProblemKind::Refused, "already_undone", message)
                .hint(format!("redo the change with `taskyard undo r{}`", by.revision))
                .detail("revision", revision.0)
                .detail("by", signed(&by)),
            Refusal::NoSuchRevision { revision } => Self::new(ProblemKind::NotFound, "revision_not_found", message)
                .hint("`taskyard history` shows every revision")
                .detail("revision", revision.0),
            Refusal::RevisionThinned { revision, kept_since } => Self::new(
                ProblemKind::Refused,
                "revision_thinned",
                message,
            )
            .hint(
                "`taskyard history` shows what is left of it; `journal.keep` in taskyard.toml sets how long the full \
                    history is kept",
            )
            .detail("revision", revision.0)
            .detail("keptSince", kept_since.0),
            Refusal::ListRenamed { revision } => Self::new(ProblemKind::Refused, "list_renamed", message)
                .hint(
                    "rename it back with `taskyard lists rename`; to undo an older change, give its revision from \
                    `taskyard history`",
                )
                .detail("revision", revision.0),
            Refusal::NothingToUndo => Self::new(ProblemKind::Refused, "nothing_to_undo", message)
                .hint("`taskyard history` shows what happened here"),
            Refusal::NothingOwnToUndo { newest, .. } => Self::new(ProblemKind::Refused, "nothing_to_undo", message)
                .hint(format!("the newest revision is {newest}; `taskyard undo --anyone` undoes it"))
                .detail("newest", signed(&newest)),
            Refusal::NotRemoved { task } => Self::new(ProblemKind::Refused, "not_removed", message)
                .hint(format!("`taskyard show {task}` shows it, `taskyard history {task}` its earlier states"))
                .detail("task", task.as_str()),
            Refusal::NotMissing { task, .. } => Self::new(ProblemKind::Refused, "not_missing", message)
                .hint(format!("restore it anyway with `taskyard restore {task} --deleted`"))
                .detail("task", task.as_str()),
            Refusal::MergeIntoItself => Self::new(ProblemKind::Refused, "merge_into_itself", message),
            Refusal::NoSuchList { list } => Self::new(ProblemKind::NotFound, "list_not_found", message)
                .hint("`taskyard lists` shows every list of this store")
                .detail("list", list),
            Refusal::PlanNotApproved { agent, lead } => Self::new(ProblemKind::Refused, "plan_not_approved", message)
                .hint(plan_hint(&lead))
                .detail("agent", agent)
                .detail("lead", lead),
            Refusal::AgentBusy { task, with } => Self::new(ProblemKind::Refused, "agent_busy", message)
                .hint("finish that first with `taskyard done`, or release it with `taskyard release`")
                .detail("task", task.as_str())
                .detail("busyWith", ids(&with)),
            Refusal::HookBlocked { event, task, feedback } => Self::new(ProblemKind::Refused, "hook_blocked", message)
                .hint(match event {
                    HookEvent::TaskCreated => "fix what the hook complains about, and create the task again",
                    _ => "nothing was changed; fix what the hook complains about, and try again",
                })
                .said(feedback.split_once('\n').map_or(feedback.as_str(), |(_, said)| said))
                .detail("event", event.as_str())
                .detail("task", task.as_str())
                .detail("feedback", feedback),
            Refusal::CheckFailed { task, check, output, .. } => {
                Self::new(ProblemKind::Refused, "check_failed", message)
                    .hint("nothing was changed; fix what the check complains about, and try again")
                    .said(output.as_str())
                    .detail("task", task.as_str())
                    .detail("check", check)
                    .detail("output", output)
            }
            Refusal::NoSuchCheck { task, check } => Self::new(ProblemKind::Refused, "check_unknown", message)
                .hint("define its command under [checks] in taskyard.toml")
                .detail("task", task.as_str())
                .detail("check", check),
            Refusal::UntrustedCheck { task, check, directory } => {
                Self::new(ProblemKind::Refused, "check_unknown", message)
                    .hint("review its taskyard.toml, then run `taskyard trust` there")
                    .detail("task", task.as_str())
                    .detail("check", check)
                    .detail("directory", directory.display().to_string())
            }
            Refusal::Claim(lost) => lost_claim(message, &lost),
            Refusal::Team(refusal) => refusal.into(),
        }
    }
}

impl From<TeamRefusal> for Problem {
    fn from(refusal: TeamRefusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            TeamRefusal::NoSuchTeam { team, teams } => Self::new(ProblemKind::NotFound, "team_not_found", message)
                .hint(match teams.is_empty() {
                    true => format!("create it with `taskyard team create {team}`"),
                    false => format!("the teams are {}", teams.join(", ")),
                })
                .detail("team", team)
                .detail("teams", json!(teams)),
            TeamRefusal::NotInATeam { agent } => Self::new(ProblemKind::NotFound, "not_in_a_team", message)
                .hint("join one with `taskyard team join NAME`, or give your name with --as")
                .detail("agent", agent),
            TeamRefusal::SeveralTeams { agent, teams } => Self::usage("several_teams", message)
                .hint("choose one with --team")
                .detail("agent", agent)
                .detail("teams", json!(teams)),
            TeamRefusal::Unreachable(Unreachable::NoSuchMember { name, reachable, .. }) => {
                Self::new(ProblemKind::NotFound, "agent_not_found", message)
                    .hint(format!("members are {}; nothing was sent", reachable.join(", ")))
                    .detail("agent", name)
                    .detail("reachable", json!(reachable))
            }
            TeamRefusal::Unreachable(Unreachable::AnotherTeam { name, .. }) => {
                Self::new(ProblemKind::NotFound, "agent_not_found", message)
                    .hint("nothing was sent")
                    .detail("agent", name)
            }
            TeamRefusal::NameTaken { by, .. } => Self::new(ProblemKind::Refused, "team_exists", message)
                .hint("choose a name that differs in more than case and punctuation")
                .detail("team", by),
            TeamRefusal::AlreadyLeading { team } => Self::new(ProblemKind::Refused, "already_leading", message)
                .hint(format!("end it first with `taskyard team delete {team}`"))
                .detail("team", team),
            TeamRefusal::MembersLeft { team, members } => Self::new(ProblemKind::Refused, "members_left", message)
                .hint(
                    "ask each to shut down with `taskyard send --to NAME --request shutdown`, or override with --force",
                )
                .detail("team", team)
                .detail("members", json!(members)),
            TeamRefusal::BadMemberName(BadMemberName::Unfit { name, .. }) => {
                Self::usage("bad_agent", message).hint("join under another name with --as").detail("agent", name)
            }
            TeamRefusal::BadMemberName(BadMemberName::SharesInbox { name, with }) => {
                Self::new(ProblemKind::Refused, "name_in_use", message)
                    .hint("join with a --as name that differs in more than case and punctuation")
                    .detail("agent", name)
                    .detail("with", with)
            }
            TeamRefusal::LeadsIt { agent, team, .. } => Self::new(ProblemKind::Refused, "lead_stays", message)
                .hint("join under another name with --as")
                .detail("agent", agent)
                .detail("team", team),
            TeamRefusal::NameInUse { name, team } => Self::new(ProblemKind::Refused, "name_in_use", message)
                .hint("join under another name with --as")
                .detail("agent", name)
                .detail("team", team),
            TeamRefusal::LeadStays { team, .. } => Self::new(ProblemKind::Refused, "lead_stays", message)
                .hint(format!("end the team with `taskyard team delete {team}`"))
                .detail("team", team),
            TeamRefusal::NotTheLead { lead, team } => {
                Self::new(ProblemKind::Refused, "not_the_lead", message).detail("lead", lead).detail("team", team)
            }
        }
    }
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Self {
        let mended = mistake.mended();
        let problem = Self::usage("bad_query", mistake.what.clone())
            .said(mistake.marked().join("\n"))
            .detail("query", mistake.text.as_str())
            .detail("at", json!({"start": mistake.span.start, "end": mistake.span.end}));
        let problem = match &mended {
            Some(mended) => problem.detail("meant", mended.as_str()).hint(format!("did you mean `{mended}`?")),
            None => problem,
        };
        match mistake.advice {
            Some(advice) => problem.hint(advice),
            None => problem,
        }
    }
}

impl From<BadListName> for Problem {
    fn from(error: BadListName) -> Self {
        Self::usage("bad_list_name", error.to_string()).hint("`taskyard lists` shows the names in use")
    }
}

/// Returns a shortened message for a cycle of many tasks, or `None` if it can be shown in full.
fn shortened_cycle(path: &[TaskId]) -> Option<String> {
    let [first, second, .., before, last] = path else { return None };
    (path.len() > 12).then(|| {
        let between = path.len() - 4;
        format!(
            "that would create a dependency cycle of {} tasks: #{first} → #{second} → {between} more → #{before} → #{last}",
            path.len() - 1
        )
    })
}

/// Returns the problem that a claim was refused.
fn lost_claim(message: String, LostClaim { id, reason, since, .. }: &LostClaim) -> Problem {
    let kind = match reason {
        ClaimRefusal::TaskNotFound => ProblemKind::NotFound,
        _ => ProblemKind::Refused,
    };
    let problem = Problem::new(kind, reason.as_str(), message);
    let problem = id.iter().fold(problem, |problem, id| problem.detail("task", id.as_str()));
    let another = "take another task with `taskyard claim --next`";
    match reason {
        ClaimRefusal::TaskNotFound => problem.hint("`taskyard list --all` shows every task"),
        ClaimRefusal::AlreadyClaimed { by, .. } => {
            problem.hint(another).detail("owner", by.as_str()).detail("since", since.map(|since| since.to_string()))
        }
        ClaimRefusal::AlreadyResolved => problem.hint(another),
        ClaimRefusal::Blocked { by, through } => blocked(problem, by, through.as_ref()),
        ClaimRefusal::AgentBusy { with } => busy(problem, with),
        ClaimRefusal::OutsideRun { task, is_over: false } => busy(problem, std::slice::from_ref(task)),
        ClaimRefusal::OutsideRun { task, is_over: true } => {
            problem.hint(another).detail("busyWith", ids(std::slice::from_ref(task)))
        }
        ClaimRefusal::PlanNotApproved { lead } => problem.hint(plan_hint(lead)).detail("lead", lead.as_str()),
        ClaimRefusal::NotAllowed { .. } => problem.hint("give your role with --role, or take another task with --next"),
        ClaimRefusal::NothingReady { .. } => {
            problem.hint("see the blocked tasks with `taskyard list --blocked`, or wait for a ready task with --wait")
        }
    }
}

fn blocked(problem: Problem, by: &[TaskId], through: Option<&TaskId>) -> Problem {
    let problem = problem
        .hint(format!("finish {} first; `taskyard ready` shows what can start now", numbered(by)))
        .detail("blockedBy", ids(by));
    through.into_iter().fold(problem, |problem, parent| problem.detail("through", parent.as_str()))
}

fn busy(problem: Problem, with: &[TaskId]) -> Problem {
    let first = with.first().map_or("ID", TaskId::as_str);
    problem
        .hint(format!("finish with `taskyard done {first}`, or release it with `taskyard release {first}`"))
        .detail("busyWith", ids(with))
}

fn plan_hint(lead: &str) -> String {
    format!("send it with `taskyard send --to {lead} --request plan PLAN`, and wait for the answer in your inbox")
}

fn signed(SignedRevision { revision, actor }: &SignedRevision) -> Value {
    json!({ "revision": revision.0, "actor": actor.as_str() })
}

fn ids(tasks: &[TaskId]) -> Value {
    json!(tasks.iter().map(TaskId::as_str).collect::<Vec<_>>())
}

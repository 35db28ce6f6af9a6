//! Words that keys can have, one enumeration each.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::rules::changes::patching::Field;
use crate::rules::leases::leasing::LeaseState;
use crate::rules::refusal::ClaimRefusal;
use crate::rules::teams::mailing::DeliveryState;
use crate::rules::teams::membership::{MemberState, PlanState};
use crate::view::LeaseShown;
use crate::{JobKind, JobState, Op, Status, Verdict};

/// Writes nouns as their words.
macro_rules! words {
    ($($name:literal, $about:literal, $noun:ty { $($value:pat => $word:expr),* $(,)? })*) => {$(
        impl Serialize for $noun {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self { $($value => $word,)* })
            }
        }

        impl JsonSchema for $noun {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "description": $about, "enum": [$($word),*]})
            }
        }
    )*};
}

words! {
    "MemberState", "The state of an agent.", MemberState {
        Self::Running => "running",
        Self::Idle => "idle",
        Self::Stopping => "stopping",
        Self::AwaitingApproval => "awaiting_approval",
        Self::Ghost => "ghost",
    }
    "PlanState", "The state of a member's plan.", PlanState {
        Self::NotShown => "none",
        Self::AwaitingApproval => "awaiting_approval",
        Self::Rejected => "rejected",
        Self::Approved => "approved",
    }
    "DeliveryState", "The delivery state of a message.", DeliveryState {
        Self::Sent => "sent",
        Self::Delivered => "delivered",
        Self::Read => "read",
        Self::Expired => "expired",
    }
}

/// Writes nouns that know their words.
macro_rules! known_words {
    ($($name:literal, $about:literal, $noun:ty;)*) => {$(
        impl Serialize for $noun {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl JsonSchema for $noun {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "description": $about, "enum": <$noun>::ALL.map(<$noun>::as_str)})
            }
        }
    )*};
}

known_words! {
    "Status", "The state of a task.", Status;
    "Operation", "The operation that made a commit; `..._elsewhere` for changes by other programs.", Op;
    "Verdict", "How certain it is that another program overwrote the value with stale data.", Verdict;
    "TaskField", "A field of a task.", Field;
    "JobStatus", "The state of a job.", JobState;
    "JobType", "What runs in the background.", JobKind;
}

/// The state of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeaseWord {
    /// Its holder has the task
    Live,
    /// The server it was claimed through has ended; the task is free at `expiresAt`
    Lapsing,
    /// Its process cannot be seen from here; the task is free at `expiresAt` unless the process shows life
    Unseen,
    /// It is over, and no process has recorded that yet
    Ended,
}

impl From<&LeaseState> for LeaseWord {
    fn from(state: &LeaseState) -> Self {
        match state {
            LeaseState::Live => Self::Live,
            LeaseState::Lapsing(_) => Self::Lapsing,
            LeaseState::Unseen(_) => Self::Unseen,
            LeaseState::TimeIsOver | LeaseState::ProcessEnded | LeaseState::Silent => Self::Ended,
        }
    }
}

/// The lease of an agent on a task that it owns.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HeldLease {
    Live,
    Ended,
    None,
}

impl From<LeaseShown> for HeldLease {
    fn from(lease: LeaseShown) -> Self {
        match lease {
            LeaseShown::None => Self::None,
            LeaseShown::Lives(_) => Self::Live,
            LeaseShown::Ended => Self::Ended,
        }
    }
}

/// Why a claim was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimReason {
    /// There is no such task
    TaskNotFound,
    /// Another agent has it
    AlreadyClaimed,
    /// It is completed
    AlreadyResolved,
    /// It waits for open tasks
    Blocked,
    /// The agent has not finished others, or its run is for another task
    AgentBusy,
    /// It is for other agents or roles
    NotAllowed,
    /// The lead has not approved the agent's plan
    PlanNotApproved,
    /// No task can start now
    NothingReady,
}

impl From<&ClaimRefusal> for ClaimReason {
    fn from(refusal: &ClaimRefusal) -> Self {
        match refusal {
            ClaimRefusal::TaskNotFound => Self::TaskNotFound,
            ClaimRefusal::AlreadyClaimed { .. } => Self::AlreadyClaimed,
            ClaimRefusal::AlreadyResolved => Self::AlreadyResolved,
            ClaimRefusal::Blocked { .. } => Self::Blocked,
            ClaimRefusal::AgentBusy { .. } | ClaimRefusal::OutsideRun { .. } => Self::AgentBusy,
            ClaimRefusal::NotAllowed { .. } => Self::NotAllowed,
            ClaimRefusal::PlanNotApproved { .. } => Self::PlanNotApproved,
            ClaimRefusal::NothingReady { .. } => Self::NothingReady,
        }
    }
}

/// What named the acting agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameSource {
    /// `--as`
    Flag,
    /// `TASKYARD_AGENT`
    Variable,
    /// The link, the token or the request
    Request,
    /// The client's session
    Session,
    /// The login
    Login,
    /// No name was given
    Nobody,
}

/// What a token or a browser may do; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    /// Look at everything
    Read,
    /// Change tasks, claim them, write messages
    Work,
    /// Everything: run commands, clear lists, give tokens
    All,
}

/// What a role of a database may do with a list.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListRight {
    Read,
    Work,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is wrong yet
    Warning,
}

/// What is tidied among the tasks of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LitterKind {
    /// A lock whose holder is gone
    StaleLock,
    /// A temporary file that no process needs
    Leftover,
    /// A `.highwatermark` that holds no number
    BadMark,
}

/// Why an agent is left out of `setup --all`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    NotFound,
    NoSuchScope,
    NotRegistered,
}

/// How an agent knows Taskyard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RegistrationWord {
    /// As `taskyard setup` registers it
    Registered,
    /// In a form of its own
    Otherwise,
    /// Not at all
    Missing,
    /// The agent has no such scope
    NoSuchScope,
    /// Its file cannot be read
    Unreadable,
}

/// For whom an agent is set up.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetupScope {
    User,
    Project,
}

/// What becomes of a file.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    Created,
    Changed,
    Removed,
    Unchanged,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ClaimReason;
    use crate::rules::refusal::ClaimRefusal;
    use crate::{Status, TaskId};

    #[test]
    fn words_are_those_of_nouns() {
        for status in Status::ALL {
            assert_eq!(json!(status), json!(status.as_str()));
        }
        let blocked = ClaimRefusal::Blocked { by: vec![TaskId::number(1)], through: None };
        let run = ClaimRefusal::OutsideRun { task: TaskId::number(1), is_over: true };
        let nothing = ClaimRefusal::NothingReady { for_others: 0, next_at: None };
        for refusal in [ClaimRefusal::TaskNotFound, ClaimRefusal::AlreadyResolved, blocked, run, nothing] {
            assert_eq!(json!(ClaimReason::from(&refusal)), Value::from(refusal.as_str()));
        }
    }
}

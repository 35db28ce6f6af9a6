//! What several operations take.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use taskyard::core::{Priority, Status};

use super::operation::{Parts, id};
use crate::arguments::{
    IdRange, LeaseFlags, MetadataFlags, WhichTasks, parse_defer, parse_due, parse_estimate, parse_lifetime,
    parse_pause, parse_range,
};
use crate::problem::Problem;

/// What proves the lease on a task, or overrules that of another.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Proof {
    /// The token of the lease; one that no longer counts is refused
    pub(crate) token: Option<u64>,
    /// Overrule the lease of another, for people who know better
    pub(crate) force: bool,
}

/// Which tasks are meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SeveralTasks {
    /// Ids, and ranges such as `7-9`
    pub(crate) ids: Vec<String>,
    /// Those that match a query
    #[serde(rename = "where")]
    pub(crate) query: Option<String>,
    /// Change the tasks that can be changed and report the others
    pub(crate) keep_going: bool,
    /// Answer what would be done, and do nothing; hooks and checks are not asked
    pub(crate) dry_run: bool,
    /// The token of a lease
    pub(crate) token: Option<u64>,
    /// Overrule the leases of others
    pub(crate) force: bool,
}

/// How a task is cancelled or deleted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct WithParts {
    /// With its parts: the open ones are cancelled, all of them are deleted; parts that are left move up to the parent
    pub(crate) with_parts: bool,
    /// The token of the lease
    pub(crate) token: Option<u64>,
    /// Overrule the lease of another
    pub(crate) force: bool,
}

/// Which tasks are cancelled or deleted, and how.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SeveralWithParts {
    /// Ids, and ranges such as `7-9`
    pub(crate) ids: Vec<String>,
    /// Those that match a query
    #[serde(rename = "where")]
    pub(crate) query: Option<String>,
    /// Change the tasks that can be changed and report the others
    pub(crate) keep_going: bool,
    /// Answer what would be done, and do nothing; hooks and checks are not asked
    pub(crate) dry_run: bool,
    /// With their parts: the open ones are cancelled, all of them are deleted
    pub(crate) with_parts: bool,
    /// The token of a lease
    pub(crate) token: Option<u64>,
    /// Overrule the leases of others
    pub(crate) force: bool,
}

/// Why an agent is gone.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DepartureReason {
    #[default]
    Shutdown,
    Terminated,
}

/// How an agent leaves its tasks or its team.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Departure {
    pub(crate) reason: DepartureReason,
}

/// Returns what a write brings against leases.
pub(crate) fn lease(token: Option<u64>, force: bool) -> LeaseFlags {
    LeaseFlags { token, force }
}

/// Returns the one task that the path names.
pub(crate) fn only(parts: &Parts) -> Result<WhichTasks, Problem> {
    Ok(WhichTasks { ids: vec![IdRange::One(parts.task()?)], ..WhichTasks::default() })
}

/// Returns the tasks that a body names.
pub(crate) fn several(
    texts: &[String],
    query: Option<String>,
    keep_going: bool,
    dry_run: bool,
) -> Result<WhichTasks, Problem> {
    match (texts.is_empty(), &query) {
        (true, None) => Err(Problem::usage("no_tasks", "no task is named: give `ids` or `where`")),
        (false, Some(_)) => Err(Problem::usage("bad_input", "`ids` and `where` do not go together")),
        _ => {
            let range = |text: &String| parse_range(text).map_err(|why| Problem::usage("bad_id", why));
            let ids: Vec<IdRange> = texts.iter().map(range).collect::<Result<_, _>>()?;
            Ok(WhichTasks { ids, query, keep_going, dry_run, is_several: true })
        }
    }
}

/// Reads how long something takes.
pub(crate) fn pause(text: Option<&str>) -> Result<Option<Duration>, Problem> {
    text.map(|text| parse_pause(text).map_err(|why| Problem::usage("bad_duration", why))).transpose()
}

/// Reads how long a lease or a token counts.
pub(crate) fn lifetime(text: Option<&str>) -> Result<Option<Duration>, Problem> {
    text.map(|text| parse_lifetime(text).map_err(|why| Problem::usage("bad_duration", why))).transpose()
}

/// What a task has besides its texts, as a body says it.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) priority: Option<PriorityWord>,
    pub(crate) tags: Vec<String>,
    pub(crate) parent: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) due: Option<String>,
    pub(crate) defer: Option<String>,
    pub(crate) estimate: Option<String>,
    pub(crate) metadata: Map<String, Value>,
}

impl Extras {
    /// Returns the same as flags of the commands say it.
    pub(crate) fn flags(self) -> Result<MetadataFlags, Problem> {
        fn time<T>(text: Option<String>, read: fn(&str) -> Result<T, String>) -> Result<Option<T>, Problem> {
            text.map(|text| read(&text).map_err(|why| Problem::usage("bad_time", why))).transpose()
        }
        Ok(MetadataFlags {
            priority: self.priority.map(Priority::from),
            tags: self.tags,
            parent: self.parent.as_deref().map(id).transpose()?,
            kind: self.kind,
            due: time(self.due, parse_due)?,
            defer: time(self.defer, parse_defer)?,
            estimate: time(self.estimate, parse_estimate)?,
            meta: self.metadata.into_iter().collect(),
        })
    }
}

/// How urgent a task is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PriorityWord {
    Low,
    Medium,
    High,
}

impl From<PriorityWord> for Priority {
    fn from(word: PriorityWord) -> Self {
        match word {
            PriorityWord::Low => Self::Low,
            PriorityWord::Medium => Self::Medium,
            PriorityWord::High => Self::High,
        }
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StatusWord {
    Pending,
    InProgress,
    Completed,
}

impl From<StatusWord> for Status {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Pending => Self::Pending,
            StatusWord::InProgress => Self::InProgress,
            StatusWord::Completed => Self::Completed,
        }
    }
}

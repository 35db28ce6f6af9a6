//! Inputs shared by several operations.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use taskyard::config::{BadQuantity, parse_duration, parse_lifetime};
use taskyard::core::answers::task_answers::Unchanged;
use taskyard::core::forms::one_line::{Extras, IdRange, parse_defer, parse_due};
use taskyard::core::problem::Problem;
use taskyard::core::{Priority, Status, TaskId};
use taskyard::operations;
use taskyard::operations::Query;

use super::operation::{Parts, Reply, id};
use crate::web::call::{Call, clock_of_machine};

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

impl From<DepartureReason> for operations::Departure {
    fn from(reason: DepartureReason) -> Self {
        match reason {
            DepartureReason::Shutdown => Self::Shutdown,
            DepartureReason::Terminated => Self::Terminated,
        }
    }
}

/// How an agent leaves its tasks or its team.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Departure {
    pub(crate) reason: DepartureReason,
}

/// The tasks that a request selects.
#[derive(Debug)]
pub(crate) struct Chosen {
    named: Vec<IdRange>,
    query: Option<String>,
    /// Whether to change the tasks that can be changed and report the others, rather than change none.
    pub(crate) keep_going: bool,
    pub(crate) dry_run: bool,
    /// Whether the answer describes a single task.
    pub(crate) is_one: bool,
}

impl Chosen {
    /// Selects the task named in the path.
    pub(crate) fn only(parts: &Parts) -> Result<Self, Problem> {
        let named = vec![IdRange::One(parts.task()?)];
        Ok(Self { named, query: None, keep_going: false, dry_run: false, is_one: true })
    }

    /// Sets `dry_run`.
    pub(crate) fn rehearsed(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Selects the tasks named in a body.
    pub(crate) fn several(
        texts: &[String],
        query: Option<String>,
        keep_going: bool,
        dry_run: bool,
    ) -> Result<Self, Problem> {
        match (texts.is_empty(), &query) {
            (true, None) => Err(Problem::usage("no_tasks", "no task is given: send `ids` or `where`")),
            (false, Some(_)) => Err(Problem::usage("bad_input", "`ids` and `where` cannot be combined")),
            _ => {
                let range = |text: &String| text.parse().map_err(|why: String| Problem::usage("bad_id", why));
                let named = texts.iter().map(range).collect::<Result<_, _>>()?;
                Ok(Self { named, query, keep_going, dry_run, is_one: false })
            }
        }
    }

    /// Returns the ids, in the order given or by number. A query is evaluated on the current list.
    pub(crate) fn ids(&self, call: &Call) -> Result<Vec<TaskId>, Problem> {
        match where_query(self.query.as_deref(), call)? {
            Some(query) => Ok(call.yard.chosen(&query)?.into_iter().map(|task| task.id).collect()),
            None => Ok(self.named.iter().flat_map(IdRange::ids).collect()),
        }
    }
}

/// Parses `where`. An empty query would match every task, and is rejected because it is most likely an unset
/// variable.
pub(crate) fn where_query(text: Option<&str>, call: &Call) -> Result<Option<Query>, Problem> {
    match text.map(|text| call.query(Some(text))).transpose()? {
        Some(query) if query.is_empty() => {
            Err(Problem::usage("bad_query", "`where` needs a query")
                .hint("to choose all open tasks, write `status:open`"))
        }
        query => Ok(query),
    }
}

/// Returns the answer if no task matches and nothing has changed.
pub(crate) fn none_chosen() -> Result<Reply, Problem> {
    Reply::of(Unchanged { dry_run: None, tasks: Vec::new(), refused: Vec::new() })
}

/// Parses a duration.
pub(crate) fn pause(text: Option<&str>) -> Result<Option<Duration>, Problem> {
    text.map(|text| parse_duration(text).map_err(bad_duration)).transpose()
}

/// Parses the lifetime of a lease or a token.
pub(crate) fn lifetime(text: Option<&str>) -> Result<Option<Duration>, Problem> {
    text.map(|text| parse_lifetime(text).map_err(bad_duration)).transpose()
}

fn bad_duration(why: BadQuantity) -> Problem {
    Problem::usage("bad_duration", why.to_string())
}

/// The fields of a task in a body, other than its texts.
#[derive(Debug, Default)]
pub(crate) struct ExtrasGiven {
    pub(crate) priority: Option<PriorityWord>,
    pub(crate) tags: Vec<String>,
    pub(crate) parent: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) due: Option<String>,
    pub(crate) defer: Option<String>,
    pub(crate) estimate: Option<String>,
    pub(crate) metadata: Map<String, Value>,
}

impl ExtrasGiven {
    pub(crate) fn read(self) -> Result<Extras, Problem> {
        fn time<T>(text: Option<String>, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Problem> {
            text.map(|text| read(&text).map_err(|why| Problem::usage("bad_time", why))).transpose()
        }
        let clock = clock_of_machine();
        Ok(Extras {
            priority: self.priority.map(Priority::from),
            tags: self.tags,
            parent: self.parent.as_deref().map(id).transpose()?,
            kind: self.kind,
            due: time(self.due, |text| parse_due(text, &clock))?,
            defer: time(self.defer, |text| parse_defer(text, &clock))?,
            estimate: time(self.estimate, str::parse)?,
            every: None,
            metadata: self.metadata.into_iter().collect(),
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

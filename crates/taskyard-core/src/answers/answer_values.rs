//! What many answers hold: tasks, ids, entries, leases, jobs, messages and counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::answers::answer_words::LeaseWord;
pub use crate::dialect::native::{Ids, Shape};
use crate::rules::history::taking_back::{LostValue, lost_values};
use crate::rules::history::vanishing;
use crate::rules::leases::leasing::LeaseState;
use crate::rules::teams::mailing::Delivery;
use crate::{Image, JobEnding, JobFate, JobKind, JobState, Op, TaskId, Verdict};

/// An object whose keys are data, such as ids, in the order in which they were given.
#[derive(Clone, Debug)]
pub struct Keyed<K, V>(pub Vec<(K, V)>);

impl<K, V> Keyed<K, V> {
    /// Tells whether it has no key.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K, V> FromIterator<(K, V)> for Keyed<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl<K: Serialize, V: Serialize> Serialize for Keyed<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<K, V: JsonSchema> JsonSchema for Keyed<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        <BTreeMap<String, V>>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <BTreeMap<String, V>>::json_schema(generator)
    }
}

/// How many tasks there are of each state.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Counts {
    pub(crate) pending: usize,
    pub(crate) in_progress: usize,
    pub(crate) completed: usize,
}

impl From<[usize; 3]> for Counts {
    fn from([pending, in_progress, completed]: [usize; 3]) -> Self {
        Self { pending, in_progress, completed }
    }
}

/// What a list has lost: no task file is left, and no command deleted the tasks. `taskyard restore --all` brings them back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gone {
    /// How many of the tasks were open
    pub(crate) open: usize,
    /// How many were completed
    pub(crate) completed: usize,
    /// Whether the directory, or the one file, went with them
    pub(crate) place_gone: bool,
    /// When Taskyard last saw one of them
    pub(crate) last_seen: String,
    /// When it first noticed that none is left
    pub(crate) noticed: String,
}

impl From<&vanishing::Gone> for Gone {
    fn from(gone: &vanishing::Gone) -> Self {
        Self {
            open: gone.open,
            completed: gone.completed,
            place_gone: gone.with.is_some(),
            last_seen: gone.last_seen.to_string(),
            noticed: gone.noticed.to_string(),
        }
    }
}

/// An agent's right to a task.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lease<'a> {
    /// The id of the task
    pub(crate) task: &'a str,
    /// The agent that has it
    pub(crate) agent: &'a str,
    /// The number that proves the right
    pub(crate) token: u64,
    /// When it was claimed
    pub(crate) taken_at: String,
    /// When the lease ends unless it is renewed or its process shows life; null if no end is known
    pub(crate) expires_at: Option<String>,
    /// Whether it still counts
    pub(crate) state: LeaseWord,
    /// The process that the lease lives with; null if it depends on none
    pub(crate) pid: Option<u32>,
}

impl<'a> From<&'a (crate::Lease, LeaseState)> for Lease<'a> {
    fn from((lease, state): &'a (crate::Lease, LeaseState)) -> Self {
        Self {
            task: lease.task.as_str(),
            agent: lease.agent.as_str(),
            token: lease.token.0,
            taken_at: lease.taken.to_string(),
            expires_at: state.ends().map_or_else(|| expires_at(lease), |end| Some(end.wall.to_string())),
            state: state.into(),
            pid: lease.holder.as_ref().map(|holder| holder.process().pid),
        }
    }
}

/// Returns when time ends a lease; `None` if it does not.
pub fn expires_at(lease: &crate::Lease) -> Option<String> {
    lease.ends.as_ref().map(|end| end.wall.to_string())
}

/// What one commit did to one task. All entries of a commit share its revision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry<'a> {
    /// The commit
    pub(crate) revision: u64,
    /// When it was made
    pub(crate) at: String,
    /// The agent that made it
    pub(crate) actor: &'a str,
    /// What it was made for
    pub(crate) op: Op,
    /// The id of the task
    pub(crate) task: &'a str,
    /// The task before; null if there was none, the bare text of its file if no task can be read from it
    pub(crate) before: TaskImage<'a>,
    /// The task afterwards, in the same way
    pub(crate) after: TaskImage<'a>,
    /// The revisions that an `undo` took back
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) undoes: Vec<u64>,
    /// A message for all: an agent is gone and left these tasks
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<&'a str>,
    /// Tasks that can start because of the commit; the first entry of a commit has them
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub(crate) now_ready: Ids<'a>,
    /// What another program took back of what had been acknowledged
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) taken_back: Vec<Loss>,
    /// The database user that made the change, on PostgreSQL; entries that came with their list from another store have none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) db_user: Option<&'a str>,
}

impl<'a> From<&'a crate::Entry> for Entry<'a> {
    fn from(entry: &'a crate::Entry) -> Self {
        Self {
            revision: entry.revision.0,
            at: entry.at.to_string(),
            actor: entry.actor.as_str(),
            op: entry.op,
            task: entry.task.as_str(),
            before: TaskImage(&entry.task, entry.before.as_ref()),
            after: TaskImage(&entry.task, entry.after.as_ref()),
            undoes: entry.undoes.iter().map(|revision| revision.0).collect(),
            notice: entry.remark.notice.as_deref(),
            now_ready: Ids(&entry.remark.now_ready),
            taken_back: losses(entry, &entry.remark.taken_back),
            db_user: entry.db_user.as_deref(),
        }
    }
}

/// A task as it was on disk: the task, the bare text if no task can be read from it, null if there was none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskImage<'a>(&'a TaskId, Option<&'a Image>);

impl Serialize for TaskImage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(image) = self.1 else { return serializer.serialize_none() };
        match image.task(self.0) {
            Ok(task) => Shape(&task).serialize(serializer),
            Err(_) => serializer.serialize_str(&String::from_utf8_lossy(image.bytes())),
        }
    }
}

impl JsonSchema for TaskImage<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TaskImage".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [generator.subschema_for::<Shape<'_>>(), {"type": ["string", "null"]}]})
    }
}

/// A value that another program took back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Loss {
    /// The field: `owner`, `metadata.KEY`, `blocks.ID`
    pub(crate) field: String,
    /// The revision that wrote the value
    pub(crate) revision: u64,
    /// The value; null if there was none
    pub(crate) lost: Option<Value>,
    /// What is in its place; null if nothing is
    pub(crate) now: Option<Value>,
    /// How sure it is
    pub(crate) verdict: Verdict,
}

/// Returns what the write that an entry tells of took away, with both values.
pub fn losses(entry: &crate::Entry, losses: &[crate::Loss]) -> Vec<Loss> {
    let shape = |LostValue { loss, lost, now }: LostValue| Loss {
        field: loss.field.to_string(),
        revision: loss.revision.0,
        lost,
        now,
        verdict: loss.verdict,
    };
    lost_values(entry, losses).into_iter().map(shape).collect()
}

/// Output of a job that was left out, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl From<crate::Gap> for Gap {
    fn from(gap: crate::Gap) -> Self {
        Self { from: gap.from, to: gap.to }
    }
}

/// What a job used.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobUsage {
    /// Processor time in user mode, in milliseconds
    pub(crate) user_ms: u64,
    /// Processor time in the kernel, in milliseconds
    pub(crate) system_ms: u64,
    /// The most memory it had, in bytes; null if the supervisor could not look in time
    pub(crate) peak_memory: Option<u64>,
}

/// A background command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job<'a> {
    /// Its id
    pub(crate) id: &'a str,
    /// What it is
    #[serde(rename = "type")]
    pub(crate) kind: JobKind,
    /// Whether it runs, or how it ended
    pub(crate) status: JobState,
    /// What it is for
    pub(crate) description: &'a str,
    /// When it was started
    pub(crate) start_time: String,
    /// When it ended; null while it runs
    pub(crate) end_time: Option<String>,
    /// The exit code of its command
    pub(crate) exit_code: Option<i32>,
    /// The number of the signal that ended it
    pub(crate) signal: Option<i32>,
    /// The file of its output
    pub(crate) output_file: String,
    /// How many bytes of its output the agent that started it has read
    pub(crate) output_offset: u64,
    /// Whether that agent knows of its end; also true if the job was stopped
    pub(crate) notified: bool,
    /// The id of the task it is run for
    pub(crate) task: Option<&'a str>,
    /// Its name
    pub(crate) name: Option<&'a str>,
    /// The command and its arguments
    pub(crate) command: &'a [String],
    /// The directory it runs in
    pub(crate) cwd: String,
    /// The agent that started it
    pub(crate) agent: &'a str,
    /// The list it belongs to
    pub(crate) list: &'a str,
    /// When its supervisor last saw it
    pub(crate) last_seen: String,
    /// How many bytes it wrote
    pub(crate) output_bytes: u64,
    /// How many bytes of output are kept
    pub(crate) max_output: u64,
    /// The host name of the machine it runs on, if that is another one; `pid`, `cwd` and `outputFile` are that machine's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<&'a str>,
    /// The output that was left out, if some was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<Gap>,
    /// How many bytes of its output could not be written at all
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<u64>,
    /// Its process, while it runs
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The process that looks after it, while it runs
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) supervisor: Option<u32>,
    /// What it used, once it has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<JobUsage>,
    /// True if its time ran out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timed_out: Option<bool>,
    /// Why it could not start
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a str>,
}

impl<'a> From<&'a crate::Job> for Job<'a> {
    fn from(job: &'a crate::Job) -> Self {
        let ending = job.ending();
        let (pid, supervisor) = match &job.fate {
            JobFate::Running { pid, supervisor } => (Some(*pid), Some(supervisor.pid)),
            _ => (None, None),
        };
        let usage = match &job.fate {
            JobFate::Ended { usage, .. } => Some(JobUsage {
                user_ms: usage.user.as_millis() as u64,
                system_ms: usage.system.as_millis() as u64,
                peak_memory: usage.peak_memory,
            }),
            _ => None,
        };
        Self {
            id: job.id.as_str(),
            kind: job.kind,
            status: job.state(),
            description: &job.description,
            start_time: job.started.to_string(),
            end_time: job.ended().map(|at| at.to_string()),
            exit_code: ending.and_then(JobEnding::exit_code),
            signal: ending.and_then(JobEnding::signal),
            output_file: job.output_file.display().to_string(),
            output_offset: job.output_offset,
            notified: job.notified,
            task: job.task.as_ref().map(TaskId::as_str),
            name: job.name.as_deref(),
            command: &job.command,
            cwd: job.directory.display().to_string(),
            agent: job.agent.as_str(),
            list: job.list.as_str(),
            last_seen: job.last_seen.to_string(),
            output_bytes: job.output.written,
            max_output: job.max_output,
            machine: job.machine.as_deref(),
            gap: job.output.gap.map(Gap::from),
            lost: Some(job.output.lost).filter(|lost| *lost > 0),
            pid,
            supervisor,
            usage,
            timed_out: matches!(ending, Some(JobEnding::TimedOut(_))).then_some(true),
            error: match ending {
                Some(JobEnding::NotStarted { why, .. }) => Some(why),
                _ => None,
            },
        }
    }
}

/// A message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Message<'a> {
    /// Its id
    pub(crate) id: String,
    /// Its sender
    pub(crate) from: &'a str,
    /// What it says
    pub(crate) text: &'a str,
    /// What it says in a few words
    pub(crate) summary: Option<&'a str>,
    /// When it was sent
    pub(crate) timestamp: &'a str,
    /// The colour of its sender
    pub(crate) color: Option<&'a str>,
    /// How many idle messages it stands for
    pub(crate) repeats: usize,
}

impl<'a> From<&'a Delivery> for Message<'a> {
    fn from(delivery: &'a Delivery) -> Self {
        let message = &delivery.message;
        Self {
            id: delivery.id(),
            from: &message.from,
            text: &message.text,
            summary: message.summary.as_deref(),
            timestamp: &message.timestamp,
            color: message.color.as_deref(),
            repeats: delivery.keys.len().saturating_sub(1),
        }
    }
}

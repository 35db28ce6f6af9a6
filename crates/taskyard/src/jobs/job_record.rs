//! The record of a job in the machine's database.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use taskyard_core::rules::leases::leasing::LivingRecord;
use taskyard_core::{
    AgentName, ClientVersion, CommandEnd, Gap, Job, JobEnding, JobFate, JobId, JobKind, JobOutput, JobState, JobUsage,
    ListId, Moment, ProcessMark, TaskId, Timestamp,
};

use crate::liveness::{own_mark, standpoint};
use crate::machine::{JobRow, MachineError};
use crate::store::StoreError;
use crate::system;

/// How much output space is reserved for a new job.
const FIRST_ROOM: u64 = 1 << 20;

/// The configuration of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// The maximum output of one job, in bytes.
    pub max_output: u64,
    /// The maximum output of all jobs together, in bytes.
    pub quota: u64,
    /// How long a job is kept after it has ended.
    pub keep: Duration,
    /// The release of the client whose output format is used.
    pub output_form: ClientVersion,
    /// How long a job has to end after it was asked to, before it is killed.
    pub grace: Duration,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            max_output: 64 << 20,
            quota: 4 << 30,
            keep: Duration::from_secs(7 * 24 * 3600),
            output_form: ClientVersion::default(),
            grace: Duration::from_secs(5),
        }
    }
}

/// Everything that is recorded of a job: its public part, and what is needed to find and end its processes.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    /// The public part.
    pub job: Job,
    /// A token in the environment of its processes that identifies them.
    pub token: String,
    /// The process that started it. All its processes live on the same machine and in the same pid namespace.
    pub starter: ProcessMark,
    /// When it was started, in milliseconds since the machine booted; `None` in records of older releases.
    since_boot: Option<i64>,
    /// The inode of the pipe for its output; `None` until it runs.
    pub pipe: Option<u64>,
    /// How long it has to end when it is asked to, before it is killed.
    pub grace: Duration,
    /// Whether someone asked to stop it.
    pub is_stop_asked: bool,
    /// The device and inode of its output file, which distinguish it from a replacement; `None` until it runs.
    pub identity: Option<(u64, u64)>,
    /// The size of the output file in bytes if the job has ended, otherwise the space that is reserved for it.
    pub file_size: u64,
    /// Fields that a newer Taskyard added.
    extra: Map<String, Value>,
}

impl JobRecord {
    /// Returns the initial record of a job that the process `starter` starts.
    pub fn new(job: Job, token: String, starter: ProcessMark, grace: Duration) -> Self {
        let (file_size, extra, since_boot) =
            (first_room(job.max_output), Map::new(), Some(system::moment().since_boot));
        let (pipe, is_stop_asked, identity) = (None, false, None);
        Self { job, token, starter, since_boot, pipe, grace, is_stop_asked, identity, file_size, extra }
    }

    /// Returns whether it was started less than `age` ago. `true` only if that was measured during the current boot of
    /// this machine.
    pub fn is_surely_younger_than(&self, age: Duration, now: &Moment) -> bool {
        let is_here =
            self.starter.has_boot() && self.starter.boot == now.boot && self.starter.machine == own_mark().machine;
        let since = self.since_boot.filter(|_| is_here).map(|since| now.since_boot.saturating_sub(since));
        since.and_then(|since| u128::try_from(since).ok()).is_some_and(|since| since < age.as_millis())
    }

    /// Returns what is needed to judge whether it is alive; `None` if it has ended.
    pub fn living(&self) -> Option<LivingRecord> {
        match &self.job.fate {
            JobFate::Pending => Some(LivingRecord::Pending { starter: self.starter.clone() }),
            JobFate::Running { supervisor, .. } => Some(LivingRecord::Running { supervisor: supervisor.clone() }),
            JobFate::Ended { .. } | JobFate::Lost { .. } => None,
        }
    }

    pub(crate) fn to_row(&self) -> JobRow {
        let job = &self.job;
        JobRow {
            id: job.id.as_str().to_owned(),
            state: job.state().as_str().to_owned(),
            list: job.list.as_str().to_owned(),
            task: job.task.as_ref().map(|task| task.as_str().to_owned()),
            started: job.started.0,
            ended: job.ended().map(|at| at.0),
            size: i64::try_from(self.file_size).unwrap_or(i64::MAX),
            record: serde_json::to_string(&Wire::of(self)).unwrap_or_default(),
            is_delivered: job.notified,
        }
    }

    pub(crate) fn from_row(row: &JobRow) -> Result<Self, JobError> {
        let unreadable = |source| JobError::Record { job: row.id.clone(), source };
        let wire: Wire = serde_json::from_str(&row.record).map_err(unreadable)?;
        wire.into_record(row).map_err(|why| unreadable(serde::de::Error::custom(why)))
    }
}

/// The JSON in the column `record`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    kind: String,
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    command: Vec<String>,
    directory: Bytes,
    agent: String,
    store: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_use: Option<String>,
    #[serde(default)]
    reopens_task: bool,
    #[serde(default)]
    time_limit_ms: Option<u64>,
    max_output: u64,
    grace_ms: u64,
    output_file: Bytes,
    form: String,
    token: String,
    /// Empty in records of older releases.
    #[serde(default)]
    machine: String,
    boot: String,
    namespace: String,
    starter: (u32, u64),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since_boot: Option<i64>,
    #[serde(default)]
    supervisor: Option<(u32, u64)>,
    #[serde(default)]
    pid: Option<u32>,
    #[serde(default)]
    pipe: Option<u64>,
    #[serde(default)]
    stop_asked: bool,
    #[serde(default)]
    identity: Option<(u64, u64)>,
    #[serde(default)]
    file_size: u64,
    #[serde(default)]
    ending: Option<String>,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    signal: Option<i32>,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    written: u64,
    #[serde(default)]
    gap: Option<(u64, u64)>,
    #[serde(default)]
    lost: u64,
    #[serde(default)]
    output_offset: u64,
    #[serde(default)]
    user_ms: u64,
    #[serde(default)]
    system_ms: u64,
    #[serde(default)]
    peak_memory: Option<u64>,
    last_seen: i64,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// A path: text if it is valid UTF-8, otherwise its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl Bytes {
    fn of(path: &Path) -> Self {
        path.to_str()
            .map_or_else(|| Self::Raw(path.as_os_str().as_bytes().to_vec()), |text| Self::Text(text.to_owned()))
    }

    fn path(self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Raw(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        }
    }
}

impl Wire {
    fn of(record: &JobRecord) -> Self {
        let job = &record.job;
        let (supervisor, pid) = match &job.fate {
            JobFate::Running { pid, supervisor } => (Some((supervisor.pid, supervisor.started)), Some(*pid)),
            _ => (None, None),
        };
        let (ending, usage) = match &job.fate {
            JobFate::Ended { how, usage, .. } => (Some(how), *usage),
            _ => (None, JobUsage::default()),
        };
        Self {
            kind: job.kind.as_str().to_owned(),
            description: job.description.clone(),
            name: job.name.clone(),
            command: job.command.clone(),
            directory: Bytes::of(&job.directory),
            agent: job.agent.as_str().to_owned(),
            store: job.store.clone(),
            tool_use: job.tool_use.clone(),
            reopens_task: job.reopens_task,
            time_limit_ms: job.time_limit.map(milliseconds),
            max_output: job.max_output,
            grace_ms: milliseconds(record.grace),
            output_file: Bytes::of(&job.output_file),
            form: job.form.as_str().to_owned(),
            token: record.token.clone(),
            machine: record.starter.machine.clone(),
            boot: record.starter.boot.clone(),
            namespace: record.starter.pid_space.clone(),
            starter: (record.starter.pid, record.starter.started),
            since_boot: record.since_boot,
            supervisor,
            pid,
            pipe: record.pipe,
            stop_asked: record.is_stop_asked,
            identity: record.identity,
            file_size: record.file_size,
            ending: ending.map(|how| word(how).to_owned()),
            exit_code: ending.and_then(JobEnding::exit_code),
            signal: ending.and_then(JobEnding::signal),
            why: ending.and_then(|how| match how {
                JobEnding::NotStarted { why, .. } => Some(why.clone()),
                _ => None,
            }),
            written: job.output.written,
            gap: job.output.gap.map(|gap| (gap.from, gap.to)),
            lost: job.output.lost,
            output_offset: job.output_offset,
            user_ms: milliseconds(usage.user),
            system_ms: milliseconds(usage.system),
            peak_memory: usage.peak_memory,
            last_seen: job.last_seen.0,
            extra: record.extra.clone(),
        }
    }

    fn into_record(self, row: &JobRow) -> Result<JobRecord, String> {
        let of_all = ProcessMark {
            machine: self.machine.clone(),
            pid_space: self.namespace.clone(),
            boot: self.boot.clone(),
            ..ProcessMark::default()
        };
        let mark = |(pid, started)| ProcessMark { pid, started, ..of_all.clone() };
        let fate = self.fate(row, mark)?;
        let notified = row.is_delivered || matches!(&fate, JobFate::Ended { how: JobEnding::Stopped(_), .. });
        let starter = mark(self.starter);
        let job = Job {
            id: row.id.parse::<JobId>().map_err(|error| error.to_string())?,
            kind: self.kind.parse::<JobKind>().map_err(|error| error.to_string())?,
            description: self.description,
            name: self.name,
            fate,
            started: Timestamp(row.started),
            output_file: self.output_file.path(),
            form: self.form.parse::<ClientVersion>().map_err(|error| error.to_string())?,
            output: JobOutput {
                written: self.written,
                gap: self.gap.map(|(from, to)| Gap { from, to }),
                lost: self.lost,
            },
            output_offset: self.output_offset,
            notified,
            task: row.task.as_ref().map(TaskId::stored),
            reopens_task: self.reopens_task,
            command: self.command,
            directory: self.directory.path(),
            agent: AgentName::new(self.agent).map_err(|error| error.to_string())?,
            list: ListId::new(&row.list).map_err(|error| error.to_string())?,
            store: self.store,
            tool_use: self.tool_use,
            time_limit: self.time_limit_ms.map(Duration::from_millis),
            max_output: self.max_output,
            last_seen: Timestamp(self.last_seen),
            machine: None,
        };
        Ok(JobRecord {
            job,
            token: self.token,
            starter,
            since_boot: self.since_boot,
            pipe: self.pipe,
            grace: Duration::from_millis(self.grace_ms),
            is_stop_asked: self.stop_asked,
            identity: self.identity,
            file_size: self.file_size,
            extra: self.extra,
        })
    }

    fn fate(&self, row: &JobRow, mark: impl Fn((u32, u64)) -> ProcessMark) -> Result<JobFate, String> {
        let at = Timestamp(row.ended.unwrap_or(self.last_seen));
        if row.state == JobState::Pending.as_str() {
            return Ok(JobFate::Pending);
        }
        if row.state == JobState::Lost.as_str() {
            return Ok(JobFate::Lost { at });
        }
        if row.state == JobState::Running.as_str() {
            let (Some(supervisor), Some(pid)) = (self.supervisor, self.pid) else {
                return Err("it runs without a process".to_owned());
            };
            return Ok(JobFate::Running { pid, supervisor: mark(supervisor) });
        }
        let end = || match (self.exit_code, self.signal) {
            (Some(code), _) => CommandEnd::Exited(code),
            (None, Some(signal)) => CommandEnd::Signalled(signal),
            (None, None) => CommandEnd::Unseen,
        };
        let code = || self.exit_code.ok_or("it exited without a code");
        let how = match self.ending.as_deref() {
            Some("exited") => JobEnding::Exited(code()?),
            Some("signalled") => JobEnding::Signalled(self.signal.ok_or("it was ended by no signal")?),
            Some("stopped") => JobEnding::Stopped(end()),
            Some("timed_out") => JobEnding::TimedOut(end()),
            Some("not_started") => JobEnding::NotStarted { code: code()?, why: self.why.clone().unwrap_or_default() },
            _ => return Err(format!("it is {}, but its end is not recorded", row.state)),
        };
        let usage = JobUsage {
            user: Duration::from_millis(self.user_ms),
            system: Duration::from_millis(self.system_ms),
            peak_memory: self.peak_memory,
        };
        Ok(JobFate::Ended { how, at, usage })
    }
}

fn word(how: &JobEnding) -> &'static str {
    match how {
        JobEnding::Exited(_) => "exited",
        JobEnding::Signalled(_) => "signalled",
        JobEnding::Stopped(_) => "stopped",
        JobEnding::TimedOut(_) => "timed_out",
        JobEnding::NotStarted { .. } => "not_started",
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Reads the job of a row.
pub(crate) fn job_in(row: &JobRow) -> Result<Job, JobError> {
    JobRecord::from_row(row).map(|record| record.job)
}

/// Returns the row of a job that another machine recorded.
pub(crate) fn row_of(job: &Job) -> JobRow {
    JobRecord::new(job.clone(), String::new(), own_mark(), Duration::ZERO).to_row()
}

/// Returns how much output space is reserved for a new job.
fn first_room(max_output: u64) -> u64 {
    FIRST_ROOM.min(max_output)
}

/// Why a job could not be started, found, read or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// An I/O error.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What was attempted, as the beginning of a sentence.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The machine's database failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The store in which machines share their jobs failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such job.
    #[error("there is no job `{}`", .name.escape_debug())]
    NoSuchJob {
        /// What was asked for.
        name: String,
    },
    /// The record of a job is unreadable.
    #[error("the record of job {job} is unreadable: {source}")]
    Record {
        /// The job.
        job: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The directory for output does not belong to us, or every user may write to it.
    #[error("other users can write to `{}`; output is not written there", .path.display())]
    ForeignDirectory {
        /// The directory that output was to be put in.
        path: PathBuf,
    },
    /// The quota leaves no room for the output of another job.
    #[error("job output is limited to {quota} bytes; {used} are in use, and another job needs {needed}")]
    NoRoom {
        /// How many bytes are used.
        used: u64,
        /// The quota in bytes.
        quota: u64,
        /// How many bytes another job needs at least.
        needed: u64,
    },
    /// The supervisor of the job did not start.
    #[error("the job's supervisor did not start: {why}")]
    NoSupervisor {
        /// What it reported.
        why: String,
    },
    /// The processes of the job cannot be seen from here.
    #[error("job {job} runs {}, where its processes cannot be reached from here", place_of(.by))]
    RunsElsewhere {
        /// The job that cannot be reached.
        job: JobId,
        /// Its supervisor.
        by: Box<ProcessMark>,
    },
    /// The supervisor of a job on another machine did not answer a request.
    #[error("job {job} runs on `{}`, and its supervisor there does not answer", .machine.escape_debug())]
    NoAnswer {
        /// The job.
        job: JobId,
        /// The host name of its machine.
        machine: String,
    },
    /// Some processes of the job could not be ended.
    #[error("job {job} was stopped, but {} of its processes did not end", .pids.len())]
    Unstoppable {
        /// The job that was stopped.
        job: JobId,
        /// The ids of those processes.
        pids: Vec<u32>,
    },
}

/// Describes where a process runs that cannot be seen.
fn place_of(process: &ProcessMark) -> String {
    let here = standpoint();
    if !process.machine.is_empty() && process.machine != here.machine {
        return format!("on the machine {}", process.machine);
    }
    if !process.pid_space.is_empty() && process.pid_space != here.pid_space {
        return format!("in another container ({})", process.pid_space);
    }
    "as a process that is hidden from this one".to_owned()
}

impl JobError {
    /// Returns a function that wraps an I/O error, for `map_err`. `doing` is the beginning of a sentence.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

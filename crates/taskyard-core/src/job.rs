//! Background jobs: their ids, kinds and states.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::{AgentName, ClientVersion, ListId, ProcessMark, TaskId, Timestamp};

/// The state of a job, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Recorded; the command has not started.
    Pending,
    /// The command is running.
    Running,
    /// The command exited with code 0.
    Completed,
    /// The command failed to start, exited with another code, or was killed by a signal that Taskyard did not send.
    Failed,
    /// Stopped by an agent, or timed out.
    Killed,
    /// The supervisor is gone, so how the job ended is unknown.
    Lost,
}

impl JobState {
    pub(crate) const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Killed, Self::Lost];

    /// Returns the word used in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Lost => "lost",
        }
    }

    /// Returns whether the job has ended.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnding {
    /// The command exited with this code.
    Exited(i32),
    /// Killed by this signal, which Taskyard did not send.
    Signalled(i32),
    /// Stopped by an agent; how the command ended after that.
    Stopped(CommandEnd),
    /// Timed out; how the command ended after that.
    TimedOut(CommandEnd),
    /// The command could not be started.
    NotStarted {
        /// The exit code a shell would return: 127 if the program does not exist, 126 if it cannot be executed.
        code: i32,
        /// The operating system's error message.
        why: String,
    },
}

/// How the command of a job ended after it was stopped or timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Signalled(i32),
    /// Its exit was not observed.
    Unseen,
}

impl CommandEnd {
    const fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signalled(_) | Self::Unseen => None,
        }
    }

    const fn signal(self) -> Option<i32> {
        match self {
            Self::Signalled(signal) => Some(signal),
            Self::Exited(_) | Self::Unseen => None,
        }
    }
}

impl JobEnding {
    /// Returns the state that results from this ending.
    pub(crate) const fn state(&self) -> JobState {
        match self {
            Self::Exited(0) => JobState::Completed,
            Self::Exited(_) | Self::Signalled(_) | Self::NotStarted { .. } => JobState::Failed,
            Self::Stopped(_) | Self::TimedOut(_) => JobState::Killed,
        }
    }

    /// Returns the exit code of the command; `None` if it did not exit by itself or its exit was not observed.
    pub const fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) | Self::NotStarted { code, .. } => Some(*code),
            Self::Stopped(end) | Self::TimedOut(end) => end.code(),
            Self::Signalled(_) => None,
        }
    }

    /// Returns the signal that killed the command, if one did.
    pub const fn signal(&self) -> Option<i32> {
        match self {
            Self::Signalled(signal) => Some(*signal),
            Self::Stopped(end) | Self::TimedOut(end) => end.signal(),
            Self::Exited(_) | Self::NotStarted { .. } => None,
        }
    }
}

/// The state of a job, with the data that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFate {
    /// Recorded; the command has not started.
    Pending,
    /// The command is running.
    Running {
        /// The process of the command.
        pid: u32,
        /// The supervisor process.
        supervisor: ProcessMark,
    },
    /// The job has ended.
    Ended {
        /// How the command ended.
        how: JobEnding,
        /// When the supervisor noticed that it had ended.
        at: Timestamp,
        /// The resources it had used by then.
        usage: JobUsage,
    },
    /// How the job ended is unknown.
    Lost {
        /// When that was noticed.
        at: Timestamp,
    },
}

impl JobFate {
    /// Returns the state without its data.
    pub(crate) const fn state(&self) -> JobState {
        match self {
            Self::Pending => JobState::Pending,
            Self::Running { .. } => JobState::Running,
            Self::Ended { how, .. } => how.state(),
            Self::Lost { .. } => JobState::Lost,
        }
    }
}

/// Resources used by a job and its descendants, as far as the operating system reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobUsage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The highest memory use observed for the command, in bytes; `None` if the supervisor never sampled it.
    pub peak_memory: Option<u64>,
}

/// A range of a job's output that was dropped, in bytes of the original output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first missing byte.
    pub from: u64,
    /// The first byte after the gap.
    pub to: u64,
}

/// How much a job has written, and how much of it is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOutput {
    /// The number of bytes the job wrote.
    pub written: u64,
    /// The part that was dropped.
    pub gap: Option<Gap>,
    /// The number of dropped bytes that were dropped because writing them failed.
    pub lost: u64,
}

/// A background command: Claude Code's job state plus Taskyard's own data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The id: the letter of the kind, then a random part.
    pub id: JobId,
    /// Whether it is a command or an agent, in Claude Code's terms.
    pub kind: JobKind,
    /// A description for people.
    pub description: String,
    /// The name it was given. It identifies the job if no other job has it.
    pub name: Option<String>,
    /// The state of the job.
    pub fate: JobFate,
    /// When it was started.
    pub started: Timestamp,
    /// The file to which the supervisor writes its output.
    pub output_file: PathBuf,
    /// The client release whose format that file has.
    pub form: ClientVersion,
    /// How much it has written.
    pub output: JobOutput,
    /// How much of the output has been delivered to the agent that started it, in bytes.
    pub output_offset: u64,
    /// Whether the end of the job has been reported, or needs no report.
    pub notified: bool,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Whether the task is reopened if the job fails.
    pub reopens_task: bool,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory.
    pub directory: PathBuf,
    /// The agent that started it.
    pub agent: AgentName,
    /// The list it was started for.
    pub list: ListId,
    /// The address of the store of that list.
    pub store: String,
    /// The id of the tool call that started it.
    pub tool_use: Option<String>,
    /// The timeout.
    pub time_limit: Option<Duration>,
    /// The maximum size of the output file, in bytes.
    pub max_output: u64,
    /// When it was last known to be alive.
    pub last_seen: Timestamp,
    /// The host name of the machine it runs on; `None` for a job of this machine.
    pub machine: Option<String>,
}

impl Job {
    /// Returns the state without its data.
    pub const fn state(&self) -> JobState {
        self.fate.state()
    }

    /// Returns when it ended or was found to be lost; `None` if it has not ended.
    pub const fn ended(&self) -> Option<Timestamp> {
        match self.fate {
            JobFate::Ended { at, .. } | JobFate::Lost { at } => Some(at),
            JobFate::Pending | JobFate::Running { .. } => None,
        }
    }

    /// Returns the exit code of a job that was not stopped and did not time out. If a signal killed it, the code is
    /// 128 plus the signal, as in a shell.
    pub(crate) fn own_exit_code(&self) -> Option<i32> {
        let ending = self.ending().filter(|ending| ending.state() != JobState::Killed)?;
        ending.exit_code().or_else(|| ending.signal().map(|signal| 128 + signal))
    }

    /// Returns how it ended, or `None` if it is not over or that is unknown.
    pub const fn ending(&self) -> Option<&JobEnding> {
        match &self.fate {
            JobFate::Ended { how, .. } => Some(how),
            _ => None,
        }
    }

    /// Returns the command as one line.
    pub fn command_line(&self) -> String {
        match &self.command[..] {
            // Show the line that was passed to the shell, without the shell.
            [shell, flag, line] if matches!(shell.as_str(), "sh" | "bash") && flag == "-c" => line.clone(),
            words => words.join(" "),
        }
    }
}

/// The id of a job: the letter of its kind and a random part.
///
/// Both supported releases of Claude Code make such ids, with different lengths; all of them are accepted. An id is
/// always safe as a file name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

/// Text that is not a valid job id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid job id `{}`: expected a letter and at least six letters and digits, such as `b3f7a2c`", .text.escape_debug())]
pub struct BadJobId {
    /// The rejected text.
    pub(crate) text: String,
}

/// The alphabet of ids made by the newer release.
const BASE_36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

impl JobId {
    /// The maximum length of an id; teammates with their own names have the longest ones.
    pub(crate) const LONGEST: usize = 128;

    /// Builds an id in the format of a Claude Code release from random bytes.
    pub fn from_random(kind: JobKind, version: ClientVersion, random: [u8; 16]) -> Self {
        let letter = kind.letter();
        let hex = |count: usize| random[..count].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self(match (version, kind) {
            (ClientVersion::V2_1_34, _) => format!("{letter}{}", hex(3)),
            (ClientVersion::V2_1_325, JobKind::LocalAgent) => format!("{letter}{}", hex(8)),
            (ClientVersion::V2_1_325, _) => {
                let digits = random[..8].iter().map(|byte| char::from(BASE_36[usize::from(*byte) % BASE_36.len()]));
                format!("{letter}{}", digits.collect::<String>())
            }
        })
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for JobId {
    type Err = BadJobId;

    fn from_str(text: &str) -> Result<Self, BadJobId> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        let fits = (7..=Self::LONGEST).contains(&text.len());
        if starts && fits && text.bytes().all(is_fine) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadJobId { text: text.to_owned() })
        }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What kind of work runs in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// A command.
    #[default]
    LocalBash,
    /// An agent on this machine.
    LocalAgent,
    /// An agent on another machine.
    RemoteAgent,
    /// A teammate.
    InProcessTeammate,
}

/// An unknown job kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid job kind `{}`: expected local_bash, local_agent, remote_agent or in_process_teammate", .word.escape_debug())]
pub struct UnknownJobKind {
    /// The rejected text.
    pub(crate) word: String,
}

impl JobKind {
    pub(crate) const ALL: [Self; 4] = [Self::LocalBash, Self::LocalAgent, Self::RemoteAgent, Self::InProcessTeammate];

    /// Returns Claude Code's word for the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LocalBash => "local_bash",
            Self::LocalAgent => "local_agent",
            Self::RemoteAgent => "remote_agent",
            Self::InProcessTeammate => "in_process_teammate",
        }
    }

    /// Returns the first letter of its ids.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::LocalBash => 'b',
            Self::LocalAgent => 'a',
            Self::RemoteAgent => 'r',
            Self::InProcessTeammate => 't',
        }
    }
}

impl FromStr for JobKind {
    type Err = UnknownJobKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        known.ok_or_else(|| UnknownJobKind { word: word.to_owned() })
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandEnd, JobEnding, JobState};
    use crate::JobKind;

    #[test]
    fn a_word_and_a_letter_for_every_kind() {
        for kind in JobKind::ALL {
            assert_eq!(kind.as_str().parse::<JobKind>(), Ok(kind));
        }
        assert_eq!(JobKind::ALL.map(JobKind::letter), ['b', 'a', 'r', 't']);
        assert!("local_dog".parse::<JobKind>().is_err());
    }

    #[test]
    fn only_what_ended_well_by_itself_is_completed() {
        assert_eq!(JobEnding::Exited(0).state(), JobState::Completed);
        assert_eq!(JobEnding::Exited(3).state(), JobState::Failed);
        assert_eq!(JobEnding::Signalled(11).state(), JobState::Failed);
        assert_eq!(JobEnding::Stopped(CommandEnd::Exited(0)).state(), JobState::Killed);
        assert_eq!(JobEnding::TimedOut(CommandEnd::Signalled(9)).state(), JobState::Killed);
        assert_eq!(JobEnding::Stopped(CommandEnd::Exited(4)).exit_code(), Some(4));
        assert_eq!(JobEnding::TimedOut(CommandEnd::Signalled(9)).signal(), Some(9));
    }
}

#[cfg(test)]
mod job_id_tests {
    use super::JobId;
    use crate::{ClientVersion, JobKind};

    #[test]
    fn names_are_made_as_each_release_makes_them() {
        let random = [0xde, 0x1b, 0xa1, 35, 36, 0, 7, 255, 0, 0, 0, 0, 0, 0, 0, 0];
        let made = |kind, version| JobId::from_random(kind, version, random).to_string();
        assert_eq!(made(JobKind::LocalBash, ClientVersion::V2_1_34), "bde1ba1");
        assert_eq!(made(JobKind::InProcessTeammate, ClientVersion::V2_1_34), "tde1ba1");
        assert_eq!(made(JobKind::LocalBash, ClientVersion::V2_1_325), "b6rhz0073");
        assert_eq!(made(JobKind::LocalAgent, ClientVersion::V2_1_325), "ade1ba123240007ff");
    }

    #[test]
    fn the_names_of_every_release_are_accepted() {
        for name in ["b3f7a2c", "bicd1inz5", "a0123456789abcdef", "aresearcher-0123456789abcdef", "x3f7a2c"] {
            assert_eq!(name.parse::<JobId>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn what_is_no_safe_file_name_names_no_job() {
        for text in ["", "b", "../../etc", "b/../../x", "b3f7a2c\n", "B3f7a2c", "nope", &"b".repeat(200)] {
            assert!(text.parse::<JobId>().is_err(), "{text}");
        }
    }
}

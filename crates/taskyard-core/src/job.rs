//! A command that runs in the background, and what became of it.

use crate::JobKind;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{AgentName, ClientVersion, JobId, ListId, ProcessMark, TaskId, Timestamp};

/// The word for how a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Recorded; its command has not begun.
    Pending,
    /// At work.
    Running,
    /// It ended with exit code 0.
    Completed,
    /// It ended otherwise, by itself.
    Failed,
    /// It was ended: at an agent's wish, or because its time was up.
    Killed,
    /// Its supervisor is gone; it is not known how it ended.
    Lost,
}

impl JobState {
    /// Every state.
    pub(crate) const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Killed, Self::Lost];

    /// Returns the word.
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

    /// Tells whether nothing more will come.
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
    /// With this exit code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// An agent stopped it; how its command ended then.
    Stopped(CommandEnd),
    /// Its time was up; how its command ended then.
    TimedOut(CommandEnd),
    /// Its command could not be started.
    NotStarted {
        /// The exit code a shell would give: 127 where there is no such program, 126 where it cannot be run.
        code: i32,
        /// What the system said.
        why: String,
    },
}

/// How the command of a job ended that was stopped or ran out of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// It ended with this exit code.
    Exited(i32),
    /// It ended by this signal.
    Signalled(i32),
    /// It could not be seen.
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
    /// Returns the word for it.
    pub(crate) const fn state(&self) -> JobState {
        match self {
            Self::Exited(0) => JobState::Completed,
            Self::Exited(_) | Self::Signalled(_) | Self::NotStarted { .. } => JobState::Failed,
            Self::Stopped(_) | Self::TimedOut(_) => JobState::Killed,
        }
    }

    /// Returns the exit code of its command.
    pub const fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) | Self::NotStarted { code, .. } => Some(*code),
            Self::Stopped(end) | Self::TimedOut(end) => end.code(),
            Self::Signalled(_) => None,
        }
    }

    /// Returns the signal that ended its command.
    pub const fn signal(&self) -> Option<i32> {
        match self {
            Self::Signalled(signal) => Some(*signal),
            Self::Stopped(end) | Self::TimedOut(end) => end.signal(),
            Self::Exited(_) | Self::NotStarted { .. } => None,
        }
    }
}

/// How a job stands, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFate {
    /// Recorded; its command has not begun.
    Pending,
    /// At work.
    Running {
        /// The process of its command.
        pid: u32,
        /// The process that looks after it.
        supervisor: ProcessMark,
    },
    /// Over.
    Ended {
        /// How its command ended.
        how: JobEnding,
        /// When its supervisor saw that.
        at: Timestamp,
        /// What it used until then.
        usage: JobUsage,
    },
    /// It is not known how it ended.
    Lost {
        /// When that was noticed.
        at: Timestamp,
    },
}

impl JobFate {
    /// Returns the word for it.
    pub(crate) const fn state(&self) -> JobState {
        match self {
            Self::Pending => JobState::Pending,
            Self::Running { .. } => JobState::Running,
            Self::Ended { how, .. } => how.state(),
            Self::Lost { .. } => JobState::Lost,
        }
    }
}

/// What a job used, with everything it started, as far as the system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobUsage {
    /// Time on a processor in user mode.
    pub user: Duration,
    /// Time on a processor in the kernel.
    pub system: Duration,
    /// The most memory its command was seen with, in bytes; none where its supervisor did not look in time.
    pub peak_memory: Option<u64>,
}

/// What of a job's output was left out, counted in the bytes it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first byte that is missing.
    pub from: u64,
    /// The first byte after it that is there again.
    pub to: u64,
}

/// How much a job has written, and what is left of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOutput {
    /// How many bytes it wrote.
    pub written: u64,
    /// What of them was left out.
    pub gap: Option<Gap>,
    /// How many of those were left out because they could not be written.
    pub lost: u64,
}

/// A command that runs in the background: the client's state object, and what else is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id: the letter of its kind, then random letters and digits.
    pub id: JobId,
    /// Whether it is a command or an agent, as the client tells them apart.
    pub kind: JobKind,
    /// What it is for, in words.
    pub description: String,
    /// The name it was given, by which it may be called where that is unique.
    pub name: Option<String>,
    /// How it stands.
    pub fate: JobFate,
    /// When it was started.
    pub started: Timestamp,
    /// The file that its supervisor writes its output to.
    pub output_file: PathBuf,
    /// The client's form of that file.
    pub form: ClientVersion,
    /// How much it wrote.
    pub output: JobOutput,
    /// How far its output has been given to the agent that started it.
    pub output_offset: u64,
    /// Whether its end was told, or needs no telling.
    pub notified: bool,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Whether that task is opened again when it fails.
    pub reopens_task: bool,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// The agent that started it.
    pub agent: AgentName,
    /// The list it was started for.
    pub list: ListId,
    /// The address of the store of that list.
    pub store: String,
    /// The call of a tool that started it.
    pub tool_use: Option<String>,
    /// How long it may take.
    pub time_limit: Option<Duration>,
    /// How large its file may become.
    pub max_output: u64,
    /// When it was last known to be alive.
    pub last_seen: Timestamp,
    /// The host name of the machine it runs on; `None` for a job of this machine.
    pub machine: Option<String>,
}

impl Job {
    /// Returns the word for how it stands.
    pub const fn state(&self) -> JobState {
        self.fate.state()
    }

    /// Returns when it ended, or was found to have.
    pub const fn ended(&self) -> Option<Timestamp> {
        match self.fate {
            JobFate::Ended { at, .. } | JobFate::Lost { at } => Some(at),
            JobFate::Pending | JobFate::Running { .. } => None,
        }
    }

    /// Returns the exit code of a job that ended by itself; as a shell tells it where a signal ended it.
    pub(crate) fn own_exit_code(&self) -> Option<i32> {
        let ending = self.ending().filter(|ending| ending.state() != JobState::Killed)?;
        ending.exit_code().or_else(|| ending.signal().map(|signal| 128 + signal))
    }

    /// Returns how it ended, where that is known.
    pub const fn ending(&self) -> Option<&JobEnding> {
        match &self.fate {
            JobFate::Ended { how, .. } => Some(how),
            _ => None,
        }
    }

    /// Returns its command as a line.
    pub fn command_line(&self) -> String {
        match &self.command[..] {
            // What was given to a shell is shown as it was given.
            [shell, flag, line] if matches!(shell.as_str(), "sh" | "bash") && flag == "-c" => line.clone(),
            words => words.join(" "),
        }
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

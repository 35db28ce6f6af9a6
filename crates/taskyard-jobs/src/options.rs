//! Options for starting jobs, and the locations of their files.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rustix::process::geteuid;
use taskyard::core::{AgentName, ClientVersion, JobId, JobKind, ListId, TaskId};
use taskyard::jobs::{JobError, JobRecords, JobSettings};
use taskyard::private;

/// The maximum length of a directory name.
const LONGEST_NAME: usize = 255;

/// The location of job files, and the program that supervises jobs. Set by the program that runs jobs.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// Our data directory.
    pub data: PathBuf,
    /// The directory for temporary files, which contains the client's own.
    pub temporary: PathBuf,
    /// The program whose subcommand `job supervise` supervises a job.
    pub program: PathBuf,
    /// Environment variables of jobs that override our own.
    pub environment: Vec<(OsString, OsString)>,
    /// The configuration of jobs.
    pub settings: JobSettings,
}

/// A job to start.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Whether it is a command or an agent, in the client's classification.
    pub kind: JobKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// A description for people; defaults to the command.
    pub description: Option<String>,
    /// A name by which it can be referred to.
    pub name: Option<String>,
    /// The agent that starts it.
    pub agent: AgentName,
    /// The list it is started for.
    pub list: ListId,
    /// The address of that list's store.
    pub store: String,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Whether to reopen that task if the job fails.
    pub reopens_task: bool,
    /// The client's session; its folder gets the output.
    pub session: Option<String>,
    /// The id of the tool call that starts it.
    pub tool_use: Option<String>,
    /// Its time limit; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// The maximum size of its output in bytes; `None` for the configured one.
    pub max_output: Option<u64>,
    /// Variables to set in addition to our own environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl NewJob {
    /// Returns a job that runs a command for an agent and a list, with defaults for everything else.
    pub fn command(command: Vec<String>, directory: PathBuf, agent: AgentName, list: ListId) -> Self {
        Self {
            kind: JobKind::LocalBash,
            command,
            directory,
            description: None,
            name: None,
            agent,
            list,
            store: String::new(),
            task: None,
            reopens_task: false,
            session: None,
            tool_use: None,
            time_limit: None,
            max_output: None,
            environment: Vec::new(),
        }
    }
}

impl JobOptions {
    /// Returns the options of jobs that this program supervises. The program has to call [`dispatch`](super::dispatch)
    /// first in `main`.
    pub fn of_this_program(data: impl Into<PathBuf>, temporary: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            temporary: temporary.into(),
            program: this_program(),
            environment: Vec::new(),
            settings: JobSettings::default(),
        }
    }

    /// Returns the path of a job's output file, in the client's naming scheme.
    pub(crate) fn output_file(&self, id: &JobId, new: &NewJob) -> PathBuf {
        let mut folder = self.temporary.join(clients_folder());
        folder.push(folder_name(&new.directory.to_string_lossy()));
        if self.settings.output_form == ClientVersion::V2_1_325 {
            // The client names its lists after sessions; without a session, the list's name is used instead.
            folder.push(folder_name(new.session.as_deref().unwrap_or(new.list.as_str())));
        }
        folder.join("tasks").join(format!("{id}.output"))
    }

    /// Returns the path of the file with the layout of a job's output.
    pub(crate) fn map_file(&self, id: &JobId) -> PathBuf {
        self.data.join("jobs").join(format!("{id}.map"))
    }

    /// Creates the directories for a job's files, inaccessible to other users.
    pub(crate) fn prepare(&self, output_file: &Path) -> Result<(), JobError> {
        JobRecords::make_directory(&self.data)?;
        let Some(folder) = output_file.parent() else { return Ok(()) };
        // The program that started the job may use another directory for temporary files than the supervisor.
        let is_clients = |above: &Path| above.file_name().is_some_and(|name| name == clients_folder().as_str());
        let depth = folder.ancestors().position(is_clients).unwrap_or(0);
        let folders: Vec<&Path> = folder.ancestors().take(depth + 1).collect();
        folders.into_iter().rev().try_for_each(make_ours)
    }

    /// Creates the client's own directory for temporary files, and checks that it is ours.
    pub(crate) fn prepare_temporary(&self) -> Result<(), JobError> {
        make_ours(&self.temporary.join(clients_folder()))
    }
}

/// Returns the path of the running program. If the file was replaced, the system still provides the original.
fn this_program() -> PathBuf {
    let program = std::env::current_exe().ok().filter(|program| program.exists());
    program.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Returns the name of the client's own directory for temporary files.
fn clients_folder() -> String {
    format!("claude-{}", geteuid().as_raw())
}

/// Creates a directory for output. An existing directory is accepted if it is ours and no other user can have put
/// anything into it.
fn make_ours(directory: &Path) -> Result<(), JobError> {
    // Every user may write to the directory for temporary files, so another user may have created this one.
    match fs::symlink_metadata(directory) {
        Ok(found) if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o002 != 0 => {
            return Err(JobError::ForeignDirectory { path: directory.to_owned() });
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(JobError::io("cannot look at", directory)(error));
        }
        _ => {}
    }
    private::make_directory(directory).map_err(JobError::io("cannot create", directory))?;
    match fs::symlink_metadata(directory) {
        Ok(now) if !now.is_dir() || now.uid() != geteuid().as_raw() => {
            Err(JobError::ForeignDirectory { path: directory.to_owned() })
        }
        // A directory that is cleaned up right after it was created is created again by the next process that needs it.
        _ => Ok(()),
    }
}

/// Returns the client's name for a directory: every character other than ASCII letters and digits becomes `-`.
fn folder_name(text: &str) -> String {
    let name: String = text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    name.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use taskyard::core::{AgentName, ClientVersion, ListId};
    use taskyard::jobs::JobSettings;

    use super::{JobOptions, NewJob};

    fn path(form: ClientVersion, session: Option<&str>) -> String {
        let options = JobOptions {
            data: "/data".into(),
            temporary: "/tmp".into(),
            program: "/bin/taskyard".into(),
            environment: Vec::new(),
            settings: JobSettings { output_form: form, ..JobSettings::default() },
        };
        let list = ListId::new("rocket").unwrap();
        let mut new = NewJob::command(Vec::new(), "/home/ana/my_app".into(), AgentName::new("ana").unwrap(), list);
        new.session = session.map(str::to_owned);
        let file = options.output_file(&"b3f7a2c".parse().unwrap(), &new).display().to_string();
        file.replace(&format!("claude-{}", rustix::process::geteuid().as_raw()), "claude-UID")
    }

    #[test]
    fn output_lies_where_each_release_of_the_client_puts_it() {
        let [old, new] = ClientVersion::ALL;
        assert_eq!(path(old, Some("5e55")), "/tmp/claude-UID/-home-ana-my-app/tasks/b3f7a2c.output");
        assert_eq!(path(new, Some("5e55")), "/tmp/claude-UID/-home-ana-my-app/5e55/tasks/b3f7a2c.output");
        assert_eq!(path(new, None), "/tmp/claude-UID/-home-ana-my-app/rocket/tasks/b3f7a2c.output");
    }
}

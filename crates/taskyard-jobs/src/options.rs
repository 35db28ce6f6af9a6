//! What is asked for when a job is started, where its files are, and what looks after it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rustix::process::geteuid;
use taskyard::core::{AgentName, ClientVersion, JobId, JobKind, ListId, TaskId};
use taskyard::jobs::{JobError, JobRecords, JobSettings};
use taskyard::private;

/// The longest name a directory may have.
const LONGEST_NAME: usize = 255;

/// Where the files of jobs are, and what looks after jobs. The program that runs them fills it in.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// Our data directory.
    pub data: PathBuf,
    /// The directory for temporary files, in which the client's own is.
    pub temporary: PathBuf,
    /// The program whose `job supervise` looks after a job.
    pub program: PathBuf,
    /// The variables that jobs get in place of ours.
    pub environment: Vec<(OsString, OsString)>,
    /// What the configuration says of jobs.
    pub settings: JobSettings,
}

/// A job to start.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Whether it is a command or an agent, as the client tells them apart.
    pub kind: JobKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What it is for, in words; its command where nothing is said.
    pub description: Option<String>,
    /// A name to call it by.
    pub name: Option<String>,
    /// The agent that starts it.
    pub agent: AgentName,
    /// The list it is started for.
    pub list: ListId,
    /// The address of that list's store.
    pub store: String,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Whether that task is opened again when it fails.
    pub reopens_task: bool,
    /// The client's session, in whose folder its output is put.
    pub session: Option<String>,
    /// The call of a tool that starts it.
    pub tool_use: Option<String>,
    /// How long it may take.
    pub time_limit: Option<Duration>,
    /// How large its output may become, where that is not what is configured.
    pub max_output: Option<u64>,
    /// Variables to set beside those we have.
    pub environment: Vec<(OsString, OsString)>,
}

impl NewJob {
    /// Returns a command to run somewhere for an agent and a list, and nothing more.
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
    /// Returns the options of jobs that this program looks after; it calls [`dispatch`](super::dispatch) first of all.
    pub fn of_this_program(data: impl Into<PathBuf>, temporary: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            temporary: temporary.into(),
            program: this_program(),
            environment: Vec::new(),
            settings: JobSettings::default(),
        }
    }

    /// Returns the file a job's output goes to, as the client would name it.
    pub(crate) fn output_file(&self, id: &JobId, new: &NewJob) -> PathBuf {
        let mut folder = self.temporary.join(clients_folder());
        folder.push(folder_name(&new.directory.to_string_lossy()));
        if self.settings.output_form == ClientVersion::V2_1_325 {
            // The client's lists are named after its sessions; where there is none, the list stands for one.
            folder.push(folder_name(new.session.as_deref().unwrap_or(new.list.as_str())));
        }
        folder.join("tasks").join(format!("{id}.output"))
    }

    /// Returns the file that says how a job's output is laid out.
    pub(crate) fn map_file(&self, id: &JobId) -> PathBuf {
        self.data.join("jobs").join(format!("{id}.map"))
    }

    /// Makes the directories a job needs, closed to other users.
    pub(crate) fn prepare(&self, output_file: &Path) -> Result<(), JobError> {
        JobRecords::make_directory(&self.data)?;
        let Some(folder) = output_file.parent() else { return Ok(()) };
        // The program that started the job may have had another directory for temporary files than its supervisor.
        let is_clients = |above: &Path| above.file_name().is_some_and(|name| name == clients_folder().as_str());
        let depth = folder.ancestors().position(is_clients).unwrap_or(0);
        let folders: Vec<&Path> = folder.ancestors().take(depth + 1).collect();
        folders.into_iter().rev().try_for_each(make_ours)
    }

    /// Makes the client's own directory among those for temporary files, and makes sure that it is ours.
    pub(crate) fn prepare_temporary(&self) -> Result<(), JobError> {
        make_ours(&self.temporary.join(clients_folder()))
    }
}

/// Returns the program that runs. One that was exchanged since is still found by what the system keeps of it.
fn this_program() -> PathBuf {
    let program = std::env::current_exe().ok().filter(|program| program.exists());
    program.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Returns the name of the client's own directory among those for temporary files.
fn clients_folder() -> String {
    format!("claude-{}", geteuid().as_raw())
}

/// Makes a directory for output, or takes the one that is there where it is ours and no other user could have put anything into it.
fn make_ours(directory: &Path) -> Result<(), JobError> {
    // Every user may write to the directory for temporary files: another user may have been there before us.
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
        // What was tidied away the moment after it was made is made again by the next process that needs it.
        _ => Ok(()),
    }
}

/// Returns a name for a directory, as the client makes it: what is no letter or digit becomes `-`.
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

//! Starting a job.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use taskyard::core::{Job, JobFate, JobId, JobOutput};
use taskyard::jobs::{JobError, JobRecord, JobRecords};
use taskyard::liveness::own_mark;
use taskyard::system;
use taskyard::system::hexadecimal;

use super::processes::{JOB, TOKEN};
use super::registry::{random, take_notice_of_ends};
use super::{Jobs, NewJob};
use crate::registry::grant_room;

/// What the supervisor reports once the job runs; anything else is an error message.
pub(crate) const READY: &str = "running";
/// The flag of a file descriptor that is closed on exec.
const CLOSED_ON_EXEC: u32 = 0o2_000_000;
/// The first file descriptor after stdin, stdout and stderr.
const FIRST: u32 = 3;

impl Jobs {
    /// Starts a job and returns it once its supervisor has recorded that it runs. The job outlives this process.
    pub fn start(&self, new: NewJob) -> Result<Job, JobError> {
        let mut records = JobRecords::open(&self.options.data)?;
        records.hurry()?;
        let max_output = grant_room(self, &mut records, new.max_output)?;
        // The supervisor does this as well, but a failure is easier to report from here.
        self.options.prepare_temporary()?;
        let id = self.insert(&mut records, &new, max_output)?;
        drop(records);
        self.start_supervisor(&id, &new)?;
        self.get(&id)
    }

    /// Records the job under an unused id.
    fn insert(&self, records: &mut JobRecords, new: &NewJob, max_output: u64) -> Result<JobId, JobError> {
        loop {
            let id = JobId::from_random(new.kind, self.options.settings.output_form, random()?);
            // A file of another program, such as a client, may already have this name; leave it alone.
            if std::fs::symlink_metadata(self.options.output_file(&id, new)).is_ok() {
                continue;
            }
            if records.insert(&self.first_record(id.clone(), new, max_output)?)? {
                return Ok(id);
            }
        }
    }

    fn first_record(&self, id: JobId, new: &NewJob, max_output: u64) -> Result<JobRecord, JobError> {
        let now = system::now();
        let settings = &self.options.settings;
        let job = Job {
            kind: new.kind,
            description: new.description.clone().or_else(|| new.name.clone()).unwrap_or_default(),
            name: new.name.clone(),
            fate: JobFate::Pending,
            started: now,
            output_file: self.options.output_file(&id, new),
            form: settings.output_form,
            output: JobOutput::default(),
            output_offset: 0,
            notified: false,
            task: new.task.clone(),
            reopens_task: new.reopens_task,
            command: new.command.clone(),
            directory: new.directory.clone(),
            agent: new.agent.clone(),
            list: new.list.clone(),
            store: new.store.clone(),
            tool_use: new.tool_use.clone(),
            time_limit: new.time_limit,
            max_output,
            last_seen: now,
            machine: None,
            id,
        };
        let description = if job.description.is_empty() { job.command_line() } else { job.description.clone() };
        let token = hexadecimal(&random()?);
        let job = Job { description, ..job };
        Ok(JobRecord::new(job, token, own_mark(), settings.grace))
    }

    /// Starts the supervisor of a job, and waits until the job runs.
    fn start_supervisor(&self, id: &JobId, new: &NewJob) -> Result<(), JobError> {
        let mut command = without_inherited_files(&self.options.program);
        command.args(["job", "supervise"]).arg(&self.options.data).arg(id.as_str());
        command.arg(self.options.settings.quota.to_string());
        let environment = self.options.environment.iter().chain(&new.environment);
        command.envs(environment.map(|(name, value)| (name, value)));
        // A job started from within a job is separate.
        command.env_remove(JOB).env_remove(TOKEN);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
        let failed = |why: String| {
            self.forget_start(id);
            JobError::NoSupervisor { why }
        };
        let mut child =
            command.spawn().map_err(|error| failed(format!("{}: {error}", self.options.program.display())))?;
        let mut word = String::new();
        if let Some(stdout) = child.stdout.take() {
            let read = BufReader::new(stdout).read_line(&mut word);
            read.map_err(|error| failed(error.to_string()))?;
        }
        take_notice_of_ends(Some(child));
        match word.trim_end() {
            READY => Ok(()),
            "" => Err(failed("it ended without a message".to_owned())),
            why => Err(failed(why.to_owned())),
        }
    }

    /// Removes the record of a job that never began.
    fn forget_start(&self, id: &JobId) {
        let removed = JobRecords::open(&self.options.data).and_then(|mut records| records.remove_pending(id));
        if let Err(error) = removed {
            tracing::warn!(job = %id, %error, "a job that never began stays on record");
        }
    }
}

/// Returns a command that runs our program without inherited file descriptors.
fn without_inherited_files(program: &Path) -> Command {
    // `/proc/self/exe` would refer to the shell.
    let held = if program.starts_with("/proc") { Vec::new() } else { inherited() };
    let shell = ["/bin/bash", "/usr/bin/bash", "/bin/sh"].into_iter().find(|shell| Path::new(shell).exists());
    let (Some(shell), false) = (shell, held.is_empty()) else { return Command::new(program) };
    // Not every shell supports descriptors of more than one digit.
    let is_known = |number: &&u32| **number < 10 || shell.ends_with("bash");
    let closing: Vec<String> = held.iter().filter(is_known).map(|number| format!("{number}>&-")).collect();
    let mut command = Command::new(shell);
    command.arg("-c").arg(format!(r#"exec "$0" "$@" {}"#, closing.join(" "))).arg(program);
    command
}

/// Returns the file descriptors that a child process would inherit.
fn inherited() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fdinfo") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut held: Vec<u32> = numbers.filter(|number| *number >= FIRST && is_inherited(*number)).collect();
    held.sort_unstable();
    held
}

fn is_inherited(number: u32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { return false };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & CLOSED_ON_EXEC == 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{inherited, is_inherited};

    #[test]
    fn what_we_open_ourselves_is_not_inherited() {
        use std::os::fd::AsRawFd as _;

        let file = std::fs::File::open("/dev/null").unwrap();
        let number = u32::try_from(file.as_raw_fd()).unwrap();
        assert!(!is_inherited(number) && !inherited().contains(&number));
        // Stdin is inherited, and not covered here.
        assert!(is_inherited(0) && inherited().iter().all(|number| *number > 2));
    }
}

//! What the program that jobs run in does for them when no user typed the command: it looks after one, and becomes its command.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use taskyard::core::{Job, JobId};
use taskyard::jobs::{JobSettings, SharedJobs};
use taskyard::liveness::know_machine_by;
use taskyard::process::Cancel;

use super::signals::{cancel_when_stopped, hear_of_children, survive_file_size_limits};
use super::starting::READY;
use super::supervising::{DELIVER, deliver, leave_to_another, supervise, supervise_tied, trampoline};
use super::{JobOptions, Jobs};

/// Does what a job needs of this program, where it was started for that; none where another program started it.
///
/// A job is looked after by a small process of its own, which is this program once more, and so is the first moment of its command. A
/// program that starts jobs or runs [`work`](crate::work) therefore calls this before anything else in `main`, and ends with the exit
/// code it gets. `options` says where jobs leave their traces; `share` opens the jobs of the store that a job was started for, on a thread
/// of its own, or returns `None` if no other machine shares that store; `settle` is called when a job has ended, to do what that means for
/// its task ([`Jobs::reopen_tasks`]).
///
/// ```no_run
/// use std::process::ExitCode;
/// use taskyard_jobs::{JobOptions, dispatch};
///
/// fn main() -> ExitCode {
///     let options = || Some(JobOptions::of_this_program("/var/lib/host/taskyard", "/tmp"));
///     if let Some(code) = dispatch(std::env::args_os(), options, |_| None, |_, _| {}) {
///         return code;
///     }
///     // What the program is for.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn dispatch(
    arguments: impl IntoIterator<Item = OsString>,
    options: impl FnOnce() -> Option<JobOptions>,
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
    settle: impl FnOnce(&Jobs, &Job),
) -> Option<ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().skip(1).collect();
    match arguments.as_slice() {
        [job, word, data, id, quota] if job == "job" && word == "supervise" => {
            let (id, quota) = (id.to_str()?.parse().ok()?, quota.to_str()?.parse().ok()?);
            let settings = JobSettings { quota, ..JobSettings::default() };
            Some(look_after(JobOptions { data: PathBuf::from(data), settings, ..options()? }, &id, share, settle))
        }
        [job, word, data, id] if job == "job" && word == DELIVER => {
            let id = id.to_str()?.parse().ok()?;
            Some(deliver_end(JobOptions { data: PathBuf::from(data), ..options()? }, &id, share, settle))
        }
        [job, word, data, words @ ..] if job == "job" && word == "tied" && !words.is_empty() => {
            Some(look_after_tied(&JobOptions { data: PathBuf::from(data), ..options()? }, words))
        }
        [job, word, supervisor, words @ ..] if job == "job" && word == "begin" => {
            let supervisor = supervisor.to_str()?.parse().ok()?;
            Some(ExitCode::from(trampoline(supervisor, words)))
        }
        _ => None,
    }
}

fn look_after(
    options: JobOptions,
    id: &JobId,
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
    settle: impl FnOnce(&Jobs, &Job),
) -> ExitCode {
    survive_file_size_limits();
    know_machine_by(&options.data);
    match supervise(options.clone(), id, &hear_signals(), tell, share) {
        Ok((job, true)) => {
            settle(&Jobs::new(options), &job);
            ExitCode::SUCCESS
        }
        Ok((job, false)) => {
            leave_to_another(&options, &job.id);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Does what the end of a job means, for a supervisor that could not wait for the store.
fn deliver_end(
    options: JobOptions,
    id: &JobId,
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>>,
    settle: impl FnOnce(&Jobs, &Job),
) -> ExitCode {
    know_machine_by(&options.data);
    let jobs = Jobs::new(options);
    let Ok(job) = jobs.get(id) else { return ExitCode::FAILURE };
    if let Some(shared) = share(&job) {
        deliver(jobs.options(), &job, &*shared);
    }
    settle(&jobs, &job);
    ExitCode::SUCCESS
}

fn look_after_tied(options: &JobOptions, words: &[OsString]) -> ExitCode {
    supervise_tied(options, words, &hear_signals()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Lets us learn how commands end, and returns what is cancelled when the system asks us to stop.
fn hear_signals() -> Cancel {
    hear_of_children();
    let cancel = Cancel::new();
    cancel_when_stopped(cancel.clone());
    cancel
}

/// Tells the process that started us, which listens on stdout until then, and no other process afterwards.
fn tell(ready: Result<(), String>) {
    let word = ready.map_or_else(|why| why.replace('\n', " "), |()| READY.to_owned());
    let mut stdout = std::io::stdout().lock();
    // The process that started us may be gone; the job is not.
    let _ = stdout.write_all(format!("{word}\n").as_bytes()).and_then(|()| stdout.flush());
    if let Ok(nobody) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nobody);
    }
}

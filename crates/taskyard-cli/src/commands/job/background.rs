//! What this program does for a job when nobody types: it looks after it, and becomes its command.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use taskyard::core::JobId;
use taskyard::failpoint;
use taskyard::jobs::{JobPlace, JobSettings, Jobs, READY, supervise, supervise_tied, trampoline};
use taskyard::process::Cancel;

use crate::environment::Environment;
use crate::reopening::settle_end_of;
use crate::{places, signals};

/// Does what a job needs of this program; none where something was typed. The tree of commands is not built for it, because it
/// is started twice for every job and every command of `work`.
pub(crate) fn background(typed: &[OsString], environment: &Environment) -> Option<ExitCode> {
    match typed {
        [_, job, supervise, data, id, quota] if job == "job" && supervise == "supervise" => {
            if let Some(plan) = &environment.failpoints {
                failpoint::arm(plan).ok()?;
            }
            let id = id.to_str()?.parse().ok()?;
            let settings = JobSettings { quota: quota.to_str()?.parse().ok()?, ..JobSettings::default() };
            let place = places::jobs(environment, settings).ok()?;
            Some(look_after(JobPlace { data: PathBuf::from(data), ..place }, &id, environment))
        }
        [_, job, tied, data, words @ ..] if job == "job" && tied == "tied" && !words.is_empty() => {
            if let Some(plan) = &environment.failpoints {
                failpoint::arm(plan).ok()?;
            }
            let place = places::jobs(environment, JobSettings::default()).ok()?;
            Some(look_after_tied(&JobPlace { data: PathBuf::from(data), ..place }, words))
        }
        [_, job, begin, supervisor, words @ ..] if job == "job" && begin == "begin" => {
            let supervisor = supervisor.to_str()?.parse().ok()?;
            Some(ExitCode::from(trampoline(supervisor, words)))
        }
        _ => None,
    }
}

fn look_after(place: JobPlace, id: &JobId, environment: &Environment) -> ExitCode {
    signals::survive_file_size_limits();
    match supervise(place.clone(), id, &hear_signals(), tell) {
        Ok(job) => {
            settle_end_of(&Jobs::new(place), &job, environment);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn look_after_tied(place: &JobPlace, words: &[OsString]) -> ExitCode {
    supervise_tied(place, words, &hear_signals()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Lets us learn how commands end, and returns what is cancelled when the system asks us to stop.
fn hear_signals() -> Cancel {
    signals::hear_of_children();
    let cancel = Cancel::new();
    signals::cancel_when_stopped(cancel.clone());
    cancel
}

/// Tells whoever started us, who listens on stdout until then, and nobody else afterwards.
fn tell(ready: Result<(), String>) {
    let word = ready.map_or_else(|why| why.replace('\n', " "), |()| READY.to_owned());
    let mut stdout = std::io::stdout().lock();
    // Whoever started us may be gone; the job is not.
    let _ = stdout.write_all(format!("{word}\n").as_bytes()).and_then(|()| stdout.flush());
    if let Ok(nobody) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nobody);
    }
}

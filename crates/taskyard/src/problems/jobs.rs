//! What to say when nothing could be done with a job.

use crate::jobs::JobError;

use taskyard_core::problem::{Problem, ProblemKind};

use super::advice;

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        let message = error.to_string();
        match error {
            JobError::Machine(error) => error.into(),
            JobError::Store(error) => error.into(),
            JobError::Io { path, source, .. } => {
                let problem = Self::new(ProblemKind::CouldNot, "io", message).detail("path", path.display().to_string());
                match advice(&source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            JobError::NoSuchJob { name } => Self::new(ProblemKind::NotFound, "job_not_found", message)
                .hint("`taskyard job list` shows every job")
                .detail("job", name),
            JobError::Record { job, .. } => Self::new(ProblemKind::CouldNot, "job_record", message)
                .hint("use the Taskyard that started it")
                .detail("job", job),
            JobError::ForeignDirectory { path } => Self::new(ProblemKind::CouldNot, "foreign_directory", message)
                .hint("set CLAUDE_CODE_TMPDIR to a directory of your own")
                .detail("path", path.display().to_string()),
            JobError::NoRoom { used, quota, .. } => Self::new(ProblemKind::Refused, "no_room", message)
                .hint("tidy up with `taskyard job gc --older-than 0s`, or raise `quota` under [jobs] in taskyard.toml")
                .detail("used", used)
                .detail("quota", quota),
            JobError::NoSupervisor { .. } => Self::new(ProblemKind::CouldNot, "no_supervisor", message),
            JobError::RunsElsewhere { job, by } => Self::new(ProblemKind::Refused, "runs_elsewhere", message)
                .hint("stop it where it runs; from here it counts as lost when its signs of life have run out")
                .detail("job", job.as_str())
                .detail("machine", by.machine.as_str())
                .detail("pidSpace", by.pid_space.as_str()),
            JobError::NoAnswer { job, machine } => Self::new(ProblemKind::GaveUp, "job_unanswered", message)
                .hint("that machine is off, or does not reach the database; a request to stop the job is kept until it does")
                .detail("job", job.as_str())
                .detail("machine", machine),
            JobError::Unstoppable { job, pids } => Self::new(ProblemKind::CouldNot, "unstoppable", message)
                .hint("they belong to another user, or wait for a device; look at them with `ps`")
                .detail("job", job.as_str())
                .detail("pids", serde_json::json!(pids)),
        }
    }
}

//! Errors of databases, imports, exports and jobs as problems.

use taskyard_core::problem::{Problem, ProblemKind};

use super::advice;
use crate::interchange::InterchangeError;
use crate::jobs::JobError;
use crate::machine::{ListNameError, MachineError};
use crate::problems::library_problems::{has_no_locks, no_locks, stuck};
use crate::sqlite::DatabaseError;

impl From<ListNameError> for Problem {
    fn from(error: ListNameError) -> Self {
        match error {
            ListNameError::Bad(error) => error.into(),
            ListNameError::Machine(error) => error.into(),
        }
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        let message = error.to_string();
        let problem = match error {
            MachineError::Io { path, .. } => {
                Self::new(ProblemKind::CouldNot, "data_directory", message).detail("path", path.display().to_string())
            }
            MachineError::Database(error) => error.into(),
        };
        problem
            .hint_where_none("name the list with --list to work without it, or set TASKYARD_HOME to another directory")
    }
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        let message = error.to_string();
        match error {
            DatabaseError::Io { doing: "cannot lock", path, source } if has_no_locks(&source) => {
                no_locks(&path, &source)
            }
            DatabaseError::Io { path, .. } | DatabaseError::Refused { path, .. } => {
                Self::new(ProblemKind::CouldNot, "data_directory", message).detail("path", path.display().to_string())
            }
            DatabaseError::Busy { path, holder, waited } => stuck(message, &path, holder, waited),
            DatabaseError::Newer { path, format } => Self::new(ProblemKind::CouldNot, "newer_database", message)
                .hint("upgrade taskyard")
                .detail("path", path.display().to_string())
                .detail("format", format),
        }
    }
}

impl From<InterchangeError> for Problem {
    fn from(error: InterchangeError) -> Self {
        let message = error.to_string();
        let (problem, path) = match error {
            InterchangeError::Io { path, source, .. } => {
                let problem = Self::new(ProblemKind::CouldNot, "io", message);
                let problem = match advice(&source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                };
                (problem, path)
            }
            InterchangeError::NotAFolder { path, .. } => {
                (Self::usage("not_a_folder", message).hint("give the folder that contains it"), path)
            }
            InterchangeError::NotAFile { path, .. } => {
                (Self::usage("not_a_file", message).hint("give the path of the file itself"), path)
            }
            InterchangeError::Bad { path, .. } => {
                let hint = "check that --from matches the file; `taskyard import --help` lists the formats";
                (Self::usage("bad_source", message).hint(hint), path)
            }
            InterchangeError::OtherFormat { path, looks_like, .. } => {
                let hint = format!("`taskyard import {} --from {looks_like}`", path.display());
                (Self::usage("other_format", message).hint(hint).detail("looksLike", looks_like), path)
            }
            InterchangeError::NothingFound { path, .. } => {
                let hint = "check the path; `taskyard import --help` lists the formats";
                (Self::usage("nothing_found", message).hint(hint), path)
            }
            InterchangeError::NotEmpty { path } => {
                (Self::usage("not_empty", message).hint("give a folder that does not exist yet"), path)
            }
        };
        problem.detail("path", path.display().to_string())
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        let message = error.to_string();
        match error {
            JobError::Machine(error) => error.into(),
            JobError::Store(error) => error.into(),
            JobError::Io { path, source, .. } => {
                let problem =
                    Self::new(ProblemKind::CouldNot, "io", message).detail("path", path.display().to_string());
                match advice(&source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            JobError::NoSuchJob { name } => Self::new(ProblemKind::NotFound, "job_not_found", message)
                .hint("`taskyard job list` shows every job")
                .detail("job", name),
            JobError::Record { job, .. } => Self::new(ProblemKind::CouldNot, "job_record", message)
                .hint("use the version of Taskyard that started it")
                .detail("job", job),
            JobError::ForeignDirectory { path } => Self::new(ProblemKind::CouldNot, "foreign_directory", message)
                .hint("set CLAUDE_CODE_TMPDIR to a directory that you own")
                .detail("path", path.display().to_string()),
            JobError::NoRoom { used, quota, .. } => Self::new(ProblemKind::Refused, "no_room", message)
                .hint("tidy up with `taskyard job gc --older-than 0s`, or raise `quota` under [jobs] in taskyard.toml")
                .detail("used", used)
                .detail("quota", quota),
            JobError::NoSupervisor { .. } => Self::new(ProblemKind::CouldNot, "no_supervisor", message),
            JobError::RunsElsewhere { job, by } => Self::new(ProblemKind::Refused, "runs_elsewhere", message)
                .hint("stop it where it runs; from here it counts as lost after it has been silent long enough")
                .detail("job", job.as_str())
                .detail("machine", by.machine.as_str())
                .detail("pidSpace", by.pid_space.as_str()),
            JobError::NoAnswer { job, machine } => Self::new(ProblemKind::GaveUp, "job_unanswered", message)
                .hint(
                    "that machine is off or cannot reach the database; a request to stop the job is kept until it can",
                )
                .detail("job", job.as_str())
                .detail("machine", machine),
            JobError::Unstoppable { job, pids } => Self::new(ProblemKind::CouldNot, "unstoppable", message)
                .hint("they belong to another user or are waiting for a device; inspect them with `ps`")
                .detail("job", job.as_str())
                .detail("pids", serde_json::json!(pids)),
        }
    }
}

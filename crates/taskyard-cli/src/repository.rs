//! The git repository around a command, and the setup of its worktrees.

use std::path::Path;

use taskyard::Yard;
use taskyard::core::{Task, TaskId};
use taskyard::process::{CommandLine, Ending, Program};
use taskyard_jobs::worktrees::{GitError, Provisions, QueueError, Repository};

use crate::context::Context;
use crate::exit::{Problem, ProblemKind};

/// Maximum number of bytes kept of a command's output.
const KEPT: usize = 16 * 1024;

impl Context {
    pub(crate) fn repository(&self) -> Result<Repository, Problem> {
        let repository = Repository::around(self.directory()?).map_err(git_failed)?;
        Ok(repository.with_directory(self.config()?.work_directory()))
    }

    /// Returns the repository if worktrees were ever created in it. Does not run git.
    pub(crate) fn repository_with_worktrees(&self) -> Result<Option<Repository>, Problem> {
        let is_used =
            self.checkout().is_some_and(|checkout| checkout.common.join(taskyard_jobs::worktrees::OURS).is_dir());
        Ok(if is_used { self.repository().ok() } else { None })
    }

    /// Returns what each worktree gets in addition to the files of its base.
    pub(crate) fn provisions(&self) -> Result<Provisions, Problem> {
        let config = self.config()?;
        let (copy, link, setup) = (config.work_copy(), config.work_link(), config.work_setup().map(str::to_owned));
        Ok(Provisions { copy, link, setup })
    }

    /// Runs a shell command in a directory. Returns its output if it fails, otherwise `None`.
    pub(crate) fn run_line(&self, line: &str, place: &Path) -> Result<Option<String>, GitError> {
        let program = Program {
            // Merge stderr into stdout.
            command: CommandLine::Shell(format!("exec 2>&1\n{line}")),
            directory: place.to_owned(),
            environment: Vec::new(),
            stdin: Vec::new(),
            timeout: None,
        };
        let finished = program.run_captured(KEPT, self.cancel()).map_err(GitError::CannotStart)?;
        let how = match finished.ending {
            Ending::Exited(0) => return Ok(None),
            Ending::Exited(code) => format!("`{line}` ended with exit code {code}"),
            Ending::Signalled(signal) => format!("`{line}` was ended by signal {signal}"),
            Ending::TimedOut | Ending::Cancelled => format!("`{line}` was cancelled"),
        };
        Ok(Some(format!("{how}\n{}", finished.stdout)))
    }

    /// Returns the current state of a task.
    pub(crate) fn task(&self, yard: &Yard, id: &TaskId) -> Result<Task, Problem> {
        let list = yard.store().read(yard.list_id()).map_err(taskyard::Error::from)?;
        let found = list.find(id).map_err(taskyard::Error::from)?.task();
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, "task_not_found", format!("there is no task {id}")))
    }
}

/// Returns the problem for a failure of git.
pub(crate) fn git_failed(error: GitError) -> Problem {
    match error {
        GitError::Unfit(why) => Problem::new(ProblemKind::Refused, "not_possible", why),
        error => Problem::new(ProblemKind::CouldNot, "git_failed", error.to_string()),
    }
}

/// Returns the problem for a worktree that could not be created or merged.
pub(crate) fn queue_failed(error: QueueError) -> Problem {
    match error {
        QueueError::Git(error) => git_failed(error),
        QueueError::Yard(error) => error.into(),
    }
}

//! Runs `git`, isolated from the caller's environment, editor and prompts.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// Variables that point git to another repository, index or configuration, or change its behaviour.
const REMOVED: [&str; 24] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PAGER",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
    "GIT_WORK_TREE",
];

/// Settings for all our commands: no background maintenance, and machine-readable output.
const SETTINGS: [&str; 6] = [
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "core.quotePath=false",
    "rerere.autoUpdate=false",
    "merge.autoStash=false",
];

/// Runs a shell command in a directory. Returns what is wrong, or `None` if the command exited with 0.
pub type CommandRunner<'a> = &'a (dyn Fn(&str, &Path) -> Result<Option<String>, GitError> + 'a);

/// Why a git operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no git program, or it could not be started.
    #[error("cannot run git: {0}")]
    CannotStart(#[source] io::Error),
    /// A git command failed.
    #[error("git {command}: {said}")]
    Failed {
        /// The command, such as `worktree add`.
        command: String,
        /// Its output.
        said: String,
    },
    /// One of our files, or a file of the worktree, could not be read or written.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The state of the repository does not allow the operation.
    #[error("{0}")]
    Unfit(String),
}

impl GitError {
    /// Returns a function that wraps an I/O error, for `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

/// Runs git in one directory.
#[derive(Clone, Debug)]
pub(super) struct Git {
    directory: PathBuf,
    /// The directory of hooks to run; `None` to run none.
    hooks: Option<PathBuf>,
    /// A locked file, which stays locked until the last command that inherited it has ended.
    lock: Option<Arc<File>>,
    /// An index to use instead of the checkout's.
    index: Option<PathBuf>,
}

impl Git {
    /// Returns git in a directory, without hooks.
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), hooks: None, lock: None, index: None }
    }

    /// Runs the hooks of a directory.
    #[must_use]
    pub(super) fn with_hooks(self, hooks: Option<&Path>) -> Self {
        Self { hooks: hooks.map(Path::to_owned), ..self }
    }

    /// Passes a locked file to every command as stdin, so that it stays locked while any of them runs, even if this
    /// process is killed.
    #[must_use]
    pub(super) fn holding(self, lock: &Arc<File>) -> Self {
        Self { lock: Some(Arc::clone(lock)), ..self }
    }

    /// Uses another index than the checkout's.
    #[must_use]
    pub(super) fn on_index(&self, index: &Path) -> Self {
        Self { index: Some(index.to_owned()), ..self.clone() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs a command and returns its output without the trailing line break.
    pub(super) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, GitError> {
        let output = self.output(arguments, None)?;
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(failed(arguments, &output))
    }

    /// Runs a command with input on stdin and returns its output.
    pub(super) fn run_with_input<S: AsRef<OsStr>>(&self, arguments: &[S], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let output = self.output(arguments, Some(input))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failed(arguments, &output)),
        }
    }

    /// Runs a command that answers with its exit code: `true` for 0, `false` for 1.
    pub(super) fn asks<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<bool, GitError> {
        let output = self.output(arguments, None)?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed(arguments, &output)),
        }
    }

    /// Runs a command and returns its output; `None` if it failed, which is not an error here.
    pub(super) fn try_run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Option<String>, GitError> {
        let output = self.output(arguments, None)?;
        Ok(output.status.success().then(|| text(&output.stdout)))
    }

    /// Runs a command that lists paths with `-z`, and returns them.
    pub(super) fn paths<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<String>, GitError> {
        let written = self.run(arguments)?;
        Ok(written.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    fn output<S: AsRef<OsStr>>(&self, arguments: &[S], input: Option<&[u8]>) -> Result<Output, GitError> {
        let mut command = Command::new("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // A relative path would be resolved within the branch.
        let hooks = self.hooks.as_deref().unwrap_or(Path::new("/dev/null"));
        let mut hooks_path = OsString::from("core.hooksPath=");
        hooks_path.push(hooks);
        command.arg("-c").arg(hooks_path).args(arguments).current_dir(&self.directory);
        for name in REMOVED {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_MERGE_AUTOEDIT", "no");
        command.env("GIT_EDITOR", "true").env("GIT_SEQUENCE_EDITOR", "true").env("GIT_OPTIONAL_LOCKS", "0");
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        let stdin = match (&self.lock, input) {
            (_, Some(_)) => Stdio::piped(),
            (Some(lock), None) => Stdio::from(lock.try_clone().map_err(GitError::CannotStart)?),
            (None, None) => Stdio::null(),
        };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::CannotStart)?;
        let writes = child.stdin.take().zip(input.map(<[u8]>::to_vec));
        let writer = writes.map(|(mut stdin, input)| std::thread::spawn(move || stdin.write_all(&input)));
        let output = child.wait_with_output().map_err(GitError::CannotStart)?;
        if let Some(writer) = writer {
            // The command may have ended without reading all of its input.
            let _ = writer.join();
        }
        Ok(output)
    }
}

fn text(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

fn failed<S: AsRef<OsStr>>(arguments: &[S], output: &Output) -> GitError {
    let mut words = arguments.iter().map(|word| word.as_ref().to_string_lossy()).filter(|word| !word.starts_with('-'));
    let command = [words.next(), words.next()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let said = [text(&output.stderr), text(&output.stdout)].into_iter().find(|said| !said.trim().is_empty());
    let said = said.unwrap_or_else(|| output.status.to_string());
    GitError::Failed { command, said: said.trim().to_owned() }
}

//! What went wrong, as people and programs learn of it: a code word, a message, advice, and an exit code.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use serde_json::{Map, Value, json};
use taskyard::Error;
use taskyard::config::ConfigError;
use taskyard::core::dialect::native::Shape;
use taskyard::core::rules::hooks::hooking::HookEvent;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{BadListName, SignedRevision, TaskId};
use taskyard::notices::NoticeError;
use taskyard::todos::TodoFileError;
use taskyard::work::WorkError;

use crate::exit::Exit;

/// Why a command ends without having done what was asked. Boxed, so that the way without problems stays light.
#[derive(Debug)]
pub(crate) struct Problem(Box<Report>);

/// What there is to say of a problem.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    /// A word that never changes.
    pub(crate) code: &'static str,
    /// What happened, to what.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// What a program of the user's said, shown below the message.
    pub(crate) said: Option<String>,
    /// What else programs may want to know.
    pub(crate) details: Map<String, Value>,
}

impl Report {
    /// Returns the problem as programs learn of it.
    pub(crate) fn as_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), self.code.into());
        error.insert("message".into(), self.message.as_str().into());
        if let Some(hint) = &self.hint {
            error.insert("hint".into(), hint.as_str().into());
        }
        error.extend(self.details.clone());
        Value::Object(error)
    }
}

impl Problem {
    /// Returns a problem of wrong usage.
    pub(crate) fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, message)
    }

    /// Returns a problem.
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Report { exit, code, message: message.into(), hint: None, said: None, details: Map::new() }))
    }

    /// Returns the problem of a system call that failed.
    pub(crate) fn io(doing: &str, error: &io::Error) -> Self {
        Self::new(Exit::CouldNot, "io", format!("{doing}: {error}"))
    }

    /// Lets the process end in another way.
    #[must_use]
    pub(crate) fn exiting(mut self, exit: Exit) -> Self {
        self.0.exit = exit;
        self
    }

    /// Says it in other words.
    #[must_use]
    pub(crate) fn saying(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Adds advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds advice where there is none yet.
    #[must_use]
    pub(crate) fn hint_where_none(mut self, hint: &str) -> Self {
        self.0.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    /// Adds what a program of the user's said.
    #[must_use]
    pub(crate) fn said(mut self, text: impl Into<String>) -> Self {
        self.0.said = Some(text.into());
        self
    }

    /// Adds something for programs.
    #[must_use]
    pub(crate) fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Tells whether the reader of our output went away, which is no failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.0.code == BROKEN_PIPE
    }

    /// Returns what there is to say of it.
    pub(crate) fn report(&self) -> &Report {
        &self.0
    }
}

const BROKEN_PIPE: &str = "broken_pipe";

/// An error of an output that could not be written.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Done, BROKEN_PIPE, "the reader of the output went away");
        }
        Self::new(Exit::CouldNot, "output", format!("cannot write the output: {error}"))
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Store(error) => error.into(),
            Error::Jobs(error) => error.into(),
            Error::Notices(error) => error.into(),
            Error::TooManyConflicts { task, attempts } => Self::new(Exit::GaveUp, "conflict", message)
                .hint("wait until the other program is done, then try again")
                .detail("task", task.as_str())
                .detail("attempts", attempts),
            Error::Team(error) => error.into(),
            Error::Cancelled => Self::new(Exit::Stopped, "cancelled", message),
            Error::Todos(error) => {
                let problem = Self::new(Exit::CouldNot, "io", message);
                let Some(TodoFileError { path, source, .. }) = error.of_file() else { return problem };
                let problem = problem.detail("path", path.display().to_string());
                match advice(source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
        }
    }
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Self {
        let message = error.to_string();
        match error {
            WorkError::Yard(error) => error.into(),
            WorkError::CannotStart { program, .. } => Self::new(Exit::CouldNot, "cannot_start", message)
                .hint("no task was charged with a failed attempt; run a shell line with `-- sh -c LINE`")
                .detail("program", program),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::NoSuchTask { task } => Self::new(Exit::NotFound, "task_not_found", message)
                .hint("`taskyard list --all` shows every task; `taskyard restore` what was removed")
                .detail("task", task.as_str()),
            Refusal::Unreadable { task, path, .. } => Self::new(Exit::Refused, "unreadable", message)
                .hint(format!("`{}` is left alone; `taskyard doctor` shows what is wrong with it", path.display()))
                .detail("task", task.as_str())
                .detail("path", path.display().to_string()),
            Refusal::EdgeToItself { task } => {
                Self::new(Exit::Refused, "self_edge", message).detail("task", task.as_str())
            }
            Refusal::Cycle { path } => Self::new(Exit::Refused, "cycle", shortened_cycle(&path).unwrap_or(message))
                .hint("take one of these edges away first, with `taskyard undepend`")
                .detail("path", ids(&path)),
            Refusal::PartOfItself { task } => {
                Self::new(Exit::Refused, "self_parent", message).detail("task", task.as_str())
            }
            Refusal::TaskExists { .. } => Self::new(Exit::Refused, "task_exists", message),
            Refusal::NoSuchBlocker { task } | Refusal::NoSuchParent { task } => Self::new(Exit::NotFound, "task_not_found", message)
                .hint("`taskyard list --all` shows every task")
                .detail("task", task.as_str()),
            Refusal::Blocked { task, by, through } => {
                let problem = Self::new(Exit::Refused, "blocked", message)
                    .hint(format!("finish {} first; `taskyard ready` shows what can start now", numbered(&by)))
                    .detail("task", task.as_str())
                    .detail("blockedBy", ids(&by));
                match through {
                    Some(parent) => problem.detail("through", parent.as_str()),
                    None => problem,
                }
            }
            Refusal::OpenParts { task, parts } => Self::new(Exit::Refused, "open_parts", message)
                .hint(format!("finish {} first; people can overrule with --force, or `cancel --with-parts`", numbered(&parts)))
                .detail("task", task.as_str())
                .detail("parts", ids(&parts)),
            Refusal::Leased { task, holder, since, until } => Self::new(Exit::Refused, "leased", message)
                .hint("take another with `taskyard claim --next`; people can overrule with --force")
                .detail("task", task.as_str())
                .detail("holder", holder.as_str())
                .detail("since", since.map(|since| since.to_string()))
                .detail("expiresAt", until.map(|until| until.to_string())),
            Refusal::StaleToken { task, token, holder, .. } => Self::new(Exit::Refused, "stale_token", message)
                .hint("stop working on it, or take it anew with `taskyard claim`")
                .detail("task", task.as_str())
                .detail("token", token.0)
                .detail("holder", holder),
            Refusal::OwnedByAnother { task, owner, since } => Self::new(Exit::Refused, "already_claimed", message)
                .hint("take another with `taskyard claim --next`; people can take it over with --force")
                .detail("task", task.as_str())
                .detail("owner", owner)
                .detail("since", since.map(|since| since.to_string())),
            Refusal::NotAsExpected { task, current } => Self::new(Exit::Refused, "not_as_expected", message)
                .hint("look at what it is now, and send the change again with its ETag")
                .detail("task", task.as_str())
                .detail("current", serde_json::to_value(Shape(&current)).unwrap_or_default()),
            Refusal::AlreadyCompleted { task } => Self::new(Exit::Refused, "already_resolved", message)
                .hint(format!("open it again with `taskyard reopen {task}`"))
                .detail("task", task.as_str()),
            Refusal::ChangedSince { revision, task, later, range_end } => Self::new(Exit::Refused, "changed_since", message)
                .hint(match range_end {
                    Some(last) => {
                        format!("undo the later revisions with it: `taskyard undo r{revision}..r{last}`")
                    }
                    None => format!("see `taskyard history {task}`"),
                })
                .detail("revision", revision.0)
                .detail("task", task.as_str())
                .detail("changedIn", later.first().map(|signed| signed.revision.0))
                .detail("later", later.iter().map(signed).collect::<Vec<_>>())
                .detail("rangeEnd", range_end.map(|revision| revision.0)),
            Refusal::AlreadyUndone { revision, by } => Self::new(Exit::Refused, "already_undone", message)
                .hint(format!("make the change again with `taskyard undo r{}`", by.revision))
                .detail("revision", revision.0)
                .detail("by", signed(&by)),
            Refusal::NoSuchRevision { revision } => Self::new(Exit::NotFound, "revision_not_found", message)
                .hint("`taskyard history` shows every revision")
                .detail("revision", revision.0),
            Refusal::RevisionThinned { revision, kept_since } => Self::new(Exit::Refused, "revision_thinned", message)
                .hint("`taskyard history` shows what is left of it; `journal.keep` in taskyard.toml says how long everything is kept")
                .detail("revision", revision.0)
                .detail("keptSince", kept_since.0),
            Refusal::NothingToUndo => {
                Self::new(Exit::Refused, "nothing_to_undo", message).hint("`taskyard history` shows what happened here")
            }
            Refusal::NothingOwnToUndo { newest, .. } => Self::new(Exit::Refused, "nothing_to_undo", message)
                .hint(format!("the newest revision is {newest}; `taskyard undo --anyone` takes it back"))
                .detail("newest", signed(&newest)),
            Refusal::NotRemoved { task } => Self::new(Exit::Refused, "not_removed", message)
                .hint(format!("see it with `taskyard show {task}`, and what was there before with `taskyard history {task}`"))
                .detail("task", task.as_str()),
            Refusal::NotMissing { task, .. } => Self::new(Exit::Refused, "not_missing", message)
                .hint(format!("bring it back all the same with `taskyard restore {task} --deleted`"))
                .detail("task", task.as_str()),
            Refusal::MergeIntoItself => Self::new(Exit::Refused, "merge_into_itself", message),
            Refusal::NoSuchList { list } => Self::new(Exit::NotFound, "list_not_found", message)
                .hint("`taskyard lists` shows every list of this store")
                .detail("list", list),
            Refusal::PlanNotApproved { agent, lead } => Self::new(Exit::Refused, "plan_not_approved", message)
                .hint(format!(
                    "show it with `taskyard send --to {lead} --request plan PLAN`, and wait for the answer in your inbox"
                ))
                .detail("agent", agent)
                .detail("lead", lead),
            Refusal::AgentBusy { task, with } => Self::new(Exit::Refused, "agent_busy", message)
                .hint("finish that first with `taskyard done`, or give it back with `taskyard release`")
                .detail("task", task.as_str())
                .detail("busyWith", ids(&with)),
            Refusal::HookBlocked { event, task, feedback } => Self::new(Exit::Refused, "hook_blocked", message)
                .hint(match event {
                    HookEvent::TaskCreated => "mend what the hook complains of, and create the task again",
                    _ => "nothing was changed: mend what the hook complains of, and try again",
                })
                .said(feedback.split_once('\n').map_or(feedback.as_str(), |(_, said)| said))
                .detail("event", event.as_str())
                .detail("task", task.as_str())
                .detail("feedback", feedback),
            Refusal::CheckFailed { task, check, output, .. } => Self::new(Exit::Refused, "check_failed", message)
                .hint("nothing was changed: mend what the check complains of, and try again")
                .said(output.as_str())
                .detail("task", task.as_str())
                .detail("check", check)
                .detail("output", output),
            Refusal::NoSuchCheck { task, check } => Self::new(Exit::Refused, "check_unknown", message)
                .hint("give its command under [checks] in taskyard.toml")
                .detail("task", task.as_str())
                .detail("check", check),
            Refusal::UntrustedCheck { task, check, directory } => Self::new(Exit::Refused, "check_unknown", message)
                .hint("look at its taskyard.toml, then run `taskyard trust` there")
                .detail("task", task.as_str())
                .detail("check", check)
                .detail("directory", directory.display().to_string()),
            _ => Self::new(Exit::Refused, "refused", message),
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        let message = error.to_string();
        match error {
            ConfigError::Io { path, .. } => {
                Self::new(Exit::CouldNot, "config", message).detail("path", path.display().to_string())
            }
            ConfigError::Wrong { path, line, .. } => Self::new(Exit::Usage, "config", message)
                .hint("docs/formats/config.md describes every key of this file")
                .detail("path", path.display().to_string())
                .detail("line", line),
        }
    }
}

impl From<NoticeError> for Problem {
    fn from(error: NoticeError) -> Self {
        match error.into_machine() {
            Ok(error) => error.into(),
            Err(error) => Self::new(Exit::CouldNot, "notices", error.to_string()),
        }
    }
}

impl From<BadListName> for Problem {
    fn from(error: BadListName) -> Self {
        Self::usage("bad_list_name", error.to_string()).hint("`taskyard lists` shows the names in use")
    }
}

/// Returns what to do about an error of the system.
pub(crate) fn advice(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::PermissionDenied => "see who owns it and what its permissions are (`ls -ld`)",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only; choose another place with --store",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space; nothing has been changed",
        io::ErrorKind::FileTooLarge => "a limit on file sizes is in force (`ulimit -f`); nothing has been changed",
        _ => return None,
    })
}

/// Tells whether the system refused a lock because the file system has none.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    let codes = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| codes.contains(&Errno::from_raw_os_error(code)))
}

/// Says that the file system of a path has no locks, and what to do about it.
pub(crate) fn no_locks(path: &Path, error: &io::Error) -> Problem {
    let directory = path.parent().filter(|_| !path.is_dir()).unwrap_or(path);
    let message = format!("the file system of `{}` has no locks ({error})", directory.display());
    Problem::new(Exit::CouldNot, "no_locks", message)
        .hint(
            "set TASKYARD_HOME to a directory on a local file system, or mount this one with locks; `taskyard where` shows the \
             data directory and the list",
        )
        .detail("path", path.display().to_string())
}

/// Returns a readable message for a circle of very many tasks; none where the whole of it can be shown.
fn shortened_cycle(path: &[TaskId]) -> Option<String> {
    let [first, second, .., before, last] = path else { return None };
    (path.len() > 12).then(|| {
        let between = path.len() - 4;
        format!(
            "that would close a circle of {} tasks: #{first} waits for #{second}, {between} more, #{before} waits for #{last}",
            path.len() - 1
        )
    })
}

fn signed(SignedRevision { revision, actor }: &SignedRevision) -> Value {
    json!({ "revision": revision.0, "actor": actor.as_str() })
}

fn ids(tasks: &[TaskId]) -> Value {
    json!(tasks.iter().map(TaskId::as_str).collect::<Vec<_>>())
}

fn numbered(tasks: &[TaskId]) -> String {
    taskyard::core::render::numbered(tasks)
}

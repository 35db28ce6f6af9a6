//! What the user should know of hooks that did not run as written.

use std::path::PathBuf;
use std::time::Duration;

/// What the user should know of hooks that did not run as written. None of it forbids anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookWarning {
    /// Hooks of a directory that is not trusted did not run.
    #[error("{hooks} hook{} of `{}` did not run: the directory is not trusted", plural(*.hooks), .directory.display())]
    Untrusted {
        /// The root of the project.
        directory: PathBuf,
        /// How many.
        hooks: usize,
    },
    /// A settings file, or a part of it, was passed over.
    #[error("`{}` is passed over: {why}", .path.display())]
    BadSettings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Whether a directory is trusted could not be found out, so it counts as not trusted.
    #[error("cannot tell whether `{}` is trusted: {why}", .directory.display())]
    TrustUnknown {
        /// The root of the project.
        directory: PathBuf,
        /// Why not.
        why: String,
    },
    /// A hook could not be started, and forbids nothing.
    #[error("hook `{}` could not be started: {why}", .command.escape_debug())]
    NotStarted {
        /// The command as it is written.
        command: String,
        /// What the system said.
        why: String,
    },
    /// A hook that reads the whole list was handed it while another had it, so that what it knows may be older.
    #[error("hook `{}` was handed the list out of turn: {why}", .command.escape_debug())]
    OutOfTurn {
        /// The command as it is written.
        command: String,
        /// Why it did not wait for its turn, or no longer.
        why: String,
    },
    /// A hook took too long and was killed, and forbids nothing.
    #[error("hook `{}` did not end within {} s and was stopped", .command.escape_debug(), .after.as_secs_f64())]
    TimedOut {
        /// The command as it is written.
        command: String,
        /// How long it had.
        after: Duration,
    },
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

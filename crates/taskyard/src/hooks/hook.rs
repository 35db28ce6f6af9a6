//! One hook.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{HookInput, Origin};
use crate::process::CommandLine;

/// How long a hook may take where nothing is said, as in the client.
pub(super) const TIMEOUT: Duration = Duration::from_secs(600);

/// A command that runs on an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The command as it is written.
    pub(crate) command: String,
    /// The arguments of a program that is run without a shell.
    pub(crate) arguments: Option<Vec<String>>,
    /// Which agents it is for.
    pub(crate) matcher: Option<String>,
    /// How long it may take.
    pub(crate) timeout: Duration,
    /// Whether it is started and not waited for.
    pub(crate) is_async: bool,
    /// What it reads on stdin; the client's event where nothing is said.
    pub(crate) stdin: Option<HookInput>,
    /// Where it comes from.
    pub source: HookSource,
}

/// Where a hook comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSource {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub(crate) origin: Origin,
}

impl Hook {
    /// Returns what is to be run.
    pub(super) fn command_line(&self) -> CommandLine {
        match &self.arguments {
            Some(arguments) => CommandLine::Words(self.command.clone(), arguments.clone()),
            None => CommandLine::Shell(self.command.clone()),
        }
    }

    /// Returns the command with its arguments, as feedback names it.
    pub fn name(&self) -> String {
        let arguments = self.arguments.iter().flatten();
        std::iter::once(&self.command).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Tells whether running both would be running one command twice.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.command == other.command && self.arguments == other.arguments && self.stdin == other.stdin
    }
}

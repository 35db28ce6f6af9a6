//! Running the user's editor.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::environment::Environment;
use crate::problem::{Problem, ProblemKind};
use taskyard_jobs::signals;

/// The editor where the environment names none.
const EDITOR: &str = "vi";

/// An editor that did not end well.
pub(crate) struct EditorFailed {
    /// What there is to say of it.
    pub(crate) problem: Problem,
    /// Whether a signal ended it, so that it may have left something beside the file.
    pub(crate) was_killed: bool,
}

/// Lets the user edit a file, and returns when the editor has ended well.
pub(crate) fn edit(path: &Path, environment: &Environment, is_json: bool) -> Result<(), EditorFailed> {
    let editor = environment.editor.as_deref().unwrap_or(EDITOR);
    signals::leave_interrupts_to_others();
    // The shell takes it apart, as git has it: an editor may come with arguments. What the user interrupts is the editor, not the shell.
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("trap : INT QUIT; {editor} \"$@\""))
        .arg(editor)
        .arg(path)
        .envs(environment.for_children());
    if is_json {
        // What the editor shows is no part of the answer.
        let shown = io::stderr().as_fd().try_clone_to_owned();
        command.stdout(shown.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    let failed = |why: String, was_killed: bool| {
        let message = format!("the editor `{editor}` {why}; nothing was changed");
        EditorFailed { problem: Problem::new(ProblemKind::CouldNot, "editor_failed", message), was_killed }
    };
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(ended(status), signal_of(status).is_some())),
        Err(error) => Err(failed(format!("cannot be started: {error}"), false)),
    }
}

/// Returns the signal that ended a process, or the program that a shell ran for it.
fn signal_of(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;

    status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128))
}

/// Says how a process ended that did not end well.
fn ended(status: ExitStatus) -> String {
    match (signal_of(status), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(127)) => "was not found (set EDITOR to yours)".to_owned(),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "did not end well".to_owned(),
    }
}

//! The binary `yd`, a short name for `taskyard`.
//!
//! It runs the `taskyard` next to it, so that the program is installed only once.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const PROGRAM: &str = "taskyard";

fn main() -> ExitCode {
    let program = beside().unwrap_or_else(|| PathBuf::from(PROGRAM));
    let mut command = Command::new(&program);
    command.args(env::args_os().skip(1));
    let error = become_it(&mut command);
    #[allow(clippy::print_stderr, reason = "the only output is stderr")]
    {
        eprintln!(
            "error: cannot start `{}`: {error}\nhint: `yd` and `taskyard` are installed together",
            program.display()
        );
    }
    ExitCode::FAILURE
}

/// Returns the `taskyard` in the same directory.
fn beside() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    own.parent().map(|directory| directory.join(PROGRAM)).filter(|path| Path::is_file(path))
}

/// Replaces this process with another program. Returns only on failure.
#[cfg(unix)]
fn become_it(command: &mut Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Runs another program and exits with its code. Returns only if it cannot be started.
#[cfg(not(unix))]
fn become_it(command: &mut Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

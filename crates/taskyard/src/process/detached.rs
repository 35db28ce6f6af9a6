//! Starting a command that nobody waits for.

use std::io;
use std::process::Stdio;
use std::sync::mpsc;

use super::Program;
use super::program::{Readers, Running, feed, spawn};

impl Program {
    /// Starts the command and goes on; what it writes is not kept.
    ///
    /// It lives on when we end. As long as we live, it is killed when it takes too long.
    pub fn start_detached(&self) -> io::Result<()> {
        let mut command = self.command();
        let child = command.stdin(input(&self.stdin)?).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut running = Running::of(child);
        if let Some(stdin) = running.child.stdin.take() {
            feed(stdin, self.stdin.clone())?;
        }
        let (tell, hear) = mpsc::channel();
        running.watch(tell)?;
        let timeout = self.timeout;
        spawn("detached", move || drop(running.end(timeout, &hear, &mut Readers::default())))
    }
}

/// Returns what a command reads that may outlive us: a file, since a pipe would break off with us.
#[cfg(target_os = "linux")]
fn input(bytes: &[u8]) -> io::Result<Stdio> {
    super::file_of(bytes).map(Stdio::from)
}

/// Returns a pipe; other systems have no file without a name to put it in.
#[cfg(not(target_os = "linux"))]
fn input(_bytes: &[u8]) -> io::Result<Stdio> {
    Ok(Stdio::piped())
}

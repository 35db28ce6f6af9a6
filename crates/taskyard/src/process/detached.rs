//! Starting a command that nobody waits for.

use std::io;
use std::process::Stdio;
use std::sync::mpsc;

use super::program::{Readers, Running, spawn};
use super::{Program, file_of};

impl Program {
    /// Starts the command and goes on; what it writes is not kept.
    ///
    /// It lives on when we end. As long as we live, it is killed when it takes too long.
    pub fn start_detached(&self) -> io::Result<()> {
        let mut command = self.command();
        let child = command.stdin(file_of(&self.stdin)?).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut running = Running::of(child);
        let (tell, hear) = mpsc::channel();
        running.watch(tell)?;
        let timeout = self.timeout;
        spawn("detached", move || drop(running.end(timeout, &hear, &mut Readers::default())))
    }
}

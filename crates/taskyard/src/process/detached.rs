//! Starting a command that no process waits for.

use std::io;
use std::process::Stdio;
use std::thread;

use super::program::Running;
use super::{Cancel, Output, Program};

impl Program {
    /// Starts the command and goes on; what it writes is not kept.
    ///
    /// It lives on when we end. As long as we live, it is killed when it takes too long.
    pub(crate) fn start_detached(&self) -> io::Result<()> {
        let mut running = Running::start(self, Stdio::null(), Stdio::null())?;
        let timeout = self.timeout;
        let wait = move || drop(running.end(timeout, &Cancel::new(), &mut Output::default()));
        thread::Builder::new().name("detached".to_owned()).stack_size(256 << 10).spawn(wait).map(drop)
    }
}

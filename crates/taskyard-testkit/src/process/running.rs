//! A process that a test started.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Output};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use serde_json::Value;

use crate::ran::Ran;

/// A running process. Dropped, it is killed and reaped: a test leaves none behind, however it ends.
#[derive(Debug)]
pub struct Process {
    /// None once the test has waited for its output.
    child: Option<Child>,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    leads_group: bool,
}

impl Process {
    pub(super) fn of(mut child: Child, leads_group: bool) -> Self {
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child: Some(child), input, output, leads_group }
    }

    /// Returns its id.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it ends once").id()
    }

    /// Returns its id as the system calls take it.
    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("it ends once"))
    }

    /// Writes a line to it.
    pub fn tell(&mut self, line: &str) {
        self.try_tell(line).expect("a process that listens takes a line");
    }

    /// Writes a line to it; one that has ended takes none.
    pub fn try_tell(&mut self, line: &str) -> std::io::Result<()> {
        self.write(format!("{line}\n").as_bytes())
    }

    /// Writes bytes to it as they are; one that has ended takes none.
    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.input.as_mut().expect("it was started to listen").write_all(bytes)
    }

    /// Takes the pipe to it, to write to it from elsewhere.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().expect("it was started to listen")
    }

    /// Lets its input end.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the next line it prints; none when its output has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let output = self.output.as_mut().expect("its output is a pipe");
        let length = output.read_line(&mut line).expect("a pipe can be read");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Waits for the next line and reads it as JSON.
    pub fn json(&mut self) -> Option<Value> {
        self.line().map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Takes the pipe from it, to read it elsewhere.
    pub fn take_output(&mut self) -> BufReader<ChildStdout> {
        self.output.take().expect("its output is a pipe")
    }

    /// Takes the pipe of its complaints, to read them elsewhere.
    pub fn take_complaints(&mut self) -> BufReader<ChildStderr> {
        let complaints = self.child.as_mut().and_then(|child| child.stderr.take());
        BufReader::new(complaints.expect("its complaints are a pipe"))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a process that is not reaped can be sent signals");
    }

    /// Tells whether it is stopped, by itself or by a signal.
    pub fn is_stopped(&self) -> bool {
        is_stopped(Path::new(&format!("/proc/{}", self.id())))
    }

    /// Kills it, where it has not ended yet, and reaps it.
    pub fn kill(&mut self) {
        let Some(child) = &mut self.child else { return };
        if std::mem::take(&mut self.leads_group) {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Returns how it ended, where it has.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().expect("it ends once").try_wait().expect("a child can be asked")
    }

    /// Tells whether it has ended; it is not reaped by that, so that what it used can still be asked for.
    pub fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options).expect("a child can be asked").is_some()
    }

    /// Closes its input and waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.close_input();
        self.child.as_mut().expect("it ends once").wait().expect("a child can be waited for")
    }

    /// Closes its input and waits for its end; what it printed since the last line taken is in the answer.
    pub fn end(self) -> Ran {
        Ran::from(self.wait_with_output())
    }

    /// Does the same, and returns what it said byte by byte.
    pub fn wait_with_output(mut self) -> Output {
        self.close_input();
        let mut child = self.child.take().expect("it ends once");
        let mut read = Vec::new();
        if let Some(output) = self.output.take() {
            read.extend_from_slice(output.buffer());
            child.stdout = Some(output.into_inner());
        }
        let mut ended = child.wait_with_output().expect("a child can be waited for");
        ended.stdout.splice(..0, read);
        ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Tells whether a process or a thread is stopped, by its directory below `/proc`.
pub(crate) fn is_stopped(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

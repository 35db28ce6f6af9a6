//! Commands that the user types: each runs in its own process, and its output is shown in a pane.

use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use taskyard::core::render::escaping;

use super::messages::{AppEvent, EventSender, PaneEnd};

/// The maximum number of bytes of a line that are shown.
const LONGEST_LINE: u64 = 16 * 1024;

/// A command with its output in the pane. It is stopped when this is dropped.
#[derive(Debug)]
pub(super) struct PaneCommand {
    process: Option<Pid>,
    /// Whether the command has ended, or its output is no longer wanted.
    is_over: Arc<AtomicBool>,
}

impl PaneCommand {
    /// Starts a command without input. Its output and its end are sent as events.
    pub(super) fn start(mut command: Command, events: EventSender) -> io::Result<Self> {
        let (output, writer) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn()?;
        // Our own copies of the write end would keep the pipe open.
        drop(command);
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::Builder::new().name("taskyard-pane".to_owned()).spawn(move || {
            let end = follow(child, output, |lines| {
                if !over.load(Ordering::SeqCst) {
                    events.send(AppEvent::PaneLines(lines));
                }
            });
            if !over.swap(true, Ordering::SeqCst) {
                events.send(AppEvent::PaneEnded(end));
            }
        })?;
        Ok(Self { process, is_over })
    }
}

impl Drop for PaneCommand {
    fn drop(&mut self) {
        let has_ended = self.is_over.swap(true, Ordering::SeqCst);
        if let Some(process) = self.process.filter(|_| !has_ended) {
            let _ = kill_process(process, Signal::TERM);
        }
    }
}

/// Sends a command's output line by line, and waits for the command to end.
fn follow(mut child: Child, output: impl Read, show: impl Fn(Vec<String>)) -> PaneEnd {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = escaping::program_output(text.trim_end_matches(['\n', '\r'])).replace('\t', "    ");
        let empty = text.is_empty().then(String::new);
        show(text.lines().map(str::to_owned).chain(empty).collect());
    }
    match child.wait() {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => PaneEnd::Code(code),
            (None, signal) => PaneEnd::Other(format!("ended by signal {}", signal.unwrap_or_default())),
        },
        Err(error) => PaneEnd::Other(error.to_string()),
    }
}

//! State shared by all workers, the time limit of commands, and the splitting of their output into lines.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::hooks::Hooks;
use taskyard::process::{Sink, Stop};

use super::{Order, WorkEvent, WorkListener};

/// The length at which a line is split.
const LONGEST_LINE: usize = 8 * 1024;
/// How many lines, and bytes of them, are kept for the note about a failure.
const KEPT_LINES: usize = 12;
const KEPT_BYTES: usize = 2 * 1024;

/// The state shared by all workers.
pub(super) struct Site {
    pub(super) yard: Yard,
    pub(super) order: Order,
    pub(super) stop: Stop,
    pub(super) listener: WorkListener,
    /// The tasks whose last attempt a `SubagentStop` hook blocked.
    pub(super) blocked: Mutex<HashSet<TaskId>>,
}

impl Site {
    pub(super) fn tell(&self, event: WorkEvent) {
        (self.listener)(event);
    }

    /// Returns whether the whole run was asked to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.asked().is_cancelled()
    }

    /// Reports hooks that did not run as configured.
    pub(super) fn tell_warnings(&self) {
        let warnings = self.yard.hooks().map(Hooks::take_warnings);
        warnings.into_iter().flatten().for_each(|warning| self.tell(WorkEvent::Warning(warning)));
    }
}

/// Stops a command that exceeds its time limit. Does nothing if dropped before that.
///
/// It runs on its own thread, because the thread that reads the command's output may be blocked by a terminal.
pub(super) struct Timer {
    limit: Duration,
    has_rung: Arc<AtomicBool>,
    _cancel: Sender<()>,
}

impl Timer {
    /// Starts the timer; `None` if there is no limit, or no thread could be started.
    pub(super) fn start(limit: Option<Duration>, stop: &Stop) -> Option<Self> {
        let (limit, stop, has_rung) = (limit?, stop.clone(), Arc::new(AtomicBool::new(false)));
        let (cancel, cancelled) = mpsc::channel::<()>();
        let rings = Arc::clone(&has_rung);
        let work = move || {
            if cancelled.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                rings.store(true, Ordering::Release);
                stop.ask();
            }
        };
        let thread = thread::Builder::new().name("time limit".into()).spawn(work);
        thread.inspect_err(|error| tracing::warn!(%error, "a command runs without its time limit")).ok()?;
        Some(Self { limit, has_rung, _cancel: cancel })
    }

    /// Returns the limit if the command was stopped because of it.
    pub(super) fn exceeded(&self) -> Option<Duration> {
        self.has_rung.load(Ordering::Acquire).then_some(self.limit)
    }
}

/// The last lines of a command's stdout and stderr together. Clones share the lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    /// Returns a sink that reports every line and keeps the last ones.
    pub(super) fn sink(&self, about: String, listener: &WorkListener) -> Sink {
        let mut lines = Lines { tail: self.clone(), about, listener: Arc::clone(listener), begun: Vec::new() };
        Box::new(move |bytes| lines.take(bytes))
    }

    /// Returns the last lines as one text.
    pub(super) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let surplus = text.len().saturating_sub(KEPT_BYTES);
        text.drain(..text.ceil_char_boundary(surplus));
        text
    }

    fn keep(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Splits output into lines.
struct Lines {
    tail: Tail,
    about: String,
    listener: WorkListener,
    begun: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line();
            }
            while self.begun.len() > LONGEST_LINE {
                let rest = self.begun.split_off(LONGEST_LINE);
                self.end_line();
                self.begun = rest;
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.begun);
        let line = line.trim_end_matches(['\n', '\r']).to_owned();
        self.begun.clear();
        self.tail.keep(line.clone());
        (self.listener)(WorkEvent::OutputLine { about: self.about.clone(), line });
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            self.end_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{KEPT_BYTES, KEPT_LINES, LONGEST_LINE, Tail};
    use crate::work::{WorkEvent, WorkListener};

    fn told(parts: &[&[u8]]) -> (Vec<String>, String) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let listener: WorkListener = Arc::new(move |event| {
            if let WorkEvent::OutputLine { line, .. } = event {
                heard.lock().unwrap().push(line);
            }
        });
        let tail = Tail::default();
        let mut sink = tail.sink("#1".to_owned(), &listener);
        parts.iter().for_each(|part| sink(part));
        drop(sink);
        let lines = lines.lock().unwrap().clone();
        (lines, tail.text())
    }

    #[test]
    fn lines_are_told_whole_however_they_come() {
        let (lines, tail) = told(&[b"on", b"e\ntwo\r\n", b"\n", b"th\xffree"]);
        assert_eq!(lines, ["one", "two", "", "th\u{fffd}ree"]);
        assert_eq!(tail, "one\ntwo\n\nth\u{fffd}ree");
    }

    #[test]
    fn endless_line_is_cut_and_only_the_last_of_a_flood_kept() {
        let (lines, tail) = told(&[&vec![b'x'; 3 * LONGEST_LINE]]);
        assert!(lines.len() >= 3 && lines.iter().all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(tail.len(), KEPT_BYTES);
        let flood: String = (0..100).map(|number| format!("{number}\n")).collect();
        let (_, tail) = told(&[flood.as_bytes()]);
        assert_eq!(tail.lines().count(), KEPT_LINES);
        assert!(tail.ends_with("98\n99"));
    }
}

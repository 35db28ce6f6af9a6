//! What a command writes, line by line, and the last of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::process::Sink;

use super::{WorkEvent, WorkListener};

/// How long a line gets before it is cut in two.
const LONGEST_LINE: usize = 8 * 1024;
/// How many lines are kept for the note, and how many bytes of them.
const KEPT_LINES: usize = 12;
const KEPT_BYTES: usize = 2 * 1024;

/// The last lines of a command, of stdout and stderr together. Clones keep together.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    /// Returns a sink that tells of every line and keeps the last ones.
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

/// Output on its way to becoming lines.
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
    fn a_line_without_an_end_is_cut_and_only_the_last_of_a_flood_is_kept() {
        let (lines, tail) = told(&[&vec![b'x'; 3 * LONGEST_LINE]]);
        assert!(lines.len() >= 3 && lines.iter().all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(tail.len(), KEPT_BYTES);
        let flood: String = (0..100).map(|number| format!("{number}\n")).collect();
        let (_, tail) = told(&[flood.as_bytes()]);
        assert_eq!(tail.lines().count(), KEPT_LINES);
        assert!(tail.ends_with("98\n99"));
    }
}

//! Printing answers: for people, as plain text, or as JSON.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::{fmt, io};

use serde::Serialize;
use serde_json::Value;
use taskyard::core::ListId;
use taskyard::core::answers::answer_document::{Document, write_line};
use taskyard::core::answers::maintenance_answers::{ErrorAnswer, Help};
use taskyard::core::problem::Report;
use taskyard::core::render::{Line, Look, Tone, ansi};
use taskyard::opening::hide_passwords;

use super::terminal::Terminal;
use crate::exit::{Exit, Problem, exit_of};
use crate::output::terminal::{Pager, Sink};

/// Maximum number of lines shown of a user program's output.
const MOST_LINES: usize = 40;

/// All output of a command goes through this.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: Sink,
    /// Messages for stderr, held back until the pager ends.
    held: Vec<String>,
    terminal: Terminal,
    json: bool,
    quiet: bool,
    other_lists: Option<LookForOtherLists>,
}

impl Output {
    pub(crate) fn new(terminal: Terminal, json: bool, quiet: bool) -> Self {
        Self { stdout: Sink::direct(), held: Vec::new(), terminal, json, quiet, other_lists: None }
    }

    /// Sends the answer to a pager if it is longer than the screen. Has no effect unless stdout is a terminal.
    pub(crate) fn page(&mut self, pager: Option<Pager>) {
        if let (true, Some(pager), Some(screen)) = (self.is_terminal(), pager, self.terminal.screen) {
            self.stdout = Sink::paged(pager, screen);
        }
    }

    /// Ends the answer: waits for the pager, then prints the held messages.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let ended = self.stdout.end();
        for text in std::mem::take(&mut self.held) {
            writeln!(io::stderr().lock(), "{text}")?;
        }
        ended
    }

    /// Names, from now on, the lists written to other than the directory's.
    pub(crate) fn name_other_lists(&mut self, look: impl Fn() -> Option<OtherLists> + 'static) {
        self.other_lists = Some(LookForOtherLists(Box::new(look)));
    }

    /// The answer names its list itself, so do not add it.
    pub(crate) fn consider_list_named(&mut self) {
        self.other_lists = None;
    }

    /// Returns the flag to add to suggested commands so that they use the list written to; empty if it is the
    /// directory's.
    pub(crate) fn list_flag(&self) -> String {
        let other = self.other_lists.as_ref().and_then(|look| (look.0)());
        let list = other.as_ref().and_then(|other| other.lists.first());
        list.map(|list| format!(" --list {}", quoted(list))).unwrap_or_default()
    }

    /// Tells people once which other lists were written to, if any.
    pub(crate) fn tell_of_other_lists(&mut self) -> io::Result<()> {
        let Some(look) = self.other_lists.take().filter(|_| !self.json && !self.quiet) else { return Ok(()) };
        (look.0)().map_or(Ok(()), |other| self.line(&other.line()))
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns whether a person reads stdout on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal.is_terminal && !self.json
    }

    /// Returns whether only the answer itself is wanted (`--quiet`).
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns whether stdout is coloured.
    pub(crate) fn has_color(&self) -> bool {
        self.terminal.color
    }

    pub(crate) fn look(&self) -> Look {
        self.terminal.look
    }

    /// Renders a line, with colours if enabled.
    pub(crate) fn painted(&self, line: &Line) -> String {
        let text = if self.terminal.color { ansi(line) } else { line.to_string() };
        text.trim_end_matches(' ').to_owned()
    }

    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        let text = self.painted(line);
        writeln!(self.stdout, "{text}")
    }

    /// Writes a line that a client shows on its own terminal: coloured even if stdout is not a terminal, unless
    /// colours are off.
    pub(crate) fn client_line(&mut self, line: &Line) -> io::Result<()> {
        let text = if self.terminal.client_color { ansi(line) } else { line.to_string() };
        writeln!(self.stdout, "{text}")
    }

    pub(crate) fn rows(&self) -> usize {
        self.terminal.screen.map_or(24, |screen| screen.rows)
    }

    /// Writes a line to stderr.
    pub(crate) fn aside(&self, line: &Line) -> io::Result<()> {
        let text = if self.terminal.error_color { ansi(line) } else { line.to_string() };
        writeln!(io::stderr().lock(), "{text}")
    }

    pub(crate) fn lines(&mut self, lines: &[Line]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Writes a finished text, such as a picture or a manual page.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.stdout.write_all(text.as_bytes())
    }

    /// Writes the unmodified bytes of a program's output.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    /// Reports what was done, unless `--quiet`.
    pub(crate) fn say(&mut self, line: &Line) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(line) }
    }

    /// Suggests a next command, on a terminal only.
    pub(crate) fn advise(&mut self, text: &str) -> io::Result<()> {
        if self.quiet || !self.is_terminal() {
            return Ok(());
        }
        let mut line = Line::new().with(Tone::Plain, "  ");
        line.append(with_commands(text, Tone::Dim));
        let lines = match self.look().width {
            Some(width) => line.wrapped(width, 2),
            None => vec![line],
        };
        self.lines(&lines)
    }

    /// Prints a warning to stderr, whatever the format of the answer.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        self.stdout.flush()?;
        let mut line = Line::new().with(Tone::Warning, "warning: ");
        line.append(with_commands(text, Tone::Plain));
        self.error_line(line, "warning: ".len())
    }

    /// Prints a note to stderr, whatever the format of the answer.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.stdout.flush()?;
        let mut line = Line::new().with(Tone::Dim, "note: ");
        line.append(with_commands(text, Tone::Plain));
        self.error_line(line, "note: ".len())
    }

    /// Writes help, with colours if enabled.
    pub(crate) fn help(&mut self, help: &clap::Error) -> io::Result<()> {
        let text = help.render();
        if self.json {
            return self.document(Help { help: text.to_string() });
        }
        let text = if self.terminal.color { text.ansi().to_string() } else { text.to_string() };
        self.stdout.write_all(text.as_bytes())
    }

    pub(crate) fn manual(&mut self, text: &str) -> io::Result<()> {
        match self.json {
            true => self.document(Help { help: text.to_owned() }),
            false => self.stdout.write_all(text.as_bytes()),
        }
    }

    /// Prints a usage error to stderr. `text` must be safe to show.
    pub(crate) fn usage_error(&mut self, text: &str) -> io::Result<()> {
        let rest = text.strip_prefix("error: ").unwrap_or(text);
        if rest.len() < text.len() {
            let label = Line::new().with(Tone::Error, "error: ");
            let label = if self.terminal.error_color { ansi(&label) } else { label.to_string() };
            write!(io::stderr().lock(), "{label}")?;
        }
        io::stderr().lock().write_all(rest.as_bytes())
    }

    /// Writes the answer as a JSON object on one line.
    pub(crate) fn document(&mut self, body: impl Serialize) -> io::Result<()> {
        let other = self.other_lists.as_ref().and_then(|look| (look.0)());
        let list = other.as_ref().and_then(|other| other.lists.first());
        write_line(Document::new(body, list.map(ListId::as_str)), &mut self.stdout)
    }

    /// Writes a JSON object in a format prescribed by others, on one line.
    pub(crate) fn bare_document(&mut self, body: impl Serialize) -> io::Result<()> {
        write_line(body, &mut self.stdout)
    }

    /// Returns whether a person can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.is_terminal() && !self.json && io::stdin().is_terminal()
    }

    /// Asks a person a yes-or-no question. Returns false if nobody can be asked.
    pub(crate) fn ask(&mut self, question: &str) -> io::Result<bool> {
        if !self.can_ask() {
            return Ok(false);
        }
        let line = Line::new().with(Tone::Strong, question).with(Tone::Dim, " [y/N] ");
        let text = if self.terminal.color { ansi(&line) } else { line.to_string() };
        self.stdout.write_all(text.as_bytes())?;
        self.stdout.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    /// Reports a problem and returns the exit code.
    pub(crate) fn problem(&mut self, problem: &Problem) -> Exit {
        if problem.is_broken_pipe() {
            return Exit::Done;
        }
        // The message may repeat an address with a password that was typed in the wrong place.
        let report = &without_passwords(problem.report());
        if !self.json || self.problem_as_json(report).is_err() {
            // If stderr is unavailable as well, only the exit code remains.
            let _ = self.problem_in_words(report);
        }
        exit_of(report.kind)
    }

    fn problem_as_json(&mut self, problem: &Report) -> io::Result<()> {
        self.document(ErrorAnswer { error: problem })?;
        self.stdout.flush()
    }

    fn problem_in_words(&mut self, problem: &Report) -> io::Result<()> {
        // Write earlier output first. A failure to do so may be the problem itself.
        let _ = self.end();
        let mut line = Line::new().with(Tone::Error, "error: ");
        line.append(with_commands(&problem.message, Tone::Plain));
        self.error_line(line, "error: ".len())?;
        for said in problem.said.iter().flat_map(|said| last_lines(said)) {
            let line = Line::new().with(Tone::Dim, "     | ").with(Tone::Plain, said);
            self.error_line(line, "     | ".len())?;
        }
        if let Some(hint) = &problem.hint {
            let mut line = Line::new().with(Tone::Hint, " hint: ");
            line.append(with_commands(hint, Tone::Plain));
            self.error_line(line, " hint: ".len())?;
        }
        Ok(())
    }

    /// Writes a line to stderr, wrapped on a terminal and indented below its label.
    fn error_line(&mut self, line: Line, label: usize) -> io::Result<()> {
        let lines = match self.terminal.error_width {
            Some(width) => line.wrapped(width, label),
            None => vec![line],
        };
        for line in &lines {
            let text = if self.terminal.error_color { ansi(line) } else { line.to_string() };
            if self.stdout.has_pager() {
                self.held.push(text);
            } else {
                writeln!(io::stderr().lock(), "{text}")?;
            }
        }
        Ok(())
    }
}

/// Returns a problem with the passwords removed from all addresses.
fn without_passwords(report: &Report) -> Report {
    fn hidden(value: &mut Value) {
        match value {
            Value::String(text) => *text = hide_passwords(text).into_owned(),
            Value::Array(values) => values.iter_mut().for_each(hidden),
            Value::Object(values) => values.values_mut().for_each(hidden),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut report = report.clone();
    for text in [&mut report.message].into_iter().chain(&mut report.hint).chain(&mut report.said) {
        *text = hide_passwords(text).into_owned();
    }
    report.details.values_mut().for_each(hidden);
    report
}

/// Highlights the parts of a text between backticks.
pub(crate) fn with_commands(text: &str, tone: Tone) -> Line {
    let mut line = Line::new();
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 0 {
            line.push(tone, part);
        } else {
            line.push(tone, "`");
            line.push(Tone::Hint, part);
            line.push(tone, "`");
        }
    }
    line
}

/// Returns the last lines of a program's output, at most about a screenful.
fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = || text.trim_end().lines();
    lines().skip(lines().count().saturating_sub(MOST_LINES))
}

/// The lists a command wrote to other than the directory's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherLists {
    /// The lists in the order of the first write; never empty.
    pub(crate) lists: Vec<ListId>,
    pub(crate) own: ListId,
}

impl OtherLists {
    pub(super) fn line(&self) -> Line {
        let mut line = Line::new().with(Tone::Dim, "  in ");
        for (number, list) in self.lists.iter().enumerate() {
            line.push(Tone::Dim, if number == 0 { "" } else { ", " });
            line.push(Tone::Strong, list.as_str());
        }
        line.push(Tone::Dim, &format!("; the list of this directory is {}", self.own));
        line
    }
}

/// Quotes a list's name for a shell.
pub(crate) fn quoted(list: &ListId) -> String {
    let name = list.as_str();
    if name == list.directory() { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// Determines the other lists written to, on demand.
pub(super) struct LookForOtherLists(pub(super) Box<dyn Fn() -> Option<OtherLists>>);

impl fmt::Debug for LookForOtherLists {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LookForOtherLists")
    }
}

//! Writing what commands have to say: for people, plainly, or as JSON.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use serde::Serialize;
use taskyard::core::ListId;
use taskyard::core::answers::access::{ErrorAnswer, Help};
use taskyard::core::answers::document::{Document, write_line};
use taskyard::core::problem::Report;
use taskyard::core::render::{Line, Look, Tone, ansi};

use super::other_lists::{LookForOtherLists, OtherLists, quoted};
use super::pager::{Pager, Sink};
use super::terminal::Terminal;
use crate::exit::Exit;
use crate::problem::{Problem, exit_of};

/// How many lines are shown of what a program of the user's said.
const MOST_LINES: usize = 40;

/// Where everything a command says goes through.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: Sink,
    /// What there is to say on stderr once the pager has ended.
    held: Vec<String>,
    terminal: Terminal,
    json: bool,
    quiet: bool,
    other_lists: Option<LookForOtherLists>,
}

impl Output {
    /// Opens the door.
    pub(crate) fn new(terminal: Terminal, json: bool, quiet: bool) -> Self {
        Self { stdout: Sink::direct(), held: Vec::new(), terminal, json, quiet, other_lists: None }
    }

    /// Has the answer go to a pager where it is longer than the screen; only a terminal has one.
    pub(crate) fn page(&mut self, pager: Option<Pager>) {
        if let (true, Some(pager), Some(screen)) = (self.is_terminal(), pager, self.terminal.screen) {
            self.stdout = Sink::paged(pager, screen);
        }
    }

    /// Ends the answer: it waits for a user who reads it in a pager, and then says what else there is to say.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let ended = self.stdout.end();
        for text in std::mem::take(&mut self.held) {
            writeln!(io::stderr().lock(), "{text}")?;
        }
        ended
    }

    /// Names the lists in the answer that the command wrote to besides that of the directory, from now on.
    pub(crate) fn name_other_lists(&mut self, look: impl Fn() -> Option<OtherLists> + 'static) {
        self.other_lists = Some(LookForOtherLists(Box::new(look)));
    }

    /// Takes it that the answer names the list it is about: nothing more is said of it.
    pub(crate) fn consider_list_named(&mut self) {
        self.other_lists = None;
    }

    /// Returns what to add to a command that is to be typed next, so that it is about the list that was written to: a flag where that
    /// is not the one of the directory.
    pub(crate) fn list_flag(&self) -> String {
        let other = self.other_lists.as_ref().and_then(|look| (look.0)());
        let list = other.as_ref().and_then(|other| other.lists.first());
        list.map(|list| format!(" --list {}", quoted(list))).unwrap_or_default()
    }

    /// Tells people which other lists were written to, where there are any; nothing more is said of them then.
    pub(crate) fn tell_of_other_lists(&mut self) -> io::Result<()> {
        let Some(look) = self.other_lists.take().filter(|_| !self.json && !self.quiet) else { return Ok(()) };
        (look.0)().map_or(Ok(()), |other| self.line(&other.line()))
    }

    /// Tells whether the answer is to be JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Tells whether a person sits at the other end.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal.is_terminal && !self.json
    }

    /// Tells whether only the answer itself is wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Tells whether stdout gets colours.
    pub(crate) fn has_color(&self) -> bool {
        self.terminal.color
    }

    /// Returns what the place of display can show.
    pub(crate) fn look(&self) -> Look {
        self.terminal.look
    }

    /// Returns a line as it is written, in colours where there are any.
    pub(crate) fn painted(&self, line: &Line) -> String {
        let text = if self.terminal.color { ansi(line) } else { line.to_string() };
        text.trim_end_matches(' ').to_owned()
    }

    /// Writes a line of the answer.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        let text = self.painted(line);
        writeln!(self.stdout, "{text}")
    }

    /// Writes a line that a client shows on a terminal of its own: in colours though no terminal is at the other end, unless they are off.
    pub(crate) fn client_line(&mut self, line: &Line) -> io::Result<()> {
        let text = if self.terminal.client_color { ansi(line) } else { line.to_string() };
        writeln!(self.stdout, "{text}")
    }

    /// Returns how many rows the screen has.
    pub(crate) fn rows(&self) -> usize {
        self.terminal.screen.map_or(24, |screen| screen.rows)
    }

    /// Writes a line beside the answer, on stderr.
    pub(crate) fn aside(&self, line: &Line) -> io::Result<()> {
        let text = if self.terminal.error_color { ansi(line) } else { line.to_string() };
        writeln!(io::stderr().lock(), "{text}")
    }

    /// Writes lines of the answer.
    pub(crate) fn lines(&mut self, lines: &[Line]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Writes a finished text of our own making: a picture, a page of a manual.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.stdout.write_all(text.as_bytes())
    }

    /// Writes the very bytes of a program's output, which the user asked for.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    /// Says that something was done; not when only the answer is wanted.
    pub(crate) fn say(&mut self, line: &Line) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(line) }
    }

    /// Tells a person what could be typed next; no program wants to know.
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

    /// Warns on stderr, whatever form the answer has.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        self.stdout.flush()?;
        let mut line = Line::new().with(Tone::Warning, "warning: ");
        line.append(with_commands(text, Tone::Plain));
        self.error_line(line, "warning: ".len())
    }

    /// Tells on stderr what the user should know and need not do anything about, whatever form the answer has.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.stdout.flush()?;
        let mut line = Line::new().with(Tone::Dim, "note: ");
        line.append(with_commands(text, Tone::Plain));
        self.error_line(line, "note: ".len())
    }

    /// Writes the help the user asked for, in the colours of the terminal.
    pub(crate) fn help(&mut self, help: &clap::Error) -> io::Result<()> {
        let text = help.render();
        if self.json {
            return self.document(Help { help: text.to_string() });
        }
        let text = if self.terminal.color { text.ansi().to_string() } else { text.to_string() };
        self.stdout.write_all(text.as_bytes())
    }

    /// Writes a page of the manual.
    pub(crate) fn manual(&mut self, text: &str) -> io::Result<()> {
        match self.json {
            true => self.document(Help { help: text.to_owned() }),
            false => self.stdout.write_all(text.as_bytes()),
        }
    }

    /// Tells on stderr that a command line cannot be understood. The text is safe to show.
    pub(crate) fn usage_error(&mut self, text: &str) -> io::Result<()> {
        let rest = text.strip_prefix("error: ").unwrap_or(text);
        if rest.len() < text.len() {
            let label = Line::new().with(Tone::Error, "error: ");
            let label = if self.terminal.error_color { ansi(&label) } else { label.to_string() };
            write!(io::stderr().lock(), "{label}")?;
        }
        io::stderr().lock().write_all(rest.as_bytes())
    }

    /// Writes the answer as one JSON object on one line.
    pub(crate) fn document(&mut self, body: impl Serialize) -> io::Result<()> {
        let other = self.other_lists.as_ref().and_then(|look| (look.0)());
        let list = other.as_ref().and_then(|other| other.lists.first());
        write_line(Document::new(body, list.map(ListId::as_str)), &mut self.stdout)
    }

    /// Writes a JSON object whose form is not ours to choose, on one line.
    pub(crate) fn bare_document(&mut self, body: impl Serialize) -> io::Result<()> {
        write_line(body, &mut self.stdout)
    }

    /// Tells whether a person can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.is_terminal() && !self.json && io::stdin().is_terminal()
    }

    /// Asks a person for a yes; a program is not asked, and the answer is no then.
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

    /// Sends everything on its way.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    /// Tells of a problem and returns how the process ends.
    pub(crate) fn problem(&mut self, problem: &Problem) -> Exit {
        if problem.is_broken_pipe() {
            return Exit::Done;
        }
        let report = problem.report();
        if !self.json || self.problem_as_json(report).is_err() {
            // Where even stderr is out of reach, the exit code is all we have left to say.
            let _ = self.problem_in_words(report);
        }
        exit_of(report.kind)
    }

    fn problem_as_json(&mut self, problem: &Report) -> io::Result<()> {
        self.document(ErrorAnswer { error: problem })?;
        self.stdout.flush()
    }

    fn problem_in_words(&mut self, problem: &Report) -> io::Result<()> {
        // What was said before comes first; where it cannot be written, that may be the very problem.
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

    /// Writes a line to stderr, on a terminal in as many lines as it needs, below its label.
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

/// Returns text in which what stands between backticks is shown as something to type or to find.
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

/// Returns the last lines of what a program said: enough to see what is wrong, and no more than fits a screen.
fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = || text.trim_end().lines();
    lines().skip(lines().count().saturating_sub(MOST_LINES))
}

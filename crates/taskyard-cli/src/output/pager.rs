//! Output that is longer than the screen goes to the user's pager.

use std::io::{self, BufWriter, Stdout, Write};
use std::process::{Child, Command, Stdio};

use unicode_width::UnicodeWidthStr as _;

use crate::environment::Environment;
use taskyard_jobs::signals;

/// The pager where the environment names none.
const PAGER: &str = "less";

/// What `less` is told where the user tells it nothing: end where one screen is enough, show colours, leave the text on the screen.
const LESS: (&str, &str) = ("LESS", "FRX");

/// Where the answer goes.
#[derive(Debug)]
pub(super) enum Sink {
    /// To stdout.
    Direct(BufWriter<Stdout>),
    /// To stdout while it fits the screen, and to the pager once it does not.
    Paged(Box<Paged>),
}

/// An answer that may go to a pager.
#[derive(Debug)]
pub(super) struct Paged {
    pager: Pager,
    screen: Screen,
    held: Vec<u8>,
    /// The beginning of the line that has not ended.
    line: Vec<u8>,
    rows: usize,
    child: Option<Child>,
}

/// How large the screen is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

/// The user's pager.
#[derive(Clone, Debug)]
pub(crate) struct Pager {
    command: String,
    /// Variables that it gets.
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Pager {
    /// Returns the pager that the user wants: that of `$PAGER`, the configured one, or `less` where it is installed. `cat` is none.
    pub(crate) fn wanted(environment: &Environment, configured: Option<&str>) -> Option<Self> {
        let is_there = || environment.programs.iter().any(|folder| folder.join(PAGER).is_file());
        let command = match environment.pager.as_deref().or(configured) {
            Some(pager) => pager.trim().to_owned(),
            None if is_there() => PAGER.to_owned(),
            None => return None,
        };
        let mut variables = environment.for_children();
        if !environment.has_less_options {
            variables.push((LESS.0.into(), LESS.1.into()));
        }
        (!command.is_empty() && command != "cat").then_some(Self { command, environment: variables })
    }

    fn start(&self) -> io::Result<Child> {
        signals::leave_interrupts_to_pager();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("trap : INT QUIT; {}", self.command)).envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).spawn()
    }
}

impl Sink {
    pub(super) fn direct() -> Self {
        Self::Direct(BufWriter::with_capacity(64 * 1024, io::stdout()))
    }

    pub(super) fn paged(pager: Pager, screen: Screen) -> Self {
        let paged = Paged { pager, screen, held: Vec::new(), line: Vec::new(), rows: 0, child: None };
        Self::Paged(Box::new(paged))
    }

    /// Tells whether a pager has the screen.
    pub(super) fn has_pager(&self) -> bool {
        matches!(self, Self::Paged(paged) if paged.child.is_some())
    }

    /// Writes what is held, waits for the pager where there is one, and goes on without.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if !matches!(self, Self::Paged(_)) {
            return self.flush();
        }
        let Self::Paged(paged) = std::mem::replace(self, Self::direct()) else { return Ok(()) };
        let Paged { held, child, .. } = *paged;
        match child {
            Some(mut child) => {
                // It sees the end of the text.
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            None => {
                self.write_all(&held)?;
                self.flush()
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(stdout) => stdout.write(bytes),
            Self::Paged(paged) => paged.take(bytes).map(|()| bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(stdout) => stdout.flush(),
            // Nothing is shown before it is known where.
            Self::Paged(_) => Ok(()),
        }
    }
}

impl Paged {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(stdin) = self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            return stdin.write_all(bytes);
        }
        self.held.extend_from_slice(bytes);
        for byte in bytes {
            if *byte == b'\n' {
                self.rows += rows_of(&self.line, self.screen.columns);
                self.line.clear();
            } else {
                self.line.push(*byte);
            }
        }
        // The prompt needs a row, too.
        if self.rows < self.screen.rows {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        match self.pager.start() {
            Ok(mut child) => {
                let stdin = child.stdin.as_mut();
                let written = stdin.map_or(Ok(()), |stdin| stdin.write_all(&held));
                self.child = Some(child);
                written
            }
            Err(_) => {
                // Without a pager it scrolls by.
                self.screen.rows = usize::MAX;
                let mut stdout = io::stdout().lock();
                stdout.write_all(&held)?;
                stdout.flush()
            }
        }
    }
}

/// Returns how many rows of a screen a line takes; escape sequences take none.
fn rows_of(line: &[u8], columns: usize) -> usize {
    let text = String::from_utf8_lossy(line);
    let mut plain = String::with_capacity(text.len());
    let mut in_sequence = false;
    for character in text.chars() {
        match (in_sequence, character) {
            (false, '\u{1b}') => in_sequence = true,
            (false, character) => plain.push(character),
            (true, character) => in_sequence = !character.is_ascii_alphabetic(),
        }
    }
    plain.width().div_ceil(columns.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::rows_of;

    #[test]
    fn a_line_takes_as_many_rows_as_it_is_long() {
        assert_eq!(rows_of(b"", 10), 1);
        assert_eq!(rows_of(b"0123456789", 10), 1);
        assert_eq!(rows_of(b"01234567890", 10), 2);
        assert_eq!(rows_of(b"\x1b[1;31m0123456789\x1b[0m", 10), 1);
    }
}

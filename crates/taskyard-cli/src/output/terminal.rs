//! Terminal and pager detection, and noticing that the reader of stdout is gone.

use std::io;
use std::io::{BufWriter, IsTerminal as _, Stdout, Write};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use taskyard::core::Timestamp;
use taskyard::core::render::Look;
use taskyard_jobs::processes;
use unicode_width::UnicodeWidthStr as _;

use crate::environment::Environment;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

/// The capabilities of stdout and stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pub(crate) is_terminal: bool,
    pub(crate) color: bool,
    /// Whether to colour a line that a client shows on its own terminal.
    pub(crate) client_color: bool,
    pub(crate) error_color: bool,
    /// The width of stderr if it is a terminal.
    pub(crate) error_width: Option<usize>,
    pub(crate) look: Look,
    /// The size of the screen if stdout is a terminal.
    pub(crate) screen: Option<Screen>,
}

/// Returns the time zone of `TZ`, or the system's.
pub(crate) fn local_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system)
}

impl Terminal {
    /// Detects the capabilities of stdout and stderr.
    pub(crate) fn detect(choice: ColorChoice, environment: &Environment, now: Timestamp) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let dumb = environment.terminal.as_deref() == Some("dumb");
        let wanted = |is_terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !environment.no_color && !dumb,
        };
        let look = if is_terminal {
            let width = width(columns_of(std::io::stdout()), environment);
            Look {
                unicode: is_utf8(environment),
                width: Some(width),
                now: Some(now),
                zone: local_zone(),
                by_clock: false,
            }
        } else {
            Look::PIPE
        };
        let error_terminal = std::io::stderr().is_terminal();
        Self {
            is_terminal,
            color: wanted(is_terminal),
            client_color: wanted(true),
            error_color: wanted(error_terminal),
            error_width: error_terminal.then(|| width(columns_of(std::io::stderr()), environment)),
            look,
            screen: is_terminal.then(|| Screen { rows: rows(environment), columns: look.width.unwrap_or(80) }),
        }
    }
}

/// Returns whether the terminal supports UTF-8. If the environment does not say, assume so on Windows and macOS.
fn is_utf8(environment: &Environment) -> bool {
    match &environment.character_set {
        Some(name) => {
            let name = name.to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        }
        None => cfg!(any(windows, target_os = "macos")),
    }
}

fn width(told: Option<usize>, environment: &Environment) -> usize {
    told.or(environment.columns).filter(|columns| *columns > 0).unwrap_or(80)
}

/// Returns the height of the screen; 24 if unknown.
fn rows(environment: &Environment) -> usize {
    terminal_rows(std::io::stdout()).or(environment.rows).filter(|rows| *rows > 0).unwrap_or(24)
}

#[cfg(unix)]
fn terminal_rows(terminal: impl rustix::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0).then_some(usize::from(size.ws_row))
}

#[cfg(not(unix))]
fn terminal_rows(_terminal: impl std::io::Write) -> Option<usize> {
    None
}

#[cfg(unix)]
fn columns_of(terminal: impl rustix::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn columns_of(_terminal: impl std::io::Write) -> Option<usize> {
    None
}

/// The default pager.
const PAGER: &str = "less";

/// Options for `less` unless the user sets some: quit if one screen is enough, show colours, keep the text on the
/// screen.
const LESS: (&str, &str) = ("LESS", "FRX");

/// The destination of the answer.
#[derive(Debug)]
pub(super) enum Sink {
    Direct(BufWriter<Stdout>),
    /// To stdout as long as it fits the screen, otherwise to the pager.
    Paged(Box<Paged>),
}

#[derive(Debug)]
pub(super) struct Paged {
    pager: Pager,
    screen: Screen,
    held: Vec<u8>,
    /// The unfinished last line.
    line: Vec<u8>,
    rows: usize,
    child: Option<Child>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Pager {
    command: String,
    /// Variables set for it.
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Pager {
    /// Returns the pager: `$PAGER`, the configured one, or `less` if installed. `cat` means none.
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
        processes::leave_interrupts_to_pager();
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

    /// Returns whether a pager is running.
    pub(super) fn has_pager(&self) -> bool {
        matches!(self, Self::Paged(paged) if paged.child.is_some())
    }

    /// Writes what is held back, waits for the pager if there is one, and continues without it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if !matches!(self, Self::Paged(_)) {
            return self.flush();
        }
        let Self::Paged(paged) = std::mem::replace(self, Self::direct()) else { return Ok(()) };
        let Paged { held, child, .. } = *paged;
        match child {
            Some(mut child) => {
                // Signals the end of the text.
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
            // Nothing is written until the destination is known.
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
                self.rows += rows_of_line(&self.line, self.screen.columns);
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
                // The pager could not be started, so write everything to stdout.
                self.screen.rows = usize::MAX;
                let mut stdout = io::stdout().lock();
                stdout.write_all(&held)?;
                stdout.flush()
            }
        }
    }
}

/// Returns how many screen rows a line takes, not counting escape sequences.
fn rows_of_line(line: &[u8], columns: usize) -> usize {
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

/// While this exists, the terminal does not echo `^C`. The echo would wrap a line that is being redrawn, and the old
/// line would remain on the screen.
#[derive(Debug)]
pub(crate) struct QuietControlKeys {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl QuietControlKeys {
    /// Disables the echo if stdin is a terminal.
    pub(crate) fn on_stdin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let stdin = rustix::stdio::stdin();
        let quieten = |before: rustix::termios::Termios| {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHOCTL);
            tcsetattr(stdin, OptionalActions::Now, &quiet).is_ok().then_some(before)
        };
        Self { before: tcgetattr(stdin).ok().and_then(quieten) }
    }
}

#[cfg(unix)]
impl Drop for QuietControlKeys {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        if let Some(before) = &self.before {
            // The terminal may be gone.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(not(unix))]
impl QuietControlKeys {
    /// Does nothing: other systems do not echo `^C`.
    pub(crate) fn on_stdin() -> Self {
        Self {}
    }
}

/// Calls `tell` once the other end of stdout is closed. A regular file never closes; if closing cannot be detected,
/// the next write fails instead.
///
/// Uses a thread that sleeps in the kernel, and that is left behind when the process ends.
#[cfg(unix)]
pub(crate) fn when_reader_leaves(tell: impl FnOnce() + Send + 'static) {
    let watching = std::thread::Builder::new().name("reader".into()).stack_size(64 * 1024).spawn(move || {
        if wait_for_end() {
            tell();
        }
    });
    if let Err(error) = watching {
        tracing::debug!(%error, "the end of the reader will be noticed by the next write");
    }
}

/// Does nothing; the next write fails instead.
#[cfg(not(unix))]
pub(crate) fn when_reader_leaves(_tell: impl FnOnce() + Send + 'static) {}

/// Waits until the other end of stdout is closed. Returns false if that is impossible.
#[cfg(unix)]
fn wait_for_end() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let stdout = std::io::stdout();
    loop {
        // No events are requested: `poll` always reports that the other end is gone.
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut polled, None) {
            Ok(_) => return true,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rows_of_line;

    #[test]
    fn a_line_takes_as_many_rows_as_it_is_long() {
        assert_eq!(rows_of_line(b"", 10), 1);
        assert_eq!(rows_of_line(b"0123456789", 10), 1);
        assert_eq!(rows_of_line(b"01234567890", 10), 2);
        assert_eq!(rows_of_line(b"\x1b[1;31m0123456789\x1b[0m", 10), 1);
    }
}

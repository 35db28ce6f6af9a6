//! What the place our output goes to can show.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use taskyard::core::Timestamp;
use taskyard::core::render::Look;

use super::pager::Screen;
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

/// What stdout and stderr can show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Whether stdout is a terminal.
    pub(crate) is_terminal: bool,
    /// Whether stdout gets colours.
    pub(crate) color: bool,
    /// Whether a client gets colours that shows our line on a terminal of its own.
    pub(crate) client_color: bool,
    /// Whether stderr gets colours.
    pub(crate) error_color: bool,
    /// The width of stderr, where it is a terminal.
    pub(crate) error_width: Option<usize>,
    /// The look of stdout.
    pub(crate) look: Look,
    /// How large the screen is, where stdout is one.
    pub(crate) screen: Option<Screen>,
}

/// Returns the zone of `TZ`, or of the system.
pub(crate) fn local_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system)
}

impl Terminal {
    /// Looks at stdout, stderr and what the environment says of them.
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

/// Tells whether the terminal shows more than ASCII. Where the environment does not say, Windows and macOS terminals do.
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

/// Returns how many rows the screen has, 24 where neither the terminal nor the environment says.
fn rows(environment: &Environment) -> usize {
    rows_of(std::io::stdout()).or(environment.rows).filter(|rows| *rows > 0).unwrap_or(24)
}

/// Asks a terminal for its height.
#[cfg(unix)]
fn rows_of(terminal: impl rustix::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0).then_some(usize::from(size.ws_row))
}

/// Asks a terminal for its height; elsewhere it does not tell.
#[cfg(not(unix))]
fn rows_of(_terminal: impl std::io::Write) -> Option<usize> {
    None
}

/// Asks a terminal for its width.
#[cfg(unix)]
fn columns_of(terminal: impl rustix::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Asks a terminal for its width; elsewhere it does not tell.
#[cfg(not(unix))]
fn columns_of(_terminal: impl std::io::Write) -> Option<usize> {
    None
}

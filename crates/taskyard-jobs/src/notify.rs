//! Desktop notices: through a user command, the desktop's own program, or a terminal escape sequence.
//!
//! A notice never fails the operation that it reports: one that cannot be shown is logged and dropped. This module
//! reads neither the environment nor a configuration; the caller passes in what it found there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::config::NoticeKind;
use taskyard::core::render::escaping::one_line;

/// The maximum number of notices within [`SPAN`]; the next one then says how many were omitted.
const MOST: usize = 5;
const SPAN: Duration = Duration::from_secs(10);

/// The maximum length of a notice's text, in bytes.
const LONGEST: usize = 400;

/// How notices are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifyBy {
    /// A user's shell command, with the notice in TASKYARD_NOTICE_KIND, TASKYARD_NOTICE_TITLE and TASKYARD_NOTICE_TEXT.
    Command(String),
    /// `notify-send`, on XDG desktops.
    NotifySend,
    /// `osascript`, on macOS.
    AppleScript,
    /// The terminal escape sequence OSC 9.
    Osc9,
    /// The terminal escape sequence OSC 777.
    Osc777,
}

/// What is known of the desktop and the terminal.
#[derive(Clone, Debug, Default)]
pub struct Desktop {
    /// `TERM_PROGRAM`
    pub terminal_program: Option<String>,
    /// `TERM`
    pub terminal: Option<String>,
    /// Whether a graphical session is available (`DISPLAY` or `WAYLAND_DISPLAY`).
    pub has_display: bool,
}

impl NotifyBy {
    /// Returns the best way to show notices if no command is configured. An unknown terminal ignores OSC 9.
    pub fn best(desktop: &Desktop) -> Self {
        let program = desktop.terminal_program.as_deref().unwrap_or_default();
        let terminal = desktop.terminal.as_deref().unwrap_or_default();
        if ["foot", "rxvt", "contour"].iter().any(|known| terminal.starts_with(known)) {
            return Self::Osc777;
        }
        let is_known = ["iTerm.app", "WezTerm", "ghostty"].contains(&program) || terminal.contains("kitty");
        match () {
            () if is_known => Self::Osc9,
            () if cfg!(target_os = "macos") => Self::AppleScript,
            () if desktop.has_display => Self::NotifySend,
            () => Self::Osc9,
        }
    }
}

/// Shows notices, with a rate limit.
#[derive(Debug)]
pub struct Notifier {
    by: NotifyBy,
    on: Vec<NoticeKind>,
    shown: Mutex<Shown>,
}

/// When notices were shown, and how many were omitted since.
#[derive(Debug, Default)]
struct Shown {
    at: Vec<Instant>,
    left_out: usize,
}

impl Shown {
    /// Decides about a notice. Returns how many were omitted before it, or `None` if it is omitted as well.
    fn admit(&mut self, now: Instant) -> Option<usize> {
        self.at.retain(|at| now.duration_since(*at) < SPAN);
        if self.at.len() >= MOST {
            self.left_out += 1;
            return None;
        }
        self.at.push(now);
        Some(std::mem::take(&mut self.left_out))
    }
}

impl Notifier {
    /// Returns a notifier for notices of these kinds.
    pub fn new(by: NotifyBy, on: Vec<NoticeKind>) -> Self {
        Self { by, on, shown: Mutex::default() }
    }

    /// Shows a notice, unless its kind is disabled or the rate limit is exceeded. Does not wait until it is shown.
    pub fn notify(&self, kind: NoticeKind, title: &str, text: &str) {
        if !self.on.contains(&kind) {
            return;
        }
        let admitted = self.shown.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
        let Some(left_out) = admitted else { return };
        let more = if left_out > 0 { format!(" (and {left_out} more)") } else { String::new() };
        let (title, text) = (shortened(title), format!("{}{more}", shortened(text)));
        if let Err(error) = self.show(kind, &title, &text) {
            tracing::warn!(%error, "a notice cannot be shown");
        }
    }

    fn show(&self, kind: NoticeKind, title: &str, text: &str) -> std::io::Result<()> {
        let mut command = match &self.by {
            NotifyBy::Command(line) => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                command
            }
            NotifyBy::NotifySend => {
                let mut command = Command::new("notify-send");
                command.args(["--app-name=Taskyard", "--", title, text]);
                command
            }
            NotifyBy::AppleScript => {
                let mut command = Command::new("osascript");
                let script =
                    "on run notice\ndisplay notification (item 2 of notice) with title (item 1 of notice)\nend run";
                command.args(["-e", script, title, text]);
                command
            }
            NotifyBy::Osc9 => return to_terminal(&format!("\x1b]9;{title}: {text}\x07")),
            NotifyBy::Osc777 => return to_terminal(&format!("\x1b]777;notify;{};{text}\x07", title.replace(';', ","))),
        };
        command.env("TASKYARD_NOTICE_KIND", kind.as_str());
        command.env("TASKYARD_NOTICE_TITLE", title).env("TASKYARD_NOTICE_TEXT", text);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        // The program may outlive this process; until then it has to be reaped.
        thread::Builder::new().name("notice".into()).stack_size(64 * 1024).spawn(move || child.wait())?;
        Ok(())
    }
}

/// Returns a text on one line, without control characters, and truncated.
fn shortened(text: &str) -> String {
    let text = one_line(text);
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}

/// Writes an escape sequence to the controlling terminal, regardless of where stdout goes.
fn to_terminal(sequence: &str) -> std::io::Result<()> {
    let mut terminal = OpenOptions::new().write(true).open("/dev/tty")?;
    terminal.write_all(sequence.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Desktop, MOST, NotifyBy, SPAN, Shown};

    #[test]
    fn many_notices_at_once_become_one() {
        let (mut shown, begun) = (Shown::default(), Instant::now());
        for _ in 0..MOST {
            assert_eq!(shown.admit(begun), Some(0));
        }
        assert_eq!((shown.admit(begun), shown.admit(begun)), (None, None));
        assert_eq!(shown.admit(begun + SPAN + Duration::from_millis(1)), Some(2));
        assert_eq!(shown.admit(begun + SPAN + Duration::from_millis(1)), Some(0));
    }

    #[test]
    fn terminal_that_shows_notices_is_preferred() {
        let by = |program: &str, terminal: &str, has_display| {
            NotifyBy::best(&Desktop {
                terminal_program: Some(program.to_owned()),
                terminal: Some(terminal.to_owned()),
                has_display,
            })
        };
        assert_eq!(by("WezTerm", "xterm-256color", true), NotifyBy::Osc9);
        assert_eq!(by("", "foot", true), NotifyBy::Osc777);
        assert_eq!(by("", "xterm-kitty", false), NotifyBy::Osc9);
        if !cfg!(target_os = "macos") {
            assert_eq!(by("", "xterm-256color", true), NotifyBy::NotifySend);
            assert_eq!(by("", "xterm-256color", false), NotifyBy::Osc9);
        }
    }
}

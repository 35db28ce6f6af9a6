//! The supervisor of a command that does not outlive the process that waits for it.
//!
//! It is on no record and keeps no output: the command writes to the pipes of the waiting process. It talks with that
//! process over its stdin, a socket, on which it first gets what the command is to read, its length before it. Then it
//! hears [`ASK`] and [`KILL`], and says what is in [`CommandNews`]. When the other end is closed, which the system does
//! whichever process is killed, it kills everything the command started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, stdin};
use taskyard::failpoint::reach;
use taskyard::process::Cancel;

use super::JobOptions;
use super::command_start::Started;
use super::ending_all::adopt_orphans;
use super::supervision::{Cause, Duties, Leftovers, Supervision, Wish};

/// What is written to have all processes asked to end.
pub(crate) const ASK: u8 = b'a';
/// What is written to have all processes killed.
pub(crate) const KILL: u8 = b'k';

/// What a supervisor says of a command, in a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandNews {
    /// It has begun.
    Began,
    /// It could not begin, and why.
    CannotBegin(String),
    /// It has ended by itself, as the system put it.
    Ended(i32),
    /// It has ended because that was wished.
    Stopped,
}

impl CommandNews {
    /// Returns the line.
    fn line(&self) -> String {
        match self {
            Self::Began => "began\n".to_owned(),
            Self::CannotBegin(why) => format!("cannot {}\n", why.replace('\n', " ")),
            Self::Ended(status) => format!("ended {status}\n"),
            Self::Stopped => "stopped\n".to_owned(),
        }
    }

    /// Reads a line, without its end.
    pub(crate) fn read(line: &str) -> Option<Self> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("began", _) => Some(Self::Began),
            ("cannot", why) => Some(Self::CannotBegin(why.to_owned())),
            ("ended", status) => status.parse().ok().map(Self::Ended),
            ("stopped", _) => Some(Self::Stopped),
            _ => None,
        }
    }
}

/// Looks after a command for the process at the other end of stdin, and lets nothing of it outlive that process.
///
/// This is the whole life of a process: it adopts orphans. It must be called on the main thread, with whose end the command ends.
/// When `cancel` is cancelled, everything is asked to end.
pub(crate) fn supervise_tied(options: &JobOptions, words: &[OsString], cancel: &Cancel) -> io::Result<()> {
    let mut line = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
    // No other process may keep the line open.
    dup2_stdin(File::open("/dev/null")?)?;
    adopt_orphans()?;
    let input = read_input(&mut line)?;
    reach("tied: coming up");
    let supervision = Supervision {
        started: Started::start(&options.program, words, |_| {})?,
        data: &options.data,
        grace: options.settings.grace,
        time_limit: None,
        leftovers: Leftovers::LeaveAlone,
    };
    let mut waiting = Waiting { line, is_gone: false, has_wished: false };
    let ended = supervision.look_after(&input, cancel, &mut waiting)?;
    // A command that another process asked to end tells how it ended.
    let is_stopped = ended.cause == Cause::Wish && waiting.has_wished;
    let status = ended.status.filter(|_| !is_stopped);
    waiting.say(&status.map_or(CommandNews::Stopped, |status| CommandNews::Ended(status.as_raw())));
    Ok(())
}

/// The process that waits for the command.
struct Waiting {
    line: UnixStream,
    /// Whether the other end was closed.
    is_gone: bool,
    /// Whether it wished for the end.
    has_wished: bool,
}

impl Waiting {
    fn say(&mut self, news: &CommandNews) {
        // That the other end is closed is noticed when the line is read.
        let _ = self.line.write_all(news.line().as_bytes());
    }
}

impl Duties for Waiting {
    fn sources(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [Some(self.line.as_fd()).filter(|_| !self.is_gone), None]
    }

    fn attend(&mut self, [is_written, _]: [bool; 2]) -> Option<Wish> {
        if !is_written {
            return None;
        }
        let mut wishes = [0; 8];
        let count = loop {
            match self.line.read(&mut wishes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.unwrap_or(0),
            }
        };
        (self.is_gone, self.has_wished) = (count == 0, true);
        let is_kill = self.is_gone || wishes.contains(&KILL);
        Some(if is_kill { Wish::Kill } else { Wish::Ask })
    }

    fn has_begun(&mut self, why_not: Option<&str>) {
        self.say(&why_not.map_or(CommandNews::Began, |why| CommandNews::CannotBegin(why.to_owned())));
    }
}

/// Reads what the command is to read.
fn read_input(line: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    line.read_exact(&mut length)?;
    let mut input = Vec::new();
    line.take(u64::from_le_bytes(length)).read_to_end(&mut input)?;
    Ok(input)
}

#[cfg(test)]
mod tests {
    use super::CommandNews;

    #[test]
    fn what_a_supervisor_says_is_understood() {
        for news in [CommandNews::Began, CommandNews::Ended(-1), CommandNews::Stopped] {
            assert_eq!(CommandNews::read(news.line().trim_end()), Some(news));
        }
        let why = CommandNews::CannotBegin("no such file\nor directory".to_owned());
        let heard = CommandNews::CannotBegin("no such file or directory".to_owned());
        assert_eq!(CommandNews::read(why.line().trim_end()), Some(heard));
        for nonsense in ["", "ended", "ended x", "hello"] {
            assert_eq!(CommandNews::read(nonsense), None, "{nonsense:?}");
        }
    }
}

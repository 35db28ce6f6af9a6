//! A command that does not outlive us: a small process of ours stands between, and ends everything when we are gone.
//!
//! We talk with it over its stdin, a socket. First it gets what the command is to read, its length before it. It answers in
//! lines: `began`, or `failed` and why; and at last `exited` or `signalled` and a number. When our end is closed, whatever the
//! command started is killed. That process itself is [`crate::jobs::attend`].

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::program::Running;
use super::{CommandLine, Ending, Program};

/// How long an attendant has to end everything. Only a process that waits for a device takes longer.
const PATIENCE: Duration = Duration::from_secs(12);
/// How soon is looked again whether it has.
const SOON: Duration = Duration::from_millis(2);

/// Who stands between us and a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attendant {
    /// The program whose `job attend` it is: ours.
    pub program: PathBuf,
    /// Our data directory: jobs that the command starts stand for themselves, and are told from it there.
    pub data: PathBuf,
}

/// What an attendant answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The command has begun.
    Began,
    /// It could not, and why.
    Failed(String),
    /// It has ended.
    Ended(Ending),
}

impl Word {
    /// Returns the line it is said with.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Began => "began\n".to_owned(),
            Self::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
            Self::Ended(Ending::Exited(code)) => format!("exited {code}\n"),
            Self::Ended(Ending::Signalled(signal)) => format!("signalled {signal}\n"),
            // That is for us to say.
            Self::Ended(Ending::TimedOut | Ending::Cancelled) => String::new(),
        }
    }

    fn read(line: &str) -> Option<Self> {
        let line = line.strip_suffix('\n')?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "began" => Some(Self::Began),
            "failed" => Some(Self::Failed(rest.to_owned())),
            "exited" => Some(Self::Ended(Ending::Exited(rest.parse().ok()?))),
            "signalled" => Some(Self::Ended(Ending::Signalled(rest.parse().ok()?))),
            _ => None,
        }
    }
}

/// Our end of the socket to an attendant.
pub(super) struct Line(BufReader<UnixStream>);

impl Line {
    /// Returns how the command ended, as far as its attendant, which has ended, has said so.
    pub(super) fn last_word(&mut self) -> Option<Ending> {
        match self.hear() {
            Some(Word::Ended(ending)) => Some(ending),
            _ => None,
        }
    }

    fn hear(&mut self) -> Option<Word> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok()?;
        Word::read(&line)
    }
}

impl Running {
    /// Starts a command under an attendant; returns when it has begun.
    pub(super) fn start_attended(program: &Program, by: &Attendant) -> io::Result<Self> {
        let (mut line, theirs) = UnixStream::pair()?;
        let child = {
            let mut command = Command::new(&by.program);
            command.args(["job", "attend"]).arg(&by.data);
            match &program.command {
                CommandLine::Shell(line) => command.args(["sh", "-c", line]),
                CommandLine::Words(program, arguments) => command.arg(program).args(arguments),
            };
            command.current_dir(&program.directory).process_group(0);
            command.envs(program.environment.iter().map(|(name, value)| (name, value)));
            command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
            // With the command goes our copy of the other end: what is closed there is noticed here.
            command.spawn()?
        };
        let mut running = Self::of(child);
        line.write_all(&(program.stdin.len() as u64).to_le_bytes())?;
        line.write_all(&program.stdin)?;
        let mut line = Line(BufReader::new(line));
        match line.hear() {
            Some(Word::Began) => {
                running.line = Some(line);
                Ok(running)
            }
            Some(Word::Failed(why)) => {
                running.reap()?;
                Err(as_error(&why))
            }
            Some(Word::Ended(_)) | None => Err(io::Error::other("its attendant did not come up")),
        }
    }

    /// Lets the attendant end everything, and waits until it has.
    pub(super) fn dismiss_attendant(&mut self) {
        let Some(line) = self.line.take() else { return };
        drop(line);
        let deadline = Instant::now() + PATIENCE;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while matches!(waitid(WaitId::Pid(self.group), options), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(SOON);
        }
    }
}

/// Reads what the command is to read.
pub(crate) fn read_input(line: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    line.read_exact(&mut length)?;
    let mut input = Vec::new();
    line.take(u64::from_le_bytes(length)).read_to_end(&mut input)?;
    Ok(input)
}

/// Returns what the system said as the error it was.
fn as_error(why: &str) -> io::Error {
    let number = why.rsplit_once("(os error ").and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
    number.map_or_else(|| io::Error::other(why.to_owned()), io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::{Word, as_error};
    use crate::process::Ending;

    #[test]
    fn what_an_attendant_says_is_understood() {
        let why = "no such file\nor directory".to_owned();
        for word in [Word::Began, Word::Ended(Ending::Exited(-1)), Word::Ended(Ending::Signalled(11))] {
            assert_eq!(Word::read(&word.line()), Some(word));
        }
        assert_eq!(Word::read(&Word::Failed(why).line()), Some(Word::Failed("no such file or directory".into())));
        for nonsense in ["", "began", "exited\n", "exited x\n", "hello\n"] {
            assert_eq!(Word::read(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn what_the_system_said_stays_the_error_it_was() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(as_error(&error.to_string()).kind(), std::io::ErrorKind::NotFound);
        assert_eq!(as_error("something else").to_string(), "something else");
    }
}

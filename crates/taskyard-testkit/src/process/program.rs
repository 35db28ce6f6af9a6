//! A program that a test is going to start.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;

use taskyard::core::Rules;

use super::running::Process;
use super::strays::mark;
use crate::ran::Ran;

/// The user `nobody` and its group, on every Debian.
pub const NOBODY: u32 = 65_534;

/// Tells whether the test has all rights.
pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A program with its arguments, its environment and its directory. It reads nothing unless it is given something to read; the process that
/// starts it reads its output.
#[derive(Debug)]
pub struct Program {
    command: Command,
    /// Whether the test has said where its output goes.
    has_output: bool,
    /// Whether it leads a process group, which ends with it.
    leads_group: bool,
    /// Whether it and what it starts may run on when the test process has ended.
    outlives_test: bool,
}

impl Program {
    /// Takes a program that sees nothing of the environment of the test run but where programs and temporary files are.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut clean = Self::inheriting(program);
        clean.env_clear();
        for name in ["PATH", "TMPDIR"] {
            clean.command.envs(env::var_os(name).map(|value| (name, value)));
        }
        clean
    }

    /// Takes a program that sees the whole environment of the test run, as what builds or installs something has to.
    pub fn inheriting(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        Self { command, has_output: false, leads_group: false, outlives_test: false }
    }

    /// Sets the rules that a command of ours follows unless its arguments name others.
    pub fn under(&mut self, rules: Rules) -> &mut Self {
        match rules {
            Rules::Strict => self.env_remove("TASKYARD_RULES").env_remove("TASKYARD_CLIENT_VERSION"),
            Rules::Client(version) => {
                self.env("TASKYARD_RULES", "client").env("TASKYARD_CLIENT_VERSION", version.as_str())
            }
        }
    }

    /// Takes another program with the environment and the directory of this one.
    pub fn like(&self, program: impl AsRef<OsStr>) -> Self {
        let mut other = Self::new(program);
        other.env_clear().envs(self.variables());
        if let Some(directory) = self.command.get_current_dir() {
            other.current_dir(directory);
        }
        other
    }

    /// Has this program started by another, which takes it as its last arguments.
    pub fn started_by(&self, program: &str, words: &[&str]) -> Self {
        let mut starter = self.like(program);
        starter.args(words).arg(self.command.get_program()).args(self.command.get_args());
        starter
    }

    /// Has this program started by a shell, after a line that limits what it may use.
    pub fn limited(&self, line: &str) -> Self {
        self.started_by("sh", &["-c", &format!("{line} && exec \"$0\" \"$@\"")])
    }

    /// Adds an argument.
    pub fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Sets variables.
    pub fn envs(&mut self, variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> &mut Self {
        self.command.envs(variables);
        self
    }

    /// Takes a variable away.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Takes every variable away.
    pub fn env_clear(&mut self) -> &mut Self {
        self.command.env_clear();
        self
    }

    /// Has it run in a directory.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.command.current_dir(directory);
        self
    }

    /// Gives it something to read.
    pub fn stdin(&mut self, input: impl Into<Stdio>) -> &mut Self {
        self.command.stdin(input);
        self
    }

    /// Says where its output goes.
    pub fn stdout(&mut self, output: impl Into<Stdio>) -> &mut Self {
        self.command.stdout(output);
        self.has_output = true;
        self
    }

    /// Says where its complaints go; unless the test says so, they are the test's own.
    pub fn stderr(&mut self, complaints: impl Into<Stdio>) -> &mut Self {
        self.command.stderr(complaints);
        self
    }

    /// Has it run as a user without rights.
    pub fn as_nobody(&mut self) -> &mut Self {
        self.command.uid(NOBODY).gid(NOBODY);
        self
    }

    /// Has it run as a user without rights where the test has all of them.
    pub fn unprivileged(&mut self) -> &mut Self {
        match is_root() {
            true => self.as_nobody(),
            false => self,
        }
    }

    /// Has everything it starts end with it.
    pub fn leading_group(&mut self) -> &mut Self {
        self.command.process_group(0);
        self.leads_group = true;
        self
    }

    /// Lets it and what it starts run on when the test process has ended: for a server that the tests of a run share.
    pub(crate) fn outliving_test(&mut self) -> &mut Self {
        self.outlives_test = true;
        self
    }

    /// Returns its name or path.
    pub fn program(&self) -> &OsStr {
        self.command.get_program()
    }

    /// Returns its arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &OsStr> {
        self.command.get_args()
    }

    /// Returns the variables that were set for it.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.command.get_envs().filter_map(|(name, value)| Some((name, value?)))
    }

    /// Returns the directory it is to run in, where the test has said which.
    pub fn directory(&self) -> Option<&Path> {
        self.command.get_current_dir()
    }

    /// Starts it.
    pub fn start(&mut self) -> Process {
        if !self.has_output {
            self.command.stdout(Stdio::piped());
        }
        Process::of(self.begin(Command::spawn), self.leads_group)
    }

    /// Runs it to its end.
    pub fn run(&mut self) -> Ran {
        Ran::from(self.output())
    }

    /// Runs it to its end, and returns what it said byte by byte.
    pub fn output(&mut self) -> Output {
        self.begin(Command::output)
    }

    /// Runs it to its end, and lets what it says be heard.
    pub fn status(&mut self) -> ExitStatus {
        self.begin(Command::status)
    }

    /// Runs it to its end, which must be a good one, and returns what it printed.
    pub fn succeed(&mut self) -> String {
        let ran = self.run();
        assert_eq!(ran.code, Some(0), "{:?}: {}{}", self.command, ran.stderr, ran.stdout);
        ran.stdout
    }

    fn begin<T>(&mut self, begin: impl Fn(&mut Command) -> io::Result<T>) -> T {
        if !self.outlives_test {
            let (name, value) = mark();
            self.command.env(name, value);
        }
        loop {
            match begin(&mut self.command) {
                Ok(begun) => return begun,
                // A process that another test is starting this moment still has a program open that a test has just written.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::yield_now(),
                Err(error) => panic!("{}: {error}; scripts/test installs what tests need", self.program().display()),
            }
        }
    }
}

//! A terminal of its own, with a home of its own.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use taskyard_testkit::{Program, wait_or};
use tempfile::TempDir;

/// A home directory with a project `rocket` in it.
pub(crate) struct Home {
    place: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let place = TempDir::new().unwrap();
        std::fs::create_dir_all(place.path().join("rocket")).unwrap();
        Self { place }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.place.path().join(below)
    }

    /// Returns a command in the project, with a clean environment in which `taskyard` is ours.
    pub(crate) fn command(&self, program: &str) -> Program {
        let ours = Path::new(env!("CARGO_BIN_EXE_taskyard")).parent().unwrap();
        let mut command = Program::new(program);
        command.env_clear().current_dir(self.path("rocket"));
        command.env("HOME", self.place.path()).env("TASKYARD_HOME", self.path("data")).env("USER", "tester");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", ours.display()));
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        command
    }

    /// Runs a command of ours that must succeed.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        let output = self.command(env!("CARGO_BIN_EXE_taskyard")).args(words).output();
        assert!(output.status.success(), "{words:?}: {output:?}");
        output
    }
}

/// A terminal in which a program runs.
pub(crate) struct Terminal<'a> {
    home: &'a Home,
    socket: PathBuf,
    /// How many commands were run in it.
    ran: AtomicU32,
}

impl<'a> Terminal<'a> {
    /// Starts a program in a terminal of that size.
    pub(crate) fn start(home: &'a Home, columns: u16, rows: u16, program: &[&str]) -> Self {
        // Another server may still be on its way out.
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let socket = home.path(&format!("tmux-{}", STARTED.fetch_add(1, Ordering::Relaxed)));
        let terminal = Self { home, socket, ran: AtomicU32::new(0) };
        let mut command = terminal.tmux(&["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string()]);
        command.args(program);
        let output = command.output();
        assert!(output.status.success(), "{output:?}");
        terminal
    }

    /// Types keys, as tmux names them.
    pub(crate) fn keys(&self, keys: &[&str]) -> &Self {
        assert!(self.tmux(&["send-keys"]).args(keys).status().success());
        self
    }

    /// Types a text.
    pub(crate) fn text(&self, text: &str) -> &Self {
        assert!(self.tmux(&["send-keys", "-l", text]).status().success());
        self
    }

    /// Runs a command in the shell of the terminal, on an empty screen, and returns the mark by which its end is told.
    pub(crate) fn begin(&self, command: &str) -> String {
        // What an earlier command left may still be there, so each has a mark of its own.
        let number = self.ran.fetch_add(1, Ordering::Relaxed);
        self.text(&format!("clear; {command}; echo en''d-{number}")).keys(&["Enter"]);
        format!("end-{number}")
    }

    /// Runs a command in the shell of the terminal, and returns the screen when it has ended.
    pub(crate) fn run(&self, command: &str) -> String {
        let end = self.begin(command);
        self.wait_for_line(&end)
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = ["-x", &columns.to_string(), "-y", &rows.to_string()];
        assert!(self.tmux(&["resize-window"]).args(size).status().success());
    }

    /// Sends a signal to the program that has the terminal.
    pub(crate) fn signal(&self, name: &str) {
        let output = self.tmux(&["display-message", "-p", "#{pane_tty}"]).output();
        let tty = String::from_utf8(output.stdout).unwrap();
        let listed = Program::new("ps").args(["-o", "pid=,stat=", "-t", tty.trim()]).output();
        let listed = String::from_utf8(listed.stdout).unwrap();
        // The plus says that it is in front.
        let front =
            listed.lines().filter_map(|line| line.trim().split_once(' ')).find(|(_, state)| state.contains('+'));
        let (process, _) = front.unwrap_or_else(|| panic!("nobody has the terminal:\n{listed}"));
        assert!(Program::new("kill").args([&format!("-{name}"), process]).status().success());
    }

    /// Returns what is on the screen.
    pub(crate) fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).output();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns what is on the screen, with the escape sequences that colour it.
    pub(crate) fn styled_screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-e"]).output();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until the screen shows something, and returns it.
    pub(crate) fn wait_until(&self, what: &str, shows: impl Fn(&str) -> bool) -> String {
        let look = || Some(self.screen()).filter(|screen| shows(screen));
        wait_or(look, || format!("{what} never came; there is\n{}", self.screen()))
    }

    /// Waits until a text is on the screen.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until a line that says this and nothing else is on the screen.
    pub(crate) fn wait_for_line(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.lines().any(|line| line.trim_end() == text))
    }

    fn tmux(&self, words: &[&str]) -> Program {
        let mut command = self.home.command("tmux");
        command.arg("-S").arg(&self.socket).args(words);
        command
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}

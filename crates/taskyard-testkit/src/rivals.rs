//! The programs that keep lists as the client does, and documents as their specification says.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::ran::Ran;

/// A running program of others.
#[derive(Debug)]
pub struct Rival {
    child: Option<Child>,
    input: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Rival {
    /// Starts one of the programs in `rivals/node`, installing what they need where that has not been done.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("node");
        command.arg(install_rivals().join(program)).args(arguments);
        Self::spawn(command, Stdio::null())
    }

    /// Starts one of the programs that do what they are told.
    pub fn start_listening(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("node");
        command.arg(install_rivals().join(program)).args(arguments);
        Self::spawn(command, Stdio::piped())
    }

    /// Starts one of the programs in `rivals/python`.
    pub fn start_python(program: &str, arguments: &[&str]) -> Self {
        Self::spawn(python(program, arguments), Stdio::null())
    }

    /// Starts one of the programs in `rivals/python` that do what they are told.
    pub fn start_listening_python(program: &str, arguments: &[&str]) -> Self {
        Self::spawn(python(program, arguments), Stdio::piped())
    }

    /// Tells it something, on a line.
    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it was started to listen");
        input.write_all(format!("{line}\n").as_bytes()).expect("a rival that listens takes a line");
    }

    /// Starts a few lines of JavaScript that see the client's store as `store`, its files as `files` and its locks as
    /// `locking`.
    pub fn script(body: &str) -> Self {
        let folder = install_rivals();
        let module = |name: &str| format!("const {name} = require('{}');", folder.join(name).display());
        let program =
            format!("{}{}{} (async () => {{ {body} }})()", module("store"), module("files"), module("locking"));
        let mut command = Command::new("node");
        command.args(["-e", &program]);
        Self::spawn(command, Stdio::null())
    }

    fn spawn(mut command: Command, input: Stdio) -> Self {
        let piped = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("a rival can be started");
        let lines = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Self { input: child.stdin.take(), child: Some(child), lines }
    }

    /// Waits for the next line it prints; none when it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.lines.read_line(&mut line).expect("a pipe can be read");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Waits for the next line and reads it as JSON.
    pub fn json(&mut self) -> Option<Value> {
        self.line().map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Waits for its end; what it printed since the last line taken is in the answer.
    pub fn end(mut self) -> Ran {
        self.input = None;
        let mut rest = String::new();
        while let Some(line) = self.line() {
            rest.push_str(&line);
            rest.push('\n');
        }
        Ran { stdout: rest, ..Ran::wait(self.child.take().expect("it ends once")) }
    }
}

impl Drop for Rival {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn python(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rivals/python").join(program)).args(arguments);
    command
}

/// Installs what the Node programs need, once, and returns their directory.
pub fn install_rivals() -> PathBuf {
    install("node")
}

/// Installs what the MCP clients need, once, and returns their directory.
pub fn install_mcp_clients() -> PathBuf {
    install("mcp")
}

/// Installs Claude Code as the specification describes it and what drives it, once, and returns the directory of the driver.
pub fn install_claude() -> PathBuf {
    install("clients/programs/claude-2.1.34");
    install("clients")
}

/// Installs the task programs of others that come from npm, once, and returns where their commands are.
pub fn install_trackers() -> PathBuf {
    install("trackers").join("node_modules/.bin")
}

/// Installs Task Master, once, and returns the program that makes a project with it.
pub fn install_taskmaster() -> PathBuf {
    install("taskmaster").join("make.mjs")
}

/// Installs axe, once, and returns its script.
pub(crate) fn install_axe() -> PathBuf {
    install("axe").join("node_modules/axe-core/axe.min.js")
}

/// Returns Taskwarrior's command: the one of this machine, or else the one of Debian's package, unpacked where nobody is disturbed.
pub fn install_taskwarrior() -> PathBuf {
    if Command::new("task").arg("--version").output().is_ok_and(|told| told.status.success()) {
        return PathBuf::from("task");
    }
    let _lock = installing();
    let folder = std::env::temp_dir().join("taskyard-taskwarrior");
    let program = folder.join("usr/bin/task");
    if !program.exists() {
        fs::create_dir_all(&folder).expect("a directory can be made");
        let unpack = "apt-get download -qq taskwarrior && dpkg -x taskwarrior_*.deb .";
        let told = Command::new("sh").args(["-c", unpack]).current_dir(&folder).output().expect("there is a shell");
        assert!(told.status.success(), "install taskwarrior: {}", String::from_utf8_lossy(&told.stderr));
    }
    program
}

/// Waits until no other test program installs anything, and keeps them waiting.
fn installing() -> File {
    let lock = File::create(std::env::temp_dir().join("taskyard-rivals.lock")).expect("a lock file can be made");
    lock.lock().expect("a lock file can be locked");
    lock
}

fn install(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rivals").join(name);
    let folder = fs::canonicalize(folder).expect("the rivals are in the repository");
    // Test programs run side by side; one of them installs.
    let _lock = installing();
    let modified = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    let installed = modified(folder.join("node_modules/.package-lock.json"));
    if installed < modified(folder.join("package-lock.json")) {
        // Not `npm ci`: it insists on packages for other systems, which not every registry has. The versions are the pinned ones.
        let words = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
        let npm = Command::new("npm").args(words).current_dir(&folder).output().expect("npm can be started");
        assert!(npm.status.success(), "npm install: {}", String::from_utf8_lossy(&npm.stderr));
    }
    folder
}

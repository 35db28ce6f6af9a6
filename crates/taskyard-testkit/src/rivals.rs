//! The programs that keep lists as the client does, and documents as their specification says.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::process::{Process, Program, Ran};

/// A running program that is not ours.
#[derive(Debug)]
pub struct Rival {
    process: Process,
}

impl Rival {
    /// Starts one of the programs in `rivals/node`, installing their dependencies if necessary.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        Self { process: node(program, arguments).start() }
    }

    /// Starts one of the programs that do what they are told.
    pub fn start_listening(program: &str, arguments: &[&str]) -> Self {
        Self { process: node(program, arguments).stdin(Stdio::piped()).start() }
    }

    /// Starts one of the programs in `rivals/python`.
    pub fn start_python(program: &str, arguments: &[&str]) -> Self {
        Self { process: python(program, arguments).start() }
    }

    /// Starts one of the programs in `rivals/python` that do what they are told.
    pub fn start_listening_python(program: &str, arguments: &[&str]) -> Self {
        Self { process: python(program, arguments).stdin(Stdio::piped()).start() }
    }

    /// Starts a few lines of JavaScript that see the client's store as `store`, its files as `files` and its locks as
    /// `locking`.
    pub fn script(body: &str) -> Self {
        let folder = install_rivals();
        let module = |name: &str| format!("const {name} = require('{}');", folder.join(name).display());
        let program =
            format!("{}{}{} (async () => {{ {body} }})()", module("store"), module("files"), module("locking"));
        Self { process: Program::new("node").args(["-e", &program]).stderr(Stdio::piped()).start() }
    }

    /// Tells it something, on a line.
    pub fn tell(&mut self, line: &str) {
        self.process.tell(line);
    }

    /// Waits for the next line it prints; none when it has ended.
    pub fn line(&mut self) -> Option<String> {
        self.process.line()
    }

    /// Waits for the next line and reads it as JSON.
    pub fn json(&mut self) -> Option<Value> {
        self.process.json()
    }

    /// Waits for its end; returns the output since the last line read.
    pub fn end(self) -> Ran {
        self.process.end()
    }
}

fn node(program: &str, arguments: &[&str]) -> Program {
    let mut command = Program::new("node");
    command.arg(install_rivals().join(program)).args(arguments).stderr(Stdio::piped());
    command
}

fn python(program: &str, arguments: &[&str]) -> Program {
    let mut command = Program::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rivals/python").join(program));
    command.args(arguments).stderr(Stdio::piped());
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

/// Installs other task programs that come from npm, once, and returns where their commands are.
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

/// Returns Taskwarrior's command: the one of this machine, or else the one of Debian's package, unpacked where it disturbs no other test.
pub fn install_taskwarrior() -> PathBuf {
    if is_there("task") {
        return PathBuf::from("task");
    }
    let _lock = installing();
    let folder = std::env::temp_dir().join("taskyard-taskwarrior");
    let program = folder.join("usr/bin/task");
    if !program.exists() {
        fs::create_dir_all(&folder).expect("a directory can be made");
        let unpack = "apt-get download -qq taskwarrior && dpkg -x taskwarrior_*.deb .";
        Program::inheriting("sh").args(["-c", unpack]).current_dir(&folder).succeed();
    }
    program
}

/// Tells whether this machine has a program.
fn is_there(program: &str) -> bool {
    Program::new("sh").args(["-c", &format!("command -v {program}")]).output().status.success()
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
        Program::inheriting("npm").args(words).current_dir(&folder).succeed();
    }
    folder
}

//! A home directory of a test's own, and the real binary run in it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use taskyard::core::{ListId, Rules};
use taskyard::store::{FileStore, FileStoreOptions};
use tempfile::TempDir;

use crate::listing::{Tasks, read_tasks};
use crate::memory_folder::folder_in_memory;
use crate::process::{Process, Program};
use crate::ran::Ran;
use crate::step::Step;
use crate::took::Took;

/// Commands that give a list tasks, edges, a note, a lease that has ended, and a deleted task.
pub const COMMANDS_WITH_HISTORY: [&str; 8] = [
    "create A",
    "create B --blocked-by 1",
    "create C --blocked-by 2",
    "note 2 seen",
    "done 1",
    "claim 2 --as ana",
    "release 2 --as ana",
    "delete 3",
];

/// Returns the rules of a test that names none itself: those in `TASKYARD_TEST_RULES` (`strict`, `2.1.34` or `2.1.325`), or strict rules if
/// the variable is unset. `scripts/conformance --rules` sets it.
pub fn rules_under_test() -> Rules {
    match env::var("TASKYARD_TEST_RULES").as_deref() {
        Err(_) | Ok("strict") => Rules::Strict,
        Ok(version) => Rules::Client(version.parse().expect("the variable names a recorded client")),
    }
}

/// A temporary home with the client's lists, our data directory and the binary to run.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
    /// Called like the list that commands work on, so that it is the list of this directory.
    path: PathBuf,
    binary: PathBuf,
    /// The rules of commands that name none.
    rules: Rules,
}

impl Home {
    /// Makes an empty home for a binary, `env!("CARGO_BIN_EXE_taskyard")` say.
    pub fn new(binary: &str) -> Self {
        Self::below(&std::env::temp_dir(), binary)
    }

    /// Makes an empty home in memory, where the system has a place for that: for what is to be measured by the program and not by
    /// what else the disk is busy with, and for many homes that nothing but a process is to fail in.
    pub fn in_memory(binary: &str) -> Self {
        Self::inside(folder_in_memory(), binary)
    }

    fn below(directory: &Path, binary: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("taskyard-").tempdir_in(directory);
        Self::inside(folder.expect("a temporary directory can be made"), binary)
    }

    fn inside(folder: TempDir, binary: &str) -> Self {
        let path = folder.path().join("L");
        fs::create_dir(&path).expect("a directory can be made in it");
        Self { folder, path, binary: PathBuf::from(binary), rules: rules_under_test() }
    }

    /// Has commands that name no rules follow the strict ones, whatever the rules under test are.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.rules = Rules::Strict;
        self
    }

    /// Returns the home directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of lists.
    pub fn tasks(&self) -> PathBuf {
        self.path().join(".claude").join("tasks")
    }

    /// Returns our data directory.
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Returns the directory of a list's task files.
    pub fn list(&self, list: &str) -> PathBuf {
        self.tasks().join(list)
    }

    /// Returns the file of a task of the list `L`.
    pub fn task_file(&self, id: &str) -> PathBuf {
        self.list("L").join(format!("{id}.json"))
    }

    /// Returns our directory for a list.
    pub fn sidecar(&self, list: &str) -> PathBuf {
        self.store().sidecar_of(&list_id(list)).expect("the store has a data directory")
    }

    /// Opens the same lists through the library.
    pub fn store(&self) -> FileStore {
        FileStore::open(FileStoreOptions { tasks: self.tasks(), data: Some(self.data()), rules: self.rules })
    }

    /// Returns the task files of the list `L`, parsed.
    pub fn present(&self) -> Tasks {
        read_tasks(&self.list("L"))
    }

    /// Returns a command in this home, on the list `L`; words are divided at spaces.
    pub fn command(&self, words: &str) -> Program {
        let mut command = Program::new(&self.binary);
        command
            .args(words.split_whitespace())
            .env_remove("TMPDIR")
            .env("HOME", self.path())
            .env("TASKYARD_HOME", self.data())
            .env("TASKYARD_AGENT", "tester")
            .env("TASKYARD_LIST", "L")
            .env("CLAUDE_CODE_TMPDIR", self.path().join("tmp"))
            .current_dir(self.path())
            .stderr(Stdio::piped())
            .under(self.rules);
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    /// Runs a command that says little to its end, and returns how long it took.
    pub fn run_timed(&self, words: &str) -> (Ran, Took) {
        Took::by(self.command(words))
    }

    /// Runs a command under a plan of fail points.
    pub fn run_with(&self, plan: &str, words: &str) -> Ran {
        self.command(words).env("TASKYARD_FAILPOINTS", plan).run()
    }

    /// Starts a command under a plan of fail points.
    pub fn start_with(&self, plan: &str, words: &str) -> Process {
        self.command(words).env("TASKYARD_FAILPOINTS", plan).start()
    }

    /// Runs a command that has to succeed, and returns its JSON answer.
    pub fn ask(&self, words: &str) -> Value {
        let ran = self.run(&format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        ran.json()
    }

    /// Returns the steps that a command reaches, in order; the command is carried out.
    pub fn steps(&self, words: &str) -> Vec<Step> {
        self.steps_with("", words)
    }

    /// Does the same under a plan of fail points.
    pub fn steps_with(&self, plan: &str, words: &str) -> Vec<Step> {
        Step::traced(self.path(), plan, |plan| {
            let ran = self.run_with(plan, words);
            assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        })
    }

    /// Returns another home beside it that holds the same, our memory of its lists included.
    pub fn copy(&self) -> Self {
        let place = self.folder.path().parent().expect("a temporary directory is in another");
        let mut copy = Self::below(place, self.binary.to_str().expect("the path of the binary is text"));
        copy.rules = self.rules;
        let lists = fs::read_dir(self.tasks()).map(Iterator::collect::<Result<Vec<_>, _>>);
        for list in lists.unwrap_or(Ok(Vec::new())).expect("the lists can be read") {
            let name = list.file_name().into_string().expect("the name of a list is text");
            copy_directory(&list.path(), &copy.list(&name));
            let sidecar = self.sidecar(&name);
            if sidecar.exists() {
                copy_directory(&sidecar, &copy.sidecar(&name));
            }
        }
        copy
    }
}

fn list_id(list: &str) -> ListId {
    ListId::new(list).expect("the name of a test's list is a good one")
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("a directory can be read") {
        let path = entry.expect("a directory can be read").path();
        let name = path.file_name().expect("an entry has a name");
        if path.is_dir() {
            copy_directory(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("a file can be copied");
        }
    }
}

//! A home directory for one test, and the real binary run in it: once, suspended or as a server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rustix::process::Signal;
use serde_json::Value;
use taskyard::core::{ListId, Rules};
use taskyard::store::{FileStore, FileStoreOptions};
use tempfile::TempDir;

use crate::files_on_disk::{Tasks, read_tasks};
use crate::opened::folder_in_memory;
use crate::patience::wait_until;
use crate::process::{Process, Program, Ran, Step, is_stopped};

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
    /// The address of the store, if it is not the home's own files.
    store: Option<String>,
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
        Self { folder, path, binary: PathBuf::from(binary), rules: rules_under_test(), store: None }
    }

    /// Has commands that name no rules follow the strict ones, whatever the rules under test are.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.rules = Rules::Strict;
        self
    }

    /// Makes commands use the store at an address, such as that of a database.
    #[must_use]
    pub fn on_store(mut self, address: &str) -> Self {
        self.store = Some(address.to_owned());
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
            .envs(self.store.iter().map(|address| ("TASKYARD_STORE", address)))
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

/// How often is looked what a command does.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How long a command took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// From its start to its end. On a busy machine this is longer, never shorter.
    pub elapsed: Duration,
    /// The part of it in which the command was seen to wait for something that happens: a lock, a pipe, a moment. What else the machine does
    /// does not make it longer: standing in line for a processor or for the disk is no part of it.
    pub waited: Duration,
    /// The part of it in which the command worked.
    pub worked: Duration,
}

impl Took {
    /// Runs a command that says little to its end.
    pub fn by(command: Program) -> (Ran, Self) {
        Self::within(command, Duration::MAX)
    }

    /// Runs a command that says little to its end, and kills it once it has waited for longer than this.
    pub fn within(mut command: Program, longest: Duration) -> (Ran, Self) {
        let started = Instant::now();
        let process = command.start();
        let mut waited = Duration::ZERO;
        while !process.has_ended() {
            if is_asleep(&process) {
                waited += BETWEEN_LOOKS;
            }
            if waited > longest {
                process.signal(Signal::KILL);
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        // What it used can be read until it is reaped.
        let took = Self { elapsed: started.elapsed(), waited, worked: worked(&process) };
        (process.end(), took)
    }
}

/// Tells whether every thread of a process sleeps until something happens. The system has another word for those that wait for a disk.
fn is_asleep(process: &Process) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", process.id())) else { return false };
    let mut threads =
        threads.flatten().map(|thread| fs::read_to_string(thread.path().join("stat")).unwrap_or_default());
    threads.all(|stat| stat.rsplit_once(')').is_some_and(|(_, fields)| fields.trim_start().starts_with('S')))
}

/// Returns how long a process that is not reaped yet was on a processor.
fn worked(process: &Process) -> Duration {
    let used = fs::read_to_string(format!("/proc/{}/schedstat", process.id())).unwrap_or_default();
    Duration::from_nanos(used.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or_default())
}

/// Returns the program of an example. Cargo builds examples together with all tests of a crate; where only some were asked for, they
/// are built now.
pub fn example(package: &str, name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in a folder of their profile");
    let program = profile.join("examples").join(name);
    if !program.exists() {
        let mut cargo = Program::inheriting(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let built = cargo.args(["build", "--quiet", "--package", package, "--examples"]).status();
        assert!(built.success(), "the examples of {package} are not built");
    }
    program
}

/// A command that is stopped at a step.
#[derive(Debug)]
pub struct Suspended {
    process: Process,
}

impl Suspended {
    /// Starts a command that stops itself at a step (`STEP` or `STEP*COUNT`), and waits until it has.
    pub fn at(home: &Home, step: &str, words: &str) -> Self {
        let mut process = home.start_with(&format!("{step}=stop"), words);
        wait_until(&format!("`{words}` to come to `{step}`"), || process.is_stopped() || process.try_wait().is_some());
        assert!(process.try_wait().is_none(), "`{words}` never came to `{step}`: {:?}", process.end());
        Self { process }
    }

    /// Returns the id of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Returns what tells whether its threads have run or were sent anything: how often each was switched to and from, and the signals
    /// that wait for it. Nothing of it changes while a stopped process is left alone.
    pub fn activity(&self) -> Vec<String> {
        let threads = || -> Vec<_> {
            let folder = fs::read_dir(format!("/proc/{}/task", self.process())).expect("a stopped process is there");
            folder.map(|thread| thread.expect("a thread of a stopped process stays").path()).collect()
        };
        // The process counts as stopped as soon as its first thread is.
        wait_until("all threads to be stopped", || threads().iter().all(|thread| is_stopped(thread)));
        let telling = ["SigPnd:", "ShdPnd:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
        let of_thread = |thread: &PathBuf| {
            let status = fs::read_to_string(thread.join("status")).expect("a thread of a stopped process stays");
            let lines = status.lines().filter(|line| telling.iter().any(|key| line.starts_with(key)));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        threads().iter().flat_map(of_thread).collect()
    }

    /// Lets it go on, and waits for its end.
    pub fn go_on(self) -> Ran {
        self.wake();
        self.end()
    }

    /// Tells it to end as a terminal does that is closed; it learns of it when it goes on.
    pub fn tell_to_end(&self) {
        self.process.signal(Signal::HUP);
    }

    /// Lets it go on.
    pub fn wake(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Waits for its end.
    pub fn end(self) -> Ran {
        self.process.end()
    }
}

/// A running `taskyard serve`, which ends with it.
#[derive(Debug)]
pub struct Server {
    process: Process,
    /// What it said of itself: `link`, `url`, `tokenFile`.
    told: Value,
}

impl Server {
    /// Starts a server in a home on any port, unless the flags name one.
    pub fn start(home: &Home, flags: &str) -> Self {
        let port = if flags.contains("--port") { "" } else { "--port 0" };
        let mut command = home.command(&format!("serve {port} --json {flags}"));
        command.env_remove("TASKYARD_AGENT").env("USER", "uma").stderr(Stdio::inherit());
        let mut process = command.start();
        let told = process.json().expect("a server says where it listens");
        Self { process, told }
    }

    /// Returns the link that lets one browser in.
    pub fn link(&self) -> &str {
        self.told["link"].as_str().unwrap()
    }

    /// Makes another link, which lets one more browser in.
    pub fn another_link(&self) -> String {
        let (_, made) = self.request("POST", "/api/v1/links");
        let made: Value = serde_json::from_str(&made).unwrap_or_else(|error| panic!("{error}: {made}"));
        made["link"].as_str().unwrap().to_owned()
    }

    /// Asks for something with the token of the server, and returns the head and the body of the answer.
    pub fn request(&self, method: &str, path: &str) -> (String, String) {
        let token = fs::read_to_string(self.told["tokenFile"].as_str().unwrap()).unwrap();
        let host = self.url().split_once("://").unwrap().1;
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            token.trim()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
        (head.to_owned(), body.to_owned())
    }

    /// Returns its address, `http://127.0.0.1:1234` say.
    pub fn url(&self) -> &str {
        self.told["url"].as_str().unwrap()
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.url().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap()
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> Option<i32> {
        self.process.signal(Signal::TERM);
        self.process.wait().code()
    }
}

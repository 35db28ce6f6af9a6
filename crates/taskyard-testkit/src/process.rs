//! Processes that tests start, the steps they stop at, and what they printed. Every program that a test runs is started
//! here.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio, id};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;
use std::{env, fmt, fs, io, thread};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use serde_json::Value;
use taskyard::core::Rules;

use crate::patience::Scale;

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
    /// Whether it and its children may outlive the test process.
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

    /// Sets the default rules of our commands.
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

    /// Starts this program from a shell, after a line that limits its resources.
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

    /// Runs it as an unprivileged user if the test runs as root.
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

    /// Lets it and its children outlive the test process, for a server shared by the tests of a run.
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

    /// Returns its working directory, if the test has set one.
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

    /// Runs it to its end, and returns its raw output.
    pub fn output(&mut self) -> Output {
        self.begin(Command::output)
    }

    /// Runs it to its end, and passes its output through.
    pub fn status(&mut self) -> ExitStatus {
        self.begin(Command::status)
    }

    /// Runs it to its end, which must be successful, and returns its output.
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

/// A running process. Dropped, it is killed and reaped: a test leaves none behind, however it ends.
#[derive(Debug)]
pub struct Process {
    /// None once the test has waited for its output.
    child: Option<Child>,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    leads_group: bool,
}

impl Process {
    fn of(mut child: Child, leads_group: bool) -> Self {
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child: Some(child), input, output, leads_group }
    }

    /// Returns its id.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it ends once").id()
    }

    /// Returns its id as the system calls take it.
    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("it ends once"))
    }

    /// Writes a line to it.
    pub fn tell(&mut self, line: &str) {
        self.try_tell(line).expect("a process that listens takes a line");
    }

    /// Writes a line to it; one that has ended takes none.
    pub fn try_tell(&mut self, line: &str) -> std::io::Result<()> {
        self.write(format!("{line}\n").as_bytes())
    }

    /// Writes bytes to it as they are; one that has ended takes none.
    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.input.as_mut().expect("it was started to listen").write_all(bytes)
    }

    /// Takes the pipe to it, to write to it from elsewhere.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().expect("it was started to listen")
    }

    /// Lets its input end.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the next line it prints; none when its output has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let output = self.output.as_mut().expect("its output is a pipe");
        let length = output.read_line(&mut line).expect("a pipe can be read");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Waits for the next line and reads it as JSON.
    pub fn json(&mut self) -> Option<Value> {
        self.line().map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Takes the pipe from it, to read it elsewhere.
    pub fn take_output(&mut self) -> BufReader<ChildStdout> {
        self.output.take().expect("its output is a pipe")
    }

    /// Takes the pipe of its complaints, to read them elsewhere.
    pub fn take_complaints(&mut self) -> BufReader<ChildStderr> {
        let complaints = self.child.as_mut().and_then(|child| child.stderr.take());
        BufReader::new(complaints.expect("its complaints are a pipe"))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a process that is not reaped can be sent signals");
    }

    /// Tells whether it is stopped, by itself or by a signal.
    pub fn is_stopped(&self) -> bool {
        is_stopped(Path::new(&format!("/proc/{}", self.id())))
    }

    /// Kills it if it still runs, and reaps it.
    pub fn kill(&mut self) {
        let Some(child) = &mut self.child else { return };
        if std::mem::take(&mut self.leads_group) {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Returns how it ended, or `None` if it still runs.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().expect("it ends once").try_wait().expect("a child can be asked")
    }

    /// Returns whether it has ended, without reaping it, so that its resource usage can still be read.
    pub fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options).expect("a child can be asked").is_some()
    }

    /// Closes its input and waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.close_input();
        self.child.as_mut().expect("it ends once").wait().expect("a child can be waited for")
    }

    /// Closes its input and waits for its end; returns the output since the last line read.
    pub fn end(self) -> Ran {
        Ran::from(self.wait_with_output())
    }

    /// Does the same, and returns the raw output.
    pub fn wait_with_output(mut self) -> Output {
        self.close_input();
        let mut child = self.child.take().expect("it ends once");
        let mut read = Vec::new();
        if let Some(output) = self.output.take() {
            read.extend_from_slice(output.buffer());
            child.stdout = Some(output.into_inner());
        }
        let mut ended = child.wait_with_output().expect("a child can be waited for");
        ended.stdout.splice(..0, read);
        ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Tells whether a process or a thread is stopped, by its directory below `/proc`.
pub(crate) fn is_stopped(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

/// The variable by which everything is known that a test process started, whichever process of it did.
const MARK: &str = "TESTKIT_STARTED_BY";

/// Waits until the test process has ended, however it did, and kills what carries its mark until nothing does: what is killed may have been
/// about to start another process. It leads a group of its own, so that it outlives a runner that ends the group of a test.
const SWEEPER: &str = r#"
while read -r line; do :; done
while found=$(grep -lszxF "$1" /proc/[0-9]*/environ); [ -n "$found" ]; do
    for file in $found; do
        pid=${file#/proc/}
        kill -KILL "${pid%/environ}"
    done
done
"#;

/// Returns the mark that this test process gives to all it starts. From here on nothing that carries it outlives this process: one that
/// panics, aborts or is killed leaves nothing running.
#[expect(clippy::zombie_processes, reason = "the sweeper ends after this process, which cannot wait for it")]
fn mark() -> (&'static str, &'static str) {
    static SWEPT: OnceLock<(String, ChildStdin)> = OnceLock::new();
    let (value, _) = SWEPT.get_or_init(|| {
        // Ids of processes are used again.
        let value = format!("{}-{}", id(), UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos());
        let mut sweeper = Command::new("sh");
        sweeper.args(["-c", SWEEPER, "sweeper", &format!("{MARK}={value}")]).env_remove(MARK).process_group(0);
        sweeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        let mut sweeper = sweeper.spawn().expect("a shell can be started");
        (value, sweeper.stdin.take().expect("its input is a pipe"))
    });
    (MARK, value)
}

/// Kills every process in whose environment a variable has a value: jobs and their supervisors outlive the command that starts them, and
/// a test knows them by the home that is its own.
pub fn kill_all_with(name: &str, value: &str) {
    let wanted = format!("{name}={value}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// The plan under which a command reaches the same steps however long they take: tidying has a task in each transaction and no limit, and
/// every commit is flushed and packed at once.
const UNTIMED: &str = "any=step:0;any=flush:-1";

/// A step that a command reached. Displayed, it is what a plan of fail points calls it: `file: done*2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What the code calls it.
    pub name: String,
    /// The how-manieth of that name it is, counted from one.
    pub occurrence: u64,
}

impl Step {
    /// Returns the steps that something reaches which is run under the plan it is given: this one, that it writes down its steps, and that
    /// they do not depend on time. The trace is kept in a directory meanwhile.
    pub fn traced(directory: &Path, plan: &str, run: impl FnOnce(&str)) -> Vec<Self> {
        let trace = directory.join("trace");
        let plan = if plan.is_empty() { UNTIMED.to_owned() } else { format!("{plan};{UNTIMED}") };
        run(&format!("{plan};any=trace:{}", trace.display()));
        let text = fs::read_to_string(&trace).unwrap_or_default();
        let _ = fs::remove_file(trace);
        Self::named(text.lines())
    }

    fn named<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Self> {
        let mut reached = HashMap::new();
        let step = |name: &'a str| {
            let occurrence = reached.entry(name).and_modify(|count| *count += 1).or_insert(1);
            Self { name: name.to_owned(), occurrence: *occurrence }
        };
        names.map(step).collect()
    }

    /// Returns the plan of fail points that kills a command at this step.
    pub fn killing(&self) -> String {
        format!("{UNTIMED};{self}=kill")
    }

    /// Returns some of the steps: each name at least once, and of all steps a share; at full scale all of them.
    pub fn sampled(steps: &[Self], scale: Scale) -> Vec<&Self> {
        let stride = (steps.len() / scale.of(steps.len()).max(1)).max(1);
        let mut seen = HashSet::new();
        let is_wanted = |(place, step): &(usize, &Self)| seen.insert(step.name.clone()) || place % stride == stride - 1;
        steps.iter().enumerate().filter(is_wanted).map(|(_, step)| step).collect()
    }

    /// Returns the first step of each name; at full scale all of them.
    pub fn each_name(steps: &[Self], scale: Scale) -> Vec<&Self> {
        steps.iter().filter(|step| step.occurrence == 1 || scale.is_full()).collect()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}*{}", self.name, self.occurrence)
    }
}

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

impl Ran {
    /// Returns the JSON answer.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the id of the task in the JSON answer.
    pub fn id(&self) -> String {
        self.json()["task"]["id"].as_str().unwrap_or_else(|| panic!("no task in {self:?}")).to_owned()
    }

    /// Tells whether the command was killed.
    pub fn was_killed(&self) -> bool {
        self.signal == Some(9)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_known_by_its_name_and_how_often_it_was_reached() {
        let steps = Step::named(["file: before", "file: done", "file: before", "turn: taken"].into_iter());
        let told: Vec<String> = steps.iter().map(Step::to_string).collect();
        assert_eq!(told, ["file: before*1", "file: done*1", "file: before*2", "turn: taken*1"]);
    }
}

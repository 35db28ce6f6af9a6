//! The other side: a shell in a pid namespace of its own, or on what looks like another machine.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Process, Program, Ran, SharedPostgres};

/// The variable that says where lists are.
pub(crate) const STORE: &str = "TASKYARD_STORE";

/// How long those of whom nothing is seen count as alive in these tests: long enough for several commands on a busy machine.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// What makes the other side another one, and what both share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A pid namespace of its own; the same data directory.
    Container,
    /// A machine id of its own; the same data directory.
    Machine,
    /// A pid namespace of its own; the same data directory and database.
    ContainerOnDatabase,
    /// A machine id of its own; the same data directory and database.
    MachineOnDatabase,
    /// Another run under the same machine id, from a copy of the data directory; the same database.
    CloneOnDatabase,
}

/// The kinds that keep their lists in files.
pub(crate) const KINDS: [Kind; 2] = [Kind::Container, Kind::Machine];

/// All kinds.
const ALL_KINDS: [Kind; 5] =
    [Kind::Container, Kind::Machine, Kind::ContainerOnDatabase, Kind::MachineOnDatabase, Kind::CloneOnDatabase];

/// A home and, beside it, a shell on the other side.
pub(crate) struct Sides {
    pub(crate) home: Home,
    /// The address of the database that both share.
    store: Option<String>,
    shell: Process,
}

/// Does the same on sides of all kinds, at the same time.
pub(crate) fn on_all_kinds(play: impl Fn(Kind, Sides) + Sync) {
    thread::scope(|scope| {
        for kind in ALL_KINDS {
            let play = &play;
            scope.spawn(move || Sides::new(kind).map(|sides| play(kind, sides)));
        }
    });
}

impl Sides {
    /// Makes both; none where the system lets us make no other side, which is said out loud.
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let is_on_database = !KINDS.contains(&kind);
        let store = is_on_database.then(|| SharedPostgres::get().fresh_address());
        let mut command = on(&home, "").like(if kind == Kind::CloneOnDatabase { "sh" } else { "unshare" });
        command.env("TASKYARD", env!("CARGO_BIN_EXE_taskyard")).envs(store.iter().map(|store| (STORE, store)));
        match kind {
            Kind::Container | Kind::ContainerOnDatabase => {
                command.args(["--kill-child", "--pid", "--fork", "--mount-proc", "sh", "-s"])
            }
            Kind::CloneOnDatabase => {
                let copy = home.path().join("copy");
                for data in [home.data(), copy.clone()] {
                    identify(&data);
                }
                command.arg("-s").env("TASKYARD_HOME", copy).env("TASKYARD_FAILPOINTS", in_another_run())
            }
            Kind::Machine | Kind::MachineOnDatabase => {
                fs::write(home.path().join("machine-id"), "0123456789abcdef0123456789abcdef\n").unwrap();
                let line = "mount --bind machine-id /etc/machine-id && exec sh -s";
                command.args(["--kill-child", "--fork", "--mount", "sh", "-c", line])
            }
        };
        let shell = command.stdin(Stdio::piped()).stderr(Stdio::null()).start();
        let mut sides = Self { home, store, shell };
        let sides = (sides.try_say("echo here").as_deref() == Some("here")).then_some(sides);
        if sides.is_none() {
            // Not through `eprintln`, which is heard only when a test fails.
            let _ =
                writeln!(std::io::stderr(), "NOT TESTED: two sides, {kind:?}. This system lets us make no other side.");
        }
        sides
    }

    /// Runs a command on our side.
    pub(crate) fn here(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    /// Returns a command on our side.
    pub(crate) fn command(&self, words: &str) -> Program {
        let mut command = on(&self.home, words);
        command.envs(self.store.iter().map(|store| (STORE, store)));
        command
    }

    /// Tells whether both sides share a database.
    pub(crate) fn are_on_database(&self) -> bool {
        self.store.is_some()
    }

    /// Runs a command on our side that must succeed, and returns its JSON answer.
    pub(crate) fn ask_here(&self, words: &str) -> Value {
        let ran = self.here(&format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        ran.json()
    }

    /// Runs a command on the other side, and returns its exit code and its JSON answer.
    pub(crate) fn ask_there(&mut self, words: &str) -> (i32, Value) {
        let code = self.say(&format!("$TASKYARD {words} --json > there.json 2> there.err; echo $?"));
        let text = fs::read_to_string(self.home.path().join("there.json")).unwrap();
        let answer = serde_json::from_str(&text).unwrap_or_else(|error| panic!("`{words}`: {error}: {text}"));
        (code.parse().unwrap(), answer)
    }

    /// Starts something on the other side, and returns its process id there.
    pub(crate) fn start_there(&mut self, line: &str) -> u32 {
        self.say(&format!("{line} > started.out 2>&1 & echo $!")).parse().unwrap()
    }

    /// Kills a process of the other side.
    pub(crate) fn kill_there(&mut self, pid: u32) {
        self.say(&format!("kill -9 {pid}; wait {pid} 2> /dev/null; echo killed"));
    }

    /// Says a line to the shell on the other side, and returns the line it answers with.
    pub(crate) fn say(&mut self, line: &str) -> String {
        self.try_say(line).unwrap_or_else(|| panic!("the other side has ended: {line}"))
    }

    fn try_say(&mut self, line: &str) -> Option<String> {
        self.shell.try_tell(line).ok()?;
        self.shell.line()
    }
}

/// Makes a data directory that a machine in this run has used, with an id that all made so share.
fn identify(data: &Path) {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let proof = json!({ "id": "0123456789abcdef0123456789abcdef", "boots": [boot.trim()] });
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(data.join("machine.json")).unwrap();
    writeln!(file, "{proof}").unwrap();
}

/// Returns the plan of a process that believes in another run of the machine, with a short silence.
pub(crate) fn in_another_run() -> String {
    format!("any=silence:{};any=boot:11111111-2222-3333-4444-555555555555", SILENCE.as_millis())
}

/// Returns a command in a home, with a short silence.
pub(crate) fn on(home: &Home, words: &str) -> Program {
    let mut command = home.command(words);
    command.env("TASKYARD_FAILPOINTS", format!("any=silence:{}", SILENCE.as_millis()));
    command
}

/// Looks again and again for longer than a silence whether something stays so.
pub(crate) fn throughout_a_silence(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while started.elapsed() < SILENCE + Duration::from_secs(2) {
        assert!(is_so(), "{what} is no longer so after {:?}", started.elapsed());
        thread::sleep(Duration::from_millis(200));
    }
}

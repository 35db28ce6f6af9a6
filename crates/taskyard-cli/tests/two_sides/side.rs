//! The other side: a shell in a pid namespace of its own, or on what looks like another machine.

use std::io::Write as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use taskyard_testkit::{Home, Process, Program, Ran};

/// How long those of whom nothing is seen count as alive in these tests: long enough for several commands on a busy machine.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// What makes the other side another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A pid namespace of its own.
    Container,
    /// A machine id of its own.
    Machine,
}

/// Both kinds.
pub(crate) const KINDS: [Kind; 2] = [Kind::Container, Kind::Machine];

/// A home and, beside it, a shell on the other side.
pub(crate) struct Sides {
    pub(crate) home: Home,
    shell: Process,
}

impl Sides {
    /// Makes both; none where the system lets us make no other side, which is said out loud.
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let mut command = on(&home, "").like("unshare");
        command.env("TASKYARD", env!("CARGO_BIN_EXE_taskyard"));
        match kind {
            Kind::Container => command.args(["--kill-child", "--pid", "--fork", "--mount-proc", "sh", "-s"]),
            Kind::Machine => {
                std::fs::write(home.path().join("machine-id"), "0123456789abcdef0123456789abcdef\n").unwrap();
                let line = "mount --bind machine-id /etc/machine-id && exec sh -s";
                command.args(["--kill-child", "--fork", "--mount", "sh", "-c", line])
            }
        };
        let shell = command.stdin(Stdio::piped()).stderr(Stdio::null()).start();
        let mut sides = Self { home, shell };
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
        on(&self.home, words).run()
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
        let text = std::fs::read_to_string(self.home.path().join("there.json")).unwrap();
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

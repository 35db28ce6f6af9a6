//! A home with lists in one store, commands that run in it while one of their system calls fails, and a way back to how it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Program, Ran};

/// The system calls that fail, and how each may fail. What only looks at a name or closes something is not among them.
const CALLS: [(&str, &[&str]); 20] = [
    ("open", &["EMFILE", "EIO"]),
    ("openat", &["EMFILE", "EIO"]),
    ("read", &["EIO"]),
    ("pread64", &["EIO"]),
    ("getdents64", &["EIO"]),
    ("write", &["ENOSPC", "EIO"]),
    ("pwrite64", &["ENOSPC", "EIO"]),
    ("ftruncate", &["EIO"]),
    ("fallocate", &["ENOSPC"]),
    ("fsync", &["EIO"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("syncfs", &["EIO"]),
    ("rename", &["EIO"]),
    ("renameat", &["EIO"]),
    ("renameat2", &["ENOSPC"]),
    ("unlink", &["EIO"]),
    ("unlinkat", &["EIO"]),
    ("mkdir", &["ENOSPC"]),
    ("mkdirat", &["ENOSPC"]),
    ("flock", &["EIO"]),
];

/// What each list holds, without what is different in every run.
pub(crate) type ListContents = BTreeMap<String, BTreeSet<String>>;

/// One system call of a command that does not go well.
pub(crate) struct Fault {
    call: &'static str,
    /// The how manieth of its kind it is in its thread.
    number: usize,
    /// What becomes of it: an error, or the end of the process.
    what: String,
    /// The call as it was when all went well.
    line: String,
}

/// A home, and a copy of it to go back to.
pub(crate) struct Site {
    home: Home,
    store: &'static str,
    saved: PathBuf,
    /// The ids of its tasks, which operations name as `A` to `E`.
    ids: Vec<String>,
    token: String,
}

impl Site {
    /// Makes lists: `L` with a blocked, a claimed, a completed and a deleted task, and `M` with two tasks where the store has a second list.
    pub(crate) fn new(store: &'static str) -> Self {
        let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        let saved = home.path().with_file_name("saved");
        let mut site = Self { home, store, saved, ids: Vec::new(), token: String::new() };
        site.write("batch.jsonl", &["one", "two"].map(|name| json!({ "subject": name }).to_string()).join("\n"));
        site.write("tasks.md", "- [ ] from outside\n- [ ] and another\n");
        site.write("editor", "#!/bin/sh\nsed -i s/first/edited/ \"$1\"\n");
        for name in ["first", "second", "third", "fourth", "fifth"] {
            let made = site.ask(&format!("create {name}"));
            site.ids.push(made["task"]["id"].as_str().unwrap().to_owned());
        }
        site.ask("depend B --on A");
        site.token = site.ask("claim C")["token"].to_string();
        site.ask("done D");
        if site.has_two_lists() {
            site.ask("create left --list M");
            site.ask("create open --list M");
            site.ask("backup backup.tar");
        }
        site.ask("delete E");
        copy(site.home.path(), &site.saved);
        site
    }

    /// Tells whether the store has more than one list.
    pub(crate) fn has_two_lists(&self) -> bool {
        !self.store.starts_with("teaching:")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.home.path().join(name), text).unwrap();
    }

    /// Makes everything as it was.
    pub(crate) fn go_back(&self) {
        fs::remove_dir_all(self.home.path()).unwrap();
        copy(&self.saved, self.home.path());
    }

    /// Returns a command on the store; a capital letter stands for the id of a task, `TOKEN` for that of the claim.
    fn command(&self, words: &str) -> Program {
        let named = |word: &str| match word {
            "A" | "B" | "C" | "D" | "E" => self.ids[usize::from(word.as_bytes()[0] - b'A')].clone(),
            "TOKEN" => self.token.clone(),
            word => word.to_owned(),
        };
        let words: Vec<String> = words.split(' ').map(named).collect();
        let mut command = self.home.command(&words.join(" "));
        command.args(["--json", "--store", self.store]).env("EDITOR", "sh editor").env_remove("VISUAL");
        command
    }

    fn ask(&self, words: &str) -> Value {
        let ran = self.command(words).run();
        assert_eq!(ran.code, Some(0), "`{words}` on {}: {ran:?}", self.store);
        ran.json()
    }

    /// Returns what these lists hold, as the next commands tell it.
    pub(crate) fn state(&self, lists: &[&str]) -> ListContents {
        lists.iter().map(|list| ((*list).to_owned(), self.tasks(list))).collect()
    }

    fn tasks(&self, list: &str) -> BTreeSet<String> {
        let ran = self.command(&format!("list --all --list {list}")).run();
        if ran.json()["error"]["code"] == "list_not_found" {
            return BTreeSet::new();
        }
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let listed = ran.json();
        let known = |id: &Value| self.ids.iter().any(|known| id == known);
        let plain = |task: &Value| {
            let mut task = task.clone();
            if !known(&task["id"]) {
                task["id"] = Value::Null;
            }
            for key in ["blocks", "blockedBy"] {
                let ids = task[key].as_array().unwrap().iter();
                task[key] = ids.map(|id| if known(id) { id.clone() } else { Value::Null }).collect();
            }
            // Notes have a time, and what is imported the place it came from.
            let kept: Option<Vec<String>> = task["metadata"].as_object().map(|kept| kept.keys().cloned().collect());
            task["metadata"] = json!(kept);
            task.to_string()
        };
        listed["tasks"].as_array().unwrap().iter().map(plain).collect()
    }

    /// Tells what `doctor` finds.
    pub(crate) fn findings(&self, list: &str) -> Ran {
        self.command(&format!("doctor --list {list}")).run()
    }

    /// Runs a command that goes well, and returns the calls on this home that may not.
    pub(crate) fn trace(&self, words: &str) -> Vec<Fault> {
        let trace = self.home.path().with_file_name("trace");
        let calls = CALLS.map(|(call, _)| call).join(",");
        let told = ["-y", "-o", trace.to_str().unwrap(), "-e", &format!("trace={calls}")];
        let ran = self.traced(words, &told).run();
        assert_eq!(ran.code, Some(0), "`{words}` on {}: {ran:?}", self.store);
        let place = self.home.path().to_str().unwrap();
        let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
        let mut faults = Vec::new();
        for line in fs::read_to_string(trace).unwrap().lines() {
            let Some((thread, rest)) = line.split_once(' ') else { continue };
            let name = rest.trim_start().split('(').next().unwrap_or_default();
            let Some((call, errors)) = CALLS.iter().find(|(call, _)| *call == name) else { continue };
            let number = counts.entry((thread.to_owned(), call)).or_default();
            *number += 1;
            if line.contains(place) {
                let fault = |what: &str| Fault { call, number: *number, what: what.to_owned(), line: line.to_owned() };
                faults.extend(errors.iter().map(|error| fault(&format!("error={error}"))));
                faults.push(fault("signal=KILL"));
            }
        }
        faults
    }

    /// Runs a command in which one call does not go well.
    pub(crate) fn run(&self, words: &str, fault: &Fault) -> Ran {
        let Fault { call, number, what, .. } = fault;
        let inject = format!("inject={call}:{what}:when={number}");
        self.traced(words, &["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]).run()
    }

    /// Has a command run under `strace`: it knows every call, those of SQLite and the ones that bypass the C library alike.
    fn traced(&self, words: &str, told: &[&str]) -> Program {
        let always = ["-f", "--seccomp-bpf", "-qq"];
        self.command(words).started_by("strace", &[&always, told].concat())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at `{}` number {}: {}", self.what, self.call, self.number, self.line)
    }
}

impl Fault {
    /// Tells whether the process is killed at the call.
    pub(crate) fn kills(&self) -> bool {
        self.what.starts_with("signal")
    }
}

fn copy(from: &Path, to: &Path) {
    Program::new("cp").arg("-a").arg(from).arg(to).succeed();
}

//! Databases and files that a newer program wrote: neither read nor written, and said to be so; tasks are shown from their files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use taskyard_testkit::{Home, Program, Ran, Rows, finishes, read_tasks, set_database_format, upgrade_beyond_today};

/// The stores that have a journal, as addresses in a home.
const STORES: [&str; 4] = ["claude:", "file:own", "document:tasks.json", "teaching:.tasks"];

/// What needs the journal.
const REFUSED: [&str; 18] = [
    "history",
    "history 1",
    "restore",
    "restore --all",
    "undo",
    "watch --since 0",
    "create New",
    "update ID --subject New",
    "start ID",
    "done ID",
    "cancel ID",
    "delete ID",
    "clear",
    "claim ID",
    "claim --next",
    "release ID",
    "depend ID --on OTHER",
    "work -- true",
];

/// What shows tasks.
const SHOWN: [&str; 8] = ["list", "show ID", "search Task", "stats", "ready", "lists", "graph", "export --to jsonl"];

struct Yard {
    home: Home,
    store: &'static str,
    ids: Vec<String>,
}

impl Yard {
    fn new(store: &'static str) -> Self {
        let mut yard = Self { home: Home::new(env!("CARGO_BIN_EXE_taskyard")), store, ids: Vec::new() };
        for number in 1..4 {
            let made = yard.run(&format!("create Task{number} --json"));
            yard.ids.push(made.id());
        }
        yard
    }

    fn command(&self, words: &str) -> Program {
        let ids = self.ids.iter().map(String::as_str).chain(["", "", ""]).collect::<Vec<_>>();
        let mut command = self.home.command(&words.replace("ID", ids[0]).replace("OTHER", ids[1]));
        command.env("TASKYARD_STORE", self.store);
        command
    }

    fn run(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    fn journal(&self) -> PathBuf {
        let lists = fs::read_dir(self.home.data().join("lists")).unwrap();
        let sidecars: Vec<PathBuf> = lists.map(|entry| entry.unwrap().path()).collect();
        let [sidecar] = sidecars.as_slice() else { panic!("{sidecars:?}") };
        sidecar.join("journal.sqlite")
    }

    /// Returns everything on the disk but the index of a log, which SQLite makes anew.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.home.path(), &mut files);
        files
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, files);
        } else if !name.ends_with("-shm") {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

/// Returns a command line that asks for an answer in JSON.
fn in_json(words: &str) -> String {
    match words.split_once(" -- ") {
        Some((ours, theirs)) => format!("{ours} --json -- {theirs}"),
        None => format!("{words} --json"),
    }
}

fn code(ran: &Ran) -> Value {
    ran.json()["error"]["code"].clone()
}

#[test]
fn newer_journal_is_refused_unchanged_in_every_store() {
    for store in STORES {
        let yard = Yard::new(store);
        set_database_format(&yard.journal(), 99);
        let before = yard.files();
        for words in REFUSED {
            let ran = yard.run(&in_json(words));
            assert_eq!((ran.code, code(&ran)), (Some(1), "newer_journal".into()), "{store} `{words}`: {ran:?}");
            assert!(ran.stdout.contains("was written by a newer taskyard (format 99)"), "{store} `{words}`: {ran:?}");
        }
        assert_eq!(yard.files(), before, "{store}");
    }
}

#[test]
fn nothing_is_merged_from_or_into_a_list_with_a_newer_journal() {
    let yard = Yard::new("claude:");
    let journal = yard.journal();
    assert_eq!(yard.run("create Elsewhere --list Other").code, Some(0));
    set_database_format(&journal, 99);
    let tasks = || (yard.home.present(), read_tasks(&yard.home.list("Other")));
    let before = tasks();
    for words in ["merge L Other --json", "merge Other L --json"] {
        let ran = yard.run(words);
        assert_eq!((ran.code, code(&ran)), (Some(1), "newer_journal".into()), "`{words}`: {ran:?}");
    }
    assert_eq!(tasks(), before);
}

#[test]
fn tasks_show_without_newer_journal_and_say_so() {
    for store in STORES {
        let yard = Yard::new(store);
        set_database_format(&yard.journal(), 99);
        let before = yard.files();
        for words in SHOWN {
            let ran = yard.run(words);
            assert_eq!(ran.code, Some(0), "{store} `{words}`: {ran:?}");
            assert!(ran.stderr.contains("was written by a newer taskyard (format 99)"), "{store} `{words}`: {ran:?}");
            assert!(!ran.stdout.contains("revision"), "{store} `{words}`: {ran:?}");
        }
        let listed = yard.run("list --json").json();
        assert_eq!(listed["tasks"].as_array().unwrap().len(), 3, "{store}");
        assert_eq!(yard.files(), before, "{store}");
    }
}

#[test]
fn doctor_tells_of_a_newer_journal_and_mends_nothing() {
    for store in STORES {
        let yard = Yard::new(store);
        upgrade_beyond_today(&yard.journal());
        let before = yard.files();
        for words in ["doctor --json", "doctor --fix --yes --json"] {
            let ran = yard.run(words);
            assert_eq!(ran.code, Some(3), "{store} `{words}`: {ran:?}");
            let finding = ran.json()["findings"][0].clone();
            assert_eq!((&finding["code"], &finding["fix"]), (&"newer_format".into(), &Value::Null), "{store}: {ran:?}");
        }
        assert_eq!(yard.files(), before, "{store}");
    }
}

#[test]
fn newer_file_of_tasks_is_left_alone_by_every_command() {
    let new = ["{\"tasks\":{\"a\":{\"title\":\"new\"}},\"version\":3}", "{\"version\":\"2.1\",\"tasks\":[]}"];
    for (store, file) in [("document:tasks.json", "tasks.json"), ("teaching:.tasks", ".tasks/.taskyard.json")] {
        let yard = Yard::new(store);
        for text in new {
            fs::write(yard.home.path().join(file), text).unwrap();
            let before = yard.files();
            for words in ["list", "create New", "restore --all", "clear"] {
                let ran = yard.run(&in_json(words));
                assert_eq!((ran.code, code(&ran)), (Some(1), "newer_file".into()), "{store} `{words}`: {ran:?}");
                assert!(!ran.stdout.contains("doctor"), "{store} `{words}`: {ran:?}");
            }
            for words in ["doctor --json", "doctor --fix --yes --json"] {
                let ran = yard.run(words);
                assert_eq!(ran.code, Some(3), "{store} `{words}`: {ran:?}");
                let finding = ran.json()["findings"][0].clone();
                let expected = (&"newer_format".into(), &Value::Null);
                assert_eq!((&finding["code"], &finding["fix"]), expected, "{store}: {ran:?}");
            }
            assert_eq!(yard.files(), before, "{store}");
        }
    }
}

#[test]
fn watcher_of_upgraded_journal_is_told_and_ends() {
    for store in STORES {
        finishes(move || {
            let yard = Yard::new(store);
            let mut child = yard.command("watch --since 0").start();
            let mut lines = child.take_output().lines();
            for _ in 0..3 {
                assert!(lines.next().unwrap().unwrap().contains("create"), "{store}");
            }
            upgrade_beyond_today(&yard.journal());
            let mut said = String::new();
            child.take_complaints().read_to_string(&mut said).unwrap();
            assert!(said.contains("was written by a newer taskyard (format 99)"), "{store}: {said}");
            assert_eq!(child.wait().code(), Some(1), "{store}");
        });
    }
}

#[test]
fn work_ends_when_a_newer_release_upgrades_the_journal() {
    finishes(|| {
        let yard = Yard::new("claude:");
        let ready = yard.home.path().join("ready");
        let go = yard.home.path().join("go");
        let line = format!("touch {}; until test -e {}; do sleep 0.05; done", ready.display(), go.display());
        let mut command = yard.command("work --json --");
        let child = command.args(["sh", "-c", &line]).start();
        while !ready.exists() {
            std::thread::yield_now();
        }
        let journal = yard.journal();
        upgrade_beyond_today(&journal);
        let before = Rows::of(&journal);
        fs::write(&go, "").unwrap();
        let ran = child.end();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("newer taskyard (format 99)"), "{ran:?}");
        assert_eq!(Rows::of(&journal), before);
    });
}

#[test]
fn newer_machine_database_is_skipped_where_files_suffice() {
    let yard = Yard::new("claude:");
    let command = |words: &str| {
        let mut command = yard.command(words);
        command.env_remove("TASKYARD_LIST");
        command
    };
    let run = |words: &str| command(words).run();
    assert_eq!(yard.run("create Bound --list bound").code, Some(0));
    assert_eq!(run("use bound").code, Some(0));
    let machine = yard.home.data().join("machine.sqlite");
    upgrade_beyond_today(&machine);
    let before = Rows::of(&machine);
    for words in ["list", "show 1"] {
        let ran = run(words);
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        assert!(
            ran.stdout.contains("Bound") && ran.stderr.contains("newer taskyard (format 99)"),
            "`{words}`: {ran:?}"
        );
    }
    for words in ["create New", "history", "use other", "trust", "job run -- true", "job list", "stats"] {
        let ran = run(&in_json(words));
        assert_eq!((ran.code, code(&ran)), (Some(1), "newer_database".into()), "`{words}`: {ran:?}");
    }
    let ran = run("doctor --json");
    assert_eq!((ran.code, &ran.json()["findings"][0]["code"]), (Some(3), &"newer_format".into()), "{ran:?}");
    assert_eq!(Rows::of(&machine), before);
}

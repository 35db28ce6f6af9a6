//! Journals that were damaged: cut, flipped, removed, made unreadable, each of their files, in every store. Tasks are read all the same, no
//! command says that all is well, and `doctor --fix` makes the journal whole.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::{
    HeldLog, Home, JournalDump, NOBODY, Program, Ran, Random, Scale, Step, copy_log, dump_journal, is_root,
    side_by_side,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Files,
    Document,
    Teaching,
}

/// A list with a history, in one of the stores.
struct Yard {
    home: Home,
    kept: Kept,
    ids: Vec<String>,
    as_nobody: bool,
}

impl Yard {
    /// Makes a list with everything a journal tells of: some of it in the database, some in its log.
    fn new(kept: Kept) -> Self {
        let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        let mut yard = Self { home, kept, ids: Vec::new(), as_nobody: false };
        for number in 0..12 {
            let made = yard.ask(&format!("create Task{number}"));
            yard.ids.push(made["task"]["id"].as_str().unwrap().to_owned());
        }
        let ids = yard.ids.clone();
        for id in &ids[..6] {
            yard.ask(&format!("update {id} --description {}", "long".repeat(60)));
        }
        yard.ask(&format!("delete {}", ids[3]));
        yard.ask(&format!("claim {}", ids[4]));
        copy_log(&yard.sidecar());
        let log = HeldLog::of(&yard.sidecar());
        if kept == Kept::Files {
            let path = yard.home.task_file("9");
            fs::write(&path, fs::read_to_string(&path).unwrap().replace("Task8", "Outside")).unwrap();
            yard.ask("history");
        }
        yard.ask(&format!("claim {}", ids[5]));
        yard.ask(&format!("delete {}", ids[7]));
        yard.ask(&format!("update {} --description last", ids[0]));
        assert_eq!(yard.run("doctor").code, Some(0), "{kept:?}");
        drop(log);
        yard
    }

    fn command(&self, words: &str) -> Program {
        let mut command = self.home.command(words);
        match self.kept {
            Kept::Files => {}
            Kept::Document => drop(command.env("TASKYARD_STORE", format!("document:{}", self.tasks().display()))),
            Kept::Teaching => drop(command.env("TASKYARD_STORE", format!("teaching:{}", self.tasks().display()))),
        }
        if self.as_nobody {
            command.as_nobody();
        }
        command
    }

    fn run(&self, words: &str) -> Ran {
        let ran = self.command(words).run();
        assert!(!ran.stderr.contains("panicked") && ran.signal.is_none(), "`{words}`: {ran:?}");
        ran
    }

    fn ask(&self, words: &str) -> Value {
        let ran = self.run(&format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        ran.json()
    }

    /// Returns where the tasks are.
    fn tasks(&self) -> PathBuf {
        match self.kept {
            Kept::Files => self.home.list("L"),
            Kept::Document => self.home.path().join("tasks.json"),
            Kept::Teaching => self.home.path().join("teaching"),
        }
    }

    fn sidecar(&self) -> PathBuf {
        let mut lists = fs::read_dir(self.home.data().join("lists")).unwrap();
        lists.next().unwrap().unwrap().path()
    }

    /// Returns how many tasks are shown, where the answer is a good one.
    fn count(&self) -> usize {
        self.ask("list")["tasks"].as_array().unwrap().len()
    }

    /// Keeps everything as it is now, to be put back.
    fn kept(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(self.home.path(), &folder.path().join("home"));
        folder
    }

    fn put_back(&self, kept: &tempfile::TempDir) {
        let status = Program::new("find").arg(self.home.path()).args(["-mindepth", "1", "-delete"]).status();
        assert!(status.success());
        copy(&kept.path().join("home"), self.home.path());
    }
}

/// Copies a directory with everything in it, owners and permissions included.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let status = Program::new("cp").arg("-a").arg(format!("{}/.", from.display())).arg(to).status();
    assert!(status.success());
}

const FILES: [&str; 12] = [
    "journal.sqlite",
    "journal.sqlite",
    "journal.sqlite",
    "journal.sqlite",
    "journal.sqlite",
    "journal.sqlite-wal",
    "journal.sqlite-wal",
    "journal.sqlite-wal",
    "journal.sqlite-wal",
    "journal.sqlite-wal",
    "journal.sqlite-shm",
    "stamp",
];
const DAMAGES: [&str; 12] =
    ["bit", "bit", "bit", "bytes", "page", "zeros", "cut", "emptied", "removed", "garbage", "unreadable", "directory"];

/// Damages one file of the journal, and says what was done.
fn damage(random: &mut Random, sidecar: &Path) -> (&'static str, &'static str) {
    let (file, kind) = (*random.pick(&FILES), *random.pick(&DAMAGES));
    let path = sidecar.join(file);
    let length = usize::try_from(fs::metadata(&path).map_or(0, |found| found.len())).unwrap();
    let change = |from: usize, count: usize, random: &mut dyn FnMut(u8) -> u8| {
        let opened = File::options().read(true).write(true).open(&path).unwrap();
        let mut bytes = vec![0; count.min(length - from)];
        opened.read_exact_at(&mut bytes, from as u64).unwrap();
        let bytes: Vec<u8> = bytes.into_iter().map(random).collect();
        opened.write_all_at(&bytes, from as u64).unwrap();
    };
    match kind {
        "unreadable" => fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap(),
        "removed" => fs::remove_file(&path).unwrap(),
        "directory" => {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }
        "emptied" => File::options().write(true).open(&path).unwrap().set_len(0).unwrap(),
        "cut" => {
            let left = random.below(length) as u64;
            File::options().write(true).open(&path).unwrap().set_len(left).unwrap();
        }
        "bit" => {
            let (from, bit) = (random.below(length), random.below(8));
            change(from, 1, &mut |byte| byte ^ (1 << bit));
        }
        "zeros" => {
            let (from, count) = (random.below(length), 16 + random.below(4000));
            change(from, count, &mut |_| 0);
        }
        "page" => {
            let from = random.below(length) / 4096 * 4096;
            change(from, 4096, &mut |_| random.below(256) as u8);
        }
        "bytes" => {
            let (from, count) = (random.below(length), 2 + random.below(62));
            change(from, count, &mut |_| random.below(256) as u8);
        }
        _ => change(0, length, &mut |_| random.below(256) as u8),
    }
    (file, kind)
}

fn says_damaged(ran: &Ran) -> bool {
    ran.stdout.contains("damaged") || ran.stderr.contains("damaged")
}

/// Checks everything that is promised of a list whose journal was damaged. `whole` is what the journal held before.
fn check(yard: &Yard, whole: &JournalDump, context: &str) {
    let found = dump_journal(&yard.sidecar());
    let is_same = |table: &str| found.as_ref().is_some_and(|found| found.get(table) == whole.get(table));
    let is_unchanged = found.as_ref() == Some(whole);
    let alive = yard.ids.len() - 2;
    for words in
        ["list", "ready", "stats", "graph", "search Task", "export --to export", &format!("show {}", yard.ids[0])]
    {
        let ran = yard.run(&format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "{context} `{words}`: {ran:?}");
        assert!(ran.json().is_object() || ran.json().is_array(), "{context} `{words}`: {ran:?}");
        assert!(ran.stderr.matches("warning").count() <= 1, "{context} `{words}`: {ran:?}");
    }
    assert_eq!(yard.count(), alive, "{context}: tasks are missing");
    for words in ["history", "restore", "undo --json"] {
        // An undo would change what the next ones look at.
        let ran = if words.starts_with("undo") && is_unchanged { continue } else { yard.run(words) };
        assert!(is_same("entries") || says_damaged(&ran), "{context} `{words}`: {ran:?}");
        assert!(matches!(ran.code, Some(0 | 1 | 3)), "{context} `{words}`: {ran:?}");
        if ran.code == Some(1) {
            assert!(says_damaged(&ran) && ran.stderr.contains("doctor --fix") || ran.stdout.contains("doctor --fix"));
        }
    }
    let doctor = yard.run("doctor --json");
    assert!(is_unchanged || doctor.code == Some(3), "{context}: {doctor:?}");
    assert!(matches!(doctor.code, Some(0 | 3)), "{context}: {doctor:?}");
    assert_eq!(doctor.code == Some(3), doctor.stdout.contains("\"journal_damaged\""), "{context}: {doctor:?}");
    let before = yard.count();
    let created = yard.run("create New --json");
    match created.code {
        Some(0) => assert_eq!(yard.count(), before + 1, "{context}"),
        _ => {
            assert_eq!(created.code, Some(1), "{context}: {created:?}");
            assert_eq!(created.json()["error"]["code"], json!("journal_damaged"), "{context}: {created:?}");
            assert!(created.stdout.contains("doctor --fix"), "{context}: {created:?}");
            assert_eq!(yard.count(), before, "{context}");
        }
    }
    if doctor.code == Some(3) {
        let mended = yard.run("doctor --fix --yes --json");
        assert_eq!(mended.code, Some(0), "{context}: {mended:?}");
    }
    let again = yard.run("doctor --json");
    assert_eq!(again.code, Some(0), "{context}: {again:?}");
    assert_eq!(yard.count(), before + usize::from(created.code == Some(0)), "{context}");
    let listed = yard.run("list");
    assert!(!says_damaged(&listed), "{context}: {listed:?}");
    let last = |table: &str| whole[table].len();
    let newer = yard.ask("create Newer");
    if yard.kept == Kept::Files {
        let id: u64 = newer["task"]["id"].as_str().unwrap().parse().unwrap();
        assert!(id > yard.ids.len() as u64, "{context}: number {id} was given out again");
    }
    assert!(newer["revision"].as_u64().unwrap() > last("entries") as u64, "{context}: {newer}");
    let claimed = yard.ask(&format!("claim {}", yard.ids[10]));
    assert!(claimed["token"].as_u64().unwrap() > 2, "{context}: {claimed}");
}

#[test]
fn no_journal_damage_loses_tasks_or_goes_unnoticed() {
    let rounds = Scale::from_environment(0.05).of(500);
    let seed = std::env::var("TASKYARD_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1_u64);
    side_by_side([Kept::Files, Kept::Document, Kept::Teaching].into_iter().enumerate(), |(place, kept)| {
        let mut yard = Yard::new(kept);
        let (whole, before) = (dump_journal(&yard.sidecar()).unwrap(), yard.kept());
        for round in (0..rounds).filter(|round| round % 3 == place) {
            let mut random = Random::new(seed.wrapping_add(round as u64 * 977));
            yard.as_nobody = false;
            yard.put_back(&before);
            let (file, kind) = damage(&mut random, &yard.sidecar());
            if kind == "unreadable" && is_root() {
                let owner = format!("{NOBODY}:{NOBODY}");
                assert!(Program::new("chown").args(["-R", &owner]).arg(yard.home.path()).status().success());
                yard.as_nobody = true;
            }
            check(&yard, &whole, &format!("seed {seed}, round {round}, {kept:?}, {file} {kind}"));
        }
    });
}

#[test]
fn missing_journal_is_begun_above_it_and_reported() {
    for kept in [Kept::Files, Kept::Document, Kept::Teaching] {
        let yard = Yard::new(kept);
        let revision = yard.ask("list")["revision"].as_u64().unwrap();
        for part in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(yard.sidecar().join(format!("journal.sqlite{part}")));
        }
        let created = yard.run("create Next --json");
        assert_eq!(created.code, Some(0), "{created:?}");
        assert!(created.json()["revision"].as_u64().unwrap() > revision, "{created:?}");
        for words in ["list", "history", "restore"] {
            let ran = yard.run(words);
            assert!(ran.code == Some(0) && ran.stderr.matches("warning: ").count() == 1, "{ran:?}");
            assert!(ran.stderr.contains("the database was removed"), "{ran:?}");
        }
        assert_eq!(yard.run("doctor").code, Some(3));
        assert_eq!(yard.run("doctor --fix --yes").code, Some(0));
        assert_eq!(yard.run("doctor").code, Some(0));
        assert_eq!(yard.run("list").stderr, "");
        assert!(yard.ask(&format!("claim {}", yard.ids[10]))["token"].as_u64().unwrap() > 2);
    }
}

#[test]
fn no_old_token_counts_after_the_data_directory_is_gone() {
    for kept in [Kept::Files, Kept::Document, Kept::Teaching] {
        let yard = Yard::new(kept);
        let id = &yard.ids[10];
        let old = yard.ask(&format!("claim {id} --as ana"))["token"].as_u64().unwrap();
        fs::remove_dir_all(yard.home.data()).unwrap();
        yard.ask(&format!("release {id} --as ana"));
        let new = yard.ask(&format!("claim {id} --as ben"))["token"].as_u64().unwrap();
        assert!(new > old && new < 1 << 53, "{kept:?}: {old} {new}");
        let late = yard.run(&format!("done {id} --as ana --token {old} --json"));
        assert_eq!(late.json()["error"]["code"], json!("stale_token"), "{kept:?}: {late:?}");
        let next = yard.ask(&format!("claim {} --as ben", yard.ids[11]))["token"].as_u64();
        assert_eq!(next, Some(new + 1), "{kept:?}");
    }
}

#[test]
fn damaged_journal_is_salvaged_and_kept_aside() {
    for kept in [Kept::Files, Kept::Document, Kept::Teaching] {
        let yard = Yard::new(kept);
        let entries = yard.ask("history")["entries"].as_array().unwrap().len();
        let leases = yard.ask("list")["leases"].clone();
        flip_in_text(&yard.sidecar(), b"Task3");
        let refused = yard.run("history");
        assert!(refused.code == Some(1) && refused.stderr.contains("does not match its checksum"), "{refused:?}");
        assert_eq!(yard.run("doctor --fix --yes").code, Some(0));
        let saved = yard.ask("history")["entries"].as_array().unwrap().len();
        assert!(saved + 3 >= entries && saved > 0, "{kept:?}: {saved} of {entries} entries were saved");
        assert_eq!(yard.ask("list")["leases"], leases, "{kept:?}");
        let is_aside = |name: &str| name.starts_with("journal.sqlite.damaged-");
        let names =
            fs::read_dir(yard.sidecar()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.filter(|name| is_aside(name)).count() >= 1, "{kept:?}");
        let restored = yard.run(&format!("restore {} --deleted", yard.ids[7]));
        assert_eq!(restored.code, Some(0), "{restored:?}");
    }
}

#[test]
fn killed_mending_is_finished_by_the_next_one() {
    let yard = Yard::new(Kept::Files);
    flip_in_text(&yard.sidecar(), b"Task3");
    let before = yard.kept();
    let steps = yard.home.steps("doctor --fix --yes");
    let steps: Vec<&Step> = steps.iter().filter(|step| step.name.starts_with("mending")).collect();
    assert!(steps.len() >= 5, "{steps:?}");
    let count = yard.count();
    for step in steps {
        yard.put_back(&before);
        assert!(yard.home.run_with(&step.killing(), "doctor --fix --yes").was_killed(), "{step}");
        assert_eq!(yard.count(), count, "{step}");
        let refused = yard.run("create Never --json");
        assert_eq!(refused.code, Some(1), "{step}: {refused:?}");
        let mended = yard.run("doctor --fix --yes");
        assert_eq!(mended.code, Some(0), "{step}: {mended:?}");
        assert_eq!(yard.run("doctor").code, Some(0), "{step}");
        assert_eq!(yard.ask("create Next")["task"]["id"], json!("13"), "{step}");
        assert!(yard.ask("history")["entries"].as_array().unwrap().len() > 20, "{step}");
    }
}

/// Flips one bit wherever the database holds this text.
fn flip_in_text(sidecar: &Path, text: &[u8]) {
    let path = sidecar.join("journal.sqlite");
    let mut bytes = fs::read(&path).unwrap();
    let starts: Vec<usize> = (0..bytes.len() - text.len()).filter(|start| bytes[*start..].starts_with(text)).collect();
    assert!(!starts.is_empty());
    for start in starts {
        bytes[start] ^= 1;
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn those_who_begin_a_journal_at_once_find_no_damage() {
    for _ in 0..Scale::from_environment(0.1).of(100) {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let beginners: Vec<_> = (0..8)
            .map(|number| home.command(&format!("create Task{number} --quiet")).stderr(Stdio::piped()).start())
            .collect();
        for beginner in beginners {
            let ended = beginner.wait_with_output();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 8);
    }
}

/// Makes one `pread` of a file fail, or give a wrong answer: the one with the number `FAULT_AT`, counted from 0.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
ssize_t pread64(int file, void *bytes, size_t count, off_t at) {
    static int reads = 0;
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
    const char *name = getenv("FAULT_FILE"), *kind = getenv("FAULT_KIND");
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (!name || readlink(link, path, sizeof path - 1) < 0) return real(file, bytes, count, at);
    const char *last = strrchr(path, '/');
    if (!last || strcmp(last + 1, name) || reads++ != atoi(getenv("FAULT_AT"))) return real(file, bytes, count, at);
    FILE *told = fopen(getenv("FAULT_TOLD"), "w");
    if (told) fclose(told);
    if (!strcmp(kind, "EIO")) { errno = EIO; return -1; }
    if (!strcmp(kind, "EINTR")) { errno = EINTR; return -1; }
    if (!strcmp(kind, "end")) return 0;
    if (!strcmp(kind, "short")) return real(file, bytes, count / 2 + 1, at);
    ssize_t read = real(file, bytes, count, at);
    for (ssize_t place = 0; place < read; place++) ((char *)bytes)[place] ^= 0x55;
    return read;
}
"#;

/// Builds the shim.
fn shim(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
    fs::write(&source, SHIM).unwrap();
    let built = Program::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    assert!(built.success());
    library
}

#[test]
fn one_failed_read_condemns_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let library = shim(folder.path());
    side_by_side([Kept::Files, Kept::Document], |kept| {
        let yard = Yard::new(kept);
        let entries = |yard: &Yard| yard.ask("history")["entries"].as_array().unwrap().len();
        let (before, count) = (yard.kept(), entries(&yard));
        let told = folder.path().join(format!("{kept:?}"));
        let mut faults = 0;
        let stride = if Scale::from_environment(0.3).is_full() { 1 } else { 3 };
        let files: &[&str] = match kept {
            Kept::Files => &["stamp", "queue", "journal.sqlite", "journal.sqlite-wal"],
            _ => &["stamp"],
        };
        for (file, kind) in
            files.iter().flat_map(|file| ["EIO", "EINTR", "short", "end", "wrong"].map(|kind| (*file, kind)))
        {
            // SQLite reads on after a signal and a short read, and writes a page on that it read wrong. The queue has no checksum.
            if file.starts_with("journal") && matches!(kind, "EINTR" | "short") || kind == "wrong" && file != "stamp" {
                continue;
            }
            for words in ["create New", "history"] {
                for at in (faults % stride..).step_by(stride) {
                    let context = format!("{kept:?}, {file}, {kind} at {at}, `{words}`");
                    yard.put_back(&before);
                    let mut command = yard.command(&format!("{words} --json"));
                    command.env("LD_PRELOAD", &library).env("FAULT_FILE", file).env("FAULT_KIND", kind);
                    let ran = command.env("FAULT_AT", at.to_string()).env("FAULT_TOLD", &told).run();
                    if fs::remove_file(&told).is_err() {
                        break;
                    }
                    faults += 1;
                    let code = ran.json()["error"]["code"].as_str().map(ToOwned::to_owned);
                    let is_passing = matches!(kind, "EINTR" | "short");
                    let is_expected = match code.as_deref() {
                        None => ran.code == Some(0),
                        Some("io" | "journal") => ran.code == Some(1) && !is_passing,
                        Some(_) => false,
                    };
                    assert!(is_expected && !says_damaged(&ran), "{context}: {ran:?}");
                    assert!(!yard.sidecar().join("damaged").exists(), "{context}: {ran:?}");
                    let created = usize::from(words == "create New" && ran.code == Some(0));
                    assert_eq!(entries(&yard), count + created, "{context}");
                    yard.ask("create Newer");
                }
            }
        }
        assert!(faults > 10, "{kept:?}: only {faults} faults");
    });
}

#[test]
fn flipped_bit_in_queue_is_mended_by_next_writer() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create One");
    for bit in [0, 1, 2, 3, 17] {
        // A commit that exists and is in no file yet.
        let killed = home.run_with("journal: written=kill", &format!("update 1 --description bit{bit}"));
        assert!(killed.was_killed(), "{killed:?}");
        let queue = File::options().read(true).write(true).open(home.sidecar("L").join("queue")).unwrap();
        let mut magic = [0; 8];
        queue.read_exact_at(&mut magic, 0).unwrap();
        let flipped = u64::from_be_bytes(magic) ^ (1 << bit);
        queue.write_all_at(&flipped.to_be_bytes(), 0).unwrap();
        assert_eq!(home.ask("create Next")["schema"], json!("taskyard/1"));
        assert_eq!(home.ask("show 1")["task"]["description"], json!(format!("bit{bit}")));
        assert_eq!(home.run("doctor").code, Some(0));
    }
}

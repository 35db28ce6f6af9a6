//! Other programs write to a list while we look at it: nothing is missed, nothing is taken for what it is not, and what they
//! removed can be brought back.
//!
//! Full scale (10,000 looks): `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals outside_writers::`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::{AgentName, ListId};
use taskyard::operations::Filter;
use taskyard_testkit::{
    Home, OpensCounted, Ran, Rival, Scale, Tasks, is_consistent_journal, is_root, leftovers, make_first_format,
    rewrite_in_place, write_in_place,
};

const TASKS: usize = 20;
/// The operations under which the journal has what another program did.
const ELSEWHERE: [&str; 3] = ["created_elsewhere", "changed_elsewhere", "removed_elsewhere"];

#[test]
fn a_list_that_clients_rewrite_in_place_is_always_whole() {
    look_while_clients_write("--locked", true);
}

#[test]
fn a_list_that_old_clients_empty_and_rewrite_is_always_whole() {
    look_while_clients_write("--unlocked", false);
}

fn look_while_clients_write(how: &str, we_write_too: bool) {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for _ in 0..TASKS {
        home.ask("create Task");
    }
    let looks = Scale::from_environment(0.03).of(10_000);
    let rewrites = Scale::from_environment(0.25).of(4_000);
    let (is_over, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // Every other time one round more, so that each turn leaves other texts than the one before.
                let count = (rewrites + TASKS * (runs.load(Ordering::Relaxed) % 2)).to_string();
                let end = Rival::start("rewrite.js", &[home.list("L").to_str().unwrap(), &count, how]).end();
                assert_eq!(end.code, Some(0), "{end:?}");
                runs.fetch_add(1, Ordering::Relaxed);
                // A client thinks between two turns; what it wrote comes to rest then, and can be told from what is half written.
                thread::sleep(THINKING);
            }
        });
        let looking = scope.spawn(|| look(&home, looks, we_write_too, &runs));
        let looked = looking.join();
        is_over.store(true, Ordering::Relaxed);
        looked.unwrap();
    });
    let history = home.ask("history");
    let present = home.present();
    is_consistent_journal(&history, &present).unwrap();
    let entries = history["entries"].as_array().unwrap().iter();
    let elsewhere: Vec<&Value> = entries.filter(|entry| ELSEWHERE.contains(&entry["op"].as_str().unwrap())).collect();
    assert!(elsewhere.len() > TASKS, "the clients hardly wrote: {}", elsewhere.len());
    elsewhere.into_iter().for_each(only_rewrites_differ);
}

/// How long a client does nothing between two turns.
const THINKING: Duration = Duration::from_millis(250);

/// Looks at the list through the library, and now and then through a command; some changes of our own in between.
fn look(home: &Home, looks: usize, we_write_too: bool, runs: &AtomicUsize) {
    let yard = Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), AgentName::new("reader").unwrap());
    // A file that is rewritten all the time is no change yet: the clients must have paused at least once.
    let is_enough = |look: usize| look >= looks && runs.load(Ordering::Relaxed) >= 2;
    for look in (0..).take_while(|look| !is_enough(*look)) {
        let listing = yard.list(&Filter::default()).unwrap();
        assert_eq!(listing.tasks.len(), TASKS, "look {look}");
        assert!(listing.problems.is_empty(), "look {look}: {:?}", listing.problems);
        if look % 50 == 0 {
            let shown = home.ask("list");
            assert_eq!(shown["tasks"].as_array().unwrap().len(), TASKS, "look {look}");
        }
        if we_write_too && look % 20 == 0 {
            home.ask(&format!("update {} --subject Look{look}", look % TASKS + 1));
        }
    }
}

/// A rewriting client changes one metadata key; anything else would be a change of ours taken for one of theirs.
fn only_rewrites_differ(entry: &Value) {
    let [mut before, mut after] = [entry["before"].clone(), entry["after"].clone()];
    for task in [&mut before, &mut after] {
        let metadata = task.get_mut("metadata").and_then(Value::as_object_mut);
        let is_empty = metadata.is_none_or(|metadata| {
            metadata.shift_remove("rewrites");
            metadata.is_empty()
        });
        if is_empty && let Some(task) = task.as_object_mut() {
            task.shift_remove("metadata");
        }
    }
    assert_eq!(before, after, "recorded as another program's: {entry}");
}

#[test]
fn what_is_done_by_hand_appears_in_history() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for command in ["create A", "create B --blocked-by 1", "create C"] {
        home.ask(command);
    }
    fs::remove_file(home.task_file("1")).unwrap();
    rewrite_in_place(&home.task_file("3"), "hand");
    let made =
        json!({ "id": "9", "subject": "Made", "description": "", "status": "pending", "blocks": [], "blockedBy": [] });
    write_in_place(&home.task_file("9"), &made);
    let history = home.ask("history");
    is_consistent_journal(&history, &home.present()).unwrap();
    let elsewhere: Vec<(&str, &str)> = history["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["op"].as_str().unwrap(), entry["task"].as_str().unwrap()))
        .filter(|(op, _)| ELSEWHERE.contains(op))
        .collect();
    assert_eq!(elsewhere, [("removed_elsewhere", "1"), ("changed_elsewhere", "3"), ("created_elsewhere", "9")]);
    assert_eq!(home.ask("create Next")["task"]["id"], json!("10"));
}

/// Waits until the times of a list's files tell the next change from the last.
fn wait_until_settled(home: &Home) {
    for file in fs::read_dir(home.list("L")).unwrap() {
        let written = file.unwrap().metadata().unwrap().modified().unwrap();
        while written.elapsed().unwrap_or_default() < Duration::from_millis(50) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for command in ["create Blocker", "create Done", "done 2"] {
        home.ask(command);
    }
    for _ in 0..60 {
        home.ask("create Parser --blocked-by 1");
    }
    wait_until_settled(&home);
    for command in ["list", "list", "statusline", "statusline"] {
        assert_eq!(home.run(command).code, Some(0), "{command}");
    }
    wait_until_settled(&home);
    let change = |from: &str, to: &str| {
        let path = home.task_file("7");
        let (text, time) = (fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        assert!(from.len() == to.len() && text.contains(from));
        fs::write(&path, text.replace(from, to)).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    change("Parser", "Lexers");
    let subject =
        |listed: &Value| listed["tasks"].as_array().unwrap().iter().filter(|task| task["subject"] == "Lexers").count();
    assert_eq!(subject(&home.ask("list")), 1);
    wait_until_settled(&home);
    home.run("statusline");
    let before = home.run("statusline").stdout;
    // It waits for a task that is done: the status line counts one blocked task less, and completing the other makes it no readier.
    change("\"blockedBy\": [\n    \"1\"\n  ]", "\"blockedBy\": [\n    \"2\"\n  ]");
    assert_ne!(home.run("statusline").stdout, before);
    assert_eq!(home.ask("done 1")["nowReady"].as_array().unwrap().len(), 59);
}

#[test]
fn a_list_that_nobody_touched_is_not_read_again() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    fs::create_dir_all(home.list("L")).unwrap();
    for number in 1..=1000 {
        let made = json!({ "id": number.to_string(), "subject": "Made", "description": "", "status": "pending", "blocks": [], "blockedBy": [] });
        write_in_place(&home.task_file(&number.to_string()), &made);
    }
    wait_until_settled(&home);
    home.ask("list");
    let opens = OpensCounted::of(&home.list("L"));
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 1000);
    let read = opens.take_files();
    assert_eq!(read, Vec::<String>::new());
}

#[test]
fn what_is_recorded_once_is_not_recorded_again() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    rewrite_in_place(&home.task_file("1"), "hand");
    home.ask("list");
    let first = home.ask("history");
    home.ask("list");
    assert_eq!(home.ask("history"), first);
    assert_eq!(first["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn restore_brings_back_what_a_hand_removed_with_its_edges() {
    let home = home_with_edges();
    let before = home.present();
    fs::remove_file(home.task_file("2")).unwrap();
    home.ask("restore 2");
    assert_eq!(home.present(), before);
    is_in_order(&home);
}

#[test]
fn restore_brings_back_what_a_client_deleted_with_its_edges() {
    let home = home_with_edges();
    let before = home.present();
    script(&home, "await store.remove(LIST, '2')");
    assert_eq!(home.present().len(), before.len() - 1);
    home.ask("restore 2");
    // The client took the task out of its neighbours; the edges return at the end of theirs.
    assert_eq!(with_sorted_edges(home.present()), with_sorted_edges(before));
    is_in_order(&home);
}

#[test]
fn restore_brings_back_a_list_that_the_client_emptied() {
    let home = home_with_edges();
    let before = home.present();
    script(&home, "await store.reset(LIST)");
    assert_eq!(home.present(), Tasks::new());
    home.ask("list");
    home.ask("restore --all");
    assert_eq!(home.present(), before);
    assert_eq!(home.ask("create Next")["task"]["id"], json!("5"));
    is_in_order(&home);
}

#[test]
fn restore_brings_back_a_list_whose_directory_is_gone() {
    let home = home_with_edges();
    let before = home.present();
    fs::remove_dir_all(home.list("L")).unwrap();
    assert_eq!(home.ask("list")["tasks"], json!([]));
    home.ask("restore --all");
    assert_eq!(home.present(), before);
    assert_eq!(home.ask("create Next")["task"]["id"], json!("5"));
    is_in_order(&home);
}

#[test]
fn numbers_of_removed_list_are_not_reused() {
    let home = home_with_edges();
    fs::remove_dir_all(home.list("L")).unwrap();
    assert_eq!(home.ask("create Next")["task"]["id"], json!("5"));
    home.ask("restore --all");
    assert_eq!(home.present().len(), 5);
    is_in_order(&home);
}

#[test]
fn reading_needs_no_data_directory() {
    let home = home_with_edges();
    for data in ["/dev/null/nowhere", "/proc/nowhere"] {
        let output = home.command("list --json").env("TASKYARD_HOME", data).output();
        shows_four(&Ran::from(output));
    }
}

#[test]
fn reading_works_where_the_data_directory_is_read_only() {
    let home = home_with_edges();
    rewrite_in_place(&home.task_file("1"), "hand");
    read_only(home.path());
    shows_four(&run_held_back(&home, "list --json"));
    let shown = run_held_back(&home, "show 1 --json");
    assert_eq!(shown.json()["task"]["metadata"]["hand"], json!(true), "{shown:?}");
    writable(home.path());
}

#[test]
fn first_format_journal_is_readable_without_upgrade() {
    let home = home_with_edges();
    let history = home.ask("history");
    make_first_format(&home.sidecar("L"));
    read_only(home.path());
    shows_four(&run_held_back(&home, "list --json"));
    assert_eq!(run_held_back(&home, "history --json").json(), history);
    let refused = run_held_back(&home, "claim 1 --json");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    writable(home.path());
    assert!(home.ask("claim 1")["token"].is_u64());
    assert_eq!(
        home.ask("history")["entries"].as_array().unwrap().len(),
        history["entries"].as_array().unwrap().len() + 1
    );
}

/// Runs a command that permissions hold back: nothing is read-only to root.
fn run_held_back(home: &Home, words: &str) -> Ran {
    let mut command = home.command(words);
    if is_root() {
        command.as_nobody();
    }
    command.run()
}

fn shows_four(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["tasks"].as_array().unwrap().len(), 4, "{ran:?}");
}

fn read_only(path: &Path) {
    set_modes(path, 0o555, 0o444);
}

fn writable(path: &Path) {
    set_modes(path, 0o755, 0o644);
}

fn set_modes(path: &Path, directory: u32, file: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() {
            set_modes(&entry, directory, file);
        } else {
            fs::set_permissions(&entry, fs::Permissions::from_mode(file)).unwrap();
        }
    }
    fs::set_permissions(path, fs::Permissions::from_mode(directory)).unwrap();
}

fn home_with_edges() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for command in ["create A", "create B --blocked-by 1", "create C --blocked-by 1,2", "create D"] {
        home.ask(command);
    }
    home.ask("history");
    home
}

fn with_sorted_edges(mut tasks: Tasks) -> Tasks {
    for task in tasks.values_mut() {
        for key in ["blocks", "blockedBy"] {
            task[key].as_array_mut().unwrap().sort_by_key(Value::to_string);
        }
    }
    tasks
}

fn script(home: &Home, body: &str) {
    let list = Value::from(home.list("L").to_str().unwrap());
    let end = Rival::script(&format!("const LIST = {list}; {body}")).end();
    assert_eq!(end.code, Some(0), "{end:?}");
}

fn is_in_order(home: &Home) {
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
    is_consistent_journal(&home.ask("history"), &home.present()).unwrap();
}

//! What is left beside the lists of sessions that were short: little, however they ended.

use std::fs;
use std::path::Path;

use serde_json::json;
use taskyard_testkit::{DiskUse, HeldLog, Home, Scale};

use crate::stdio::Piped;

/// The largest journal of a short list, in bytes.
const SMALL: u64 = 32 * 1024;
/// The largest log that one-shot commands leave unfolded, in bytes.
const SHORT_LOG: u64 = 16 * 1024;
/// The same with a log that is left unfolded and its index.
const SMALL_WITH_LOG: u64 = SMALL + SHORT_LOG + 32 * 1024;

const DESCRIPTION: &str = "Read what there is, write down what is missing, and say in the summary what was left out and why. Ask \
before anything is thrown away; the tests have to pass afterwards, and the page has to say what changed.";

/// Starts a server on a list and makes five tasks, each of which is claimed and completed.
fn session(home: &Home, list: &str) -> Piped {
    let mut command = home.command("mcp --as ana");
    command.env("TASKYARD_LIST", list);
    let mut server = Piped::spawn(command).initialized();
    for number in 1..=5 {
        let subject = format!("Step {number} of the work on {list}");
        server.call("TaskCreate", json!({ "subject": subject, "description": DESCRIPTION }));
    }
    for number in 1..=5 {
        server.call("TaskClaim", json!({ "taskId": number.to_string() }));
        server.call("TaskUpdate", json!({ "taskId": number.to_string(), "status": "completed" }));
    }
    server
}

/// Counts the processes that left signs of life.
fn signs(home: &Home) -> usize {
    fs::read_dir(home.data().join("alive")).map_or(0, Iterator::count)
}

fn has_log(sidecar: &Path) -> bool {
    ["-wal", "-shm"].iter().any(|part| sidecar.join(format!("journal.sqlite{part}")).exists())
}

/// Returns the length of the journal's log, 0 if there is none.
fn log_length(sidecar: &Path) -> u64 {
    fs::metadata(sidecar.join("journal.sqlite-wal")).map_or(0, |log| log.len())
}

#[test]
fn sessions_of_five_tasks_leave_at_most_32_kb_beside_each_list() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let lists = Scale::from_environment(0.02).of(300);
    for number in 0..lists {
        let list = format!("session-{number}");
        let (status, _) = session(&home, &list).close();
        assert!(status.success());
        let (sidecar, used) = (home.sidecar(&list), DiskUse::of(&home.sidecar(&list)));
        assert!(used.most() <= SMALL, "{used:?}: {:?}", fs::read_dir(&sidecar).unwrap().collect::<Vec<_>>());
        assert!(!has_log(&sidecar));
    }
    assert_eq!(signs(&home), 0, "nobody holds anything any more");
    let used = DiskUse::of(&home.data());
    // The machine's own databases are there once, however many lists there are.
    let limit = lists as u64 * (10 << 20) / 300 + (256 << 10);
    println!("{lists} short lists: {used:?}");
    assert!(used.most() <= limit, "{lists} lists: {used:?}");
}

#[test]
fn a_server_that_ends_with_a_claim_leaves_its_last_sign_of_life() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create First");
    let mut server = session(&home, "L");
    server.call("TaskClaim", json!({ "taskId": "6" }));
    assert_eq!(signs(&home), 1);
    let (status, _) = server.close();
    assert!(status.success());
    assert_eq!(signs(&home), 1, "others count from it until the claim ends");
}

#[test]
fn short_list_of_one_shot_commands_stays_small() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for number in 1..=5 {
        let mut create = home.command(&format!("create Step{number} --description"));
        assert!(create.arg(DESCRIPTION).output().status.success());
    }
    home.ask("claim 1 --as ana");
    home.ask("done 1 --as ana");
    for words in ["list", "history", "show 2", "doctor"] {
        home.ask(words);
        let used = DiskUse::of(&home.sidecar("L"));
        assert!(
            used.most() <= SMALL_WITH_LOG && log_length(&home.sidecar("L")) <= SHORT_LOG,
            "after `{words}`: {used:?}"
        );
    }
}

#[test]
fn log_of_killed_server_is_folded_by_the_next_command() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    // Dropped is killed.
    drop(session(&home, "L"));
    let sidecar = home.sidecar("L");
    assert!(has_log(&sidecar), "a process that is killed folds nothing");
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 5);
    home.ask("create Another");
    let used = DiskUse::of(&sidecar);
    assert!(used.most() <= SMALL_WITH_LOG && log_length(&sidecar) <= SHORT_LOG, "{used:?}");
    assert_eq!(home.ask("history")["entries"].as_array().unwrap().len(), 16);
}

#[test]
fn open_list_keeps_its_log_and_nobody_waits() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = session(&home, "L");
    home.ask("create Another");
    assert!(has_log(&home.sidecar("L")), "the server still uses it");
    assert!(server.call("TaskList", json!({})).contains("Another"));
    let (status, _) = server.close();
    assert!(status.success() && !has_log(&home.sidecar("L")));
}

#[test]
fn server_opening_a_list_others_close_is_never_refused() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create First");
    let rounds = Scale::from_environment(0.2).of(50);
    std::thread::scope(|scope| {
        for place in 0..6 {
            let home = &home;
            scope.spawn(move || {
                for round in 0..rounds {
                    let words = if (place + round) % 2 == 0 { "create Task" } else { "list" };
                    let ran = home.run(words);
                    assert!(ran.code == Some(0) && ran.stderr.is_empty(), "`{words}`: {ran:?}");
                }
            });
        }
    });
    let created = 1 + 6 * rounds / 2;
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), created);
    assert!(log_length(&home.sidecar("L")) <= SHORT_LOG);
    assert_eq!(HeldLog::of(&home.sidecar("L")).newest(), created as i64);
}

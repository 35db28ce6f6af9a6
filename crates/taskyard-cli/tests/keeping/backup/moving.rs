//! A move to another store either completes or leaves the list where it was: killed at any step, beside writers, on a full disk.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::{COMMANDS_WITH_HISTORY, Home, Scale, Step, Suspended, finishes, side_by_side};

use crate::backup::vault::{files, home};

/// The files of the list `L` in the store that it moves to.
fn moved_files(home: &Home) -> std::collections::BTreeMap<String, Vec<u8>> {
    files(&home.path().join("other/tasks/L"))
}

/// Makes a home with a list that has a history.
fn busy_home() -> Home {
    let home = home();
    for words in COMMANDS_WITH_HISTORY {
        home.ask(words);
    }
    home
}

/// Returns the words of a move to another directory, and back.
fn there(home: &Home) -> String {
    format!("move L --to file:{}", home.path().join("other").display())
}

fn elsewhere(home: &Home, words: &str) -> String {
    format!("--store file:{} {words}", home.path().join("other").display())
}

/// Requires that the list has left, and that every command says so.
fn must_have_left(home: &Home, place: &str) {
    for words in ["list", "create D", "history", "show 1", "claim --next", "watch --since 0"] {
        let ran = home.run(words);
        assert_eq!(ran.code, Some(4), "{place}: `{words}`: {ran:?}");
        assert!(ran.stderr.contains("list `L` has moved to `file:"), "{place}: `{words}`: {ran:?}");
    }
    assert!(!home.list("L").exists(), "{place}");
    assert_eq!(home.ask("lists")["lists"], json!([]), "{place}");
}

#[test]
fn moved_list_is_the_same_with_its_history() {
    let home = busy_home();
    let (before, history) = (files(&home.list("L")), home.ask("history")["entries"].clone());
    let would = home.ask(&format!("{} --dry-run", there(&home)));
    assert_eq!((&would["tasks"], &would["dryRun"]), (&json!(2), &json!(true)));
    assert_eq!(files(&home.list("L")), before);
    let moved = home.ask(&there(&home));
    assert_eq!((&moved["tasks"], &moved["leftBehind"]), (&json!(2), &json!([])));
    must_have_left(&home, "moved");
    let mut now = moved_files(&home);
    now.remove(".lock");
    let mut before = before;
    before.remove(".lock");
    assert_eq!(now, before);
    assert_eq!(home.ask(&elsewhere(&home, "history"))["entries"], history);
    assert_eq!(home.ask(&elsewhere(&home, "create Next"))["task"]["id"], json!("4"));
    let deleted = history.as_array().unwrap().iter().rfind(|entry| entry["op"] == "delete").unwrap();
    home.ask(&elsewhere(&home, &format!("undo {}", deleted["revision"])));
    assert_eq!(home.ask(&elsewhere(&home, "show 3"))["task"]["subject"], json!("C"));
    let token = home.ask(&elsewhere(&home, "claim 2 --as ben"))["token"].clone();
    assert!(token.as_u64().is_some_and(|token| token > 0), "{token}");
}

#[test]
fn moved_list_comes_back_to_where_it_was() {
    let home = busy_home();
    home.ask(&there(&home));
    home.ask(&elsewhere(&home, "create D"));
    let history = home.ask(&elsewhere(&home, "history"))["entries"].clone();
    home.ask(&elsewhere(&home, "move L --to claude:"));
    assert_eq!(home.ask("history")["entries"], history);
    assert_eq!(home.ask("list --all")["tasks"].as_array().unwrap().len(), 3);
    let ran = home.run(&elsewhere(&home, "list"));
    assert!(ran.stderr.contains("has moved to `claude:`") && ran.code == Some(4), "{ran:?}");
    home.ask("create E");
    home.ask(&there(&home));
    must_have_left(&home, "a second time");
    assert_eq!(home.ask(&elsewhere(&home, "list --all"))["tasks"].as_array().unwrap().len(), 4);
}

#[test]
fn move_that_was_killed_is_finished_or_taken_back() {
    let traced = busy_home();
    let steps = traced.steps(&there(&traced));
    for name in ["move: copied", "move: closed", "move: arrived", "move: noted as gone", "move: left"] {
        assert!(steps.iter().any(|step| step.name == name), "{name}: {steps:?}");
    }
    side_by_side(Step::each_name(&steps, Scale::from_environment(0.1)), |step| {
        let place = step.to_string();
        let home = busy_home();
        let (tasks, history) = (home.present(), home.ask("history")["entries"].clone());
        let ran = home.run_with(&step.killing(), &there(&home));
        assert!(ran.was_killed(), "{place}: {ran:?}");
        let looked = home.run("list --all --json");
        match looked.code {
            Some(0) => assert_eq!(looked.json()["tasks"].as_array().unwrap().len(), 2, "{place}"),
            Some(4) => assert!(looked.stdout.contains("\"moved\""), "{place}: {looked:?}"),
            _ => assert!(looked.code == Some(5) && looked.stdout.contains("\"moving\""), "{place}: {looked:?}"),
        }
        // A reader that looks there meanwhile may record that the files have not come yet.
        let there_now = home.ask(&elsewhere(&home, "list --all"));
        assert!([0, 2].contains(&there_now["tasks"].as_array().unwrap().len()), "{place}: {there_now}");
        home.ask(&there(&home));
        must_have_left(&home, &place);
        assert_eq!(taskyard_testkit::read_tasks(&home.path().join("other/tasks/L")), tasks, "{place}");
        let now = home.ask(&elsewhere(&home, "history"))["entries"].clone();
        let (now, history) = (now.as_array().unwrap(), history.as_array().unwrap());
        assert_eq!(&now[..history.len()], history.as_slice(), "{place}");
        assert_eq!(home.ask(&elsewhere(&home, "create Next"))["task"]["id"], json!("4"), "{place}");
        assert!(fs::read_dir(home.data().join("moving")).unwrap().next().is_none(), "{place}: a copy is left");
    });
}

#[test]
fn writer_beside_a_move_loses_nothing() {
    let home = busy_home();
    let acknowledged = thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut acknowledged = 0;
                    loop {
                        let ran = home.run("create meanwhile --json");
                        match ran.code {
                            Some(0) => acknowledged += 1,
                            // It is on its way.
                            Some(5) => {}
                            _ => {
                                assert_eq!(ran.code, Some(4), "{ran:?}");
                                return acknowledged;
                            }
                        }
                    }
                })
            })
            .collect();
        home.ask(&there(&home));
        writers.into_iter().map(|writer| writer.join().unwrap()).sum::<usize>()
    });
    let there = home.ask(&elsewhere(&home, "list --all"));
    assert_eq!(there["tasks"].as_array().unwrap().len(), 2 + acknowledged);
    must_have_left(&home, "beside writers");
}

#[test]
fn held_task_and_list_of_a_team_are_not_moved() {
    let home = busy_home();
    home.ask("claim 2 --as ana");
    let ran = home.run(&format!("{} --json", there(&home)));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(3), &json!("leased")), "{ran:?}");
    home.ask("release 2 --as ana");
    home.ask("team create L --as lead");
    let ran = home.run(&format!("{} --json", there(&home)));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(3), &json!("list_of_team")), "{ran:?}");
    assert_eq!(home.ask("list --all")["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn list_is_not_moved_over_another_or_nowhere() {
    let home = busy_home();
    home.ask(&elsewhere(&home, "create Theirs"));
    for (words, code) in [
        (there(&home), "list_exists"),
        ("move L --to claude:".to_owned(), "same_store"),
        ("move L --to memory:".to_owned(), "cannot_move"),
        ("move L --to document:".to_owned(), "cannot_move"),
        ("move none --to file:elsewhere".to_owned(), "list_not_found"),
    ] {
        let ran = home.run(&format!("{words} --json"));
        assert_eq!(ran.json()["error"]["code"], json!(code), "`{words}`: {ran:?}");
    }
    assert_eq!(home.ask("list --all")["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(home.ask(&elsewhere(&home, "list --all"))["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn what_another_program_writes_meanwhile_stays() {
    let home = busy_home();
    fs::write(home.list("L").join("notes.txt"), "theirs").unwrap();
    let stopped = Suspended::at(&home, "move: closed", &format!("{} --json", there(&home)));
    let mut changed: Value = serde_json::from_slice(&fs::read(home.task_file("2")).unwrap()).unwrap();
    changed["subject"] = json!("changed by the client");
    fs::write(home.task_file("2"), changed.to_string()).unwrap();
    let ran = stopped.go_on();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["leftBehind"], json!(["2.json", "notes.txt"]), "{ran:?}");
    assert!(fs::read_to_string(home.task_file("2")).unwrap().contains("changed by the client"));
    assert_eq!(home.ask(&elsewhere(&home, "show 2"))["task"]["subject"], json!("B"));
}

#[test]
fn list_that_does_not_fit_stays_where_it_was() {
    let home = busy_home();
    fs::write(home.list("L").join("large.txt"), vec![b'x'; 400_000]).unwrap();
    let mut command = home.command(&there(&home)).limited("ulimit -f 200");
    let ran = finishes(move || command.run());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    home.ask("create D");
    home.ask(&there(&home));
    assert_eq!(home.ask(&elsewhere(&home, "list --all"))["tasks"].as_array().unwrap().len(), 3);
}

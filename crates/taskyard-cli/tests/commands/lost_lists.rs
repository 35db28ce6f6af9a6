//! A list that lost its tasks does not read as a new one.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::test::Test;

const LIST: &str = "home/.claude/tasks/project";

fn remove_directory(place: &Path) {
    fs::remove_dir_all(place.join(LIST)).unwrap();
}

/// Does what the client does when it clears a list of two tasks.
fn remove_task_files(place: &Path) {
    fs::write(place.join(LIST).join(".highwatermark"), "2").unwrap();
    for entry in fs::read_dir(place.join(LIST)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Does what the client does when it deletes a task that no other one names.
fn delete_as_the_client_does(place: &Path, id: u64) {
    let list = place.join(LIST);
    let mark = fs::read_to_string(list.join(".highwatermark")).map_or(0, |mark| mark.parse().unwrap());
    if id > mark {
        fs::write(list.join(".highwatermark"), id.to_string()).unwrap();
    }
    fs::remove_file(list.join(format!("{id}.json"))).unwrap();
}

fn seen(tasks: &str) -> Test {
    Test::new().list(tasks).quietly("list")
}

fn session_begins(test: Test) -> Test {
    let directory = test.path("home/project").display().to_string();
    let event = json!({"session_id": "", "cwd": directory, "hook_event_name": "SessionStart", "source": "startup"});
    test.stdin(event.to_string())
}

#[test]
fn every_command_on_an_emptied_list_reports_the_loss() {
    let test = seen("1 completed; 2 in_progress (ana); 3 pending <- 2").meanwhile(remove_directory);
    let test = test.run("list").run("list --quiet").run("ready").run("stats").run("search parser").run("claim --next");
    let test =
        test.run("show 3").run("done 2").run("claim 3").run("lists").run("work -- true").run("doctor").run("prime");
    session_begins(test).run("hook SessionStart").run("restore --all").run("list").snapshot();
}

#[test]
fn programs_are_told_of_the_loss() {
    let mut test = seen("1 completed; 2 pending; 3 pending").meanwhile(remove_directory);
    for command in ["list", "ready", "stats", "search x", "claim --next", "prime", "work --json -- true"] {
        let gone = &test.json(&format!("--json {command}"))["gone"];
        assert_eq!(
            (&gone["open"], &gone["completed"], &gone["placeGone"]),
            (&json!(2), &json!(1), &json!(true)),
            "{command}"
        );
        let [seen, noticed] = ["lastSeen", "noticed"].map(|key| gone[key].as_str().unwrap().to_owned());
        assert!(seen < noticed, "{command}: {seen} {noticed}");
    }
    assert_eq!(test.json("--json show 2")["error"]["hint"].as_str().unwrap().matches("taskyard restore 2").count(), 1);
    let lists = test.json("lists --json");
    assert_eq!((&lists["lists"][0]["list"], &lists["lists"][0]["gone"]["open"]), (&json!("project"), &json!(2)));
}

#[test]
fn unreadable_files_do_not_mean_the_directory_is_gone() {
    let mut test = seen("1 pending; 2 pending").meanwhile(remove_task_files);
    assert_eq!(test.json("list --json")["gone"]["placeGone"], false);
    test.run("list").run("lists").snapshot();
}

#[test]
fn single_vanished_task_is_reported_by_restore_and_doctor() {
    let test = seen("1 pending; 2 pending <- 1; 3 pending");
    let test = test.meanwhile(|place| fs::remove_file(place.join(LIST).join("1.json")).unwrap());
    let test = test.run("list").run("ready").run("prime").run("lists");
    let test = session_begins(test).run("hook SessionStart");
    test.run("restore").run("doctor").run("doctor --fix --yes").run("doctor").run("list").snapshot();
}

#[test]
fn what_the_client_deleted_is_no_damage() {
    let test = seen("1 pending; 2 pending; 3 pending").meanwhile(|place| delete_as_the_client_does(place, 2));
    let test = test.run("doctor").run("doctor --fix --yes").run("history 2").run("show 2").run("restore");
    test.run("restore 2").run("list").snapshot();
}

#[test]
fn the_last_task_may_be_deleted_too() {
    let mut test = seen("1 pending; 2 in_progress (ana)");
    for id in [1, 2] {
        test = test.meanwhile(|place| delete_as_the_client_does(place, id)).quietly("list");
    }
    let list = test.json("list --json");
    assert_eq!(list.get("gone"), None, "{list}");
    assert_eq!(test.json("doctor --json")["findings"], json!([]));
    let restorable = test.json("restore --json");
    let ops: Vec<&Value> =
        restorable["restorable"].as_array().unwrap().iter().map(|task| &task["removed"]["op"]).collect();
    assert_eq!(ops, ["deleted_elsewhere", "deleted_elsewhere"]);
    assert_eq!(test.json("restore --all --json")["tasks"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_file_that_others_still_name_was_not_deleted() {
    let mut test = seen("1 pending; 2 pending <- 1").meanwhile(|place| delete_as_the_client_does(place, 1));
    let findings = test.json("doctor --json")["findings"].clone();
    let codes: Vec<&Value> = findings.as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert!(codes.contains(&&json!("missing_task")), "{findings}");
}

#[test]
fn a_reset_for_a_new_team_is_no_deletion() {
    let mut test = seen("1 pending").meanwhile(|place| {
        let team = place.join("home/.claude/teams/project");
        fs::create_dir_all(&team).unwrap();
        let made = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let made =
            json!({"name": "project", "createdAt": made as u64, "leadAgentId": "team-lead@project", "members": []});
        fs::write(team.join("config.json"), made.to_string()).unwrap();
        delete_as_the_client_does(place, 1);
    });
    assert_eq!(test.json("list --json")["gone"]["open"], 1);
    assert_eq!(test.json("doctor --json")["findings"][0]["code"], "emptied_list");
}

#[test]
fn client_clearing_is_one_quiet_line_and_not_for_agents() {
    let test = seen("1 completed; 2 completed").meanwhile(remove_task_files);
    let test =
        test.run("list").run("list --quiet").run("ready").run("prime").run("lists").run("doctor").run("list --json");
    session_begins(test).run("hook SessionStart").snapshot();
}

#[test]
fn the_clients_rules_answer_as_the_client_does() {
    seen("1 pending").meanwhile(remove_directory).run("list --rules client").run("ready --rules client").snapshot();
}

#[test]
fn a_loss_that_was_meant_is_told_no_more() {
    let test = seen("1 pending; 2 pending").meanwhile(remove_directory).quietly("clear");
    let test = test.run("list").run("ready").run("lists").run("doctor").quietly("undo");
    test.run("list").quietly("delete 1 2").run("list").snapshot();
}

#[test]
fn other_stores_lose_lists_too() {
    for (store, place) in [("document:tasks.json", "tasks.json"), ("teaching:.tasks", ".tasks")] {
        let with_store = |command: &str| format!("--store {store} --json {command}");
        let mut test = Test::new();
        for command in ["create One", "create Two", "list"] {
            test = test.quietly(&with_store(command));
        }
        test = test.meanwhile(|top| {
            let path = top.join("home/project").join(place);
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        });
        for command in ["list", "ready", "prime", "claim --next"] {
            let gone = &test.json(&with_store(command))["gone"];
            assert_eq!((&gone["open"], &gone["placeGone"]), (&json!(2), &json!(true)), "{store} {command}");
        }
        let lists = test.json(&with_store("lists"));
        assert_eq!(lists["lists"][0]["gone"]["open"], 2, "{store}: {lists}");
        assert_eq!(test.json(&with_store("restore --all"))["tasks"].as_array().map(Vec::len), Some(2));
        assert_eq!(test.json(&with_store("list")).get("gone"), None);
    }
}

#[test]
fn looking_does_not_make_a_lost_list_anew() {
    let mut test = seen("1 pending; 2 pending").meanwhile(remove_directory);
    for command in ["list", "claim --next", "show 1", "done 1", "lists", "doctor", "restore"] {
        let _: Value = test.json(&format!("--json {command}"));
        assert!(!test.path(LIST).exists(), "{command}");
    }
}

#[test]
fn the_earlier_look_is_the_last_that_is_on_record() {
    // A file that was not written in the very moment of its commit needs no second look; that takes a slow machine.
    let is_told = (0..5).any(|_| {
        let mut test = Test::new().quietly("create One");
        let created = test.json("history --json")["entries"][0]["at"].as_str().unwrap().to_owned();
        test = test.quietly("list").meanwhile(remove_directory);
        let gone = &test.json("list --json")["gone"];
        let [seen, noticed] = ["lastSeen", "noticed"].map(|key| gone[key].as_str().unwrap().to_owned());
        assert!(created <= seen && seen < noticed, "{created} {seen} {noticed}");
        created < seen
    });
    assert!(is_told);
}

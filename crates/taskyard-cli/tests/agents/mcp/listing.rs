//! The list, asked for again and again: what is answered at once is never out of date.

use std::collections::HashMap;
use std::fs;

use serde_json::json;
use taskyard_testkit::{Home, list_builder};

use crate::mcp::http::Served;
use crate::stdio::Piped;

/// Asks often enough for the answer to be given at once.
fn list(server: &mut Piped) -> String {
    (0..6).map(|_| server.call("TaskList", json!({}))).last().unwrap()
}

#[test]
fn every_change_is_in_the_next_answer_whoever_made_it() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    list_builder::write_files(&home.list("L"), "1 pending; 2 pending; 3 pending");
    let mut server = Piped::start(&home, "--as ana").initialized();
    let file = home.list("L").join("2.json");
    for turn in 0..20 {
        assert!(list(&mut server).contains("#1 "));
        let subject = format!("turn-{turn}");
        // In place, as the client writes; by another command; by rename; by another connection.
        match turn % 4 {
            0 => {
                let mut task: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
                task["subject"] = json!(subject);
                fs::write(&file, serde_json::to_string_pretty(&task).unwrap()).unwrap();
            }
            1 => drop(home.ask(&format!("update 2 --subject {subject}"))),
            2 => {
                let (old, new) = (fs::read_to_string(&file).unwrap(), home.path().join("new.json"));
                fs::write(&new, old.replace(&format!("turn-{}", turn - 1), &subject)).unwrap();
                fs::rename(&new, &file).unwrap();
            }
            _ => {
                let mut other = Piped::start(&home, "--as ben").initialized();
                other.call("TaskUpdate", json!({ "taskId": "2", "subject": subject }));
            }
        }
        let listed = server.call("TaskList", json!({}));
        assert!(listed.contains(&format!("#2 [pending] {subject}")), "turn {turn}: {listed}");
    }
}

#[test]
fn a_list_that_vanished_is_told_of_in_the_very_next_answer() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard")).strict();
    list_builder::write_files(&home.list("L"), "1 pending; 2 pending; 3 pending");
    let mut server = Piped::start(&home, "--as ana").initialized();
    assert!(list(&mut server).contains("#1 "));
    fs::rename(home.list("L"), home.path().join("gone")).unwrap();
    let lost = server.call("TaskList", json!({}));
    assert!(lost.contains("3 open tasks of list L are gone, and the directory with them"), "{lost}");
    assert!(lost.contains("taskyard restore --all"), "{lost}");
    let nothing = server.call("TaskClaim", json!({}));
    assert!(nothing.contains("3 open tasks of list L are gone"), "{nothing}");
    home.ask("clear");
    assert_eq!(server.call("TaskList", json!({})), "No tasks found");
}

#[test]
fn asking_for_the_list_keeps_what_one_has_claimed() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    fs::create_dir_all(home.path().join(".config/taskyard")).unwrap();
    fs::write(home.path().join(".config/taskyard/taskyard.toml"), "[claims]\nlease = \"3s\"\n").unwrap();
    home.run("create One");
    let served = Served::start(&home);
    let mut line = served.line("ana");
    assert_eq!(line.call("TaskClaim", json!({}))["isError"], false);
    let ends = || home.ask("show 1")["lease"]["expiresAt"].as_str().expect("it is still held").to_owned();
    let first = ends();
    while ends() == first {
        line.call("TaskList", json!({}));
    }
    assert_eq!(home.ask("show 1")["task"]["owner"], "ana");
}

#[test]
fn a_todo_list_ends_as_the_last_call_left_it() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut command = home.command("mcp --structured");
    command.env("CLAUDE_CODE_ENABLE_TASKS", "0");
    let mut server = Piped::spawn(command).initialized();
    let todos = |turn: usize| json!([{ "content": turn.to_string(), "status": "pending", "activeForm": "x" }]);
    let ids: Vec<u64> = (0..100)
        .map(|turn| {
            let call = json!({ "name": "TodoWrite", "arguments": { "todos": todos(turn) } });
            server.request("tools/call", call)
        })
        .collect();
    // The answers may overtake each other; what they tell may not.
    let mut answers = HashMap::new();
    while answers.len() < ids.len() {
        let message = server.message().unwrap();
        answers.extend(message["id"].as_u64().map(|id| (id, message.clone())));
    }
    for (turn, id) in ids.into_iter().enumerate() {
        let answer = &answers[&id];
        let before = if turn == 0 { json!([]) } else { todos(turn - 1) };
        assert_eq!(answer["result"]["structuredContent"]["oldTodos"], before, "turn {turn}");
    }
}

//! Seed 003: a list as an array of tasks.

use std::thread;

use serde_json::{Value, json};

use crate::seeds::site::{CLIENTS, Site, printed};
use crate::stdio::Piped;

fn list(server: &mut Piped) -> Vec<Value> {
    let told: Value = serde_json::from_str(&server.call("TaskList", json!({}))).unwrap();
    told.as_array().unwrap().clone()
}

#[test]
fn the_three_tools_make_change_and_list_tasks_in_the_format() {
    let site = Site::new();
    let mut server = site.server("--dialect export");
    server.call("TaskCreate", json!({ "subject": "Implement OAuth2 Callback" }));
    let first = list(&mut server)[0].clone();
    let id = first["id"].as_str().unwrap().to_owned();
    assert!(id.strip_prefix("task_").is_some_and(|time| time.parse::<u64>().is_ok()), "{id}");
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    let expected = ["id", "subject", "description", "status", "dependencies", "blockedBy", "metadata"];
    assert!(expected.iter().all(|key| keys.iter().any(|other| other == key)), "{keys:?}");
    server.call("TaskCreate", json!({ "subject": "Second", "description": "All of it", "dependencies": [id] }));
    let second = list(&mut server)[1].clone();
    assert_eq!(
        (&second["description"], &second["dependencies"], &second["status"]),
        (&json!("All of it"), &json!([id]), &json!("blocked"))
    );
    for status in ["in_progress", "blocked", "pending", "cancelled", "completed"] {
        server.call("TaskUpdate", json!({ "id": id, "status": status, "notes": format!("now {status}") }));
        let all = list(&mut server);
        assert_eq!((all.len(), &all[0]["status"]), (2, &json!(status)));
        let notes = all[0]["metadata"]["notes"].as_array().unwrap();
        assert_eq!(notes.last().unwrap()["text"], format!("now {status}"));
    }
    assert_eq!(list(&mut server)[1]["status"], "pending", "what it depended on is completed");
}

#[test]
fn in_the_clients_rules_every_session_has_tasks_of_its_own() {
    for flags in CLIENTS {
        let site = Site::new();
        let run = |session: &str, words: &str| {
            let mut command = site.command(&format!("{words} --json {flags}"), &[]);
            command.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_SESSION_ID", session);
            serde_json::from_str::<Value>(&printed(&command.output())).unwrap()
        };
        run("11111111-2222", "create One");
        assert_eq!(run("33333333-4444", "list")["tasks"], json!([]), "{flags}");
        assert_eq!(run("11111111-2222", "list")["tasks"].as_array().unwrap().len(), 1, "{flags}");
    }
}

#[test]
fn concurrent_instances_lose_nothing_on_a_shared_list() {
    const EACH: usize = 6;
    let site = Site::new();
    let shared = |session: usize, words: &str| {
        let mut command = site.command(&format!("{words} --json"), &[]);
        command.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_TASK_LIST_ID", "shared-feature");
        command.env("CLAUDE_CODE_SESSION_ID", format!("session-{session}"));
        serde_json::from_str::<Value>(&printed(&command.output())).unwrap()
    };
    thread::scope(|scope| {
        for session in 0..4 {
            let shared = &shared;
            scope.spawn(move || {
                for _ in 0..EACH {
                    shared(session, "create Task");
                }
            });
        }
    });
    let tasks = shared(9, "list")["tasks"].clone();
    let mut ids: Vec<u64> =
        tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=4 * EACH as u64).collect::<Vec<_>>());
    assert!(site.path(".claude/tasks/shared-feature/1.json").exists());
}

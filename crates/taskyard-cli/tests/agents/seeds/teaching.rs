//! Seed 004: a `.tasks/` folder and five tools.

use serde_json::{Value, json};

use crate::seeds::site::Site;
use crate::stdio::{Piped, text};

fn server(site: &Site, agent: &str) -> Piped {
    site.server(&format!("--store teaching:.tasks --as {agent}"))
}

fn create(server: &mut Piped, input: Value) -> String {
    let made = server.call("create_task", input);
    made.strip_prefix("Created ").and_then(|rest| rest.split(':').next()).unwrap_or_else(|| panic!("{made}")).to_owned()
}

fn get(server: &mut Piped, id: &str) -> Value {
    serde_json::from_str(&server.call("get_task", json!({ "task_id": id }))).unwrap()
}

fn refused(server: &mut Piped, tool: &str, id: &str) -> String {
    let answer = server.ask("tools/call", json!({ "name": tool, "arguments": { "task_id": id } }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    text(&answer)
}

#[test]
fn the_next_session_reads_what_the_first_one_wrote() {
    let site = Site::new();
    let mut first = server(&site, "ana");
    let offered = first.ask("tools/list", json!({}))["result"]["tools"].clone();
    for tool in ["create_task", "list_tasks", "get_task", "claim_task", "complete_task"] {
        assert!(offered.as_array().unwrap().iter().any(|offered| offered["name"] == tool), "{tool}: {offered}");
    }
    let schema = create(&mut first, json!({ "subject": "schema", "description": "Tables for users and orders." }));
    let endpoints = create(&mut first, json!({ "subject": "endpoints", "blockedBy": [schema] }));
    first.close();
    let mut second = server(&site, "ben");
    let expected = json!({
        "id": endpoints, "subject": "endpoints", "description": "", "status": "pending", "owner": null, "blockedBy": [schema],
    });
    assert_eq!(get(&mut second, &endpoints).to_string(), expected.to_string());
    let file: Value = serde_json::from_str(&site.read(&format!(".tasks/{endpoints}.json"))).unwrap();
    assert_eq!(file, expected, "the file is the task");
    assert_eq!(get(&mut second, &schema)["description"], "Tables for users and orders.");
    let list = second.call("list_tasks", json!({}));
    assert_eq!(list.lines().count(), 2, "one line each: {list}");
    assert!(!list.contains("Tables for users"), "{list}");
}

#[test]
fn what_waits_is_not_claimed_and_nothing_is_claimed_twice() {
    let site = Site::new();
    let (mut ana, mut ben) = (server(&site, "ana"), server(&site, "ben"));
    let one = create(&mut ana, json!({ "subject": "one" }));
    let two = create(&mut ana, json!({ "subject": "two", "blockedBy": [one] }));
    assert!(refused(&mut ana, "claim_task", &two).contains(&one), "what stands in the way is named");
    assert!(refused(&mut ana, "complete_task", &one).contains("pending"));
    ana.call("claim_task", json!({ "task_id": one }));
    assert_eq!(get(&mut ben, &one)["owner"], "ana");
    assert!(refused(&mut ben, "claim_task", &one).contains("owned by ana"));
    assert_eq!(get(&mut ben, &one)["owner"], "ana");
}

#[test]
fn progress_is_recovered_from_the_files_by_the_next_session() {
    let site = Site::new().strict();
    let mut first = server(&site, "ana");
    let schema = create(&mut first, json!({ "subject": "schema", "description": "Tables for users and orders." }));
    let endpoints = create(&mut first, json!({ "subject": "endpoints", "blockedBy": [schema] }));
    first.call("claim_task", json!({ "task_id": schema, "owner": "ana" }));
    first.close();

    let mut second = server(&site, "ana");
    let expected = json!({
        "id": schema, "subject": "schema", "description": "Tables for users and orders.", "status": "in_progress",
        "owner": "ana", "blockedBy": [],
    });
    assert_eq!(get(&mut second, &schema).to_string(), expected.to_string());
    let file: Value = serde_json::from_str(&site.read(&format!(".tasks/{schema}.json"))).unwrap();
    assert_eq!(file, expected, "the file is the task");
    let list = second.call("list_tasks", json!({}));
    assert_eq!(list.lines().count(), 2, "one line each: {list}");
    assert!(!list.contains("Tables for users"), "{list}");
    let completed = second.call("complete_task", json!({ "task_id": schema }));
    assert!(completed.contains(&format!("Unblocked: {endpoints}")) || completed.contains("endpoints"), "{completed}");
    second.close();

    let mut third = server(&site, "ana");
    assert_eq!(get(&mut third, &schema)["status"], "completed");
    third.call("claim_task", json!({ "task_id": endpoints }));
    assert_eq!(get(&mut third, &endpoints)["owner"], "ana");
}

#[test]
fn an_id_is_a_time_and_random_digits() {
    let site = Site::new();
    let mut server = server(&site, "ana");
    let ids = [create(&mut server, json!({ "subject": "a" })), create(&mut server, json!({ "subject": "b" }))];
    for id in &ids {
        let parts: Vec<&str> = id.split('_').collect();
        let is_hex = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(parts.len() == 3 && parts[0] == "task" && parts[1].parse::<u64>().is_ok() && is_hex(parts[2]), "{id}");
        assert!(site.path(&format!(".tasks/{id}.json")).exists());
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn only_pending_is_claimed_and_only_in_progress_completed() {
    let site = Site::new().strict();
    let (mut ana, mut ben) = (server(&site, "ana"), server(&site, "ben"));
    let one = create(&mut ana, json!({ "subject": "one" }));
    let two = create(&mut ana, json!({ "subject": "two", "blockedBy": [one] }));
    assert!(refused(&mut ana, "complete_task", &one).contains("pending"));
    assert!(refused(&mut ana, "claim_task", &two).contains(&one), "what stands in the way is named");
    ana.call("claim_task", json!({ "task_id": one }));
    assert_eq!(get(&mut ben, &one)["status"], "in_progress");
    for agent in [&mut ben, &mut ana] {
        assert!(refused(agent, "claim_task", &one).contains("in_progress"));
    }
    ana.call("complete_task", json!({ "task_id": one }));
    assert!(refused(&mut ben, "claim_task", &one).contains("completed"));
    ben.call("claim_task", json!({ "task_id": two }));
    assert_eq!(get(&mut ana, &two)["owner"], "ben");
}

#[test]
fn the_tasks_of_an_agent_that_is_gone_can_be_claimed_by_others() {
    let site = Site::new();
    let (mut ana, mut ben) = (server(&site, "ana"), server(&site, "ben"));
    let one = create(&mut ana, json!({ "subject": "one" }));
    ana.call("claim_task", json!({ "task_id": one }));
    assert!(refused(&mut ben, "claim_task", &one).contains("owned by ana"));
    site.told("release --agent ana --reason terminated --store teaching:.tasks", &[]);
    let free = get(&mut ben, &one);
    assert_eq!((&free["status"], &free["owner"]), (&json!("pending"), &Value::Null));
    ben.call("claim_task", json!({ "task_id": one }));
    assert_eq!(get(&mut ben, &one)["owner"], "ben");
}

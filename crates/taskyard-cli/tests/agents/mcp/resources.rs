//! Clients are told what changes, whichever program changed it.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use taskyard_testkit::{Home, is_once_within, list_builder};

use crate::mcp::client::{Client, GENERATIONS};
use crate::mcp::http::Served;
use crate::stdio::Piped;

const CAME_OR_WENT: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Subscribes in the words of a generation to the list and to task 1.
fn subscribe(client: &mut Client, generation: &str) {
    let uris = ["taskyard://list", "taskyard://task/1"];
    if generation == "stateless" {
        client.ask("listen", json!({ "resourcesListChanged": true, "resourceSubscriptions": uris })).unwrap();
    } else {
        for uri in uris {
            client.ask("subscribeResource", json!({ "uri": uri })).unwrap();
        }
    }
}

fn hear_of_changes(home: &Home, client: &mut Client, generation: &str) {
    subscribe(client, generation);
    home.run("create One");
    client.wait_until_said(CAME_OR_WENT, None);
    home.run("update 1 --subject Other");
    client.wait_until_said(UPDATED, Some("taskyard://task/1"));
    // Another program, which knows nothing of us.
    list_builder::write_files(&home.list("L"), "2 pending");
    client.wait_until_said(CAME_OR_WENT, None);
    fs::remove_file(home.task_file("2")).unwrap();
    client.wait_until_said(UPDATED, Some("taskyard://list"));
}

#[test]
fn changes_are_told_over_pipes_in_both_generations() {
    for generation in GENERATIONS {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let mut client = Client::over_pipes(&home, "", generation);
        hear_of_changes(&home, &mut client, generation);
    }
}

#[test]
fn changes_are_told_over_http_in_both_generations() {
    for generation in GENERATIONS {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let served = Served::start(&home);
        let mut client = Client::over_http(&served.url(), &served.token, generation);
        hear_of_changes(&home, &mut client, generation);
    }
}

#[test]
fn server_ends_at_once_when_its_client_leaves() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "x", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    // A server that waited for its listener would go on for five seconds.
    is_once_within(Duration::from_secs(4), "the end of a server", || {
        let mut server = Piped::start(&home, "");
        let wish = json!({ "notifications": { "resourcesListChanged": true }, "_meta": meta });
        server.request("subscriptions/listen", wish);
        assert_eq!(server.message().unwrap()["method"], "notifications/subscriptions/acknowledged");
        let left = Instant::now();
        assert!(server.close().0.success());
        left.elapsed()
    });
}

#[test]
fn a_long_list_is_told_in_pages() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let line: Vec<String> = (1..=1001).map(|id| format!("{id} pending")).collect();
    list_builder::write_files(&home.list("L"), &line.join(";"));
    let mut server = Piped::start(&home, "").initialized();
    let (mut cursor, mut sizes) = (json!({}), Vec::new());
    loop {
        let page = server.ask("resources/list", cursor)["result"].clone();
        sizes.push(page["resources"].as_array().unwrap().len());
        match page.get("nextCursor") {
            Some(next) => cursor = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!(sizes, [503, 500, 1]);
    assert_eq!(server.ask("resources/list", json!({ "cursor": "x" }))["error"]["code"], -32602);
}

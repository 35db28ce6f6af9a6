//! Several servers on one yard in PostgreSQL, behind a load balancer: any of them answers any request, and any may die.

use serde_json::{Value, json};
use taskyard_testkit::{Home, SharedPostgres};

use crate::mcp::http::Served;

#[test]
fn any_of_several_servers_answers_and_any_may_die() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let store = SharedPostgres::get().fresh_address();
    // They share the token, as they would behind a balancer.
    let mut servers: Vec<Served> = (0..3).map(|_| Served::on_store(&home, &store)).collect();
    for number in 0..6 {
        let made = call(
            &servers[number % 3],
            "ana",
            "TaskCreate",
            json!({ "subject": format!("task {number}"), "description": "" }),
        );
        assert!(made.contains(&format!("#{}", number + 1)), "{made}");
    }
    let claimed = call(&servers[0], "ana", "TaskClaim", json!({ "taskId": "1" }));
    assert!(!claimed.to_lowercase().contains("already"), "{claimed}");
    // The one that it was claimed through dies: the claim lives.
    drop(servers.remove(0));
    let refused = call(&servers[0], "ben", "TaskClaim", json!({ "taskId": "1" }));
    assert!(refused.contains("ana"), "{refused}");
    let listed = call(&servers[1], "eve", "TaskList", json!({}));
    assert!((1..=6).all(|number| listed.contains(&format!("#{number}"))) && listed.contains("ana"), "{listed}");
    call(&servers[1], "ana", "TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    drop(servers.remove(1));
    let seen = call(&servers[0], "ben", "TaskGet", json!({ "taskId": "1" }));
    assert!(seen.contains("completed"), "{seen}");
    let next = call(&servers[0], "ben", "TaskClaim", json!({}));
    assert!(next.contains("#2"), "{next}");
}

/// Calls a tool over a connection of its own, and returns the text of the answer.
fn call(server: &Served, agent: &str, tool: &str, arguments: Value) -> String {
    let answer = server.line(agent).call(tool, arguments);
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

//! Any store behind the server, and several servers on one.

use serde_json::json;
use taskyard_testkit::{Home, SharedPostgres};

use crate::web::events::Listener;
use crate::web::served::Served;

fn on(home: &Home, store: &str) -> Served {
    let mut command = home.command("serve --port 0 --json");
    command.env("TASKYARD_STORE", store);
    Served::spawn(command)
}

#[test]
fn two_servers_on_one_database_agree_and_resume_streams() {
    let store = SharedPostgres::get().fresh_address();
    let homes = [(); 2].map(|()| Home::new(env!("CARGO_BIN_EXE_taskyard")));
    let [here, there] = [&homes[0], &homes[1]].map(|home| on(home, &store));
    let mut listener = Listener::open(&there, "/api/v1/lists/L/events", None);
    listener.next();
    here.line().create("One");
    let told = listener.next_named("commit");
    assert_eq!(told.data["entries"][0]["after"]["subject"], "One");
    let path = "/api/v1/lists/L/tasks/1/claim";
    let claimed = [&here, &there].map(|served| {
        let agent = format!("of-{}", served.port());
        served.line().ask("POST", path, &[("Taskyard-Agent", &agent)], Some(json!({}))).status
    });
    assert_eq!(claimed, [200, 409]);
    let mut elsewhere = Listener::open(&here, "/api/v1/lists/L/events", Some(&told.id));
    assert_eq!(elsewhere.next_named("commit").data["entries"][0]["op"], "claim");
}

#[test]
fn documents_folders_and_memory_are_served_alike() {
    for store in ["memory:", "document:tasks.json", "teaching:.tasks"] {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let served = on(&home, store);
        let contract = served.contract();
        let mut listener = Listener::open(&served, "/api/v1/lists/L/events", None);
        listener.next();
        served.line().create("One");
        assert_eq!(listener.next_named("commit").data["revision"], 1, "{store}");
        let listed = served.line().get("/api/v1/lists/L/tasks");
        contract.hold("GET", "/api/v1/lists/L/tasks", &listed);
        assert_eq!(listed.json()["tasks"][0]["subject"], "One", "{store}");
    }
}

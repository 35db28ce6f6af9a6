//! What every operation answers, held against the document that describes it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::web::contract::Contract;
use crate::web::served::{Line, Response, Served};

const L: &str = "/api/v1/lists/L";

/// A client that uses the API and holds every answer against what is promised.
struct User {
    line: Line,
    contract: Contract,
    used: BTreeSet<String>,
}

impl User {
    fn of(served: &Served) -> Self {
        Self { line: served.line(), contract: served.contract(), used: BTreeSet::new() }
    }

    fn ask_as(&mut self, agent: &str, method: &str, path: &str, body: Option<Value>) -> Response {
        let response = self.line.ask(method, path, &[("Taskyard-Agent", agent)], body);
        self.used.insert(self.contract.hold(method, path, &response));
        assert_eq!(response.header("location").is_some(), response.status == 201, "{method} {path}: {response:?}");
        response
    }

    fn get(&mut self, path: &str) -> Value {
        let response = self.ask_as("ana", "GET", path, None);
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }

    fn does(&mut self, method: &str, path: &str, body: Value) -> Value {
        let response = self.ask_as("ana", method, path, Some(body));
        assert!((200..300).contains(&response.status), "{method} {path}: {response:?}");
        response.json()
    }

    fn post(&mut self, path: &str, body: Value) -> Value {
        self.does("POST", path, body)
    }
}

fn ids(tasks: &Value) -> Vec<&str> {
    tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
}

#[test]
fn every_operation_answers_as_it_is_described() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::with(&home, "--allow-exec");
    let mut user = User::of(&served);
    tasks(&mut user);
    moves(&mut user);
    claims(&mut user);
    the_past(&mut user);
    lists(&mut user);
    jobs(&mut user);
    teams(&mut user);
    access(&mut user);
    let streams = ["followList".to_owned(), "followAll".to_owned()];
    let missing: Vec<String> = user
        .contract
        .operations()
        .into_iter()
        .filter(|one| !user.used.contains(one) && !streams.contains(one))
        .collect();
    assert!(missing.is_empty(), "nobody used {missing:?}");
}

fn tasks(user: &mut User) {
    let made = user.post(&format!("{L}/tasks"), json!({
        "subject": "Design", "description": "-", "priority": "high", "tags": ["db"], "due": "2030-01-01", "metadata": {"x": [1]},
    }));
    assert_eq!(made["task"]["description"], "-", "nobody reads the server's stdin");
    let made = user.ask_as("ana", "POST", "/api/v1/lists/a%20b/tasks", Some(json!({"subject": "Elsewhere"})));
    let location = made.header("location").unwrap().to_owned();
    assert_eq!(location, "/api/v1/lists/a%20b/tasks/1");
    assert_eq!(user.get(&location)["task"]["subject"], "Elsewhere");
    let made = user.get(&format!("{L}/tasks/1"));
    assert_eq!(made["task"]["metadata"]["x"], json!([1]));
    user.post(&format!("{L}/tasks"), json!({"subject": "Build", "blockedBy": ["1"]}));
    let batch = json!({"tasks": [{"name": "a", "subject": "Alpha"}, {"subject": "Beta", "blockedBy": ["a"]}]});
    assert_eq!(user.post(&format!("{L}/batch"), batch)["names"]["a"], "3");
    let drawn = user.post(&format!("{L}/batch"), json!({"markdown": "- [ ] Gamma\n", "dryRun": true}));
    assert_eq!(drawn["dryRun"], true);
    let chosen = user.get(&format!("{L}/tasks?query=tag:db&sort=-id&limit=5&status=pending"));
    assert_eq!(ids(&chosen["tasks"]), ["1"]);
    assert_eq!(user.get(&format!("{L}/tasks/2"))["openBlockers"][0]["id"], "1");
    let changed =
        user.does("PATCH", &format!("{L}/tasks/1"), json!({"subject": "Design it", "owner": "ana", "addTags": ["x"]}));
    assert_eq!(changed["changes"][0], json!({"field": "subject", "from": "Design", "to": "Design it"}));
    let freed = user.does("PATCH", &format!("{L}/tasks/1"), json!({"owner": ""}));
    assert!(freed["task"].get("owner").is_none());
    let several = user.does("PATCH", &format!("{L}/tasks"), json!({"ids": ["3-4"], "priority": "low"}));
    assert_eq!(ids(&several["tasks"]), ["3", "4"]);
    let one = user.does("PATCH", &format!("{L}/tasks"), json!({"ids": ["3"], "priority": "low"}));
    assert_eq!(ids(&one["tasks"]), ["3"], "one of several is answered for as several are");
    user.post(&format!("{L}/tasks/1/notes"), json!({"text": "-"}));
    user.does("DELETE", &format!("{L}/tasks/4?withParts=true"), json!({}));
    user.post(&format!("{L}/delete"), json!({"where": "Alpha"}));
    for (method, path, body, status, code) in [
        ("GET", format!("{L}/tasks/99"), None, 404, "task_not_found"),
        ("GET", format!("{L}/tasks/a%2Fb"), None, 400, "bad_id"),
        ("GET", format!("{L}/tasks?colour=red"), None, 400, "bad_input"),
        ("GET", format!("{L}/tasks?query=tag%3A"), None, 400, "bad_query"),
        ("POST", format!("{L}/tasks"), Some(json!({"subject": " "})), 400, "empty_subject"),
        ("POST", format!("{L}/tasks"), Some(json!({"subjekt": "x"})), 400, "bad_input"),
        ("PATCH", format!("{L}/tasks/1"), Some(json!({})), 400, "nothing_given"),
        ("PATCH", format!("{L}/tasks/1"), Some(json!({"addBlockedBy": ["1"]})), 409, "self_edge"),
    ] {
        let refused = user.ask_as("ana", method, &path, body);
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{method} {path}");
    }
}

fn moves(user: &mut User) {
    let blocked = user.ask_as("ana", "POST", &format!("{L}/tasks/2/start"), Some(json!({})));
    assert_eq!((blocked.status, blocked.json()["error"]["blockedBy"].clone()), (409, json!(["1"])));
    user.post(&format!("{L}/tasks/1/start"), json!({}));
    assert_eq!(user.post(&format!("{L}/tasks/1/done"), json!({}))["nowReady"], json!(["2"]));
    user.post(&format!("{L}/tasks/1/reopen"), json!({}));
    user.post(&format!("{L}/tasks/2/cancel"), json!({}));
    user.post(&format!("{L}/reopen"), json!({"ids": ["2"]}));
    let circle = user.ask_as("ana", "POST", &format!("{L}/tasks/1/dependencies"), Some(json!({"on": ["2"]})));
    assert_eq!((circle.status, circle.code().as_str()), (409, "cycle"));
    user.does("DELETE", &format!("{L}/tasks/2/dependencies?on=1"), json!({}));
    user.post(&format!("{L}/tasks/2/dependencies"), json!({"on": ["1"]}));
    let some = user.post(&format!("{L}/start"), json!({"ids": ["1", "2", "77"], "keepGoing": true}));
    assert_eq!(some["refused"].as_array().unwrap().len(), 2);
    user.post(&format!("{L}/done"), json!({"where": "status:in_progress"}));
    user.post(&format!("{L}/cancel"), json!({"ids": ["2"]}));
    assert_eq!(user.post(&format!("{L}/done"), json!({"where": "tag:none"}))["tasks"], json!([]));
}

fn claims(user: &mut User) {
    for subject in ["One", "Two", "Three", "Four"] {
        user.post(&format!("{L}/tasks"), json!({"subject": subject, "tags": ["claims"]}));
    }
    let won = user.post(&format!("{L}/claim-next"), json!({"where": "tag:claims", "ttl": "10m"}));
    let (id, token) = (won["task"]["id"].as_str().unwrap().to_owned(), won["token"].as_u64().unwrap());
    let lost = user.ask_as("bob", "POST", &format!("{L}/tasks/{id}/claim"), Some(json!({})));
    assert_eq!((lost.status, lost.json()["reason"].as_str()), (409, Some("already_claimed")));
    assert_eq!((lost.code().as_str(), &lost.json()["error"]["owner"]), ("already_claimed", &json!("ana")));
    let some = user.ask_as("bob", "POST", &format!("{L}/claim"), Some(json!({"ids": [id], "keepGoing": true})));
    assert_eq!((some.status, some.json()["refused"][0]["reason"].as_str()), (200, Some("already_claimed")));
    let nowhere = user.ask_as("bob", "POST", &format!("{L}/tasks/99/claim"), Some(json!({})));
    assert_eq!((nowhere.status, nowhere.json()["reason"].as_str()), (404, Some("task_not_found")));
    assert_eq!(nowhere.code(), "task_not_found");
    let leased = user.ask_as("bob", "PATCH", &format!("{L}/tasks/{id}"), Some(json!({"subject": "x"})));
    assert_eq!((leased.status, leased.code().as_str()), (409, "leased"));
    user.post(&format!("{L}/tasks/{id}/renew"), json!({"token": token, "ttl": "20m"}));
    let stale = user.ask_as("bob", "POST", &format!("{L}/tasks/{id}/done"), Some(json!({"token": token + 7})));
    assert_eq!((stale.status, stale.code().as_str()), (409, "stale_token"));
    user.post(&format!("{L}/tasks/{id}/release"), json!({"token": token}));
    let both = user.post(&format!("{L}/claim"), json!({"where": "tag:claims", "keepGoing": true}));
    assert_eq!(both["claims"].as_array().unwrap().len(), 4);
    let ids: Vec<&str> =
        both["claims"].as_array().unwrap().iter().map(|claim| claim["task"].as_str().unwrap()).collect();
    let released = user.post(&format!("{L}/release"), json!({"ids": ids}));
    assert_eq!(released["tasks"].as_array().unwrap().len(), 4);
    user.ask_as("bob", "POST", &format!("{L}/claim-next"), Some(json!({"wait": "1s"})));
    for (path, body) in [
        (format!("{L}/tasks/{id}/claim"), json!({"ttl": "0s"})),
        (format!("{L}/claim-next"), json!({"ttl": "0s"})),
        (format!("{L}/tasks/{id}/renew"), json!({"ttl": "0s", "token": token})),
    ] {
        let refused = user.ask_as("ana", "POST", &path, Some(body));
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad_duration"), "{path}");
    }
    let bob = user.get(&format!("{L}/agents/bob"))["agent"].clone();
    assert_eq!((&bob["state"], &bob["tasks"][0]["lease"]), (&json!("running"), &json!("live")));
    assert_eq!(user.get(&format!("{L}/agents"))["agents"], json!([bob]));
    let zoe = user.ask_as("ana", "GET", &format!("{L}/agents/zoe"), None);
    assert_eq!((zoe.status, zoe.code().as_str()), (404, "agent_not_found"));
    let left = user.post(&format!("{L}/agents/bob/release"), json!({"reason": "terminated"}));
    assert_eq!(left["unassignedTasks"].as_array().unwrap().len(), 1);
}

fn the_past(user: &mut User) {
    let entries = user.get(&format!("{L}/history?limit=3"))["entries"].clone();
    let newest = entries.as_array().unwrap().last().unwrap()["revision"].as_u64().unwrap();
    assert!(!user.get(&format!("{L}/tasks/1/history"))["entries"].as_array().unwrap().is_empty());
    assert_eq!(user.get(&format!("{L}/history?since={}", u64::MAX))["entries"], json!([]));
    backwards(user, newest);
    let before = user.get(&format!("{L}/tasks/1"))["task"]["subject"].clone();
    user.does("PATCH", &format!("{L}/tasks/1"), json!({"subject": "Changed"}));
    let unclear = user.ask_as("ana", "POST", &format!("{L}/undo"), Some(json!({})));
    assert_eq!((unclear.status, unclear.code().as_str()), (400, "bad_input"), "whose change it is must be said");
    let done = user.ask_as("bot", "PATCH", &format!("{L}/tasks/2"), Some(json!({"subject": "Also changed"})));
    assert_eq!(done.header("taskyard-revision"), Some((newest + 2).to_string().as_str()));
    let undone = user.post(&format!("{L}/undo"), json!({"mine": true}));
    assert_eq!((undone["undone"].clone(), undone["tasks"][0]["subject"].clone()), (json!([newest + 1]), before));
    assert_eq!(undone["actors"], json!(["ana"]));
    let redone = user.post(&format!("{L}/undo"), json!({"revision": undone["revision"]}));
    assert_eq!(redone["tasks"][0]["subject"], "Changed");
    assert!(!user.get(&format!("{L}/restorable?deleted=true"))["restorable"].as_array().unwrap().is_empty());
    assert_eq!(ids(&user.post(&format!("{L}/restore"), json!({"ids": ["3"], "deleted": true}))["tasks"]), ["3"]);
}

/// Reads the whole journal from its end, and finds every revision once.
fn backwards(user: &mut User, newest: u64) {
    let (mut before, mut revisions) = (u64::MAX, Vec::new());
    loop {
        let page = user.get(&format!("{L}/history?limit=4&before={before}"))["entries"].clone();
        let mut found: Vec<u64> =
            page.as_array().unwrap().iter().map(|entry| entry["revision"].as_u64().unwrap()).collect();
        found.dedup();
        let Some(oldest) = found.first() else { break };
        assert!(found.len() <= 4 && found.is_sorted());
        before = *oldest;
        revisions.extend(found.into_iter().rev());
    }
    assert_eq!(revisions, (1..=newest).rev().collect::<Vec<_>>());
}

fn lists(user: &mut User) {
    let page = user.get("/api/v1/lists?limit=1");
    assert_eq!((&page["lists"][0]["list"], &page["more"]), (&json!("L"), &json!(true)));
    let rest = user.get("/api/v1/lists?limit=10&after=L");
    assert_eq!((&rest["lists"][0]["list"], &rest["more"]), (&json!("a-b"), &json!(false)));
    let one = user.get(L);
    assert_eq!((&one["list"], &one["counts"]), (&json!("L"), &page["lists"][0]["counts"]));
    let none = user.ask_as("ana", "GET", "/api/v1/lists/none", None);
    assert_eq!((none.status, none.code().as_str()), (404, "list_not_found"));
    assert_eq!(user.get("/api/v1/where")["list"], "L");
    let me = user.get("/api/v1/whoami");
    assert!(me["agent"].is_string() && me["source"].is_string(), "{me}");
    user.get(&format!("{L}/stats"));
    user.get(&format!("{L}/ready?limit=1"));
    assert_eq!(user.get(&format!("{L}/search?query=Three"))["hits"][0]["field"], "subject");
    assert_eq!(user.get("/api/v1/search?query=Three")["hits"][0]["list"], "L");
    assert!(user.get(&format!("{L}/graph?format=mermaid"))["graph"].as_str().unwrap().starts_with("flowchart"));
    let picture = user.ask_as("ana", "GET", &format!("{L}/graph.svg"), None);
    assert!(picture.header("content-type") == Some("image/svg+xml") && picture.body.starts_with("<svg"));
    user.get(&format!("{L}/doctor"));
    user.post(&format!("{L}/doctor"), json!({}));
    let text = user.get(&format!("{L}/export?to=jsonl"))["text"].as_str().unwrap().to_owned();
    assert!(text.lines().count() > 3);
    let read = json!({"from": "markdown", "text": "- [ ] From elsewhere\n", "source": "plan.md"});
    assert_eq!(user.post("/api/v1/lists/other/import", read)["counts"]["created"], 1);
    assert_eq!(user.post(&format!("{L}/merge"), json!({"from": "other"}))["tasks"].as_array().unwrap().len(), 1);
    user.post("/api/v1/lists/boat/tasks", json!({"subject": "Sails +rig pri:high", "inline": true}));
    let renamed = user.post("/api/v1/lists/boat/rename", json!({"to": "ship"}));
    assert_eq!((&renamed["list"], &renamed["tasks"]), (&json!("ship"), &json!(1)));
    let moved = user.get("/api/v1/lists/ship/tasks/1")["task"].clone();
    assert_eq!((&moved["subject"], &moved["metadata"]["tags"]), (&json!("Sails"), &json!(["rig"])));
    user.post("/api/v1/lists/ship/tasks/1/claim", json!({}));
    let used = user.ask_as("ana", "DELETE", "/api/v1/lists/ship", None);
    assert_eq!((used.status, used.code().as_str()), (409, "list_in_use"));
    assert_eq!(user.does("DELETE", "/api/v1/lists/ship?force=true", json!({}))["tasks"], 1);
    let gone = user.ask_as("ana", "DELETE", "/api/v1/lists/nowhere", None);
    assert_eq!((gone.status, gone.code().as_str()), (404, "list_not_found"));
    assert!(!user.post(&format!("{L}/clear"), json!({"force": true}))["tasks"].as_array().unwrap().is_empty());
}

fn jobs(user: &mut User) {
    user.post(&format!("{L}/tasks"), json!({"subject": "Test it"}));
    let started =
        user.post(&format!("{L}/jobs"), json!({"command": ["sh", "-c", "echo said; sleep 600"], "name": "test"}));
    let job = started["job"]["id"].as_str().unwrap().to_owned();
    assert_eq!(user.get("/api/v1/jobs?running=true")["jobs"][0]["id"], *job);
    assert_eq!(user.get(&format!("{L}/jobs"))["jobs"][0]["agent"], "ana");
    assert_eq!(user.post(&format!("/api/v1/jobs/{job}/stop"), json!({}))["stopped"], true);
    let read = user.get(&format!("/api/v1/jobs/{job}/output?wait=5s"));
    assert_eq!(read["job"]["status"], "killed");
    let nothing = user.ask_as("ana", "GET", "/api/v1/jobs/none/output", None);
    assert_eq!((nothing.status, nothing.code().as_str()), (404, "job_not_found"));
    user.post("/api/v1/jobs/tidy", json!({"olderThan": "0s"}));
}

fn teams(user: &mut User) {
    user.post("/api/v1/teams", json!({"name": "alpha", "description": "the first"}));
    let joined = user.ask_as("bob", "POST", "/api/v1/teams/alpha/members", Some(json!({})));
    assert_eq!((joined.status, joined.json()["agent"].as_str()), (201, Some("bob")));
    assert_eq!(user.get("/api/v1/teams")["teams"][0]["team"], "alpha");
    assert_eq!(user.get("/api/v1/teams/alpha")["members"].as_array().unwrap().len(), 2);
    user.post("/api/v1/messages", json!({"to": "bob", "text": "-"}));
    user.post("/api/v1/messages", json!({"to": "*", "text": "to all"}));
    assert_eq!(user.get("/api/v1/messages")["messages"].as_array().unwrap().len(), 2);
    let inbox = user.ask_as("bob", "POST", "/api/v1/inbox", Some(json!({"acknowledge": true})));
    assert_eq!(inbox.json()["messages"][0]["text"], "-");
    let nobody = user.ask_as("ana", "POST", "/api/v1/messages", Some(json!({"to": "zoe", "text": "x"})));
    assert!([404, 409].contains(&nobody.status), "{nobody:?}");
    user.ask_as("ana", "DELETE", "/api/v1/teams/alpha/members/bob?reason=terminated", None);
    user.does("DELETE", "/api/v1/teams/alpha?force=true", json!({}));
    let todos = json!({"todos": [{"content": "Do it", "status": "pending", "activeForm": "Doing it"}]});
    user.does("PUT", "/api/v1/todos", todos);
    assert_eq!(user.get("/api/v1/todos")["todos"][0]["content"], "Do it");
}

fn access(user: &mut User) {
    assert!(user.post("/api/v1/tokens", json!({"name": "ci", "scope": "work", "expires": "1h"}))["token"].is_string());
    assert_eq!(user.get("/api/v1/tokens")["tokens"][0]["name"], "ci");
    user.does("DELETE", "/api/v1/tokens/ci", json!({}));
    let logged_out = user.ask_as("ana", "POST", "/api/v1/logout", Some(json!({})));
    assert_eq!(logged_out.code(), "no_browser");
    let link = user.post("/api/v1/links", json!({}))["link"].as_str().unwrap().to_owned();
    let path = &link[link.find("/open/").unwrap()..];
    let statuses: Vec<u16> = (0..2).map(|_| user.ask_as("ana", "GET", path, None).status).collect();
    assert_eq!(statuses, [200, 410], "it opens one browser, once");
}

#[test]
fn actor_comes_from_request_then_token_then_server() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let made = home.ask("token create ci --scope work");
    let mut named = served.line_with(made["token"].as_str().unwrap());
    let task = json!({"subject": "One"});
    let path = format!("{L}/tasks");
    served.line().ask("POST", &path, &[], Some(task.clone()));
    named.ask("POST", &path, &[], Some(task.clone()));
    named.ask("POST", &path, &[("Taskyard-Agent", "bob")], Some(task));
    let entries = home.ask("history")["entries"].clone();
    let actors: Vec<&str> = entries.as_array().unwrap().iter().map(|entry| entry["actor"].as_str().unwrap()).collect();
    assert_eq!(actors, ["uma", "ci", "bob"]);
}

#[test]
fn a_request_that_is_sent_again_with_its_key_is_not_done_again() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    let path = format!("{L}/tasks");
    let make = |line: &mut Line, key: &str, subject: &str| {
        line.ask("POST", &path, &[("Idempotency-Key", key)], Some(json!({ "subject": subject })))
    };
    let first = make(&mut line, "k1", "One");
    let again = make(&mut served.line(), "k1", "One");
    assert_eq!((first.status, &first.body), (201, &again.body));
    let other = make(&mut line, "k1", "Another");
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency_key_reused"));
    served.contract().hold("POST", &path, &other);
    let elsewhere =
        line.ask("POST", "/api/v1/lists/M/tasks", &[("Idempotency-Key", "k1")], Some(json!({"subject": "One"})));
    assert_eq!(elsewhere.status, 422);
    assert_eq!(make(&mut line, "k2", "One").json()["task"]["id"], "2");
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn commands_are_started_only_where_the_server_was_told_so() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let refused = served.line().post(&format!("{L}/jobs"), json!({"command": ["true"]}));
    assert_eq!((refused.status, refused.code().as_str()), (403, "exec_not_allowed"));
    assert_eq!(home.ask("job list")["jobs"], json!([]));
}

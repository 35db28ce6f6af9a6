//! Requests that wait: they end with their caller, and take nothing for one that has left.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use taskyard_testkit::{Home, finishes, wait_until};

use crate::web::served::{Line, Served};

const CLAIM_NEXT: &str = "/api/v1/lists/L/claim-next";
/// More than can wait at once.
const MANY: usize = 70;

/// Sends a request for an agent, and does not wait for the answer.
fn begin(served: &Served, agent: &str, method: &str, path: &str, body: Option<Value>) -> Line {
    let mut line = served.line();
    let proof = format!("Bearer {}", served.token);
    let headers = [
        ("Host", served.address.as_str()),
        ("Authorization", &proof),
        ("Taskyard-Agent", agent),
        ("Content-Type", "application/json"),
    ];
    line.send(method, path, &headers, body.map(|body| body.to_string()).unwrap_or_default().as_bytes());
    line
}

/// Returns how many requests sleep.
fn sleeping(served: &Served) -> usize {
    let page = served.line().get("/metrics").body;
    let told = page.lines().find_map(|line| line.strip_prefix("taskyard_requests_sleeping "));
    told.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
}

/// Returns how many connections to a server it has not closed yet.
fn connections(served: &Served) -> usize {
    let (_, port) = served.address.rsplit_once(':').unwrap();
    let local = format!(":{:04X}", port.parse::<u16>().unwrap());
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let is_open = |line: &&str| {
        let mut columns = line.split_whitespace().skip(1);
        // Established, or closed by the client alone.
        columns.next().is_some_and(|own| own.ends_with(&local)) && matches!(columns.nth(1), Some("01" | "08"))
    };
    table.lines().filter(is_open).count()
}

#[test]
fn a_claim_that_waits_ends_with_its_caller() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    for number in 0..MANY {
        let waiting = begin(&served, "ghost", "POST", CLAIM_NEXT, Some(json!({ "wait": "60s" })));
        if number % 2 == 0 {
            wait_until("a seat", || sleeping(&served) > 0);
        }
        drop(waiting);
    }
    wait_until("the end of every wait", || sleeping(&served) == 0);
    served.line().create("One");
    let claimed = served.line().ask("POST", CLAIM_NEXT, &[("Taskyard-Agent", "ben")], Some(json!({ "wait": "1s" })));
    assert_eq!((claimed.status, &claimed.json()["agent"]), (200, &json!("ben")), "{claimed:?}");
    let entries = home.ask("history")["entries"].clone();
    let claims = entries.as_array().unwrap().iter().filter(|entry| entry["op"] == "claim");
    assert_eq!(claims.map(|entry| entry["actor"].clone()).collect::<Vec<_>>(), ["ben"]);
}

#[test]
fn a_wait_for_a_job_ends_with_its_caller() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("job run -- sleep 600");
    let job = home.ask("job list")["jobs"][0]["id"].as_str().unwrap().to_owned();
    let served = Served::start(&home);
    let path = format!("/api/v1/jobs/{job}/output?wait=60s");
    let waiting = begin(&served, "ana", "GET", &path, None);
    wait_until("the wait", || sleeping(&served) == 1);
    drop(waiting);
    wait_until("its end", || sleeping(&served) == 0);
    home.run(&format!("job stop {job}"));
}

#[test]
fn a_claim_whose_answer_cannot_be_sent_is_given_back() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    served.line().create("One");
    wait_until("the end of the first connection", || connections(&served) == 0);
    // A rival holds the task while the claim is made, and its caller leaves meanwhile.
    let lock = home.list("L").join("1.json.lock");
    fs::create_dir(&lock).unwrap();
    let claiming = begin(&served, "ghost", "POST", "/api/v1/lists/L/tasks/1/claim", Some(json!({})));
    wait_until("the connection", || connections(&served) == 1);
    drop(claiming);
    wait_until("the end of the connection", || connections(&served) == 0);
    fs::remove_dir(&lock).unwrap();
    let claim = || {
        let headers = [("Taskyard-Agent", "ben")];
        served.line().ask("POST", "/api/v1/lists/L/tasks/1/claim", &headers, Some(json!({}))).status
    };
    wait_until("the task", || claim() == 200);
}

#[test]
fn a_server_that_ends_answers_those_that_wait() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("job run -- sleep 600");
    let job = home.ask("job list")["jobs"][0]["id"].as_str().unwrap().to_owned();
    let served = Served::start(&home);
    let mut claiming = begin(&served, "ana", "POST", CLAIM_NEXT, Some(json!({ "wait": "60s" })));
    let mut looking = begin(&served, "ana", "GET", &format!("/api/v1/jobs/{job}/output?wait=60s"), None);
    wait_until("both waits", || sleeping(&served) == 2);
    served.signal(Signal::TERM);
    for line in [&mut claiming, &mut looking] {
        let answer = line.response();
        assert_eq!((answer.status, answer.code().as_str()), (503, "cancelled"), "{answer:?}");
    }
    assert_eq!(finishes(move || served.end()), Some(143));
    home.run(&format!("job stop {job}"));
}

//! Requests that are too large, too slow, or too many.

use std::time::{Duration, Instant};

use serde_json::json;
use taskyard_testkit::{Home, PATIENCE, Scale, is_once_within};

use crate::web::served::Served;

const TASKS: &str = "/api/v1/lists/L/tasks";

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let contract = served.contract();
    let proof = format!("Bearer {}", served.token);
    let head = |length: &str| {
        format!(
            "POST {TASKS} HTTP/1.1\r\nHost: {}\r\nAuthorization: {proof}\r\nContent-Type: application/json\r\n{length}\r\n\r\n",
            served.address
        )
    };
    let mut line = served.line();
    line.write(head("Content-Length: 999999999999").as_bytes());
    let refused = line.response();
    contract.hold("POST", TASKS, &refused);
    assert_eq!((refused.status, refused.code().as_str()), (413, "too_large"));
    let mut line = served.line();
    line.write(head("Transfer-Encoding: chunked").as_bytes());
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        line.write(chunk.as_bytes());
    }
    assert_eq!(line.response().status, 413);
    let fits = "x".repeat(900_000);
    assert_eq!(served.line().post(TASKS, json!({"subject": "One", "description": fits})).status, 201);
    let mut line = served.line();
    let target = format!("{TASKS}?query={}", "x".repeat(100_000));
    assert!([414, 431].contains(&line.get(&target).status));
}

#[test]
fn what_is_no_json_or_no_object_is_refused() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let contract = served.contract();
    let proof = format!("Bearer {}", served.token);
    let post = |kind: &str, body: &[u8]| {
        let headers = [("Host", served.address.as_str()), ("Authorization", proof.as_str()), ("Content-Type", kind)];
        let response = served.line().bare("POST", TASKS, &headers, body);
        contract.hold("POST", TASKS, &response);
        response.status
    };
    assert_eq!(post("text/plain", b"{}"), 415);
    for body in [&b"{"[..], b"[]", b"null", b"\xff\xfe", b"{\"subject\": 7}", b"{\"subject\": null}", b""] {
        assert_eq!(post("application/json", body), 400, "{}", String::from_utf8_lossy(body));
    }
    assert_eq!(post("application/json; charset=utf-8", br#"{"subject":"One"}"#), 201);
    let deep = format!("{{\"subject\":\"x\",\"metadata\":{{\"a\":{}1{}}}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(post("application/json", deep.as_bytes()), 400);
}

/// The change of resident memory, in bytes, that says nothing.
const NOISE: u64 = 8 * 1024 * 1024;

#[test]
fn names_that_are_asked_for_take_no_memory() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let token = home.ask("token create reader --scope read")["token"].as_str().unwrap().to_owned();
    let mut line = served.line_with(&token);
    let mut ask = |from: usize, count: usize| {
        for number in from..from + count {
            let agent = format!("agent-{number}");
            let headers = [("Taskyard-Agent", agent.as_str())];
            for path in [format!("/api/v1/lists/list-{number}/tasks"), format!("/api/v1/teams/team-{number}")] {
                assert!(line.ask("GET", &path, &headers, None).status < 500, "{path}");
            }
        }
    };
    let count = Scale::from_environment(0.1).of(20_000);
    ask(0, 500);
    let before = served.memory();
    ask(500, count);
    let grown = served.memory().saturating_sub(before);
    assert!(grown < NOISE, "{} kB for {count} names", grown / 1024);
}

#[test]
fn an_idempotency_key_has_a_longest_length() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let make =
        |key: &str| served.line().ask("POST", TASKS, &[("Idempotency-Key", key)], Some(json!({ "subject": "One" })));
    assert_eq!(make(&"k".repeat(255)).status, 201);
    let refused = make(&"k".repeat(256));
    assert_eq!((refused.status, refused.code().as_str()), (400, "bad_idempotency_key"));
}

#[test]
fn those_who_send_slowly_keep_nobody_waiting() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let proof = format!("Bearer {}", served.token);
    let head = format!(
        "POST {TASKS} HTTP/1.1\r\nHost: {}\r\nAuthorization: {proof}\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n{{",
        served.address
    );
    let mut slow = Vec::new();
    // A stranger has ten seconds, so those who waited for strangers would take longer.
    is_once_within(Duration::from_secs(10), "twenty creates beside those who send slowly", || {
        let dawdle = |number: usize| {
            let mut line = served.line();
            // Some send half of a head, some half of a body.
            line.write(if number.is_multiple_of(2) { head.as_bytes() } else { &head.as_bytes()[..60] });
            line
        };
        slow = (0..64).map(dawdle).collect();
        let began = Instant::now();
        (0..20).for_each(|_| drop(served.line().create("Meanwhile")));
        began.elapsed()
    });
    assert!(slow[1].is_closed_within(PATIENCE));
}

//! Messages that make no sense: the server goes on, and says what is wrong where that can be said.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;

use serde_json::{Value, json};
use taskyard::core::json_text::from_slice;
use taskyard_testkit::{Home, Random, Scale, finishes};

use crate::mcp::http::Served;
use crate::stdio::Piped;

const METHODS: [&str; 16] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "notifications/initialized",
    "notifications/cancelled",
    "no/such/method",
];

/// Writes a value down, with numbers that no value of ours holds.
fn written(value: &Value) -> String {
    value.to_string().replace("\"@", "").replace("@\"", "")
}

/// Returns a value of any type, nested a little; [`written`] makes numbers of what stands between signs.
fn value(random: &mut Random, depth: usize) -> Value {
    let words =
        ["", "taskId", "TaskUpdate", "name", "arguments", "_meta", "uri", "taskyard://task/1", "\u{0}\u{ffff}😀", "1"];
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(1_000)),
        3 => {
            let numbers = ["-1", "1e400", "0.1", "123456789012345678901234567890", "-0"];
            json!(format!("@{}@", random.pick(&numbers)))
        }
        4 | 5 => json!(random.pick(&words)),
        6 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let field = |random: &mut Random| ((*random.pick(&words)).to_owned(), value(random, depth - 1));
            Value::Object((0..random.below(4)).map(|_| field(random)).collect())
        }
    }
}

/// Returns a message that looks like one, with something in it that does not belong there.
fn message(random: &mut Random) -> String {
    let mut message = json!({ "jsonrpc": "2.0", "method": random.pick(&METHODS), "params": value(random, 4) });
    if random.below(4) > 0 {
        message["id"] = match random.below(4) {
            0 => value(random, 1),
            _ => json!(format!("f{}", random.below(1_000))),
        };
    }
    if random.below(3) == 0 {
        let tools = [
            "TaskCreate",
            "TaskGet",
            "TaskUpdate",
            "TaskList",
            "TaskClaim",
            "TaskRelease",
            "TodoWrite",
            "TaskOutput",
            "TaskStop",
            "TaskRun",
            "KillShell",
        ];
        message["method"] = json!("tools/call");
        message["params"] =
            json!({ "name": random.pick(&tools), "arguments": value(random, 3), "_meta": value(random, 2) });
    }
    if random.below(10) == 0 {
        let keys = ["jsonrpc", "method", "params", "id"];
        message[*random.pick(&keys)] = value(random, 2);
    }
    written(&message)
}

/// Returns a line of one of the ways in which lines go wrong.
fn line(random: &mut Random) -> Vec<u8> {
    let mut line = match random.below(6) {
        0 => (0..random.below(200)).map(|_| random.below(256) as u8).filter(|byte| *byte != b'\n').collect(),
        1 => {
            let message = message(random).into_bytes();
            message[..random.below(message.len())].to_vec()
        }
        2 => {
            let mut message = message(random).into_bytes();
            let place = random.below(message.len());
            message[place] = random.below(256) as u8;
            message.retain(|byte| *byte != b'\n');
            message
        }
        _ => message(random).into_bytes(),
    };
    line.push(b'\n');
    line
}

fn deep(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"TaskCreate","arguments":{{"metadata":{open}{close}}}}}}}"#
    )
}

fn huge(size: usize) -> String {
    let text = "x".repeat(size);
    format!(
        r#"{{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{{"name":"TaskCreate","arguments":{{"subject":"{text}","description":""}}}}}}"#
    )
}

/// Starts a server whose complaints go to a file.
fn complaining(home: &Home) -> (Piped, PathBuf) {
    let complaints = home.path().join("complaints");
    let mut command = home.command("mcp");
    command.stderr(File::create(&complaints).unwrap());
    (Piped::spawn_quiet(command), complaints)
}

fn is_calm(complaints: &PathBuf) {
    let told = fs::read_to_string(complaints).unwrap();
    assert!(!told.contains("panicked"), "{told}");
}

#[test]
fn whatever_comes_over_a_pipe_the_server_goes_on() {
    for seed in 0..Scale::from_environment(0.05).of(100) as u64 {
        finishes(move || {
            let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
            let (mut server, complaints) = complaining(&home);
            let mut random = Random::new(seed + 1);
            // Before the client has said which version it speaks, and after.
            for _ in 0..20 {
                let garbage: Vec<u8> = line(&mut random);
                if !String::from_utf8_lossy(&garbage).contains("initialize") {
                    server.write(&garbage);
                }
            }
            let mut server = server.initialized();
            for _ in 0..200 {
                server.write(&line(&mut random));
                if random.below(20) == 0 {
                    server.ask("ping", json!({}));
                }
            }
            for odd in [deep(100), deep(100_000), String::new(), " ".into(), "[]".into(), "null".into()] {
                server.write(format!("{odd}\n").as_bytes());
            }
            assert!(server.call("TaskList", json!({})).starts_with(['#', 'N']));
            server.write(br#"{"jsonrpc":"2.0","id":1,"meth"#);
            assert!(server.close().0.success(), "seed {seed}");
            is_calm(&complaints);
        });
    }
}

#[test]
fn every_request_and_invalid_line_is_answered_once() {
    for seed in 0..Scale::from_environment(0.04).of(50) as u64 {
        finishes(move || {
            let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
            let (server, complaints) = complaining(&home);
            let mut server = server.initialized();
            let mut random = Random::new(seed + 77);
            let (mut waiting, mut unreadable) = (HashSet::new(), 0);
            for number in 0..300 {
                let line = match random.below(3) {
                    0 => line(&mut random),
                    _ => {
                        let id = format!("q{number}");
                        let params = value(&mut random, 4);
                        let message =
                            json!({ "jsonrpc": "2.0", "id": id, "method": random.pick(&METHODS), "params": params });
                        waiting.insert(id);
                        format!("{message}\n").into_bytes()
                    }
                };
                let text = String::from_utf8_lossy(&line).into_owned();
                let is_json = std::str::from_utf8(&line).is_ok() && from_slice::<Value>(&line).is_ok();
                unreadable += usize::from(!is_json && !text.trim_ascii().is_empty());
                server.write(&line);
            }
            let last = server.request("ping", json!({}));
            let (mut told, mut is_over) = (0, false);
            while !is_over || !waiting.is_empty() || told < unreadable {
                let message = server.message().unwrap_or_else(|| panic!("seed {seed}: {waiting:?} are not answered"));
                told += usize::from(message["error"]["code"] == -32700);
                is_over |= message["id"] == last;
                if let Some(id) = message["id"].as_str().filter(|id| id.starts_with('q')) {
                    assert!(waiting.remove(id), "seed {seed}: {id} is answered twice");
                }
            }
            assert_eq!(told, unreadable, "seed {seed}");
            assert!(server.close().0.success());
            is_calm(&complaints);
        });
    }
}

/// Returns the answers to one line, as codes and ids.
fn answers_to(line: &[u8]) -> Vec<(Value, Value)> {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "").initialized();
    server.write(line);
    server.write(b"\n");
    let last = server.request("ping", json!({}));
    server.answer(last);
    let answers = server.said.iter().flat_map(|said| said.as_array().cloned().unwrap_or_else(|| vec![said.clone()]));
    answers
        .filter(|said| said.get("error").is_some())
        .map(|said| (said["error"]["code"].clone(), said["id"].clone()))
        .collect()
}

#[test]
fn each_way_of_being_no_message_has_its_answer() {
    let unreadable = || vec![(json!(-32700), Value::Null)];
    let half = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"TaskCreate","arguments":{"subject":"Fix \ud83d","description":""}}}"#;
    assert_eq!(answers_to(b"no json"), unreadable());
    assert_eq!(answers_to(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), unreadable());
    assert_eq!(answers_to(deep(1_000).as_bytes()), unreadable());
    assert_eq!(answers_to(huge(9_000_000).as_bytes()), [(json!(-32600), json!("huge"))]);
    assert_eq!(answers_to(br#"{"id":7}"#), [(json!(-32600), json!(7))]);
    assert_eq!(answers_to(br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), [(json!(-32600), json!(1.5))]);
    assert_eq!(answers_to(br#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#), [(json!(-32600), json!(7))]);
    assert_eq!(answers_to(half), []);
}

#[test]
fn half_surrogate_pair_becomes_replacement_character() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "").initialized();
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"TaskCreate\",\"arguments\":{\"subject\":\"Fix \\ud83d\",\"description\":\"\"}}}\n");
    assert_eq!(server.answer(7)["result"]["isError"], false);
    let served = Served::start(&home);
    let mut line = served.session("x");
    let body = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"TaskCreate","arguments":{"subject":"\ude00 it","description":""}}}"#;
    assert_eq!(line.post(&[], body).status, 200);
    assert_eq!(home.present()["1"]["subject"], "Fix \u{fffd}");
    assert_eq!(home.present()["2"]["subject"], "\u{fffd} it");
}

#[test]
fn http_answers_400_with_error_body_to_non_messages() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    for (body, status, code, id) in [
        (b"no json".to_vec(), 400, -32700, Value::Null),
        (b"\"\xff\"".to_vec(), 400, -32700, Value::Null),
        (Vec::new(), 400, -32700, Value::Null),
        (deep(1_000).into_bytes(), 400, -32700, Value::Null),
        (br#"{"id":7}"#.to_vec(), 400, -32600, json!(7)),
        (huge(2_000_000).into_bytes(), 413, -32700, Value::Null),
    ] {
        for mut line in [served.line("x"), served.session("x")] {
            let response = line.post(&[], &body);
            let told: Value =
                serde_json::from_str(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"));
            assert_eq!(
                (response.status, &told["error"]["code"], &told["id"]),
                (status, &json!(code), &id),
                "{response:?}"
            );
        }
    }
}

#[test]
fn fifty_megabyte_message_is_skipped_and_next_answered() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let (server, complaints) = complaining(&home);
    let mut server = server.initialized();
    server.write(format!("{}\n", huge(50_000_000)).as_bytes());
    assert_eq!(server.call("TaskList", json!({})), "No tasks found");
    assert!(server.close().0.success());
    is_calm(&complaints);
}

#[test]
fn whatever_comes_over_http_the_server_goes_on() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut random = Random::new(7);
    for round in 0..Scale::from_environment(0.05).of(2_000) {
        let body = line(&mut random);
        let mut connection = if round % 2 == 0 { served.line("x") } else { served.session("x") };
        let headers = [("MCP-Protocol-Version", *random.pick(&["2026-07-28", "2025-11-25", "x"]))];
        let response = connection.post(&headers[..random.below(2)], &body);
        // A connection that was closed has no status; one that stays open always has.
        assert!((200..500).contains(&response.status) || response.status == 0, "{response:?}");
    }
    assert_eq!(served.line("x").post(&[], huge(2_000_000).as_bytes()).status, 413);
    let large = served.line("x").post(&[], huge(50_000_000).as_bytes()).status;
    assert!([413, 0].contains(&large), "{large}");
    assert!((400..500).contains(&served.line("x").post(&[], deep(100_000).as_bytes()).status));
    assert_eq!(served.line("x").call("TaskList", json!({}))["isError"], false);
}

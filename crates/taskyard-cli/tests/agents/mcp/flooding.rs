//! More requests than a server can answer at once: they wait for their turn, and it stays small.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Random, Scale, finishes, is_once_within, list_builder, wait_for};

use crate::mcp::http::{Line, Served, a_moment};
use crate::mcp::usage::Usage;
use crate::stdio::Piped;

const CALLS: usize = 10_000;
const IN_FLIGHT: usize = 256;
/// The server turns out strangers that dawdle after this long; a client that had to wait for that would wait longer.
const TURNED_OUT: Duration = Duration::from_secs(5);

fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    list_builder::write_files(&home.list("L"), r#"1 pending {"assignable_to":"nobody"}"#);
    home
}

/// Returns a call of any kind.
fn any_call(random: &mut Random, number: usize) -> (&'static str, Value) {
    match random.below(20) {
        0..4 => ("TaskCreate", json!({ "subject": format!("number {number}"), "description": "x" })),
        4..11 => ("TaskUpdate", json!({ "taskId": "1", "metadata": { format!("k{}", random.below(50)): number } })),
        11..14 => ("TaskClaim", json!({})),
        14..18 => ("TaskGet", json!({ "taskId": "1" })),
        _ => ("TaskList", json!({})),
    }
}

/// Makes calls with so many in flight, and returns the most that the server used meanwhile.
fn flood(served: &Served, calls: usize, in_flight: usize) -> Usage {
    let (made, answered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..in_flight)
        .map(|who| {
            let (made, answered, mut line) =
                (Arc::clone(&made), Arc::clone(&answered), served.line(&format!("a{who}")));
            thread::spawn(move || {
                let mut random = Random::new(who as u64 + 1);
                loop {
                    let number = made.fetch_add(1, Ordering::Relaxed);
                    if number >= calls {
                        return;
                    }
                    let (tool, arguments) = any_call(&mut random, number);
                    assert_eq!(line.call(tool, arguments)["isError"], false, "{tool}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut most = Usage::of(served.pid());
    while !clients.iter().all(thread::JoinHandle::is_finished) {
        let now = Usage::of(served.pid());
        most.descriptors = most.descriptors.max(now.descriptors);
        most.threads = most.threads.max(now.threads);
        a_moment();
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(answered.load(Ordering::Relaxed), calls);
    Usage { peak: Usage::of(served.pid()).peak, ..most }
}

#[test]
fn many_calls_in_flight_need_little_more_than_one() {
    let calls = Scale::from_environment(0.03).of(CALLS);
    let [one, many] = [1, IN_FLIGHT].map(|in_flight| flood(&Served::start(&home()), calls, in_flight));
    assert!(many.peak <= one.peak * 3 / 2, "{one:?} with one in flight, {many:?} with {IN_FLIGHT}");
    assert!(many.threads <= one.threads + 12, "{one:?} with one in flight, {many:?} with {IN_FLIGHT}");
    assert!(many.descriptors <= one.descriptors + IN_FLIGHT + 60, "{one:?} with one in flight, {many:?}");
}

/// Calls a tool as a client does that is told to come again: on a connection of its own, anew where that was closed before an answer.
fn insist(served: &Served, agent: &str, tool: &str, arguments: &Value) -> Value {
    wait_for(&format!("an answer to {tool}"), || match served.line(agent).try_call(tool, arguments.clone()) {
        Ok(result) => Some(result),
        Err(response) => {
            assert_eq!(response.status, 0, "{response:?}");
            None
        }
    })
}

#[test]
fn with_few_descriptors_every_call_is_answered_all_the_same() {
    let home = home();
    let served = Arc::new(Served::with_open_files(&home, 256));
    let clients: Vec<_> = (0..400)
        .map(|who| {
            let served = Arc::clone(&served);
            thread::spawn(move || {
                let (tool, arguments) = any_call(&mut Random::new(who as u64 + 1), who);
                let result = insist(&served, &format!("a{who}"), tool, &arguments);
                assert_eq!(result["isError"], false, "{tool}: {result}");
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert!(Usage::of(served.pid()).descriptors < 256);
}

/// Opens connections that never come to the end of their request.
fn dawdlers(served: &Served, count: usize, say: &[u8]) -> Vec<Line> {
    let dawdle = |_| {
        let mut line = served.line("x");
        line.write(say);
        line
    };
    (0..count).map(dawdle).collect()
}

#[test]
fn slow_strangers_keep_nobody_waiting() {
    let home = home();
    let served = Served::with_open_files(&home, 256);
    let list = || {
        let begun = Instant::now();
        assert_eq!(insist(&served, "ana", "TaskList", &json!({}))["isError"], false);
        begun.elapsed()
    };
    list();
    let large = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{";
    for say in [&b""[..], b"P", b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-A", large] {
        is_once_within(TURNED_OUT, &format!("a list after {:?}", String::from_utf8_lossy(say)), || {
            let _strangers = dawdlers(&served, 300, say);
            let among_them = list();
            assert!(Usage::of(served.pid()).descriptors < 256);
            among_them
        });
    }
}

#[test]
fn a_stranger_that_never_proves_anything_is_turned_out() {
    let home = home();
    let served = Served::start(&home);
    let begun = Instant::now();
    let mut stranger = served.line("x");
    stranger.write(b"POST /mcp HTTP/1.1\r\nX-A: ");
    assert_eq!(stranger.response().status, 0);
    assert!(begun.elapsed() >= TURNED_OUT, "{:?}", begun.elapsed());
}

#[test]
fn a_pipe_full_of_requests_is_read_as_fast_as_they_are_answered() {
    let home = home();
    let mut server = Piped::start(&home, "").initialized();
    let before = Usage::of(server.pid());
    let requests = Scale::from_environment(0.1).of(10_000);
    let mut input = server.take_input();
    let filler = "x".repeat(50_000);
    let writer = thread::spawn(move || {
        for id in 0..requests {
            let message = json!({ "jsonrpc": "2.0", "id": format!("p{id}"), "method": "ping", "params": { "_meta": { "x": filler } } });
            std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).unwrap();
        }
        input
    });
    // The client does not read the answers for a while: then the server does not read the requests either.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        a_moment();
    }
    let during = Usage::of(server.pid());
    assert!(during.peak < before.peak + 48 * 1024, "{before:?} became {during:?}");
    let mut answered = std::collections::HashSet::new();
    while answered.len() < requests {
        let message = server.message().unwrap();
        assert!(answered.insert(message["id"].as_str().unwrap().to_owned()), "{message}");
    }
    // Where its input ends, the server ends, and there is nothing to look at any more.
    let input = writer.join().unwrap();
    let after = Usage::of(server.pid());
    assert!(after.peak < before.peak + 48 * 1024, "{before:?} became {after:?}");
    drop(input);
}

#[test]
fn message_over_the_limit_is_answered_with_its_id() {
    let home = home();
    let mut server = Piped::start(&home, "").initialized();
    let filler = "x".repeat(9 * 1024 * 1024);
    for message in [
        format!(r#"{{"jsonrpc":"2.0","id":"early","method":"tools/call","params":{{"id":1,"text":"{filler}"}}}}"#),
        format!(r#"{{"method":"tools/call","params":{{"id":1,"text":"{filler}"}},"jsonrpc":"2.0","id":"late"}}"#),
    ] {
        server.write(format!("{message}\n").as_bytes());
    }
    for id in ["early", "late"] {
        let answer = server.message().unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32600)), "{answer}");
    }
    assert!(server.ask("ping", json!({})).is_object());
}

#[test]
fn calls_that_wait_for_a_hook_leave_their_workers_to_others() {
    let home = home();
    let command = "sleep 600";
    let settings = json!({ "hooks": { "TaskCompleted": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    std::fs::write(home.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    let served = Served::start(&home);
    let waiting: Vec<Line> = (0..40)
        .map(|who| {
            let mut line = served.line(&format!("a{who}"));
            let created = line.call("TaskCreate", json!({ "subject": "x", "description": "x" }));
            let text = created["content"][0]["text"].as_str().unwrap().to_owned();
            let id: String =
                text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
            line.begin_call("TaskUpdate", json!({ "taskId": id, "status": "completed" }));
            line
        })
        .collect();
    // Far earlier than the hooks end.
    finishes(move || {
        for _ in 0..20 {
            let mut line = served.line("ana");
            assert_eq!(line.call("TaskCreate", json!({ "subject": "y", "description": "y" }))["isError"], false);
            assert_eq!(line.call("TaskGet", json!({ "taskId": "1" }))["isError"], false);
        }
    });
    drop(waiting);
}

//! Sessions over HTTP: what one used ends with it.

use serde_json::json;
use taskyard_testkit::{Home, Scale, wait_or};

use crate::mcp::http::{Line, Served};
use crate::mcp::usage::Usage;

const SESSIONS: usize = 10_000;
/// After so many a server has everything it will ever need.
const WARM_UP: usize = 40;
/// So much memory may come and go, in kB.
const NOISE: usize = 8 * 1024;

/// Opens a session in one of the ways in which clients do, and ends it in one of the ways in which they leave.
fn come_and_go(served: &Served, number: usize) {
    let mut line = if number % 5 == 1 { served.half_session("x") } else { served.session("x") };
    match number % 5 {
        0 => {
            ask(&mut line, r#""resources/list","params":{}"#);
            ask(&mut line, r#""resources/subscribe","params":{"uri":"taskyard://list"}"#);
        }
        2 => {
            let mut stream = line.beside(served);
            stream.open_stream();
            // Cut without a word.
            drop(stream);
        }
        3 => assert_eq!(line.call("TaskList", json!({}))["isError"], false),
        _ => {}
    }
    line.end_session();
}

fn ask(line: &mut Line, question: &str) {
    let message = format!(r#"{{"jsonrpc":"2.0","id":7,"method":{question}}}"#);
    assert_eq!(line.post(&[], message.as_bytes()).status, 200);
}

/// Waits until a server uses no more than this, some memory aside. A thread that is at work or has just been is not counted: it ends when
/// it has had nothing to do for a while.
fn settles_at(most: Usage, served: &Served) {
    let is_settled = || {
        let now = Usage::of(served.pid());
        let is_settled = now.descriptors <= most.descriptors
            && now.threads <= most.threads
            && now.watchers <= most.watchers
            && now.resident <= most.resident + NOISE;
        is_settled.then_some(())
    };
    wait_or(is_settled, || format!("{:?} is more than {most:?}", Usage::of(served.pid())));
}

#[test]
fn what_a_session_used_ends_with_it() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create one");
    let served = Served::start(&home);
    (0..WARM_UP).for_each(|number| come_and_go(&served, number));
    let before = Usage::of(served.pid());
    assert!(before.watchers < 8, "{before:?}");
    (0..Scale::from_environment(0.04).of(SESSIONS)).for_each(|number| come_and_go(&served, number));
    settles_at(before, &served);
}

#[test]
fn sessions_that_are_only_begun_take_bounded_memory() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let begin = |count: usize| (0..count).for_each(|_| drop(served.half_session("x")));
    begin(200);
    let before = Usage::of(served.pid());
    begin(2_000);
    settles_at(before, &served);
}

#[test]
fn sessions_that_are_left_open_need_no_watcher_each() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("team create alpha --as lead");
    let served = Served::start(&home);
    (0..WARM_UP).for_each(|number| come_and_go(&served, number));
    let before = Usage::of(served.pid());
    // More than a user may have watchers.
    let open: Vec<Line> = (0..150).map(|_| served.session("x")).collect();
    let whatever = Usage { resident: usize::MAX / 2, ..before };
    let with_connections =
        Usage { descriptors: before.descriptors + open.len() + 2, threads: before.threads + 2, ..whatever };
    settles_at(with_connections, &served);
    // All of them leave without a word; their connections end with them.
    drop(open);
    settles_at(whatever, &served);
}

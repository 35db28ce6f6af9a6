//! Many clients that only listen.

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use taskyard_testkit::{Home, Scale, is_once_within};

use crate::web::events::Listener;
use crate::web::served::Served;

const STREAMS: usize = 2_000;

#[test]
fn many_idle_streams_take_little_memory_and_all_are_told() {
    let streams = Scale::from_environment(0.1).of(STREAMS);
    // Each of them is a file here, too.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    line.create("One");
    drop(Listener::open(&served, "/api/v1/lists/L/events", None).next());
    let before = served.memory();
    let mut listeners: Vec<Listener> = (0..streams)
        .map(|_| {
            let mut listener = Listener::open(&served, "/api/v1/lists/L/events", None);
            assert_eq!(listener.next().unwrap().name, "ready");
            listener
        })
        .collect();
    let each = served.memory().saturating_sub(before) / streams as u64;
    println!("{streams} idle streams: {} KiB each", each / 1024);
    assert!(each < 64 * 1024, "{each} bytes for each stream");
    let counted = line.get("/metrics").body;
    assert!(counted.contains(&format!("taskyard_event_streams {streams}\n")), "{counted}");
    assert!(counted.contains("taskyard_lists_followed 1\n"), "one reader for all: {counted}");
    let mut revision = 1;
    is_once_within(Duration::from_secs(10), "telling all streams of a change", || {
        let began = Instant::now();
        revision += 1;
        line.create("Another");
        for listener in &mut listeners {
            assert_eq!(listener.next_named("commit").data["revision"], revision);
        }
        began.elapsed()
    });
}

#[test]
fn what_happens_is_counted_for_readers_of_the_metrics() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    line.create("One");
    let first = line.get("/metrics").body;
    assert!(first.contains("taskyard_tasks{list=\"L\",state=\"pending\"} 1\n"), "{first}");
    home.ask("claim 1 --as ana");
    let is_told = |page: &str| {
        page.contains("taskyard_claims_total{list=\"L\"} 1\n") && page.contains("taskyard_leases{list=\"L\"} 1\n")
    };
    taskyard_testkit::finishes(move || while !is_told(&line.get("/metrics").body) {});
}

#[test]
fn refused_requests_and_every_list_are_counted() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    (0..1_100).for_each(|number| std::fs::create_dir_all(home.tasks().join(format!("list-{number:04}"))).unwrap());
    assert_eq!(served.line().bare("GET", "/metrics", &[("Host", &served.address)], b"").status, 401);
    assert_eq!(served.line().bare("GET", "/metrics", &[("Host", "evil.example")], b"").status, 421);
    assert_eq!(line.post("/api/v1/lists/L/tasks", json!({"colour": "red"})).status, 400);
    assert_eq!(line.get("/nowhere").status, 404);
    let page = line.get("/metrics").body;
    for sample in [
        "taskyard_requests_refused_total{code=\"unauthorized\"} 1\n",
        "taskyard_requests_refused_total{code=\"foreign_host\"} 1\n",
        "taskyard_requests_total{operation=\"createTask\",status=\"400\"} 1\n",
        "taskyard_requests_total{operation=\"none\",status=\"404\"} 1\n",
        "taskyard_tasks{list=\"list-1099\",state=\"pending\"} 0\n",
    ] {
        assert!(page.contains(sample), "{sample}");
    }
}

#[test]
fn a_commit_that_two_readers_follow_counts_once() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    let mut listeners: Vec<Listener> = ["/api/v1/events", "/api/v1/lists/L/events"]
        .map(|path| Listener::open(&served, path, None))
        .into_iter()
        .collect();
    listeners.iter_mut().for_each(|listener| drop(listener.next()));
    for _ in 0..2 {
        line.create("One");
        listeners.iter_mut().for_each(|listener| drop(listener.next_named("commit")));
    }
    let page = line.get("/metrics").body;
    assert!(page.contains("taskyard_entries_total{list=\"L\",op=\"create\"} 2\n"), "{page}");
    home.ask("create Two --list M");
    home.ask("claim 1 --as ana --list M");
    assert!(line.get("/metrics").body.contains("taskyard_leases{list=\"M\"} 1\n"));
}

//! Many clients that only listen.

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use taskyard_testkit::{Home, Scale, is_once_within};

use crate::events::Listener;
use crate::served::Served;

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

//! The server ends, begins anew, and reads its configuration anew.

use rustix::process::Signal;
use serde_json::json;
use taskyard_testkit::{Home, finishes};

use crate::web::events::Listener;
use crate::web::served::Served;

const EVENTS: &str = "/api/v1/lists/L/events";

#[test]
fn a_listener_goes_on_with_the_server_that_comes_next() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let port = served.port();
    let path = served.link[served.link.find("/open/").unwrap()..].to_owned();
    let opened = served.line().bare("GET", &path, &[("Host", &served.address)], b"");
    let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let mut listener = Listener::open(&served, EVENTS, None);
    served.line().create("One");
    let last = listener.next_named("commit");
    served.signal(Signal::TERM);
    assert!(finishes(move || std::iter::from_fn(|| listener.next()).count()) < 10, "the stream ends");
    assert_eq!(finishes(move || served.end()), Some(143));
    home.ask("create While-nobody-served");
    let served = Served::with(&home, &format!("--port {port}"));
    served.line().create("Three");
    let mut listener = Listener::open(&served, EVENTS, Some(&last.id));
    let told: Vec<String> = (0..2)
        .map(|_| listener.next_named("commit").data["entries"][0]["after"]["subject"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told, ["While-nobody-served", "Three"]);
    let looked = served.line().bare("GET", "/api/v1/where", &[("Host", &served.address), ("Cookie", &cookie)], b"");
    assert_eq!(looked.status, 200, "a browser stays let in");
}

#[test]
fn the_configuration_is_read_anew_and_nobody_is_cut_off() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    let mut listener = Listener::open(&served, EVENTS, None);
    listener.next();
    (0..2).for_each(|_| drop(line.create("Task")));
    let claim = |line: &mut crate::web::served::Line, id: &str| {
        let path = format!("/api/v1/lists/L/tasks/{id}/claim");
        line.ask("POST", &path, &[("Taskyard-Agent", "ana")], Some(json!({}))).json()
    };
    assert_eq!(claim(&mut line, "1")["claimed"], true);
    let config = home.path().join(".config").join("taskyard");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("taskyard.toml"), "[claims]\nlimit = 1\n").unwrap();
    served.signal(Signal::HUP);
    let refused = finishes(move || {
        let mut line = served.line();
        loop {
            let answer = claim(&mut line, "2");
            if answer["claimed"] == false {
                break (answer, served);
            }
            line.post("/api/v1/lists/L/tasks/2/release", json!({"force": true}));
        }
    });
    assert_eq!(refused.0["reason"], "agent_busy");
    assert_eq!(line.get("/healthz").status, 200, "on the connection that was open before");
    line.create("Three");
    let subject = |event: crate::web::events::Event| event.data["entries"][0]["after"]["subject"].clone();
    while subject(listener.next_named("commit")) != "Three" {}
}

//! Events: in order, each once, resumed by their ids, and no writer waits for who is slow.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{Home, PATIENCE, is_once_within};

use crate::web::served::{Line, Served};

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// A stream of events.
pub(crate) struct Listener {
    line: Line,
    /// What was read of the body and not understood yet.
    text: String,
}

impl Listener {
    /// Opens a stream after an event.
    pub(crate) fn open(served: &Served, path: &str, last: Option<&str>) -> Self {
        Self::open_as(served, path, last, &[])
    }

    fn open_as(served: &Served, path: &str, last: Option<&str>, headers: &[(&str, &str)]) -> Self {
        let mut line = served.line();
        let proof = format!("Bearer {}", served.token);
        let mut all = vec![("Host", served.address.as_str()), ("Authorization", proof.as_str())];
        all.extend(last.map(|last| ("Last-Event-ID", last)));
        all.extend_from_slice(headers);
        line.send("GET", path, &all, b"");
        let (status, headers) = line.head();
        assert_eq!(status, 200, "{headers:?}");
        assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())), "{headers:?}");
        Self { line, text: String::new() }
    }

    /// Waits for the next event; none where the stream ends.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let began = Instant::now();
        loop {
            // That the server lives is told now and then, and is no event.
            if began.elapsed() > PATIENCE {
                panic!("no event in {PATIENCE:?}");
            }
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
                    line.map(str::to_owned)
                };
                let event = field("event").map(|name| Event {
                    id: field("id").unwrap_or_default(),
                    name,
                    data: serde_json::from_str(&field("data").unwrap()).unwrap(),
                });
                self.text = rest.to_owned();
                if event.is_some() {
                    return event;
                }
                continue;
            }
            // The body comes in chunks, each after a line with its length.
            let length = usize::from_str_radix(&self.line.text_line(), 16).ok().filter(|length| *length > 0)?;
            let mut chunk = vec![0; length + 2];
            std::io::Read::read_exact(&mut self.line.stream, &mut chunk).ok()?;
            self.text.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
        }
    }

    /// Waits for the next event of a name.
    pub(crate) fn next_named(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().unwrap_or_else(|| panic!("the stream ended before `{name}`"));
            if event.name == name {
                return event;
            }
        }
    }
}

const EVENTS: &str = "/api/v1/lists/L/events";
const OF_TEAM: &str = "/api/v1/lists/alpha/events";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

#[test]
fn what_other_programs_do_is_told_in_order_whichever_they_are() {
    let home = home();
    let served = Served::start(&home);
    let mut listener = Listener::open(&served, EVENTS, None);
    assert_eq!(listener.next().unwrap().name, "ready");
    served.line().create("Through the API");
    home.ask("create Through-the-command");
    let write = |subject: &str| {
        let task = json!({"id": "1", "subject": subject, "description": "", "status": "pending", "blocks": [], "blockedBy": []});
        std::fs::write(home.task_file("1"), task.to_string()).unwrap();
    };
    write("By the client");
    let ops: Vec<(u64, String)> = (0..3)
        .map(|_| listener.next_named("commit").data)
        .map(|data| (data["revision"].as_u64().unwrap(), data["entries"][0]["op"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(ops, [(1, "create".to_owned()), (2, "create".to_owned()), (3, "changed_elsewhere".to_owned())]);
    let mut round = 0;
    is_once_within(Duration::from_secs(5), "telling of a write of the client", || {
        let began = Instant::now();
        round += 1;
        write(&format!("By the client, {round}"));
        listener.next_named("commit");
        began.elapsed()
    });
}

#[test]
fn cut_off_listener_resumes_without_missing_an_event() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    let mut listener = Listener::open(&served, EVENTS, None);
    let first = listener.next().unwrap();
    (0..5).for_each(|_| drop(line.create("Task")));
    let second = (listener.next_named("commit"), listener.next_named("commit")).1;
    drop(listener);
    let revisions = |last: &str, count: usize| {
        let mut listener = Listener::open(&served, EVENTS, Some(last));
        (0..count).map(|_| listener.next_named("commit").data["revision"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(revisions(&second.id, 3), [3, 4, 5]);
    assert_eq!(revisions(&first.id, 5), [1, 2, 3, 4, 5]);
    assert_eq!(revisions("2", 3), [3, 4, 5], "a revision alone is an id");
    // A listener that is cut off again while it catches up is still told everything.
    let mut listener = Listener::open(&served, EVENTS, Some("1"));
    let third = (listener.next_named("commit"), listener.next_named("commit")).1;
    assert_eq!(revisions(&third.id, 2), [4, 5]);
    let reset = Listener::open(&served, EVENTS, Some("999")).next().unwrap();
    assert_eq!((reset.name.as_str(), &reset.data["revision"]), ("reset", &json!(5)));
    let wrong = served.line().ask("GET", EVENTS, &[("Last-Event-ID", "nonsense")], None);
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "bad_event_id"));
}

#[test]
fn messages_reach_addressees_and_jobs_and_members_all() {
    let home = home();
    let served = Served::with(&home, "--allow-exec");
    let mut line = served.line();
    let as_agent = |line: &mut Line, agent: &str, path: &str, body: Value| {
        let response = line.ask("POST", path, &[("Taskyard-Agent", agent)], Some(body));
        assert!(response.status < 300, "{path}: {response:?}");
    };
    as_agent(&mut line, "ana", "/api/v1/teams", json!({"name": "alpha"}));
    let mut of_bob = Listener::open_as(&served, OF_TEAM, None, &[("Taskyard-Agent", "bob")]);
    let mut of_zoe = Listener::open_as(&served, OF_TEAM, None, &[("Taskyard-Agent", "zoe")]);
    let mut of_all_lists = Listener::open_as(&served, "/api/v1/events", None, &[("Taskyard-Agent", "bob")]);
    as_agent(&mut line, "bob", "/api/v1/teams/alpha/members", json!({}));
    assert_eq!(of_bob.next_named("agent_came").data["agent"], "bob");
    as_agent(&mut line, "ana", "/api/v1/messages", json!({"to": "bob", "text": "hello <b>"}));
    assert_eq!(of_bob.next_named("message").data["message"]["text"], "hello <b>");
    assert_eq!(of_all_lists.next_named("message").data["message"]["text"], "hello <b>");
    as_agent(&mut line, "ana", "/api/v1/lists/alpha/jobs", json!({"command": ["true"]}));
    let mut seen = Vec::new();
    while seen.last().is_none_or(|name| name != "job_ended") {
        seen.push(of_zoe.next().unwrap().name);
    }
    assert!(!seen.contains(&"message".to_owned()), "{seen:?}");
}

#[test]
fn everything_in_the_store_can_be_followed() {
    let home = home();
    let served = Served::start(&home);
    let mut listener = Listener::open(&served, "/api/v1/events", None);
    assert_eq!(listener.next().unwrap().name, "ready");
    served.line().done("/api/v1/lists/other/tasks", json!({"subject": "One"}));
    let told = listener.next_named("commit");
    assert_eq!(told.data["list"], "other");
    let old = Listener::open(&served, "/api/v1/events", Some("0.00000000.7")).next().unwrap();
    assert_eq!(old.name, "reset", "an id of another server");
}

#[test]
fn browser_that_stops_reading_is_disconnected() {
    let home = home();
    let served = Served::start(&home);
    let mut line = served.line();
    let id = line.create("Large");
    let mut slow = Listener::open(&served, EVENTS, None);
    let first = slow.next().unwrap();
    let mut quick = Listener::open(&served, EVENTS, None);
    let text = |number: usize| format!("{number} {}", "x".repeat(100_000));
    let change = |line: &mut Line, number: usize| {
        let changed =
            line.ask("PATCH", &format!("/api/v1/lists/L/tasks/{id}"), &[], Some(json!({"description": text(number)})));
        assert_eq!(changed.status, 200);
    };
    let before = served.memory();
    // As much as the buffers between us hold, and more than is kept for listeners that are behind.
    let writes = 160;
    for number in 0..writes {
        change(&mut line, number);
        assert_eq!(quick.next_named("commit").data["revision"], json!(number + 2));
    }
    let grown = served.memory().saturating_sub(before);
    println!("a stream that nobody reads: {} KiB more after {writes} changes of 200 kB", grown / 1024);
    assert!(grown < 64 << 20, "{grown}");
    let mut told = 0;
    while let Some(event) = slow.next() {
        told += usize::from(event.name == "commit");
    }
    assert!(told < writes, "it was cut off");
    let mut again = Listener::open(&served, EVENTS, Some(&first.id));
    let revisions: Vec<u64> =
        (0..writes).map(|_| again.next_named("commit").data["revision"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (2..writes as u64 + 2).collect::<Vec<_>>());
    let _ = std::io::stdout().flush();
}

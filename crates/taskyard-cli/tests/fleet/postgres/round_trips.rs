//! How often a program waits for the server, and how many connections it has.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{CountingProxy, Home, Process, SharedPostgres, wait_until};

use crate::postgres::{ask, command, home, run};

/// While nothing happens, a process asks no more often than this.
const APART: Duration = Duration::from_secs(15);

/// An MCP server on a list of its own, and what counts its round trips.
struct Session {
    home: Home,
    /// The address that leads to the server at once.
    store: String,
    proxy: CountingProxy,
    process: Process,
    calls: u64,
}

impl Session {
    /// Starts a server on a list of the given length; an agent has already made calls through it.
    fn with_tasks(count: usize) -> Self {
        Self::on_list("L", count)
    }

    fn on_list(list: &str, count: usize) -> Self {
        let server = SharedPostgres::get();
        let (home, store) = (home(), server.fresh_address());
        make_tasks(&home, &store, list, count);
        let proxy = CountingProxy::before(server.cluster());
        let serve = format!("mcp --as ana --list {list}");
        let mut process = command(&home, &proxy.address(&store), &serve).stdin(Stdio::piped()).start();
        let client = json!({ "name": "claude-code", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        process.tell(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string());
        process.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        let mut session = Self { home, store, proxy, process, calls: 0 };
        for id in ["1", "2"] {
            session.call("TaskClaim", json!({ "taskId": id }));
            session.call("TaskUpdate", json!({ "taskId": id, "status": "completed" }));
        }
        session.become_quiet();
        session
    }

    /// Calls a tool, which must not refuse, and returns its text.
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result_of(tool, arguments);
        assert_ne!(result["isError"], json!(true), "{result}");
        result["content"].to_string()
    }

    /// Calls a tool, and returns its result.
    fn result_of(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params });
        self.process.tell(&call.to_string());
        loop {
            let message = self.process.json().expect("the server has not ended");
            if message["id"] == self.calls {
                return message["result"].clone();
            }
        }
    }

    /// Waits until what began with the session is done.
    fn become_quiet(&self) {
        quiet(&self.proxy);
    }

    /// Makes calls and checks how many round trips they take at most, not counting the periodic ones of every process.
    fn take_at_most(&mut self, most: usize, calls: impl FnOnce(&mut Self)) {
        self.proxy.reset();
        let begun = Instant::now();
        calls(self);
        let meanwhile = 1 + usize::try_from(begun.elapsed().as_secs() / APART.as_secs()).unwrap();
        let asked: Vec<String> = self.proxy.trips().iter().map(|(_, text)| text.clone()).collect();
        assert!(asked.len() <= most + meanwhile, "{} round trips:\n{}", asked.len(), asked.join("\n---\n"));
    }
}

/// Makes a list of this many tasks.
fn make_tasks(home: &Home, store: &str, list: &str, count: usize) {
    let tasks = (1..=count).map(|number| json!({ "subject": format!("task {number}") }).to_string() + "\n");
    fs::write(home.path().join("tasks.jsonl"), tasks.collect::<String>()).unwrap();
    ask(home, store, &format!("create --batch tasks.jsonl --list {list}"));
}

/// Waits until a process has asked nothing for a second.
fn quiet(proxy: &CountingProxy) {
    wait_until("the process to become quiet", || {
        proxy.trips().last().is_some_and(|(last, _)| last.elapsed() > Duration::from_secs(1))
    });
}

/// How often each call is made: what is done besides must not be as often.
const CALLS: usize = 10;

#[test]
fn claim_and_completion_take_two_round_trips_each() {
    let mut session = Session::with_tasks(30);
    session.take_at_most(CALLS * 4, |session| {
        for number in 3..3 + CALLS {
            let id = number.to_string();
            session.call("TaskUpdate", json!({ "taskId": id, "status": "in_progress", "owner": "ana" }));
            session.call("TaskUpdate", json!({ "taskId": id, "status": "completed" }));
        }
    });
}

#[test]
fn claiming_the_next_task_takes_two_round_trips() {
    let mut session = Session::with_tasks(30);
    session.take_at_most(CALLS * 4, |session| {
        for number in 3..3 + CALLS {
            let claimed = session.call("TaskClaim", json!({}));
            assert!(claimed.contains(&format!("task {number}")), "{claimed}");
            session.call("TaskUpdate", json!({ "taskId": number.to_string(), "status": "completed" }));
        }
    });
}

#[test]
fn a_member_of_a_team_claims_in_two_round_trips() {
    let mut session = Session::on_list("l", 30);
    // The team whose list this is. Who is in it finishes one task before the next.
    ask(&session.home, &session.store, "team create l --as boss");
    ask(&session.home, &session.store, "team join l --as ana");
    session.call("TaskClaim", json!({ "taskId": "3" }));
    session.call("TaskUpdate", json!({ "taskId": "3", "status": "completed" }));
    session.become_quiet();
    session.take_at_most(CALLS * 4, |session| {
        for number in 4..4 + CALLS {
            let claimed = session.call("TaskClaim", json!({}));
            assert!(claimed.contains(&format!("task {number}")), "{claimed}");
            session.call("TaskUpdate", json!({ "taskId": number.to_string(), "status": "completed" }));
        }
    });
    session.take_at_most(CALLS * 4, |session| {
        for number in 4 + CALLS..4 + 2 * CALLS {
            session.call("TaskClaim", json!({ "taskId": number.to_string() }));
            session.call("TaskUpdate", json!({ "taskId": number.to_string(), "status": "completed" }));
        }
    });
}

#[test]
fn looking_takes_one_round_trip() {
    let mut session = Session::with_tasks(10);
    session.take_at_most(CALLS, |session| {
        for _ in 0..CALLS {
            session.call("TaskGet", json!({ "taskId": "3" }));
        }
    });
    session.take_at_most(CALLS, |session| {
        for _ in 0..CALLS {
            session.call("TaskList", json!({}));
        }
    });
}

#[test]
fn commits_of_others_cost_a_follower_no_round_trip() {
    let mut session = Session::with_tasks(30);
    session.call("TaskClaim", json!({ "taskId": "3" }));
    session.become_quiet();
    let (home, store) = (home(), session.store.clone());
    session.take_at_most(1, |_| {
        for number in 11..11 + CALLS {
            ask(&home, &store, &format!("done {number} --as ben"));
        }
    });
    assert!(session.call("TaskGet", json!({ "taskId": "11" })).contains("completed"));
}

#[test]
fn show_takes_one_round_trip() {
    let server = SharedPostgres::get();
    let (home, store) = (home(), server.fresh_address());
    ask(&home, &store, "create one");
    let proxy = CountingProxy::before(server.cluster());
    assert!(ask(&home, &proxy.address(&store), "show 1").contains("one"));
    let asked: Vec<String> = proxy.trips().iter().map(|(_, text)| text.clone()).collect();
    assert_eq!((asked.len(), proxy.connections()), (1, 1), "{asked:#?}");
}

/// The commands that have to do with one task, in an order in which each can do what it says. The list is named, and is not that of the
/// directory.
const OF_ONE_TASK: [&str; 17] = [
    "show 3",
    "history 3",
    "create another",
    "create another --blocked-by 2",
    "claim 3 --as ana",
    "note 3 text --as ana",
    "update 3 --subject new --as ana",
    "release 3 --as ana",
    "start 3 --as ana",
    "done 3 --as ana",
    "reopen 3",
    "cancel 4",
    "depend 5 --on 6",
    "undepend 5 --on 6",
    "delete 5",
    "delete 7 --keep-going",
    "done 1 --as ana",
];

/// Makes a list of 10 tasks and one of 400, runs commands on each, and checks that the server does not answer more for the long one.
fn read_no_more_of_a_long_list(commands: &[&str], prepare: impl Fn(&Home, &str)) {
    let read = [10, 400].map(|tasks| {
        let server = SharedPostgres::get();
        let (home, store) = (home(), server.fresh_address());
        make_tasks(&home, &store, "long", tasks);
        prepare(&home, &store);
        let proxy = CountingProxy::before(server.cluster());
        commands.iter().map(move |command| {
            proxy.reset();
            ask(&home, &proxy.address(&store), &format!("{command} --list long"));
            let asked: Vec<String> = proxy.trips().iter().map(|(_, text)| text.clone()).collect();
            (proxy.bytes_answered(), asked.join("\n---\n"))
        })
    });
    let [short, long] = read.map(Iterator::collect::<Vec<_>>);
    for (command, ((short, _), (long, asked))) in commands.iter().zip(short.iter().zip(&long)) {
        // Numbers have more digits in a long list.
        assert!(*long < short + 300, "{command}: {short} bytes of 10 tasks, {long} bytes of 400:\n{asked}");
    }
}

#[test]
fn one_task_of_a_long_list_is_read_alone() {
    read_no_more_of_a_long_list(&OF_ONE_TASK, |home, store| {
        ask(home, store, "depend 2 --on 1 --list long");
    });
}

#[test]
fn a_member_of_a_team_reads_one_task_of_a_long_list_alone() {
    // Who is in a team finishes one task before the next.
    let commands = ["claim 3 --as ana", "done 3 --as ana", "start 4 --as ana", "done 4 --as ana"];
    read_no_more_of_a_long_list(&commands, |home, store| {
        ask(home, store, "team create long --as boss");
        ask(home, store, "team join long --as ana");
        ask(home, store, "update 9 --owner ana --status in_progress --list long --as boss");
        let refused = run(home, store, "claim 3 --as ana --list long");
        assert_eq!(refused.code, Some(3), "{refused:?}");
        ask(home, store, "done 9 --as ana --list long");
    });
}

#[test]
fn many_calls_at_once_need_two_connections() {
    let mut session = Session::with_tasks(60);
    let calls = 3..3 + 4 * CALLS;
    for number in calls.clone() {
        let params = json!({ "name": "TaskUpdate", "arguments": { "taskId": number.to_string(), "subject": "new" } });
        session.process.tell(
            &json!({ "jsonrpc": "2.0", "id": 1000 + number, "method": "tools/call", "params": params }).to_string(),
        );
    }
    let mut answered = 0;
    while answered < calls.len() {
        let message = session.process.json().expect("the server has not ended");
        answered += usize::from(message["id"].as_u64().is_some_and(|id| id > 1000));
        assert_ne!(message["result"]["isError"], json!(true), "{message}");
    }
    assert!(session.proxy.most_open_connections() <= 2, "{}", session.proxy.most_open_connections());
}

#[test]
fn a_team_that_is_made_meanwhile_counts_for_the_next_call() {
    let mut session = Session::on_list("l", 5);
    session.call("TaskClaim", json!({ "taskId": "3" }));
    // The team whose list this is. Who is in it finishes one task before the next.
    ask(&session.home, &session.store, "team create l --as boss");
    ask(&session.home, &session.store, "team join l --as ana");
    let refused = session.result_of("TaskClaim", json!({ "taskId": "4" }));
    assert_eq!(refused["isError"], true, "{refused}");
    let task: Value = serde_json::from_str(&ask(&session.home, &session.store, "show 4 --json --list l")).unwrap();
    assert_eq!(task["task"]["status"], "pending");
}

#[test]
fn a_session_where_nothing_happens_asks_seldom() {
    let mut session = Session::with_tasks(3);
    session.call("TaskClaim", json!({ "taskId": "3" }));
    session.become_quiet();
    asks_seldom(&session.proxy);
}

#[test]
fn a_watch_where_nothing_happens_asks_seldom() {
    let server = SharedPostgres::get();
    let (home, store) = (home(), server.fresh_address());
    ask(&home, &store, "create one");
    let proxy = CountingProxy::before(server.cluster());
    let mut watching = command(&home, &proxy.address(&store), "watch --json --since 0").stdout(Stdio::piped()).start();
    assert!(watching.line().is_some_and(|line| line.contains("one")));
    quiet(&proxy);
    asks_seldom(&proxy);
    watching.kill();
}

/// Most round trips that a busy machine may cause before a process is idle: a notification that arrives after the poll that it
/// announces makes the process poll each second until the next one has arrived.
const UNTIL_IDLE: usize = 10;

/// Waits until two round trips of a process are far apart, and checks how many came before, and how many connections it has.
fn asks_seldom(proxy: &CountingProxy) {
    proxy.reset();
    wait_until("the process to ask seldom", || {
        let trips = proxy.trips();
        let asked: Vec<_> = trips.iter().map(|(_, text)| text).collect();
        assert!(trips.len() <= UNTIL_IDLE, "{asked:?}");
        trips.last_chunk().is_some_and(|[(before, _), (after, _)]| *after - *before >= APART)
    });
    assert!(proxy.most_open_connections() <= 2, "{}", proxy.most_open_connections());
}

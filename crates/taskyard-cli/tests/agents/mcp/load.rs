//! Many connections on one list.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Random, Scale, is_consistent_journal, list_builder};

use crate::mcp::http::{Line, Served};
use crate::mcp::usage::Usage;
use crate::stdio::Piped;

const OVER_HTTP: usize = 50;
const OVER_PIPES: usize = 10;
const CALLS: usize = 20_000;
/// The tasks everybody writes to.
const SHARED: usize = 40;

/// A connection of one kind or the other.
enum Caller {
    Http(Line),
    Pipes(Piped),
}

impl Caller {
    /// Calls a tool, which has to succeed.
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = match self {
            Self::Http(line) => line.call(tool, arguments),
            Self::Pipes(server) => {
                server.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].clone()
            }
        };
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// What one connection did.
#[derive(Default)]
struct Done {
    created: Vec<String>,
    /// The task and the key of each update.
    keys: Vec<(String, String)>,
    completed: Vec<String>,
}

fn number(text: &str) -> String {
    text.split_once("Task #").unwrap().1.split(|character: char| !character.is_ascii_digit()).next().unwrap().to_owned()
}

fn work(who: usize, mut caller: Caller, calls: usize, made: &AtomicUsize) -> Done {
    let mut random = Random::new(who as u64 + 1);
    let mut done = Done::default();
    let mut left = calls;
    while left > 0 {
        let turn = made.fetch_add(1, Ordering::Relaxed);
        left -= 1;
        let shared = (random.below(SHARED) + 1).to_string();
        match random.below(20) {
            0..4 => {
                let text = caller.call("TaskCreate", json!({ "subject": format!("of {who}"), "description": "x" }));
                done.created.push(number(&text));
            }
            4..11 => {
                let key = format!("k{who}-{turn}");
                caller.call("TaskUpdate", json!({ "taskId": shared, "metadata": { key.as_str(): turn } }));
                done.keys.push((shared, key));
            }
            11..14 if left > 0 => {
                let text = caller.call("TaskClaim", json!({}));
                if text.contains("Task #") {
                    left -= 1;
                    let task = number(&text);
                    caller.call("TaskUpdate", json!({ "taskId": task, "status": "completed" }));
                    done.completed.push(task);
                }
            }
            14..18 => drop(caller.call("TaskGet", json!({ "taskId": shared }))),
            _ => drop(caller.call("TaskList", json!({}))),
        }
    }
    done
}

#[test]
fn many_connections_on_one_list_lose_nothing() {
    let calls = Scale::from_environment(0.03).of(CALLS) / (OVER_HTTP + OVER_PIPES);
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let shared: Vec<String> = (1..=SHARED).map(|id| format!(r#"{id} pending {{"assignable_to":"nobody"}}"#)).collect();
    list_builder::write_files(&home.list("L"), &shared.join(";"));
    let served = Served::start(&home);
    let made = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..OVER_HTTP + OVER_PIPES)
        .map(|who| {
            let agent = format!("agent-{who}");
            let caller = match who {
                OVER_HTTP.. => Caller::Pipes(Piped::start(&home, &format!("--as {agent}")).initialized()),
                who if who % 2 == 0 => Caller::Http(served.session(&agent)),
                _ => Caller::Http(served.line(&agent)),
            };
            let made = Arc::clone(&made);
            thread::spawn(move || work(who, caller, calls, &made))
        })
        .collect();
    let half = calls * workers.len() / 2;
    while made.load(Ordering::Relaxed) < half && !workers.iter().all(thread::JoinHandle::is_finished) {
        crate::mcp::http::a_moment();
    }
    let in_the_middle = Usage::of(served.pid()).resident;
    let all: Vec<Done> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    let at_the_end = Usage::of(served.pid()).resident;
    assert!(
        at_the_end < in_the_middle * 5 / 4 + 16 * 1024,
        "{in_the_middle} kB in the middle, {at_the_end} kB at the end"
    );

    let created: Vec<&String> = all.iter().flat_map(|done| &done.created).collect();
    let unique: HashSet<&&String> = created.iter().collect();
    assert_eq!(unique.len(), created.len(), "ids are given out once");
    let tasks = home.present();
    assert_eq!(tasks.len(), created.len() + SHARED);
    for (task, key) in all.iter().flat_map(|done| &done.keys) {
        assert!(tasks[task]["metadata"].get(key).is_some(), "the update {key} of {task} was lost");
    }
    let completed: Vec<&String> = all.iter().flat_map(|done| &done.completed).collect();
    assert_eq!(completed.iter().collect::<HashSet<_>>().len(), completed.len(), "a task is completed by one agent");
    for task in completed {
        assert_eq!(tasks[task]["status"], "completed");
    }
    is_consistent_journal(&home.ask("history"), &tasks).unwrap();
}

//! How many claims and completions agents make over MCP, each through a server of its own.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::Cluster;

use crate::one_shots::taskyard;
use crate::pgbench::pgbench;
use crate::promises::Promises;
use crate::yards::fill;

/// How many agents share one list, and how long it is.
const WORKERS: usize = 16;
const TASKS: u64 = 10_000;
/// How many lists have an agent each, and how long they are.
const LISTS: usize = 64;
const TASKS_OF_EACH: u64 = 1_000;

/// Measures many agents on one list, and one agent on each of many.
pub(crate) fn measure(cluster: &Cluster, seconds: u64, promises: &mut Promises) {
    println!("commits a second over MCP: each agent claims the next task and completes it, {seconds} s");
    let one = ["L".to_owned()];
    compare(cluster, "mcp_one", &one, (WORKERS, TASKS), seconds, promises);
    let many: Vec<String> = (0..LISTS).map(|number| format!("L{number}")).collect();
    compare(cluster, "mcp_many", &many, (LISTS, TASKS_OF_EACH), seconds, promises);
}

fn compare(
    cluster: &Cluster,
    schema: &str,
    lists: &[String],
    (agents, tasks): (usize, u64),
    seconds: u64,
    promises: &mut Promises,
) {
    let address = format!("{}?schema={schema}", cluster.address());
    lists.iter().for_each(|list| fill(&address, list, tasks));
    let ours = rate(&address, lists, agents, seconds);
    let names: Vec<&str> = lists.iter().map(String::as_str).collect();
    let theirs = pgbench(cluster, schema, &names, agents, seconds);
    let what = format!(
        "{agents} agents on {} of {tasks} tasks: {ours:.0}, pgbench {theirs:.0}, {:.2} of it",
        if lists.len() == 1 { "one list".to_owned() } else { format!("{} lists", lists.len()) },
        ours / theirs
    );
    promises.hold(&what, "0.6 of pgbench", ours >= 0.6 * theirs);
}

/// Returns how many commits a second the agents make, once each has made a few.
fn rate(address: &str, lists: &[String], agents: usize, seconds: u64) -> f64 {
    let begin = Barrier::new(agents);
    let commits: u64 = thread::scope(|scope| {
        let work = |number: usize| {
            let (begin, list) = (&begin, &lists[number % lists.len()]);
            scope.spawn(move || {
                let mut session = Session::begin(address, list, number);
                assert!(session.claim_and_complete(), "there is nothing to claim");
                begin.wait();
                let (begun, mut commits) = (Instant::now(), 0);
                while begun.elapsed() < Duration::from_secs(seconds) && session.claim_and_complete() {
                    commits += 2;
                }
                commits
            })
        };
        let agents: Vec<_> = (0..agents).map(work).collect();
        agents.into_iter().map(|agent| agent.join().unwrap()).sum()
    });
    commits as f64 / seconds as f64
}

/// A server and the agent that calls it.
struct Session {
    server: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    calls: u64,
}

impl Session {
    fn begin(address: &str, list: &str, number: usize) -> Self {
        let mut command =
            taskyard(address, &["mcp", "--structured", "--as", &format!("agent-{number}"), "--list", list]);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()).lines());
        let mut session = Self { server, input, output, calls: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        session
            .ask("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }));
        session.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    /// Claims the next task and completes it; returns false if there is none left.
    fn claim_and_complete(&mut self) -> bool {
        let claimed = self.ask("tools/call", &json!({ "name": "TaskClaim", "arguments": {} }));
        let Some(id) = claimed["structuredContent"]["task"]["id"].as_str() else { return false };
        let done = json!({ "taskId": id, "status": "completed" });
        let completed = self.ask("tools/call", &json!({ "name": "TaskUpdate", "arguments": done }));
        assert_ne!(completed["isError"], true, "{completed}");
        true
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        self.tell(&json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params }));
        loop {
            let line = self.output.next().expect("the server has not ended").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.calls {
                return message["result"].clone();
            }
        }
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

//! The MCP server: how long an agent waits for its list, and for the first answer.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Failure;
use crate::corpus;
use crate::options::Options;
use crate::ours;
use crate::places::Place;
use crate::samples::Samples;
use crate::table::{Row, Target, microseconds, milliseconds, tell};

/// How long the list is that is asked for.
const TASKS: usize = 100;
/// How long the list is that takes longer.
const LONG: usize = 3_000;
/// How many calls are made in a row before the other server has its turn.
const BATCH: usize = 50;

/// Measures `TaskList` over stdio against an empty tool that answers with the same bytes, and a server's first answer.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let (calls, starts) = options.scale.served;
    tell(&format!("{}: {calls} calls over stdio", place.name));
    let home = place.fresh_home()?;
    corpus::fill(&home.list(), TASKS)?;
    let serve = || {
        let mut command = ours::command(&options.programs, &home);
        command.arg("mcp");
        command
    };
    let mut ours = Client::start(serve())?;
    let text = ours.list()?;
    let saved = home.root().join("answer.txt");
    std::fs::write(&saved, &text)?;
    let mut echo = Command::new(std::env::current_exe()?);
    echo.arg("echo-mcp").arg(&saved);
    let mut bare = Client::start(echo)?;
    if bare.list()? != text {
        return Err("the empty tool does not answer with the same bytes".into());
    }
    let (mut our_times, mut bare_times) = (Vec::new(), Vec::new());
    while our_times.len() < calls {
        for (client, times) in [(&mut ours, &mut our_times), (&mut bare, &mut bare_times)] {
            for _ in 0..BATCH {
                let started = Instant::now();
                client.list()?;
                times.push(started.elapsed());
            }
        }
    }
    let first: Result<Vec<Duration>, Failure> = (0..starts)
        .map(|_| {
            let started = Instant::now();
            Client::start(serve()).map(|_| started.elapsed())
        })
        .collect();
    let claims = claim_and_finish(options, place)?;
    let (ours, bare, first) =
        (Samples::microseconds(&our_times), Samples::microseconds(&bare_times), Samples::microseconds(&first?));
    Ok(vec![
        Row {
            measure: format!("TaskList of {TASKS} over stdio"),
            place: place.name,
            ours: microseconds(&ours),
            limit: Some(microseconds(&bare)),
            node: None,
            target: Target::AtMostTimesTheLimit { ratio: ours.median() / bare.median(), target: 1.3 },
        },
        Row {
            measure: "mcp: start to first answer".to_owned(),
            place: place.name,
            ours: milliseconds(&first),
            limit: None,
            node: None,
            target: Target::AtMost { milliseconds: first.median() / 1e3, target: 15.0 },
        },
        claims,
    ])
}

/// Measures how much longer an agent waits for a claim and the answer to its completion because the list is long.
fn claim_and_finish(options: &Options, place: &Place) -> Result<Row, Failure> {
    let rounds = options.scale.completes;
    tell(&format!("{}: {rounds} claims and completions over stdio in lists of {TASKS} and {LONG}", place.name));
    let mut clients = Vec::new();
    for tasks in [TASKS, LONG] {
        let home = place.fresh_home()?;
        // Enough for all of them in the short one, too.
        corpus::fill_with_new(&home.list(), tasks.max(rounds + 1))?;
        let mut command = ours::command(&options.programs, &home);
        command.args(["mcp", "--as", "bench", "--tools", "all"]);
        let mut client = Client::start(command)?;
        client.list()?;
        client.list()?;
        clients.push((client, Vec::new()));
    }
    for _ in 0..rounds {
        for (client, times) in &mut clients {
            let started = Instant::now();
            let claimed = client.call("TaskClaim", &json!({}))?;
            let text = claimed["content"][0]["text"].as_str().unwrap_or_default();
            let task = text.split_once("Task #").and_then(|(_, rest)| rest.split_once(':')).map(|(id, _)| id);
            let task = task.ok_or_else(|| claimed.to_string())?;
            client.call("TaskUpdate", &json!({ "taskId": task, "status": "completed" }))?;
            times.push(started.elapsed());
        }
    }
    let times: Vec<Samples> = clients.iter().map(|(_, times)| Samples::microseconds(times)).collect();
    Ok(Row {
        measure: format!("mcp: claim and completion among {LONG}, not {TASKS}"),
        place: place.name,
        ours: microseconds(&times[1]),
        limit: Some(microseconds(&times[0])),
        node: None,
        target: Target::AtMostTimesTheLimit { ratio: times[1].median() / times[0].median(), target: 1.5 },
    })
}

/// A client that speaks to a server over its pipes and waits for every answer.
struct Client {
    server: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn start(mut command: Command) -> Result<Self, Failure> {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let requests = server.stdin.take().ok_or("no pipe")?;
        let answers = BufReader::new(server.stdout.take().ok_or("no pipe")?);
        let mut client = Self { server, requests, answers, asked: 0 };
        let about = json!({ "name": "bench", "version": "1" });
        client
            .ask("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about }))?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn list(&mut self) -> Result<String, Failure> {
        let answer = self.call("TaskList", &json!({}))?;
        Ok(answer["content"][0]["text"].as_str().ok_or_else(|| answer.to_string())?.to_owned())
    }

    /// Calls a tool, and returns what it answers.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let mut answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let result = answer["result"].take();
        if result["isError"] == json!(true) { Err(result.to_string().into()) } else { Ok(result) }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == json!(id) {
                return Ok(answer);
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let mut line = message.to_string();
        line.push('\n');
        Ok(self.requests.write_all(line.as_bytes())?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

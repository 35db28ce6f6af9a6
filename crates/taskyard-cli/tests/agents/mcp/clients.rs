//! A client whose MCP server, shell and hooks are one agent: what they hold lives with the process of the client.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Process, wait_until};

/// A process of the name that the client has, which runs lines of shell as the client runs the commands of its model.
struct Client<'a> {
    home: &'a Home,
    process: Process,
    lines: u32,
    calls: u64,
}

impl<'a> Client<'a> {
    fn start(home: &'a Home) -> Self {
        Self::start_with(home, &[])
    }

    fn start_with(home: &'a Home, variables: &[(&str, &str)]) -> Self {
        let program = home.path().join("claude");
        if !program.exists() {
            symlink("/bin/sh", &program).unwrap();
        }
        let mut command = home.command("").like(&program);
        command.env_remove("TASKYARD_AGENT").env("TASKYARD", env!("CARGO_BIN_EXE_taskyard"));
        command.env("CLAUDECODE", "1").env("CLAUDE_CODE_ENTRYPOINT", "cli").envs(variables.iter().copied());
        Self { home, process: command.stdin(Stdio::piped()).start(), lines: 0, calls: 0 }
    }

    /// Runs a line, and returns what it printed.
    fn run(&mut self, line: &str) -> String {
        self.lines += 1;
        let out = format!("said-{}-{}", self.process.id(), self.lines);
        self.process.tell(&format!("{{ {line}\n}} > {out} 2>&1 9>&-; echo {out}"));
        assert_eq!(self.process.line().as_deref(), Some(out.as_str()), "{line}");
        fs::read_to_string(self.home.path().join(out)).unwrap()
    }

    /// Runs a `taskyard` command in its shell and returns the answer.
    fn ask(&mut self, words: &str) -> Value {
        let said = self.run(&format!("\"$TASKYARD\" {words} --json"));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words}: {error}: {said}"))
    }

    /// Runs the `taskyard` hook for an event and returns its answer.
    fn hook(&mut self, event: &str, more: Value) -> Value {
        let mut told = json!({ "hook_event_name": event, "session_id": "0198c0de-1111-4222-8333-444455556666" });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let said = self.run(&format!("\"$TASKYARD\" hook {event} <<'END'\n{told}\nEND"));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{event}: {error}: {said}"))
    }

    /// Starts its MCP server.
    fn serve(&mut self) -> String {
        self.serve_by("\"$TASKYARD\" mcp")
    }

    /// Starts its MCP server by a command.
    fn serve_by(&mut self, command: &str) -> String {
        let pipe = format!("pipe-{}", self.process.id());
        let line = format!(
            "mkfifo {pipe}; {command} < {pipe} > {pipe}.out 2>/dev/null & echo $! > {pipe}.pid; exec 9> {pipe}"
        );
        self.process.tell(&line);
        self.request("initialize", json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "claude-code", "version": "2.1.34" }
        }));
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.process.tell(&format!("printf '%s\\n' '{initialized}' >&9"));
        fs::read_to_string(self.home.path().join(format!("{pipe}.pid"))).unwrap().trim().to_owned()
    }

    /// Calls a tool, and returns the text of the answer.
    fn call(&mut self, tool: &str, input: Value) -> String {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": input }));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let (id, out) = (self.calls, self.home.path().join(format!("pipe-{}.out", self.process.id())));
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.process.tell(&format!("printf '%s\\n' '{request}' >&9"));
        let mut answer = Value::Null;
        wait_until(method, || {
            let said = fs::read_to_string(&out).unwrap_or_default();
            let mut answers = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            answer = answers.find(|answer| answer["id"] == id).unwrap_or_default();
            !answer.is_null()
        });
        answer
    }

    fn kill(mut self) {
        self.process.kill();
    }
}

impl Client<'_> {
    /// Returns a line that runs a `taskyard` command as a recorded step was run: with its variables, below the same processes.
    fn as_recorded(&self, step: &Value, words: &str) -> String {
        let home = self.home.path().display();
        let value = |name: &str, recorded: &str| match (name, recorded) {
            (_, "client-1" | "client-2" | "client-3") => self.process.id().to_string(),
            ("CLAUDE_ENV_FILE", _) => format!("{home}/session-environment"),
            ("CLAUDE_PROJECT_DIR", _) => home.to_string(),
            _ => session(recorded),
        };
        let variables = step["environment"].as_object().unwrap().iter();
        let variables =
            variables.map(|(name, recorded)| format!(" {name}={}", value(name, recorded.as_str().unwrap())));
        let set: String = variables.collect();
        let mut line = format!("env -u CLAUDECODE -u CLAUDE_CODE_ENTRYPOINT{set} \"$TASKYARD\" {words}");
        let ancestors: Vec<&str> = step["ancestors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(ancestors.last(), Some(&"claude"), "{step}");
        for shell in &ancestors[..ancestors.len() - 1] {
            // Without a second command the shell would become the first.
            line = format!("{shell} -c '{line}; true'");
        }
        line
    }
}

/// Returns the id of a recorded session, and any other text as it is.
fn session(recorded: &str) -> String {
    recorded
        .strip_prefix("session-")
        .map_or(recorded.to_owned(), |number| format!("0198c0d{number}-1111-4222-8333-444455556666"))
}

/// Replays a recorded scenario: what the agent claims over MCP and in the shell is claimed by one agent, stays its own as long as the client
/// goes on, and is free when the session or the client has ended.
fn replay(name: &str, steps: &[Value]) {
    let home = home(&["1", "2", "3", "4", "5", "6"]);
    let in_progress = || home.ask("stats")["counts"]["in_progress"].as_u64().unwrap();
    let (mut clients, mut claims, mut names): (Vec<(String, Client<'_>, String)>, u64, Vec<String>) =
        Default::default();
    for step in steps {
        let what = step["what"].as_str().unwrap();
        if let Some(client) = step["client"].as_str()
            && clients.last().is_none_or(|(known, ..)| known != client)
        {
            // One is resumed when the one before has ended.
            clients.drain(..).for_each(|(_, client, _)| client.kill());
            clients.push((client.to_owned(), Client::start_with(&home, &[]), String::new()));
        }
        let Some((_, client, server)) = clients.last_mut() else { panic!("{name}: {step}") };
        if what == "MCP server starts" {
            *server = client.serve_by(&client.as_recorded(step, "mcp"));
        } else if what == "MCP server is called" {
            claims += 1;
            let won = client.call("TaskClaim", json!({ "taskId": claims.to_string() }));
            names.push(name_in(&won).to_owned());
        } else if what == "shell command" {
            claims += 1;
            let said = client.run(&client.as_recorded(step, &format!("claim {claims} --json")));
            let claimed: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{name}: {error}: {said}"));
            names.push(claimed["agent"].as_str().unwrap_or_else(|| panic!("{name}: {claimed}")).to_owned());
        } else if let Some(event) = what.strip_prefix("hook ") {
            let held = in_progress();
            let told = json!({
                "hook_event_name": event, "session_id": session(step["session"].as_str().unwrap()),
                "source": step["source"], "reason": step["reason"],
            });
            fs::write(home.path().join("told"), told.to_string()).unwrap();
            let said = client.run(&format!("{} < told", client.as_recorded(step, &format!("hook {event}"))));
            serde_json::from_str::<Value>(&said).unwrap_or_else(|error| panic!("{name}: {error}: {said}"));
            let goes_on = event != "SessionEnd" || step["reason"] == "clear" || step["reason"] == "resume";
            assert_eq!(in_progress(), if goes_on { held } else { 0 }, "{name}: {step}");
        } else {
            let end = if what.ends_with("SIGINT") { format!("kill -INT {server}") } else { "exec 9>&-".to_owned() };
            client.process.tell(&end);
            wait_until("the end of the server", || is_over(server));
        }
    }
    clients.into_iter().for_each(|(_, client, _)| client.kill());
    assert!(claims >= 2 && names.iter().all(|name| *name == names[0]), "{name}: {names:?}");
    for task in 1..=claims {
        assert_eq!(home.ask(&format!("claim {task} --as ben"))["claimed"], json!(true), "{name}");
    }
}

#[test]
fn recorded_sessions_are_one_agent_and_leave_nothing() {
    let recordings = [
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/sessions.2.1.34.json"),
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/sessions.2.1.325.json"),
    ];
    for recording in recordings {
        let scenarios: Value = serde_json::from_str(recording).unwrap();
        for name in [
            "print mode, then --resume, then --resume --fork-session",
            "print mode, SIGKILL",
            "interactive, /clear, /resume, /exit",
        ] {
            replay(name, scenarios[name].as_array().unwrap());
        }
    }
}

fn home(tasks: &[&str]) -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for task in tasks {
        home.ask(&format!("create {task}"));
    }
    home
}

fn is_over(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn claims_in_a_clients_shell_end_with_the_client() {
    let home = home(&["one", "two"]);
    let mut client = Client::start(&home);
    let claimed = client.ask("claim 1");
    assert_eq!((&claimed["claimed"], &claimed["expiresAt"]), (&json!(true), &Value::Null), "{claimed}");
    assert_eq!(client.ask("start 2")["expiresAt"], Value::Null);
    assert_eq!(home.run("claim 1 --as ben").code, Some(3));
    client.kill();
    assert_eq!(home.ask("claim 1 --as ben")["claimed"], json!(true));
    assert_eq!(home.ask("claim 2 --as ben")["claimed"], json!(true));
}

#[test]
fn claims_over_mcp_end_with_a_killed_client_at_once() {
    let home = home(&["one"]);
    let mut client = Client::start(&home);
    let server = client.serve();
    assert!(client.call("TaskClaim", json!({})).starts_with("Claimed"));
    assert_eq!(home.run("claim 1 --as ben").code, Some(3));
    client.kill();
    wait_until("the end of the server", || is_over(&server));
    assert_eq!(home.ask("claim 1 --as ben")["claimed"], json!(true), "nobody waits for a server to be started again");
}

#[test]
fn server_that_ends_alone_leaves_its_claims_for_a_while() {
    let home = home(&["one"]);
    let mut client = Client::start(&home);
    let server = client.serve();
    client.call("TaskClaim", json!({}));
    client.process.tell("exec 9>&-");
    wait_until("the end of the server", || is_over(&server));
    let refused = home.run("claim 1 --as ben --json").json();
    assert!(refused["freeAt"].is_string(), "{refused}");
    client.kill();
    assert_eq!(home.ask("claim 1 --as ben")["claimed"], json!(true));
}

#[test]
fn session_end_releases_what_the_client_holds() {
    let home = home(&["one", "two", "three", "four"]);
    let mut client = Client::start(&home);
    client.serve();
    client.ask("claim 1");
    client.ask("claim 2 --as scout");
    client.call("TaskClaim", json!({ "taskId": "3" }));
    home.ask("claim 4 --as ben");
    let in_progress = || home.ask("stats")["counts"]["in_progress"].clone();
    for reason in ["clear", "resume"] {
        client.hook("SessionEnd", json!({ "reason": reason }));
        assert_eq!(in_progress(), json!(4), "the client goes on after {reason}");
    }
    assert_eq!(client.hook("SessionEnd", json!({ "reason": "prompt_input_exit" })), json!({}));
    let open = home.ask("list --status in_progress")["tasks"].clone();
    assert_eq!((open.as_array().unwrap().len(), &open[0]["owner"]), (1, &json!("ben")), "{open}");
}

#[test]
fn session_end_leaves_the_task_of_a_run_to_work() {
    let home = home(&["one", "two"]);
    let token = home.ask("claim 1 --as ana")["token"].as_u64().unwrap().to_string();
    let run = [("TASKYARD_AGENT", "ana"), ("TASKYARD_TASK_ID", "1"), ("TASKYARD_TASK_TOKEN", token.as_str())];
    let mut client = Client::start_with(&home, &run);
    client.hook("SessionEnd", json!({ "reason": "other" }));
    assert_eq!(home.ask("show 1")["task"]["owner"], json!("ana"));
}

#[test]
fn native_work_of_an_ended_session_is_reported_and_taken() {
    let home = home(&["one"]);
    let file = home.task_file("1");
    let native = fs::read_to_string(&file).unwrap().replace("\"pending\"", "\"in_progress\"");
    fs::write(&file, native).unwrap();
    let written = |ago: u64| {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(ago);
        fs::File::options().append(true).open(&file).unwrap().set_modified(then).unwrap();
    };
    let is_reported = || {
        let found = home.run("doctor --json").json();
        let (code, task) = (&found["findings"][0]["code"], &found["findings"][0]["task"]);
        // A client of the machine that the test runs on may be older than that.
        if home.ask("ready")["staleOwner"].is_null() {
            assert_eq!(found["findings"], json!([]), "{found}");
            return false;
        }
        assert_eq!((code, task), (&json!("stale_owner"), &json!("1")));
        assert_eq!(home.ask("ready")["staleOwner"], json!(["1"]));
        true
    };
    written(3600);
    is_reported();
    home.run("doctor --fix --yes");
    assert_eq!(home.ask("show 1")["task"]["status"], json!("in_progress"), "its grace is not over");
    assert_eq!(home.run("claim --next --as ben").code, Some(3));
    written(3 * 3600);
    if is_reported() {
        assert_eq!(home.ask("claim --next --as ben")["task"]["id"], json!("1"));
    }
}

const SESSION: &str = "0198c0de-1111-4222-8333-444455556666";

/// Returns the name under which a claim over MCP was made.
fn name_in(answer: &str) -> &str {
    let name = answer.split("Yours, as ").nth(1).unwrap_or_else(|| panic!("{answer}"));
    name.split([' ', '(']).next().unwrap()
}

#[test]
fn shell_server_and_hooks_of_a_client_are_one_agent() {
    let home = home(&["one", "two", "three"]);
    let mut client = Client::start(&home);
    client.serve();
    client.hook("SessionStart", json!({ "source": "startup", "session_id": SESSION }));
    let won = client.call("TaskClaim", json!({}));
    let name = name_in(&won).to_owned();
    assert!(name.starts_with("claude-") && name.len() == "claude-7f3a".len(), "{won}");
    let again = client.ask("claim 1");
    assert_eq!((&again["agent"], &again["resumed"]), (&json!(name), &json!(true)), "{again}");
    assert!(won.contains(&format!("token {}", again["token"])), "the token goes on counting: {won}");
    client.ask("done 1");
    client.ask("claim 2");
    assert!(client.call("TaskUpdate", json!({ "taskId": "2", "status": "completed" })).contains("#2"));
    client.hook("SessionEnd", json!({ "reason": "clear", "session_id": SESSION }));
    client.hook("SessionStart", json!({ "source": "clear", "session_id": "0199ffff-1111-4222-8333-444455556666" }));
    assert_eq!(client.ask("claim 3")["agent"], json!(name));
    assert!(client.call("TaskClaim", json!({ "taskId": "3" })).starts_with("You already have this task."));
}

#[test]
fn resumed_session_acts_under_the_name_it_had() {
    let home = home(&["one", "two"]);
    let mut client = Client::start(&home);
    client.hook("SessionStart", json!({ "source": "startup", "session_id": SESSION }));
    let name = client.ask("claim 1")["agent"].as_str().unwrap().to_owned();
    client.kill();
    let mut client = Client::start(&home);
    client.serve();
    client.hook("SessionStart", json!({ "source": "resume", "session_id": SESSION }));
    assert_eq!(name_in(&client.call("TaskClaim", json!({ "taskId": "1" }))), name);
    assert_eq!(client.ask("claim 2")["agent"], json!(name));
    let mut beside = Client::start(&home);
    beside.hook("SessionStart", json!({ "source": "resume", "session_id": SESSION }));
    assert_ne!(beside.ask("claim --next")["agent"], json!(name), "a living client has that name");
}

#[test]
fn leases_under_names_of_older_releases_stay_their_holders() {
    let old = "claude-code-0198c0de";
    for variable in ["CLAUDE_CODE_SESSION_ID", "TASKYARD_SESSION_AGENT"] {
        let home = home(&["one", "two"]);
        home.ask(&format!("claim 1 --as {old}"));
        let value = if variable == "CLAUDE_CODE_SESSION_ID" { SESSION } else { old };
        let mut client = Client::start_with(&home, &[(variable, value)]);
        assert_eq!(client.ask("done 1")["task"]["status"], json!("completed"), "{variable}");
        assert_eq!(client.ask("claim 2")["agent"], json!(old), "{variable}: it keeps its name to the end");
    }
}

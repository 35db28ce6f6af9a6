//! The keys of answers that no other snapshot shows. The documents' test holds these against `docs/formats/json-output.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use taskyard::core::Timestamp;
use taskyard_testkit::{Cluster, Process, Program, postgres_program, wait_until};

use crate::test::{Test, compare};

const LIST: &str = "home/.claude/tasks/project";

/// A test that writes down which keys answers have, and no values: those differ from run to run.
struct Keys {
    test: Test,
    transcript: String,
}

impl Keys {
    fn of(test: Test) -> Self {
        Self { test, transcript: String::new() }
    }

    /// Asks for JSON and writes down the keys of every object that comes.
    fn ask(mut self, line: &str) -> Self {
        let output = self.test.output_of(&format!("--json {line}"));
        let text = String::from_utf8(output.stdout).unwrap();
        self.write(line, text.lines());
        self
    }

    /// Starts a command that does not end by itself, and writes down the keys of its first objects.
    fn ask_running(mut self, line: &str, objects: usize) -> Self {
        let mut command = self.test.command(env!("CARGO_BIN_EXE_taskyard"));
        let mut process = command.arg("--json").args(line.split(' ')).start();
        let mut lines: Vec<String> = (0..objects).map_while(|_| process.line()).collect();
        // Ends of jobs come between revisions, wherever they happened.
        lines.sort_by_key(|line| line.contains("\"job\":"));
        process.kill();
        self.write(line, lines.iter().map(String::as_str));
        self
    }

    fn then(mut self, change: impl FnOnce(Test) -> Test) -> Self {
        self.test = change(self.test);
        self
    }

    fn write<'a>(&mut self, line: &str, objects: impl Iterator<Item = &'a str>) {
        let _ = writeln!(self.transcript, "$ taskyard {line}");
        for object in objects {
            let mut value = serde_json::from_str(object).unwrap_or_else(|error| panic!("{line}: {error}\n{object}"));
            keep_keys(&mut value);
            value["schema"] = json!("taskyard/1");
            let _ = writeln!(self.transcript, "{value}");
        }
        self.transcript.push('\n');
    }

    #[track_caller]
    fn snapshot(self) {
        compare(&self.transcript);
    }
}

/// Takes the values away, and all elements of an array but those that differ in their keys.
fn keep_keys(value: &mut Value) {
    match value {
        Value::Object(object) => object.values_mut().for_each(keep_keys),
        Value::Array(elements) => {
            elements.iter_mut().for_each(keep_keys);
            let mut kept: Vec<Value> = Vec::new();
            for element in elements.drain(..).filter(|element| !element.is_null()) {
                if !kept.contains(&element) {
                    kept.push(element);
                }
            }
            *elements = kept;
        }
        _ => *value = Value::Null,
    }
}

#[test]
fn what_commands_show_of_a_list() {
    Keys::of(Test::new().list("1 pending; 2 pending <- 1; 3 pending"))
        .ask("claim 1 --as ana")
        .ask("list")
        .ask("create Estimated --estimate 1h")
        .then(|test| test.quietly("start 4").quietly("done 4"))
        .ask("stats")
        .ask("graph --format dot")
        .ask("export --to markdown")
        .ask("completions bash")
        .ask("man")
        .ask("man --out pages")
        .ask("demo")
        .snapshot();
}

#[test]
fn what_is_shown_of_a_file_that_broke() {
    let break_it = |place: &Path| fs::write(place.join(LIST).join("1.json"), "{").unwrap();
    Keys::of(Test::new().list("1 pending").quietly("list").meanwhile(break_it)).ask("show 1").snapshot();
}

#[test]
fn what_moves_tell_of_others() {
    Keys::of(Test::new().list("1 pending; 2 pending <- 1; 3 pending; 4 in_progress (ana)"))
        .ask("done 2")
        .ask("reopen 2")
        .ask("done 1")
        .then(|test| test.quietly("start 2"))
        .ask("reopen 1")
        .then(|test| test.quietly("claim 3 --as bob"))
        .ask("release 3 4 9 --keep-going --as eve")
        .snapshot();
}

#[test]
fn a_claim_says_when_something_can_be_had() {
    Keys::of(Test::new().quietly("create later --defer 1d")).ask("claim --next --as ana").snapshot();
}

#[test]
fn a_list_that_lost_its_tasks_tells_so() {
    let remove = |place: &Path| fs::remove_dir_all(place.join(LIST)).unwrap();
    let mut keys = Keys::of(Test::new().list("1 completed; 2 pending; 3 pending").quietly("list").meanwhile(remove));
    for line in ["list", "ready", "stats", "search x", "claim --next", "prime", "work -- true", "lists"] {
        keys = keys.ask(line);
    }
    keys.snapshot();
}

#[test]
fn what_teams_answer() {
    let tear = |place: &Path| {
        let path = place.join("home/.claude/teams/alpha/inboxes/bob.json");
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    };
    Keys::of(Test::new().list("1 pending"))
        .ask("team create alpha --as lea")
        .ask("team join alpha --as bob")
        .ask("team join alpha --as eve")
        .ask("team list")
        .ask("team show alpha")
        .ask("send --to bob hello --as eve")
        .ask("send --to bob --request shutdown --as lea")
        .ask("send --to * hello --as eve")
        .ask("inbox --as lea")
        .then(|test| test.quietly("create one --list alpha").quietly("claim 1 --as eve --list alpha"))
        .ask("team leave alpha --as eve")
        .then(|test| test.meanwhile(tear))
        .ask("team mend")
        .ask("team leave alpha --as bob")
        .ask("where --as lea --list project")
        .ask("whoami")
        .ask("team delete alpha --as lea")
        .snapshot();
}

#[test]
fn what_other_teams_one_is_in() {
    let team = |name: &str| json!({"name": name, "members": [{"name": "ana", "cwd": "/elsewhere"}]}).to_string();
    let test = Test::new().file("home/.claude/teams/crew/config.json", team("crew"));
    Keys::of(test).ask("where --as ana").snapshot();
}

#[test]
fn what_is_told_of_tokens() {
    let browser = json!({
        "name": "browser:1f0c9a52", "cookie": "", "page": "", "made": 0, "used": 4_102_444_800_000_i64, "agent": "Fox/1",
    });
    let book = json!({"version": 1, "tokens": [], "browsers": [browser]}).to_string();
    let keys = Keys::of(Test::new().file("data/serve-tokens.json", book));
    keys.ask("token create ci").ask("token list").ask("token revoke ci").snapshot();
}

#[test]
fn what_a_server_tells_when_it_listens() {
    let keys = Keys::of(Test::new()).ask_running("serve --port 0", 1);
    let keys = keys.ask_running("serve --port 0 --public-url https://board.example/yard", 1);
    keys.ask_running("serve --port 0 --bind 0.0.0.0", 1).snapshot();
}

#[test]
fn what_a_backup_holds() {
    let test = Test::new().list("1 pending").quietly("list").quietly("team create alpha --as lea");
    Keys::of(test).ask("backup all.tar").snapshot();
}

#[test]
fn what_a_move_to_another_store_tells() {
    let keys = Keys::of(Test::new().list("1 pending").quietly("list"));
    keys.ask("move project --to file:elsewhere --dry-run").ask("move project --to file:elsewhere").snapshot();
}

#[test]
fn what_a_database_tells_its_administrator() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let primary = Cluster::make(folders[0].path(), &[]).stop_when_dropped();
    let standby = Cluster::standby(&primary, folders[1].path(), "second").stop_when_dropped();
    let is_followed = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    wait_until("the standby to follow", || primary.sql(is_followed) == "1");
    let keys = Keys::of(Test::new().env("TASKYARD_STORE", primary.address()))
        .ask("db status")
        .ask("db init --role agents")
        .ask("db upgrade")
        .then(|test| test.quietly("create first").quietly("db init --role agents --lists granted"))
        .ask("grant project agents read");
    let lock = |sql: &str| {
        let mut psql = Program::new(postgres_program("psql"));
        psql.args(["--no-psqlrc", "--quiet"]).arg(primary.address()).stdin(Stdio::piped());
        let mut session = psql.start();
        session.tell(sql);
        session
    };
    let count = |which: &str| primary.sql(&format!("SELECT count(*) FROM pg_stat_activity WHERE {which}"));
    let mut sessions = vec![lock("BEGIN; SELECT 1 FROM taskyard.yard FOR UPDATE;")];
    wait_until("a lock", || count("state = 'idle in transaction'") == "1");
    sessions.push(lock("SELECT 1 FROM taskyard.yard FOR UPDATE;"));
    wait_until("a session to wait", || count("wait_event_type = 'Lock'") == "1");
    let keys = keys.ask("db status");
    sessions.iter_mut().for_each(Process::kill);
    let is_there = "SELECT to_regclass('taskyard.grants') IS NOT NULL";
    wait_until("the tables on the standby", || standby.sql(is_there) == "t");
    keys.then(|test| test.env("TASKYARD_STORE", standby.address())).ask("db status").snapshot();
}

#[test]
fn what_earlier_sessions_left() {
    let test = crate::adopt::left_behind();
    let claimed = format!("claim 2 --as ana --list {}", crate::adopt::SESSION);
    let test = test.file("home/shop/x", "").inside("../shop");
    let test = test.quietly(&format!("use {}", crate::adopt::SESSION)).inside("");
    Keys::of(test).ask("adopt").then(|test| test.quietly(&claimed)).ask("adopt --yes").snapshot();
}

#[test]
fn what_earlier_sessions_left_comes_here() {
    Keys::of(crate::adopt::left_behind()).ask("adopt --yes").snapshot();
}

#[test]
fn what_another_program_took_back() {
    let stale = |place: &Path| {
        let path = place.join(LIST).join("1.json");
        let mut task: Map<String, Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        task.insert("status".into(), json!("pending"));
        task.insert("activeForm".into(), json!("theirs"));
        fs::write(&path, serde_json::to_string_pretty(&task).unwrap()).unwrap();
        // Its time tells it from the write before, however soon after that it came.
        let before = SystemTime::now() - Duration::from_secs(60);
        fs::File::options().append(true).open(&path).unwrap().set_modified(before).unwrap();
    };
    let test = Test::new().file("home/.config/taskyard/taskyard.toml", "[merge]\nput_back = false\n");
    Keys::of(test.quietly("create Parser -d Grammar").quietly("start 1 --as ana").meanwhile(stale).quietly("list"))
        .ask("history")
        .ask("doctor")
        .snapshot();
}

#[test]
fn what_is_a_warning() {
    let test = Test::new().file("home/.config/taskyard/taskyard.toml", "[journal]\nmax_size = 4096\n");
    Keys::of(test.quietly("create One")).ask("doctor").snapshot();
}

#[test]
fn what_gc_takes_out_of_journals() {
    let test = Test::new().quietly("create A").quietly("update 1 --subject B").quietly("update 1 --subject C");
    let two_years = format!("any=wall:{}", 2 * 366 * 86_400_000_u64);
    Keys::of(test.env("TASKYARD_FAILPOINTS", two_years)).ask("gc").ask("gc --yes").snapshot();
}

#[test]
fn what_the_client_says_of_a_session() {
    let test = Test::new().quietly("create One").quietly("start 1 --as claude-code-0198ffff");
    let directory = test.path("home/project").canonicalize().unwrap().display().to_string();
    let slug: String = directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let at = Timestamp(i64::try_from(now).unwrap()).to_string();
    let said = json!({"type": "assistant", "cwd": directory, "timestamp": at, "message": {"id": "m", "usage": {}}});
    let transcript = format!("{said}\n{}\n", json!({"type": "cost-state", "totalCostUSD": 0.25}));
    let test = test.file(&format!("home/.claude/projects/{slug}/0198ffff-1c5d.jsonl"), &transcript);
    Keys::of(test).ask("show 1").snapshot();
}

/// Everything that a task can say of its worktree.
fn whole_worktree() -> Value {
    json!({
        "branch": "taskyard/3-x", "base": "main", "path": "/away", "state": "conflict", "from": "a1", "merges": true,
        "tip": "b2", "queued": "2026-01-01T00:00:00.000Z", "candidates": ["c3"], "merged": "c3", "reason": "conflicts",
        "conflicts": ["README"], "with": ["2"], "changes": { "files": 1, "added": 2, "removed": 3 }, "continue": true,
        "approved": true,
    })
}

#[test]
fn what_is_told_of_worktrees() {
    let test = Test::new().list("1 pending; 2 pending; 3 pending");
    let mut test = crate::repositories::repository(test, "project").quietly("start 1 --worktree");
    let worktree = PathBuf::from(test.json("worktrees path 1 --json")["worktree"]["path"].as_str().unwrap());
    let commit = |name: &'static str| {
        let worktree = worktree.clone();
        move |_: &Path| {
            fs::write(worktree.join(name), "x\n").unwrap();
            crate::repositories::git(&worktree, "add .");
            crate::repositories::git(&worktree, "commit -q -m Own");
        }
    };
    let record = |id: u32, change: fn(&mut Value)| {
        move |place: &Path| {
            let path = place.join(LIST).join(format!("{id}.json"));
            let mut task: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            change(&mut task["metadata"]["worktree"]);
            fs::write(&path, serde_json::to_string_pretty(&task).unwrap()).unwrap();
        }
    };
    let in_review = |tree: &mut Value| tree["state"] = json!("review");
    let lock = |_: &Path| crate::repositories::git(&worktree, "worktree lock --reason Mine .");
    Keys::of(test.meanwhile(commit("one")))
        .ask("diff 1")
        .ask("worktrees path 1")
        .ask("worktrees merge 1")
        .then(|test| test.meanwhile(commit("two")).meanwhile(record(1, in_review)))
        .ask("worktrees approve 1")
        .ask("worktrees unqueue 1")
        .ask("worktrees request-changes 1 more")
        .then(|test| test.quietly("start 2 --worktree").meanwhile(lock))
        .ask("worktrees")
        .ask("worktrees merge 1")
        .then(|test| test.quietly("done 1").quietly("done 2"))
        .ask("worktrees clean --dry-run")
        .ask("worktrees clean")
        .then(|test| test.meanwhile(record(3, |tree| *tree = whole_worktree())))
        .ask("worktrees path 3")
        .snapshot();
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_told_of_jobs() {
    let long = "job run --max-output 64KB --wait --name long --task 1 -- seq 100000";
    Keys::of(Test::new().list("1 pending").env("TASKYARD_AGENT", "ana"))
        .ask(long)
        .ask("job output long --offset 0")
        .ask("show 1")
        .ask("job run --timeout 1s --wait -- sleep 600")
        .ask("job run --wait -- ./no-such-program")
        .ask("job run --name sleeper -- sleep 600")
        .ask("job stop sleeper")
        .then(|test| test.quietly("job run --name quick -- true"))
        .ask("job wait quick --as eve")
        .ask("inbox")
        .then(|test| test.quietly("start 1"))
        .ask_running("watch --since 0", 3)
        .snapshot();
}

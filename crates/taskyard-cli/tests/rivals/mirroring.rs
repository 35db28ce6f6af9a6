//! A script that keeps a copy of the list misses no completion: random runs of three agents, with the flat hooks of `settings.json`.
//!
//! Full scale (200 runs): `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals mirroring::`.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Random, Scale};

const AGENTS: [&str; 3] = ["ana", "ben", "cem"];

/// Copies what it reads over the copy that is there, at once or a moment later.
const MIRROR: &str = "cat > copy.$$; [ $(($$ % 2)) = 0 ] && sleep 0.01; mv copy.$$ copy.json";

/// A list of some tasks that wait for others at random, with the hook of an event.
fn home(random: &mut Random, event: &str, command: &str) -> (Home, usize) {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let count = 4 + random.below(4);
    for number in 1..=count {
        let on = if number > 1 && random.below(3) == 0 { 1 + random.below(number - 1) } else { 0 };
        let waits = if on > 0 { format!(" --blocked-by {on}") } else { String::new() };
        home.ask(&format!("create task-{number}{waits}"));
    }
    let settings = json!({"hooks": {event: [{"type": "command", "command": command}]}});
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    fs::write(home.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    (home, count)
}

/// Returns the tasks that are completed by the list, and those that are by the copy of it.
fn completed(home: &Home) -> [BTreeSet<String>; 2] {
    let copy = fs::read(home.path().join("copy.json")).unwrap_or_else(|_| b"[]".to_vec());
    let copy: Value = serde_json::from_slice(&copy).unwrap();
    [home.ask("list --all")["tasks"].clone(), copy].map(|tasks| {
        let is_completed = |task: &&Value| task["status"] == "completed";
        let completed = tasks.as_array().unwrap().iter().filter(is_completed);
        completed.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    })
}

/// Takes what comes next and completes it, now and then something else besides, until nothing is left.
fn agent(home: &Home, name: &str, mut random: Random) {
    loop {
        let claimed = home.run(&format!("claim --next --as {name} --json"));
        let answer: Value = serde_json::from_str(&claimed.stdout).unwrap();
        if answer["claimed"] != true {
            if completed_all(home) {
                return;
            }
            continue;
        }
        let id = answer["task"]["id"].as_str().unwrap().to_owned();
        let verb = *random.pick(&["done {}", "update {} --status completed", "done {}"]);
        let done = home.run(&format!("{} --as {name}", verb.replace("{}", &id)));
        assert_eq!(done.code, Some(0), "{done:?}");
    }
}

fn completed_all(home: &Home) -> bool {
    home.ask("list --all")["counts"]["completed"].as_u64()
        == home.ask("list --all")["tasks"].as_array().map(|all| all.len() as u64)
}

fn work_apart(home: &Home, random: &mut Random) {
    thread::scope(|scope| {
        for name in AGENTS {
            let random = Random::new(random.below(1 << 30) as u64);
            scope.spawn(move || agent(home, name, random));
        }
    });
}

fn work_in_one_process(home: &Home, random: &mut Random) {
    // Some complete their task themselves, some leave that to `work`, some fail the first time.
    let line = format!(
        "case $((($TASKYARD_TASK_ID + {}) % 3)) in 0) \"$TASKYARD\" done $TASKYARD_TASK_ID;; \
         1) [ -e again.$TASKYARD_TASK_ID ] || {{ touch again.$TASKYARD_TASK_ID; exit 1; }};; esac",
        random.below(3)
    );
    let mut command = home.command("work -j 3 --as ana -- sh -c");
    let worked = command.arg(line).env("TASKYARD", env!("CARGO_BIN_EXE_taskyard")).run();
    assert_eq!(worked.code, Some(0), "{worked:?}");
}

#[test]
fn list_copy_misses_no_completion_over_random_runs() {
    for run in 0..Scale::from_environment(0.03).of(200) {
        let mut random = Random::new(run as u64 + 1);
        let (event, work): (_, fn(&Home, &mut Random)) = match run % 3 {
            0 => ("TaskCompleted", work_apart),
            1 => ("SubagentStop", work_in_one_process),
            _ => ("TaskCompleted", work_in_one_process),
        };
        let (home, count) = home(&mut random, event, MIRROR);
        work(&home, &mut random);
        let [list, copy] = completed(&home);
        assert_eq!(list.len(), count, "run {run}");
        assert_eq!(copy, list, "run {run} with {event}");
    }
}

#[test]
fn hook_completing_other_tasks_does_not_wait_for_itself() {
    let more =
        "cat > copy.$$; mv copy.$$ copy.json; [ -e once ] || { touch once; \"$TASKYARD\" done 2 || touch failed; }";
    let (home, _) = home(&mut Random::new(1), "TaskCompleted", more);
    let mut command = home.command("done 1");
    let done = taskyard_testkit::finishes(move || command.env("TASKYARD", env!("CARGO_BIN_EXE_taskyard")).run());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!home.path().join("failed").exists());
    let [list, _] = completed(&home);
    assert!(list.contains("1") && list.contains("2"), "{list:?}");
}

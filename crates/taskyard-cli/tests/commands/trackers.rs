//! Files that other task programs wrote themselves are taken in as those programs see them.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Program, install_taskmaster, install_taskwarrior, install_trackers};

#[test]
fn taskwarrior_export_is_imported_with_counts_and_edges() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let program = install_taskwarrior();
    let place = home.path().join("warrior");
    fs::create_dir_all(place.join("data")).unwrap();
    fs::write(place.join("rc"), "confirmation=no\nverbose=nothing\n").unwrap();
    let task = |words: &str| {
        let mut command = Program::new(&program);
        command.env("HOME", &place).env("TASKRC", place.join("rc")).env("TASKDATA", place.join("data"));
        run(&mut command, words)
    };
    task("add project:rocket +db priority:H Design");
    task("add depends:1 Build");
    task("add depends:1,2 Ship");
    task("add Old");
    task("add Finished");
    task("1 annotate ask ana");
    task("1 start");
    task("4 delete");
    task("5 done");
    fs::write(home.path().join("tasks.json"), task("export")).unwrap();

    let report = home.ask("import tasks.json --from taskwarrior");
    assert_eq!((&report["counts"]["created"], &report["lost"]), (&json!(5), &json!([])));
    let tasks = home.ask("list --all")["tasks"].clone();
    let count = |status: &str| tasks.as_array().unwrap().iter().filter(|task| task["status"] == status).count();
    let counted = |filter: &str| task(&format!("{filter} count")).trim().parse::<usize>().unwrap();
    assert_eq!(count("in_progress"), counted("+ACTIVE"));
    assert_eq!(count("pending") + count("in_progress"), counted("status:pending"));
    assert_eq!(count("completed"), counted("status:completed") + counted("status:deleted"));
    assert_eq!(titles(&tasks, &named(&tasks, "Ship")["blockedBy"]), ["Design", "Build"].map(str::to_owned).into());
    assert_eq!(titles(&tasks, &named(&tasks, "Build")["blockedBy"]), ["Design".to_owned()].into());
    assert_eq!(named(&tasks, "Old")["metadata"]["cancelled"], true);
    assert_eq!(named(&tasks, "Design")["metadata"]["priority"], "high");

    task("2 done");
    fs::write(home.path().join("tasks.json"), task("export")).unwrap();
    home.ask("import tasks.json --from taskwarrior");
    let tasks = home.ask("list --all")["tasks"].clone();
    assert_eq!((tasks.as_array().unwrap().len(), &named(&tasks, "Build")["status"]), (5, &json!("completed")));
}

#[test]
fn a_project_of_backlog_comes_with_its_counts_states_and_edges() {
    const LONG: &str = "Write-the-API-with-a-title-so-long-that-it-is-folded over-more-than-one-line-of-the-head";
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let program = install_trackers().join("backlog");
    let project = home.path().join("project");
    fs::create_dir_all(&project).unwrap();
    run(Program::new("git").current_dir(&project), "init --quiet");
    let backlog = |words: &[&str]| {
        let mut command = Program::new(&program);
        command.current_dir(&project).env("HOME", home.path()).args(words);
        run(&mut command, "")
    };
    backlog(&["init", "Rocket", "--defaults", "--integration-mode", "none"]);
    backlog(&[
        "task",
        "create",
        "Design: all of it",
        "-d",
        "Every table",
        "-a",
        "@ana",
        "-l",
        "db",
        "--priority",
        "high",
    ]);
    backlog(&["task", "create", LONG, "--dep", "task-1"]);
    backlog(&["task", "create", "Part", "-p", "task-2", "-s", "In Progress"]);
    backlog(&["task", "edit", "1", "-s", "Done"]);

    let report = home.ask("import project --from backlog");
    assert_eq!((&report["counts"]["created"], &report["lost"]), (&json!(3), &json!([])));
    let tasks = home.ask("list --all")["tasks"].clone();
    let design = named(&tasks, "Design: all of it");
    assert_eq!((&design["status"], &design["owner"]), (&json!("completed"), &json!("ana")));
    assert!(design["description"].as_str().unwrap().contains("Every table"));
    let api = named(&tasks, LONG);
    assert_eq!((&api["status"], &api["blockedBy"]), (&json!("pending"), &json!([design["id"]])));
    let part = named(&tasks, "Part");
    assert_eq!((&part["status"], &part["metadata"]["parent"]), (&json!("in_progress"), &api["id"]));
}

/// The file is what Task Master 0.43.1 wrote after `add-task`, `add-subtask` and `set-status`.
#[test]
fn taskmaster_export_is_imported_with_counts_and_edges() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    fs::write(home.path().join("tasks.json"), include_str!("../fixtures/taskmaster.json")).unwrap();
    let report = home.ask("import tasks.json --from taskmaster");
    assert_eq!((&report["counts"]["created"], &report["lost"]), (&json!(5), &json!([])));
    let tasks = home.ask("list --all")["tasks"].clone();
    let states = ["Design", "Build", "Ship", "Parser", "Printer"].map(|title| named(&tasks, title)["status"].clone());
    assert_eq!(states, ["completed", "in_progress", "pending", "pending", "pending"]);
    assert_eq!(titles(&tasks, &named(&tasks, "Ship")["blockedBy"]), ["Design", "Build"].map(str::to_owned).into());
    assert_eq!(titles(&tasks, &named(&tasks, "Printer")["blockedBy"]), ["Parser".to_owned()].into());
    assert_eq!(named(&tasks, "Parser")["metadata"]["parent"], named(&tasks, "Build")["id"]);
}

#[test]
fn taskmaster_project_is_imported_with_counts_and_edges() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let project = home.path().join("project");
    let mut node = Program::new("node");
    node.arg(install_taskmaster()).arg(&project).current_dir(home.path());
    let told = run(&mut node, "");
    let told: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    let report = home.ask("import project/.taskmaster/tasks/tasks.json --from taskmaster");
    let created = told["total"].as_u64().unwrap() + told["subtasks"]["total"].as_u64().unwrap();
    assert_eq!((&report["counts"]["created"], &report["lost"]), (&json!(created), &json!([])));
    let tasks = home.ask("list --all")["tasks"].clone();
    let count = |wanted: &dyn Fn(&Value) -> bool| tasks.as_array().unwrap().iter().filter(|task| wanted(task)).count();
    let counted = |key: &str| (told[key].as_u64().unwrap() + told["subtasks"][key].as_u64().unwrap()) as usize;
    let is_cancelled = |task: &Value| task["metadata"]["cancelled"] == true;
    assert_eq!(count(&is_cancelled), counted("cancelled"));
    assert_eq!(count(&|task| task["status"] == "completed" && !is_cancelled(task)), counted("completed"));
    assert_eq!(count(&|task| task["status"] == "in_progress"), counted("inProgress"));
    assert_eq!(count(&|task| task["status"] == "pending"), counted("pending"));
    assert_eq!(titles(&tasks, &named(&tasks, "Ship")["blockedBy"]), ["Design", "Build"].map(str::to_owned).into());
    assert_eq!(titles(&tasks, &named(&tasks, "Printer")["blockedBy"]), ["Parser".to_owned()].into());
    assert_eq!(named(&tasks, "Printer")["metadata"]["parent"], named(&tasks, "Build")["id"]);
}

#[test]
fn what_the_newest_task_master_wrote_comes_too() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    fs::write(home.path().join("tasks.json"), include_str!("../fixtures/taskmaster-0.43.json")).unwrap();
    let report = home.ask("import tasks.json --from taskmaster");
    assert_eq!((&report["counts"]["created"], &report["lost"]), (&json!(3), &json!([])));
    let tasks = home.ask("list --all")["tasks"].clone();
    let states =
        ["Design the schema", "Write the API", "List endpoint"].map(|one| named(&tasks, one)["status"].clone());
    assert_eq!(states, ["completed", "pending", "pending"]);
    let api = named(&tasks, "Write the API");
    assert_eq!(titles(&tasks, &api["blockedBy"]), ["Design the schema".to_owned()].into());
    assert_eq!(named(&tasks, "List endpoint")["metadata"]["parent"], api["id"]);
}

/// Makes a plan with what the formats of other programs have words for.
fn plan(home: &Home) {
    home.command("create Design --priority high --tag db --as ana -d").arg("Every table").succeed();
    home.command("create --blocked-by 1 --due 2036-01-07").arg("Build: all of it").succeed();
    home.ask("create Parser --parent 2");
    home.ask("create Old");
    home.ask("done 1");
    home.ask("start 3 --as ana");
    home.ask("cancel 4");
}

#[test]
fn taskwarrior_takes_in_what_is_exported() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    plan(&home);
    home.ask("export tasks.json --to taskwarrior");
    let program = install_taskwarrior();
    let place = home.path().join("warrior");
    fs::create_dir_all(place.join("data")).unwrap();
    fs::write(place.join("rc"), "confirmation=no\nverbose=nothing\n").unwrap();
    let file = home.path().join("tasks.json");
    let task = |words: &str| {
        let mut command = Program::new(&program);
        command.env("HOME", &place).env("TASKRC", place.join("rc")).env("TASKDATA", place.join("data"));
        run(&mut command, words)
    };
    task(&format!("import {}", file.display()));
    let counted = |filter: &str| task(&format!("{filter} count")).trim().to_owned();
    assert_eq!(
        ["status:completed", "status:deleted", "+ACTIVE", "status:pending", "+BLOCKED", "+db"].map(counted),
        ["1", "1", "1", "2", "0", "1"]
    );
    fs::write(&file, task("export")).unwrap();
    home.ask("import tasks.json --from taskwarrior --list back");
    let tasks = home.ask("list --all --list back")["tasks"].clone();
    assert_eq!(titles(&tasks, &named(&tasks, "Build: all of it")["blockedBy"]), ["Design".to_owned()].into());
    assert_eq!(named(&tasks, "Build: all of it")["metadata"]["due"].as_str().unwrap()[..10], *"2036-01-07");
    assert_eq!(named(&tasks, "Design")["metadata"]["priority"], "high");
}

#[test]
fn backlog_shows_what_is_exported() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    plan(&home);
    let program = install_trackers().join("backlog");
    let project = home.path().join("project");
    fs::create_dir_all(&project).unwrap();
    run(Program::new("git").current_dir(&project), "init --quiet");
    let backlog = |words: &[&str]| {
        let mut command = Program::new(&program);
        command.current_dir(&project).env("HOME", home.path()).args(words);
        run(&mut command, "")
    };
    backlog(&["init", "Rocket", "--defaults", "--integration-mode", "none"]);
    home.ask("export project/backlog/tasks --to backlog");
    let list = backlog(&["task", "list", "--plain"]);
    for title in ["Design", "Build: all of it", "Parser"] {
        assert!(list.contains(title), "{list}");
    }
    let build = backlog(&["task", "2", "--plain"]).to_lowercase();
    assert!(build.contains("task-1") && build.contains("task-3"), "{build}");
    assert!(backlog(&["task", "1", "--plain"]).contains("Every table"));
    // The program writes the file anew, and it comes back with what it had.
    backlog(&["task", "edit", "2", "--priority", "low"]);
    home.ask("import project --from backlog --list back");
    let tasks = home.ask("list --all --list back")["tasks"].clone();
    assert_eq!(titles(&tasks, &named(&tasks, "Build: all of it")["blockedBy"]), ["Design".to_owned()].into());
    assert_eq!(named(&tasks, "Parser")["metadata"]["parent"], named(&tasks, "Build: all of it")["id"]);
    assert_eq!(named(&tasks, "Design")["description"], "Every table");
}

#[test]
fn task_master_counts_what_is_exported() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    plan(&home);
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".taskmaster/tasks")).unwrap();
    home.ask("export project/.taskmaster/tasks/tasks.json --to taskmaster");
    let mut node = Program::new("node");
    node.arg(install_taskmaster()).arg(&project).arg("list").current_dir(home.path());
    let told = run(&mut node, "");
    let told: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    let counts = ["total", "completed", "inProgress", "cancelled"].map(|key| told[key].as_u64().unwrap());
    assert_eq!((counts, told["subtasks"]["total"].as_u64()), ([3, 1, 1, 1], Some(1)), "{told}");
    home.ask("import project/.taskmaster/tasks/tasks.json --from taskmaster --list back");
    let tasks = home.ask("list --all --list back")["tasks"].clone();
    let build = named(&tasks, "Build: all of it");
    assert_eq!(
        (&build["status"], titles(&tasks, &build["blockedBy"])),
        (&json!("in_progress"), ["Design".to_owned()].into())
    );
    assert_eq!(named(&tasks, "Parser")["metadata"]["parent"], build["id"]);
}

fn run(command: &mut Program, words: &str) -> String {
    command.args(words.split_whitespace()).succeed()
}

fn named<'a>(tasks: &'a Value, subject: &str) -> &'a Value {
    let found = tasks.as_array().unwrap().iter().find(|task| task["subject"] == subject);
    found.unwrap_or_else(|| panic!("no task is called {subject}: {tasks:#}"))
}

/// Returns the titles of tasks that are named by their ids.
fn titles(tasks: &Value, ids: &Value) -> std::collections::BTreeSet<String> {
    let ids = ids.as_array().unwrap();
    let found = tasks.as_array().unwrap().iter().filter(|task| ids.contains(&task["id"]));
    found.map(|task| task["subject"].as_str().unwrap().to_owned()).collect()
}

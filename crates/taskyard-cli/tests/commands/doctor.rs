use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use taskyard_testkit::Program;

use crate::test::Test;

const ONE_SIDED: &str =
    r#"{"id":"2","subject":"two","description":"","status":"pending","blocks":["7"],"blockedBy":["1"]}"#;

#[test]
fn a_sound_list_has_nothing_wrong() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .run("doctor")
        .run("doctor --json")
        .run("doctor --fix --yes")
        .snapshot();
}

#[test]
fn potential_trouble_is_only_a_warning() {
    let mut test = Test::new()
        .file("home/.config/taskyard/taskyard.toml", "[journal]\nmax_size = 4096\n")
        .quietly("create One")
        .quietly("create Elsewhere --list gone")
        .meanwhile(|place| fs::remove_dir_all(place.join("home/.claude/tasks/gone")).unwrap())
        .env("TASKYARD_FAILPOINTS", "any=inotify:1000000");
    let warned = |test: &mut Test, line: &str| -> Vec<String> {
        let findings = test.json(line)["findings"].as_array().unwrap().clone();
        assert!(
            findings.iter().all(|finding| finding["severity"] == "warning" && finding["fix"].is_null()),
            "{findings:?}"
        );
        findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["journal_too_large", "gone_lists", "inotify_near_limit"];
    assert_eq!(warned(&mut test, "doctor --json"), all);
    for line in ["doctor", "doctor --fix --yes"] {
        let told = test.output_of(line);
        let text = String::from_utf8(told.stdout).unwrap();
        assert!(told.status.success() && text.contains("Nothing is wrong yet"), "{text}");
        assert!(text.contains("list gone is gone") && text.contains("1000000 of "), "{text}");
    }
    let mut test = test.without("TASKYARD_FAILPOINTS").file("home/.config/taskyard/taskyard.toml", "");
    assert_eq!(warned(&mut test, "doctor --json"), ["gone_lists"]);
}

#[test]
fn what_is_wrong_is_named_and_mended_when_asked() {
    Test::new()
        .list("1 pending")
        .task_file("2.json", ONE_SIDED)
        .run("doctor")
        .run("doctor --json")
        .run("doctor --fix")
        .run("doctor --fix --yes")
        .run("doctor")
        .run("list --json")
        .snapshot();
}

#[test]
fn unreadable_file_can_be_deleted_and_undone() {
    let test = Test::new().task_file("5.json", "{\"id\": ");
    let test = test.run("doctor").run("doctor --fix --yes --json").run("doctor").run("undo").run("doctor --json");
    assert_eq!(std::fs::read(test.path("home/.claude/tasks/project/5.json")).unwrap(), b"{\"id\": ");
    test.snapshot();
}

#[test]
fn hidden_tasks_are_named_with_reason_and_made_visible() {
    Test::new()
        .list("1 pending")
        .task_file("88.json", r#"{"id": 88, "subject": "My Task", "description": "...", "status": "pending", "x": 1.50}"#)
        .task_file("89.json", "\u{feff}{\"id\":\"89\",\"subject\":\"s\",\"description\":\"\",\"status\":\"blocked\",\"owner\":null,\"blocks\":[],\"blockedBy\":[1]}")
        .run("list")
        .run("doctor")
        .run("doctor --fix --yes")
        .run("doctor")
        .run("list --json")
        .snapshot();
}

#[test]
fn a_list_that_was_emptied_is_brought_back() {
    let test = Test::new().list("1 completed; 2 pending <- 1").quietly("list");
    let list = test.path("home/.claude/tasks/project");
    std::fs::remove_dir_all(&list).unwrap();
    test.run("doctor").run("doctor --fix --yes").run("doctor").run("list").snapshot();
}

#[test]
fn settings_nobody_knows_are_pointed_out() {
    Test::new()
        .file("home/.config/taskyard/taskyard.toml", "colour = true\n[display]\nstyl = 1")
        .run("doctor")
        .run("doctor --json")
        .snapshot();
}

#[test]
fn yes_needs_fix() {
    Test::new().run("doctor --yes").snapshot();
}

/// What can be wrong with tasks.
const OF_TASKS: [&str; 11] = [
    "one_sided_edge",
    "dangling_edge",
    "self_edge",
    "double_edge",
    "cycle",
    "id_mismatch",
    "duplicate_id",
    "orphan_parent",
    "parent_cycle",
    "invisible_task",
    "unreadable",
];
/// What can be wrong around them, and is no part of a revision.
const AROUND: [&str; 7] = [
    "stale_lock",
    "leftover",
    "mark_too_low",
    "job_without_process",
    "member_without_process",
    "torn_inbox",
    "torn_team_file",
];

/// Breaks the list of the project, with what belongs to it, in every way there is a word for.
fn break_everything(test: &mut Test) {
    let list = test.path("home/.claude/tasks/project");
    let file = |name: &str, rest: &str| {
        let stem = name.trim_end_matches(".json");
        let text = format!(r#"{{"id":"{stem}","subject":"s","description":"","status":"pending",{rest}}}"#);
        fs::write(list.join(name), text).unwrap();
    };
    file("2.json", r#""blocks":["70"],"blockedBy":["1"]"#);
    file("3.json", r#""blocks":["3","1","1"],"blockedBy":[]"#);
    file("4.json", r#""blocks":["5"],"blockedBy":["5"]"#);
    file("5.json", r#""blocks":["4"],"blockedBy":["4"],"metadata":{"parent":"71"}"#);
    file("6.json", r#""blocks":[],"blockedBy":[],"metadata":{"parent":"7"}"#);
    file("7.json", r#""blocks":[],"blockedBy":[],"metadata":{"parent":"6"}"#);
    let named = |id: &str| {
        format!(r#"{{"id":"{id}","subject":"s","description":"","status":"pending","blocks":[],"blockedBy":[]}}"#)
    };
    fs::write(list.join("8.json"), named("1")).unwrap();
    fs::write(list.join("9.json"), named("72")).unwrap();
    fs::write(list.join("10.json"), r#"{"id":10,"subject":"s","status":"open","blockedBy":[11]}"#).unwrap();
    fs::write(list.join("11.json"), r#"{"id":"11","subj"#).unwrap();
    fs::create_dir(list.join("1.json.lock")).unwrap();
    make_old(&list.join("1.json.lock"));
    // No process has the highest number there is.
    fs::write(list.join(".taskyard-4194304-1-tmp"), "x").unwrap();
    make_old(&list.join(".taskyard-4194304-1-tmp"));
    fs::write(list.join(".highwatermark"), "3").unwrap();
    let job = test.json("job run --json -- sleep 600");
    let supervisor = job["job"]["supervisor"].to_string();
    assert!(Program::new("kill").args(["-9", &supervisor]).status().success());
    let mut process = Program::new("sleep").arg("600").start();
    test.json("team create alpha --as boss --json");
    test.json(&format!("team join alpha --as bob --pid {} --json", process.id()));
    process.kill();
    test.json("team create beta --as boss --json");
    let teams = test.path("home/.claude/teams");
    tear(&teams.join("beta/config.json"));
    fs::create_dir_all(teams.join("alpha/inboxes")).unwrap();
    fs::write(
        teams.join("alpha/inboxes/ana.json"),
        r#"[{"from":"bob","text":"hi","timestamp":"2026-01-01T00:00:00.000Z","read":false},{"fr"#,
    )
    .unwrap();
}

fn tear(path: &Path) {
    let text = fs::read(path).unwrap();
    fs::write(path, &text[..text.len() - 3]).unwrap();
}

fn make_old(path: &Path) {
    let then = SystemTime::now() - Duration::from_secs(60);
    fs::File::open(path).unwrap().set_modified(then).unwrap();
}

fn codes(findings: &Value) -> BTreeSet<&str> {
    findings.as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn badly_broken_list_is_mended_at_once_and_undoable() {
    let mut test = Test::new().list("1 pending; 20 pending").quietly("list").quietly("delete 20");
    break_everything(&mut test);
    let all: BTreeSet<&str> = OF_TASKS.into_iter().chain(AROUND).collect();
    let found = test.json("doctor --json");
    assert_eq!(codes(&found["findings"]), all);
    for finding in found["findings"].as_array().unwrap() {
        assert!(finding["fix"].is_string() && finding["means"].is_string(), "{finding}");
    }
    let mended = test.json("doctor --fix --yes --json");
    assert_eq!(mended["findings"], Value::Array(Vec::new()), "{mended:#}");
    assert_eq!(codes(&mended["fixed"]), all);
    assert_eq!(test.json("doctor --json")["findings"], Value::Array(Vec::new()));
    assert_eq!(fs::read_to_string(test.path("home/.claude/tasks/project/.highwatermark")).unwrap(), "20");
    assert_eq!(test.json("job list --json")["jobs"][0]["status"], "lost");
    assert_eq!(test.json("team show alpha --json")["members"].as_array().unwrap().len(), 1);

    let undone = test.json("undo --json");
    assert_eq!(undone["error"], Value::Null, "{undone}");
    let again = test.json("doctor --json");
    assert_eq!(codes(&again["findings"]), BTreeSet::from(OF_TASKS));
}

#[test]
fn file_hidden_by_dot_name_is_wrong_only_where_needed() {
    let task = |id: &str, status: &str| {
        format!(r#"{{"id":"{id}","subject":"s{id}","description":"","status":"{status}","blocks":[],"blockedBy":[]}}"#)
    };
    let test = Test::new()
        .list("1 pending; 9 pending")
        .task_file(".1.json", task("1", "completed"))
        .task_file(".2.json", task("2", "completed"))
        .task_file(".3.json", task("3", "pending"))
        .run("doctor")
        .run("doctor --fix --yes")
        .run("doctor")
        .run("list --all");
    let mut names: Vec<String> = fs::read_dir(test.path("home/.claude/tasks/project"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    assert_eq!(names, [".1.json.old", ".2.json", "1.json", "3.json", "9.json"]);
    test.snapshot();
}

#[test]
fn a_document_that_was_torn_is_set_aside_and_written_anew() {
    let mut test = Test::new().env("TASKYARD_STORE", "document:tasks.json").quietly("create one");
    let whole = test.json("create two --json");
    let test = test.quietly(&format!("delete {}", whole["task"]["id"].as_str().unwrap()));
    let file = test.path("home/project/tasks.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    let mut test = test.run("list").run("doctor").run("doctor --fix --yes").run("doctor");
    assert_eq!(fs::read_to_string(test.path("home/project/tasks.json.unreadable")).unwrap(), text[..text.len() / 2]);
    let tasks = test.json("list --json")["tasks"].clone();
    assert_eq!((tasks[0]["subject"].as_str(), tasks.as_array().unwrap().len()), (Some("one"), 1));
    test.snapshot();
}

#[test]
fn a_mark_that_is_no_number_is_replaced() {
    let test = Test::new().list("1 pending; 7 pending").task_file(".highwatermark", "many\n");
    let test = test.run("doctor").run("doctor --fix --yes").run("doctor");
    assert_eq!(fs::read_to_string(test.path("home/.claude/tasks/project/.highwatermark")).unwrap(), "7");
    test.snapshot();
}

#[test]
fn leaseless_owner_silent_for_a_day_is_found_and_released() {
    let test = Test::new().list("1 in_progress (ana); 2 pending (ben); 3 pending (cem); 4 completed (dee); 5 pending");
    for name in ["1.json", "2.json", "4.json"] {
        let file = test.path(&format!("home/.claude/tasks/project/{name}"));
        let then = SystemTime::now() - Duration::from_secs(25 * 3600);
        fs::File::options().append(true).open(file).unwrap().set_modified(then).unwrap();
    }
    // Ben is there: he did something just now.
    let mut test = test.quietly("create more --as ben");
    let found = test.json("doctor --json");
    let stale: Vec<&Value> = found["findings"].as_array().unwrap().iter().collect();
    assert_eq!(stale.len(), 1, "{found:#}");
    assert_eq!((&stale[0]["code"], &stale[0]["task"]), (&"stale_owner".into(), &"1".into()));
    assert_eq!(stale[0]["fix"], "release 1: it becomes pending and has no owner");
    assert_eq!(test.json("doctor --fix --yes --json")["findings"], Value::Array(Vec::new()));
    let task = test.json("show 1 --json")["task"].clone();
    assert_eq!((&task["owner"], &task["status"]), (&Value::Null, &"pending".into()));
    assert_eq!(test.json("claim 1 --as eva --json")["claimed"], true);
}

#[test]
fn owner_silence_limit_is_configurable_and_lease_is_life() {
    for store in ["claude:", "document:tasks.json", "teaching:tasks"] {
        let config = "[claims]\nstale_owner = \"1ms\"";
        let mut test = Test::new().env("TASKYARD_STORE", store).file("home/.config/taskyard/taskyard.toml", config);
        let given = test.json("create given --owner ana --as ben --json")["task"]["id"].clone();
        let taken = test.json("create taken --as ben --json")["task"]["id"].as_str().unwrap().to_owned();
        let mut test = test.quietly(&format!("claim {taken} --as ana"));
        let found = test.json("doctor --json");
        let codes: Vec<_> =
            found["findings"].as_array().unwrap().iter().map(|one| (&one["code"], &one["task"])).collect();
        assert_eq!(codes, [(&"stale_owner".into(), &given)], "{store}: {found:#}");
    }
}

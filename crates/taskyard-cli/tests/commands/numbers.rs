//! Numbers that cannot be counted on from: no new task is ever put in the place of another.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::test::Test;

const HUGE: &str = "1794754403000000000";
const RULES: [&str; 2] = ["strict", "client"];

/// Returns the file of a pending task.
fn task(id: &str) -> String {
    format!(
        r#"{{"id":"{id}","subject":"The {id} that was there","description":"","status":"pending","blocks":[],"blockedBy":[]}}"#
    )
}

/// Returns a list with these files, each of them a task.
fn with_tasks(names: &[&str]) -> Test {
    names.iter().fold(Test::new(), |test, name| test.task_file(&format!("{name}.json"), task(name)))
}

fn files(test: &Test) -> BTreeMap<String, String> {
    let entries = fs::read_dir(test.path("home/.claude/tasks/project")).unwrap().map(Result::unwrap);
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    let tasks = named.filter(|(name, path)| name.ends_with(".json") && path.is_file());
    tasks.map(|(name, path)| (name, fs::read_to_string(path).unwrap())).collect()
}

/// Runs a command, and returns the names of the files it added; every other file is as it was.
fn added_by(test: &mut Test, run: impl FnOnce(&mut Test)) -> Vec<String> {
    let before = files(test);
    run(test);
    let mut after = files(test);
    for (name, contents) in &before {
        assert_eq!(after.remove(name).as_ref(), Some(contents), "{name} was changed");
    }
    after.into_keys().collect()
}

#[test]
fn create_beside_uncountable_number_overwrites_nothing() {
    for rules in RULES {
        let mut test = with_tasks(&["1", "2", "3", HUGE]);
        for expected in ["4.json", "5.json"] {
            let added = added_by(&mut test, |test| {
                let created = test.json(&format!("create next --rules {rules} --json"));
                assert_eq!(created["task"]["id"], expected.trim_end_matches(".json"), "{created}");
            });
            assert_eq!(added, [expected], "{rules}");
        }
    }
}

#[test]
fn an_import_beside_such_a_number_overwrites_nothing() {
    for rules in RULES {
        let mut test = with_tasks(&["1", "2", "3", HUGE]).stdin("- [ ] one\n- [ ] two\n");
        let added = added_by(&mut test, |test| {
            test.json(&format!("import - --from markdown --rules {rules} --json"));
        });
        assert_eq!(added, ["4.json", "5.json"], "{rules}");
    }
}

#[test]
fn a_tool_call_beside_such_a_number_overwrites_nothing() {
    for rules in RULES {
        let arguments = json!({ "subject": "next", "description": "" });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "TaskCreate", "arguments": arguments } });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let mut test = with_tasks(&["1", "2", "3", HUGE]).stdin(format!("{hello}\n{ready}\n{call}\n"));
        let added = added_by(&mut test, |test| drop(test.output_of(&format!("mcp --rules {rules}"))));
        assert_eq!(added, ["4.json"], "{rules}");
    }
}

#[test]
fn number_like_names_count_as_the_client_counts_them() {
    for rules in RULES {
        for (names, next) in [
            (&["007"][..], "8"),
            (&["007", "7"], "8"),
            (&["1e3"], "2"),
            (&["-1"], "1"),
            (&["12x", "3"], "13"),
            (&["3", "9007199254740991"], "4"),
            (&["3", "9007199254740992"], "4"),
            (&["3", "9007199254740993"], "4"),
            (&["3", "9223372036854775808"], "4"),
            (&["3", "18446744073709551615"], "4"),
            (&["3", "18446744073709551616"], "4"),
            (&["3", "18446744073709551616x"], "4"),
            (&["9007199254740989"], "9007199254740990"),
            (&["9007199254740990"], "9007199254740991"),
        ] {
            let mut test = with_tasks(names)
                .task_file("٣.json", task("٣"))
                .task_file("１.json", task("１"))
                .task_file(".highwatermark", HUGE);
            let added = added_by(&mut test, |test| drop(test.json(&format!("create next --rules {rules} --json"))));
            assert_eq!(added, [format!("{next}.json")], "{rules}: {names:?}");
        }
    }
}

#[test]
fn oversized_number_in_mark_and_journal_is_ignored() {
    for rules in RULES {
        let mut test = with_tasks(&["1", "2", HUGE]).quietly("list").quietly(&format!("delete {HUGE} 2"));
        let mark = fs::read_to_string(test.path("home/.claude/tasks/project/.highwatermark")).unwrap();
        assert_eq!(mark, "2");
        let added = added_by(&mut test, |test| drop(test.json(&format!("create next --rules {rules} --json"))));
        assert_eq!(added, ["3.json"], "{rules}");
    }
}

#[test]
fn what_is_no_file_has_its_number_nevertheless() {
    for rules in RULES {
        let mut test = with_tasks(&["1"]).meanwhile(|place| {
            let list = place.join("home/.claude/tasks/project");
            fs::create_dir(list.join("2.json")).unwrap();
            std::os::unix::fs::symlink("nowhere", list.join("3.json")).unwrap();
        });
        let added = added_by(&mut test, |test| drop(test.json(&format!("create next --rules {rules} --json"))));
        assert_eq!(added, ["4.json"], "{rules}");
        assert!(test.path("home/.claude/tasks/project/3.json").is_symlink());
    }
}

#[test]
fn exhausted_numbers_are_reported_without_overwriting() {
    let test = with_tasks(&["9007199254740990", "9007199254740991"])
        .run("create next")
        .run("create next --rules client --json");
    let test = test.stdin("- [ ] one\n").run("import - --from markdown").run("doctor --fix --yes");
    assert_eq!(files(&test).len(), 2);
    for name in ["9007199254740990", "9007199254740991"] {
        assert_eq!(files(&test)[&format!("{name}.json")], task(name));
    }
    test.snapshot();
}

#[test]
fn oversized_number_is_mended_with_edges_in_one_revision() {
    let huge = format!(
        r#"{{"id":"{HUGE}","subject":"Huge","description":"","status":"pending","blocks":["2"],"blockedBy":["1"],"metadata":{{"parent":"3"}},"x":1.50}}"#
    );
    let waits = format!(
        r#"{{"id":"2","subject":"Waits","description":"","status":"pending","blocks":[],"blockedBy":["{HUGE}"]}}"#
    );
    let blocks = format!(
        r#"{{"id":"1","subject":"Blocks","description":"","status":"pending","blocks":["{HUGE}"],"blockedBy":[],"metadata":{{"parent":{HUGE}}}}}"#
    );
    let test = Test::new()
        .task_file("1.json", blocks)
        .task_file("2.json", waits)
        .task_file("3.json", task("3"))
        .task_file(&format!("{HUGE}.json"), huge);
    let before = files(&test);
    let test =
        test.run("doctor").run("doctor --fix --yes --json").run("doctor").run("list --json").run("history --json");
    assert!(!test.path(&format!("home/.claude/tasks/project/{HUGE}.json")).exists());
    let moved = &files(&test)["4.json"];
    assert!(moved.contains(r#""id": "4""#) && moved.contains(r#""x": 1.50"#), "{moved}");
    let test = test.run("undo");
    assert_eq!(files(&test), before);
    test.snapshot();
}

#[test]
fn a_mark_too_large_is_found_and_mended() {
    let test = with_tasks(&["1", "7"]).task_file(".highwatermark", HUGE);
    let test = test.run("doctor").run("doctor --fix --yes").run("doctor");
    assert_eq!(fs::read_to_string(test.path("home/.claude/tasks/project/.highwatermark")).unwrap(), "7");
    test.snapshot();
}

#[test]
fn an_edge_or_a_change_reaches_a_task_by_a_number_too_large() {
    let test = with_tasks(&["1", HUGE]);
    let test = test
        .run(&format!("update {HUGE} --subject Changed"))
        .run(&format!("depend 1 --on {HUGE}"))
        .run(&format!("show {HUGE}"))
        .run(&format!("delete {HUGE}"))
        .run(&format!("restore {HUGE} --deleted"));
    test.run("undo").run("list").snapshot();
}

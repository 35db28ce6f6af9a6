use serde_json::{Value, json};
use taskyard_testkit::StrangeFile;

use crate::test::Test;

const ISSUES: &str = r#"{"id":"bd-a1","title":"Epic","description":"All of it","status":"open","priority":1,"issue_type":"epic"}
{"id":"bd-b2","title":"Schema","status":"closed","priority":2,"issue_type":"task","labels":["db"],"dependencies":[{"issue_id":"bd-b2","depends_on_id":"bd-a1","type":"parent-child"}]}
{"id":"bd-c3","title":"API","status":"deferred","priority":4,"issue_type":"feature","dependencies":[{"issue_id":"bd-c3","depends_on_id":"bd-b2","type":"blocks"},{"issue_id":"bd-c3","depends_on_id":"bd-zz","type":"blocks"}]}
{"id":"bd-x","title":"Gone","status":"tombstone","priority":2,"issue_type":"task"}
"#;

#[test]
fn issues_are_previewed_then_imported_then_updated() {
    let test = Test::new().list("1 pending 'Here before'").file("home/project/issues.jsonl", ISSUES);
    test.run("import issues.jsonl --from beads --dry-run")
        .run("list --all")
        .run("import issues.jsonl --from beads")
        .run("list --all")
        .run("import issues.jsonl --from beads")
        .file("home/project/issues.jsonl", ISSUES.replace("deferred", "closed"))
        .run("import issues.jsonl --from beads")
        .run("history 4")
        .run("undo")
        .snapshot();
}

#[test]
fn programs_get_all_of_the_report() {
    let mut test = Test::new().file("home/project/issues.jsonl", ISSUES);
    let report = test.json("import issues.jsonl --from beads --json");
    assert_eq!(report["counts"], json!({"created": 3, "updated": 0, "unchanged": 0}));
    assert_eq!(report["mapping"], json!({"bd-a1": "1", "bd-b2": "2", "bd-c3": "3"}));
    assert_eq!(report["lost"].as_array().unwrap().len(), 2, "{report}");
    assert!(
        report["mapped"]
            .as_array()
            .unwrap()
            .contains(&json!({"field": "status", "from": "deferred", "to": "pending", "count": 1}))
    );
    let api = test.json("show 3 --json");
    assert_eq!(api["task"]["metadata"]["beads"]["status"], "deferred");
    assert_eq!(api["task"]["blockedBy"], json!(["2"]));
}

#[test]
fn a_dry_run_makes_no_list() {
    let mut test = Test::new().file("home/project/issues.jsonl", ISSUES);
    test.json("import issues.jsonl --from beads --dry-run --json");
    assert_eq!(test.json("lists --json")["lists"], json!([]));
    assert!(!test.path("home/.claude/tasks/project").exists());
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    Test::new()
        .file("home/project/broken.jsonl", "{\"id\":\"a\",\"title\":\"t\"}\n{")
        .run("import broken.jsonl --from beads")
        .run("import missing.json --from export")
        .run("import broken.jsonl --from native")
        .run("import . --from beads")
        .run("import broken.jsonl --from trello")
        .run("list")
        .snapshot();
}

#[test]
fn work_under_a_lease_is_not_changed_by_an_import() {
    let test = Test::new().file("home/project/list.md", "- [ ] Design\n- [ ] Build\n");
    test.quietly("import list.md --from markdown")
        .quietly("claim 2 --as ana")
        .file("home/project/list.md", "- [x] Design\n- [x] Build\n")
        .run("import list.md --from markdown --as bob")
        .run("list --all")
        .run("import list.md --from markdown --as bob --force")
        .snapshot();
}

#[test]
fn a_file_that_moved_is_known_by_the_name_it_was_given() {
    let todos = r#"[{"content": "Parse", "status": "pending", "activeForm": "Parsing"}]"#;
    let mut test = Test::new().file("home/project/a.json", todos).file("home/project/b.json", todos);
    test.json("import a.json --from todos --source plan --json");
    let again = test.json("import b.json --from todos --source plan --json");
    assert_eq!(again["counts"], json!({"created": 0, "updated": 0, "unchanged": 1}));
    let other = test.json("import b.json --from todos --json");
    assert_eq!(other["counts"]["created"], 1);
}

#[test]
fn every_dialect_that_is_exported_comes_back_as_it_was() {
    for dialect in ["native", "document", "export", "teaching", "macf", "jsonl"] {
        let mut test = Test::new().list("2 completed; 3 in_progress (ana) 'Write it' <- 2; 7 pending <- 3,2");
        test = test.quietly("update 7 --meta priority='\"high\"' --description 'Two\n\nlines' --active-form Doing");
        let before = test.json("list --all --json");
        test = test.quietly(&format!("export --to {dialect} out"));
        let report = test.json(&format!("import out --from {dialect} --list copy --json"));
        assert_eq!(report["lost"], json!([]), "{dialect}");
        let after = test.json("list --all --list copy --json");
        assert_eq!(without_marks(&after["tasks"]), without_marks(&before["tasks"]), "{dialect}");
        let again = test.json(&format!("import out --from {dialect} --list copy --json"));
        assert_eq!(again["counts"], json!({"created": 0, "updated": 0, "unchanged": 3}), "{dialect}");
    }
}

#[test]
fn ids_and_states_of_another_program_come_back_to_it() {
    let tasks = json!([
        {"id": "task_1738949000", "subject": "Provider", "description": "", "status": "blocked", "dependencies": [], "blockedBy": [], "metadata": {}},
        {"id": "my-slug", "subject": "OAuth2", "description": "d", "status": "cancelled", "priority": "high", "dependencies": ["task_1738949000"], "blockedBy": ["task_1738949000"], "metadata": {"subagent_id": "worker-alpha", "created_at": "2026-02-06T20:41:00Z"}},
    ]);
    let mut test = Test::new().list("1 pending 'Here before'").file("home/project/in.json", tasks.to_string());
    test = test.quietly("import in.json --from export").quietly("delete 1").quietly("export --to export out.json");
    let out: Value = serde_json::from_slice(&std::fs::read(test.path("home/project/out.json")).unwrap()).unwrap();
    let mut expected = tasks.clone();
    // Every export states a priority; a file that left it out meant the usual.
    expected[0]["priority"] = json!("medium");
    assert_eq!(out, expected);
    test = test.quietly("export --to export in.json");
    let again = test.json("import in.json --from export --json");
    assert_eq!(again["counts"], json!({"created": 0, "updated": 0, "unchanged": 2}));
}

#[test]
fn a_file_can_come_from_stdin_and_a_folder_cannot() {
    let mut test = Test::new().stdin(ISSUES);
    assert_eq!(test.json("import - --from beads --json")["counts"]["created"], 3);
    test = test.stdin("- [ ] One\n").quietly("import - --from markdown").stdin("- [x] One\n");
    let again = test.json("import - --from markdown --json");
    assert_eq!((&again["source"], &again["counts"]["updated"]), (&json!("-"), &json!(1)));
    test.run("import - --from native").stdin("{").run("import - --from document").snapshot();
}

#[test]
#[cfg(unix)]
fn pipe_or_directory_among_tasks_is_reported_not_awaited() {
    let text = r#"{"id":"1","subject":"One","description":"","status":"pending","blocks":[],"blockedBy":[]}"#;
    let mut test = Test::new().file("home/project/in/1.json", text).file("home/project/in/3.json/x", "");
    let fifo = test.path("home/project/in/2.json");
    StrangeFile::Pipe.put(&fifo, &fifo);
    let report = test.json("import in --from native --json");
    assert_eq!(report["counts"]["created"], 1);
    let lost: Vec<&Value> = report["lost"].as_array().unwrap().iter().map(|lost| &lost["of"]).collect();
    assert_eq!(lost, ["2.json", "3.json"]);
}

#[test]
#[cfg(unix)]
fn a_long_import_shows_how_far_it_is_on_a_terminal() {
    let mut test = Test::new();
    for id in 1..=30 {
        let text =
            format!(r#"{{"id":"{id}","subject":"s","description":"","status":"pending","blocks":[],"blockedBy":[]}}"#);
        test = test.file(&format!("home/project/in/{id}.json"), text);
    }
    let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
    command.args(["import", "in", "--from", "native"]).env("TERM", "xterm");
    let (screen, status) = crate::terminal::run(command, 80, "");
    assert!(status.success() && screen.contains("/30 reading"), "{screen}");
    assert!(screen.contains("Imported 30 tasks"), "{screen}");
}

/// Returns tasks without what an import says of where they came from, and without the times a document states.
fn without_marks(tasks: &Value) -> Value {
    let mut tasks = tasks.clone();
    for task in tasks.as_array_mut().unwrap() {
        let object = task.as_object_mut().unwrap();
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { continue };
        for key in ["imported", "created_at", "updated_at"] {
            metadata.remove(key);
        }
        if metadata.is_empty() {
            object.remove("metadata");
        }
    }
    tasks
}

#[test]
fn what_has_no_id_gets_one_and_is_known_again() {
    for (format, file, text) in [
        (
            "jsonl",
            "a.jsonl",
            "{\"subject\":\"Build\"}\n{\"id\":\"9\",\"subject\":\"Test\"}\n{\"subject\":\"Build\",\"status\":\"completed\"}\n",
        ),
        ("beads", "b.jsonl", "{\"title\":\"Build\"}\n{\"id\":\"bd-1\",\"title\":\"Test\"}\n{\"title\":\"Build\"}\n"),
        (
            "taskwarrior",
            "c.json",
            "[{\"description\":\"Build\"},{\"uuid\":\"u\",\"description\":\"Test\"},{\"description\":\"Build\"}]",
        ),
        (
            "taskmaster",
            "d.json",
            "{\"tasks\":[{\"title\":\"Build\"},{\"id\":4,\"title\":\"Test\"},{\"title\":\"Build\"}]}",
        ),
    ] {
        let mut test = Test::new().file(&format!("home/project/{file}"), text);
        let report = test.json(&format!("import {file} --from {format} --json"));
        assert_eq!((&report["counts"]["created"], &report["lost"]), (&json!(3), &json!([])), "{format}: {report}");
        let again = test.json(&format!("import {file} --from {format} --json"));
        assert_eq!(again["counts"], json!({"created": 0, "updated": 0, "unchanged": 3}), "{format}");
    }
}

#[test]
fn what_a_checklist_refers_to_and_does_not_have_is_told() {
    let recurring = r#"[{"uuid":"a","description":"Water","status":"recurring","recur":"weekly"},
        {"uuid":"b","description":"Water","status":"pending","recur":"weekly","parent":"a"}]"#;
    Test::new()
        .file("home/project/list.md", "- [ ] Design\n- [ ] Build (after #1)\n")
        .file("home/project/tasks.json", recurring)
        .run("import list.md --from markdown")
        .run("import list.md --from markdown --json")
        .run("import tasks.json --from taskwarrior")
        .run("list")
        .snapshot();
}

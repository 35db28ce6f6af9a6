//! Lists in other dialects, through the command line.

use serde_json::{Value, json};

use crate::test::Test;

#[test]
fn document_in_default_place_is_found_by_project_name() {
    let mut test = Test::new().env("CLAUDE_CODE_SESSION_ID", "11111111-2222-3333-4444-555555555555");
    let made = test.json("create 'Write the parser' --store document: --json");
    let id = made["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 36, "{id}");
    let path = test.path("home/.claude/tasks/project/tasks.json");
    let root: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(root["tasks"][0]["id"], id.as_str());
    let place = test.json("where --store document: --json");
    assert_eq!((&place["list"], &place["store"]), (&json!("project"), &json!("document:")));
}

#[test]
fn how_a_task_came_to_be_stands_in_its_block() {
    let block = "Text.\n\n<macf_task_metadata version=\"1.0\">\ncreated_by: PA\nown_word: kept\n</macf_task_metadata>";
    let meta =
        "--meta created_cycle=42 --meta created_by='\"SA\"' --meta creation_breadcrumb='\"s_1/c_42\"' --meta x=1";
    let mut test = Test::new().strict().env("TASKYARD_AGENT", "ana");
    let made = test.json(&format!("create Parser --kind mission -d Why {meta} --json"))["task"].clone();
    let description = "Why\n\n<macf_task_metadata version=\"1.0\">\ncreation_breadcrumb: s_1/c_42\ncreated_cycle: 42\n\
                       created_by: SA\n</macf_task_metadata>";
    assert_eq!(made["description"], description);
    assert_eq!(made["metadata"], json!({"x": 1, "kind": "mission"}));
    let given = test.json(&format!("create Given --kind task -d '{block}' --json"))["task"].clone();
    assert_eq!(given["description"], block);
    test.run("claim 1").run("show 1").run("claim 2").run("list --style 2.1.20").snapshot();
}

#[test]
fn completed_tasks_fold_in_the_clients_old_styles_too() {
    Test::new()
        .list("1 completed; 2 completed; 3 completed; 4 pending; 5 in_progress")
        .file("home/.config/taskyard/taskyard.toml", "[display]\ncompleted_after = 1\n")
        .run("list --style 2.1.20")
        .run("list --style 2.1.19")
        .run("list --style 2.1.20 --all")
        .run("list --style 2.1.20 --status completed")
        .snapshot();
}

#[test]
fn missing_dependency_is_exported_back_unchanged() {
    let sample = json!([{
        "id": "task_1738950000", "subject": "Implement OAuth2 Callback",
        "description": "Handle the redirect from the provider and exchange code for token.", "status": "in_progress",
        "priority": "high", "dependencies": ["task_1738949000"], "blockedBy": [],
        "metadata": {"subagent_id": "worker-alpha", "created_at": "2026-02-06T20:41:00Z", "updated_at": "2026-02-06T20:45:12Z"},
    }]);
    let mut test = Test::new().file("home/project/in.json", sample.to_string());
    for _ in 0..2 {
        test = test.quietly("import in.json --from export");
    }
    assert_eq!(test.json("list --json")["tasks"][0]["blockedBy"], json!([]));
    test = test.quietly("export --to export out.json");
    let out: Value = serde_json::from_slice(&std::fs::read(test.path("home/project/out.json")).unwrap()).unwrap();
    assert_eq!(out.to_string(), sample.to_string());
}

/// The sample of the format, to the letter of its description.
const SAMPLE: &str = r#"{
  "id": "task_1738950000",
  "subject": "Implement OAuth2 Callback",
  "description": "Handle the redirect from the provider and exchange code for token.",
  "status": "in_progress",
  "priority": "high",
  "dependencies": ["task_1738949000"],
  "blockedBy": [],
  "metadata": {
    "subagent_id": "worker-alpha",
    "created_at": "2026-02-06T20:41:00Z",
    "updated_at": "2026-02-06T20:45:12Z"
  }
}"#;

#[test]
fn export_sample_carries_dependency_on_missing_task() {
    let mut test = Test::new().file("home/project/in.json", SAMPLE);
    let report = test.json("import in.json --from export --json");
    assert_eq!(report["counts"]["created"], 1);
    let task = test.json("list --json")["tasks"][0].clone();
    assert_eq!((&task["status"], &task["owner"]), (&json!("in_progress"), &json!("worker-alpha")));
    assert_eq!(task["metadata"]["imported"]["waitsFor"], json!(["task_1738949000"]));
    let keys: Vec<&String> = task["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["priority", "created_at", "updated_at", "imported"], "nothing else is carried");
    test = test.quietly("export --to export out.json");
    let out: Value = serde_json::from_slice(&std::fs::read(test.path("home/project/out.json")).unwrap()).unwrap();
    assert_eq!(out, json!([serde_json::from_str::<Value>(SAMPLE).unwrap()]));
    // What it waits for comes later: from then on it waits for it here as well.
    let both = format!(r#"[{SAMPLE}, {{"id": "task_1738949000", "subject": "Provider", "status": "pending"}}]"#);
    test = test.file("home/project/in.json", both).quietly("import in.json --from export");
    let waits = test.json("show 1 --json")["task"].clone();
    assert_eq!((&waits["blockedBy"], waits["metadata"]["imported"].get("waitsFor")), (&json!(["2"]), None));
}

#[test]
fn ordinary_list_is_exported_with_priorities_and_times() {
    let mut test =
        Test::new().quietly("create One --priority high --tag a --tag b").quietly("create Two --blocked-by 1");
    test =
        test.quietly("create Three --parent 2 --priority low").quietly("depend 3 --on 1").quietly("update 2 --tag x");
    test = test.quietly("update 2 --priority medium").quietly("create Four --meta due='\"2026-11-15\"' --meta n=1");
    test = test.quietly("create Five --meta z=1").quietly("update 5 --meta z=null").quietly("cancel 5");
    let read = |test: &Test, name: &str| std::fs::read_to_string(test.path(&format!("home/project/{name}"))).unwrap();
    for format in ["export", "document"] {
        test = test.quietly(&format!("export --to {format} {format}.json"));
        assert!(
            !read(&test, &format!("{format}.json")).contains("taskyard"),
            "{}",
            read(&test, &format!("{format}.json"))
        );
    }
    let export: Value = serde_json::from_str(&read(&test, "export.json")).unwrap();
    let told = |key: &str| -> Vec<Value> { export.as_array().unwrap().iter().map(|task| task[key].clone()).collect() };
    assert_eq!(told("priority"), ["high", "medium", "low", "medium", "medium"]);
    assert_eq!(told("status"), ["pending", "blocked", "blocked", "pending", "cancelled"]);
    let document: Value = serde_json::from_str(&read(&test, "document.json")).unwrap();
    for (task, element) in export.as_array().unwrap().iter().zip(document["tasks"].as_array().unwrap()) {
        for key in ["created_at", "updated_at"] {
            assert!(task["metadata"][key].as_str().unwrap().ends_with('Z'), "{task}");
            assert_eq!(element[key], task["metadata"][key]);
        }
    }
    for format in ["export", "document"] {
        test = test.quietly(&format!("import {format}.json --from {format} --list {format}"));
        test = test.quietly(&format!("export --to {format} again.json --list {format}"));
        let [one, two] = [format!("{format}.json"), "again.json".to_owned()].map(|name| {
            let mut file: Value = serde_json::from_str(&read(&test, &name)).unwrap();
            file.as_object_mut().map(|root| root.remove("last_updated"));
            file
        });
        assert_eq!(one, two, "{format}");
        std::fs::remove_file(test.path("home/project/again.json")).unwrap();
    }
}

#[test]
fn every_store_tells_list_place_and_blocked_tasks() {
    for (store, path) in [
        ("document:", "home/.claude/tasks/project/tasks.json"),
        ("document:here.json", "home/project/here.json"),
        ("teaching:.tasks", "home/project/.tasks"),
        ("file:elsewhere", "home/project/elsewhere/tasks/project"),
    ] {
        let mut test = Test::new().env("TASKYARD_STORE", store);
        let one = test.json("create One --json")["task"]["id"].as_str().unwrap().to_owned();
        let two = test.json(&format!("create Two --blocked-by {one} --json"))["task"]["id"].clone();
        assert_eq!(test.json("where --json")["path"], test.path(path).to_str().unwrap(), "{store}");
        let listed = |test: &mut Test, flags: &str| {
            let tasks = test.json(&format!("list {flags} --json"))["tasks"].clone();
            tasks.as_array().unwrap().iter().map(|task| task["id"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(listed(&mut test, "--status blocked"), [two], "{store}");
        test = test.quietly(&format!("done {one}"));
        assert_eq!(listed(&mut test, "--status Blocked"), [Value::Null; 0], "{store}");
        assert_eq!(listed(&mut test, "--status blocked,completed"), [json!(one)], "{store}");
    }
}

#[test]
fn a_document_beside_task_files_is_no_task() {
    let mut test = Test::new().list("1 pending").quietly("create 'In the document' --store document: --list project");
    let listed = test.json("list --list project --json");
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(listed.get("problems"), None);
    let findings = test.json("doctor --list project --json");
    assert_eq!(findings["findings"], json!([]));
}

#[test]
fn a_document_the_client_deleted_is_restored() {
    let mut test = Test::new().quietly("create One --store document:tasks.json");
    std::fs::remove_file(test.path("home/project/tasks.json")).unwrap();
    assert_eq!(test.json("list --store document:tasks.json --json")["tasks"], json!([]));
    test = test.quietly("restore --all --store document:tasks.json");
    assert_eq!(test.json("list --store document:tasks.json --json")["tasks"][0]["subject"], "One");
}

#[test]
fn leftovers_of_dead_writers_in_other_dialects_are_swept() {
    // No process has this number: it is above what the kernel gives out.
    const DEAD: &str = "4194999";
    let living = std::process::id();
    let (document, folder) = ("home/project/tasks.json", "home/project/.tasks");
    let mut test = Test::new()
        .quietly("create One --store document:tasks.json")
        .quietly("create One --store teaching:.tasks")
        .file(&format!("home/project/.tasks.json-taskyard-{DEAD}-1f"), "")
        .file(&format!("home/project/.tasks.json-taskyard-{living}-1f"), "")
        .file(&format!("{document}.v1"), "{}")
        .file(&format!("{folder}/.taskyard-{DEAD}-task_1_0001.json.tmp"), "")
        .file(&format!("{folder}/.taskyard-{living}-task_1_0001.json.tmp"), "");
    for (store, left) in [
        ("document:tasks.json", format!(".tasks.json-taskyard-{DEAD}-1f")),
        ("teaching:.tasks", format!(".taskyard-{DEAD}-task_1_0001.json.tmp")),
    ] {
        let findings = test.json(&format!("doctor --store {store} --json"));
        let files: Vec<&Value> = findings["findings"].as_array().unwrap().iter().map(|one| &one["file"]).collect();
        assert_eq!(files, [&json!(left)], "{store}");
        test = test.quietly(&format!("gc --store {store}"));
        assert_eq!(test.json(&format!("doctor --store {store} --json"))["findings"], json!([]), "{store}");
    }
    for kept in [
        format!("home/project/.tasks.json-taskyard-{living}-1f"),
        format!("{document}.v1"),
        format!("{folder}/.taskyard-{living}-task_1_0001.json.tmp"),
    ] {
        assert!(test.path(&kept).exists(), "{kept}");
    }
}

#[test]
fn a_folder_waits_for_what_does_not_exist() {
    let text = r#"{"id": "task_1_0001", "subject": "API", "description": "", "status": "pending", "owner": null, "blockedBy": ["task_schema"]}"#;
    let mut test = Test::new().file("home/project/.tasks/task_1_0001.json", text);
    assert_eq!(test.json("ready --store teaching:.tasks --json")["tasks"], json!([]));
    let refused = test.json("claim task_1_0001 --store teaching:.tasks --json");
    assert_eq!((&refused["claimed"], &refused["reason"]), (&json!(false), &json!("blocked")));
}

#[test]
fn kinds_put_their_marks_before_the_title() {
    let mut test = Test::new().strict().quietly("create 'Task CLI' --kind mission --repo yard --version 1.0 --as PA");
    test = test.quietly("create 'Phase 1' --kind phase --parent 1 --as PA");
    let listed = test.json("list --json");
    let mission = &listed["tasks"][0];
    assert_eq!(mission["subject"], "\u{1b}[2m  #1\u{1b}[22m \u{1f5fa}\u{fe0f} MISSION: Task CLI");
    assert_eq!(mission["activeForm"], "Working on Task CLI");
    assert_eq!(
        mission["description"],
        "<macf_task_metadata version=\"1.0\">\ncreated_by: PA\nrepo: yard\ntarget_version: '1.0'\n</macf_task_metadata>"
    );
    let phase = &listed["tasks"][1];
    assert_eq!(phase["subject"], "\u{1b}[2m  #2\u{1b}[22m \u{1b}[2m[^#1]\u{1b}[22m \u{1f4cb} Phase 1");
    assert_eq!((&phase["metadata"]["kind"], &phase["metadata"]["parent"]), (&json!("phase"), &json!("1")));
    assert_eq!(
        phase["description"],
        "<macf_task_metadata version=\"1.0\">\ncreated_by: PA\nparent_id: 1\n</macf_task_metadata>"
    );
    test.run("list")
        .run("list --style 2.1.19")
        .run("list --style 2.1.20")
        .run("search Phase")
        .run("create x --kind phase")
        .run("create x --kind bug --parent 99")
        .run("create 'Found on the way' --kind bug --as PA")
        .run("create x --kind task --repo y")
        .snapshot();
}

#[test]
fn marks_survive_changes_and_never_reach_a_terminal() {
    let mut test = Test::new().quietly("create 'Task CLI' --kind mission").quietly("create x --kind phase --parent 1");
    test = test.quietly("update 2 --subject 'Phase 1'").quietly("create 'Fix it'");
    let subject = |test: &mut Test, id: &str| test.json(&format!("show {id} --json"))["task"]["subject"].clone();
    assert_eq!(subject(&mut test, "2"), "\u{1b}[2m  #2\u{1b}[22m \u{1b}[2m[^#1]\u{1b}[22m \u{1f4cb} Phase 1");
    test = test.quietly("update 3 --kind bug --parent 2");
    assert_eq!(subject(&mut test, "3"), "\u{1b}[2m  #3\u{1b}[22m \u{1b}[2m[^#2]\u{1b}[22m \u{1f41b} BUG: Fix it");
    test.run("update 3 --meta parent='\"1\"'").run("start 3").run("done 3").run("history 3").run("delete 3").snapshot();
}

#[test]
fn facts_of_the_block_are_shown_and_changed_where_they_stand() {
    let block = |cycle: &str| {
        format!(
            "Prose.\n\n<macf_task_metadata version=\"1.0\">\ncreated_cycle: {cycle}\ncreated_by: PA\n</macf_task_metadata>\nMore prose."
        )
    };
    let mut test = Test::new().stdin(block("42")).quietly("create Task --description -");
    test = test.run("show 1").quietly("update 1 --meta created_cycle=43 --meta other=1");
    let task = test.json("show 1 --json")["task"].clone();
    assert_eq!((&task["description"], &task["metadata"]), (&json!(block("43")), &json!({"other": 1})));
    test.run("search 43").snapshot();
}

/// A task as MACF writes it today.
fn of_macf(id: &str, subject: &str, facts: &str) -> String {
    let task = json!({
        "id": id, "subject": subject, "description": format!("→ plan.md\n\n<macf_task_metadata version=\"1.0\">\n{facts}</macf_task_metadata>"),
        "activeForm": "Working on it", "status": "pending", "blocks": [], "blockedBy": [],
    });
    serde_json::to_string_pretty(&task).unwrap()
}

const NESTED: &str = "creation_breadcrumb: s_1/c_42\ncreated_by: PA\nparent_id: '1'\ntarget_version: '0.4'\nupdates:\n\
                      - breadcrumb: s_2\n  agent: PA\n  description: 'a: b'\nagent: PA # who has it\n";

#[test]
fn an_update_of_a_fact_leaves_what_is_nested_alone() {
    let subject = "\u{1b}[2m  #2\u{1b}[22m \u{1b}[2m[^#1]\u{1b}[22m - Step";
    let mut test = Test::new()
        .task_file("1.json", of_macf("1", "\u{1b}[2m  #1\u{1b}[22m \u{1f5fa}\u{fe0f} MISSION: M", "created_by: PA\n"))
        .task_file("2.json", of_macf("2", subject, NESTED))
        .task_file("3.json", of_macf("3", "\u{1b}[2m  #3\u{1b}[22m - Other", "created_by: PA\n"))
        .quietly("update 2 --meta agent='\"SA\"'");
    let description = |test: &mut Test| test.json("show 2 --json")["task"]["description"].as_str().unwrap().to_owned();
    let facts =
        |facts: &str| format!("→ plan.md\n\n<macf_task_metadata version=\"1.0\">\n{facts}</macf_task_metadata>");
    let changed = NESTED.replace("agent: PA # who", "agent: SA # who");
    assert_eq!(description(&mut test), facts(&changed));
    // The block says what it is a part of.
    test = test.run("show 1").run("show 2").run("done 1").quietly("update 2 --parent 3 --subject Renamed");
    assert_eq!(description(&mut test), facts(&changed.replace("parent_id: '1'", "parent_id: '3'")));
    let task = test.json("show 2 --json")["task"].clone();
    assert_eq!(task["subject"], "\u{1b}[2m  #2\u{1b}[22m \u{1b}[2m[^#3]\u{1b}[22m - Renamed");
    assert_eq!(task.get("metadata"), None, "nothing is said twice");
    test = test.quietly("update 2 --meta parent=null --meta target_version=null");
    let without = changed.replace("parent_id: '1'\n", "").replace("target_version: '0.4'\n", "");
    assert_eq!(description(&mut test), facts(&without));
    test.run("list").snapshot();
}

#[test]
fn a_block_that_is_no_yaml_is_left_and_the_answer_says_so() {
    let facts = "created_cycle: 7\ntitle: CLI: an unquoted colon\n";
    let mut test = Test::new().task_file("1.json", of_macf("1", "x", facts));
    let before = test.json("show 1 --json")["task"]["description"].clone();
    let answer = test.json("update 1 --meta created_cycle=8 --json");
    assert!(answer["blockLeft"].as_str().unwrap().starts_with("line 3 is not YAML"), "{answer}");
    let task = test.json("show 1 --json")["task"].clone();
    assert_eq!((&task["description"], &task["metadata"]), (&before, &json!({"created_cycle": 8})));
    test.run("update 1 --meta created_cycle=9").run("update 1 --priority high").run("show 1").snapshot();
}

#[test]
fn new_task_keeps_a_block_that_is_no_yaml() {
    let block = "<macf_task_metadata version=\"1.0\">\ntitle: CLI: an unquoted colon\n</macf_task_metadata>";
    let created = Test::new().stdin(block).json("create x --kind mission --repo yard -d - --json");
    assert!(created["blockLeft"].as_str().unwrap().contains("is not YAML"), "{created}");
}

#[test]
fn our_own_kinds_go_out_once_and_come_back() {
    let mut test = Test::new().quietly("create 'Task CLI' --kind mission --repo yard --version 1.0 --as PA");
    for (subject, kind) in [("Phase 1", "phase --parent 1"), ("Broken", "bug"), ("Anything", "task --parent 2")] {
        test = test.quietly(&format!("create '{subject}' --kind {kind} --as PA --priority high -d 'Why: this'"));
    }
    test = test.quietly("export --to macf out").quietly("export --to macf again");
    let files = |folder: &str| {
        let path = |number: usize| test.path(&format!("home/project/{folder}/{number}.json"));
        (1..=4).map(|number| std::fs::read_to_string(path(number)).unwrap()).collect::<Vec<_>>()
    };
    let out = files("out");
    assert_eq!(files("again"), out);
    for text in &out {
        let task: Value = serde_json::from_str(text).unwrap();
        let (subject, description) = (task["subject"].as_str().unwrap(), task["description"].as_str().unwrap());
        assert_eq!(subject.matches('#').count() - subject.matches("[^#").count(), 1, "{subject}");
        assert!(
            ["MISSION: ", "BUG: ", "\u{1f4cb} ", "\u{1f527} "].iter().all(|mark| subject.matches(mark).count() < 2)
        );
        assert_eq!(description.matches("<macf_task_metadata").count(), 1, "{description}");
    }
    let before = test.json("list --all --json")["tasks"].clone();
    test = test.quietly("import out --from macf --list other").quietly("export --to macf back --list other");
    assert_eq!(
        (1..=4)
            .map(|number| std::fs::read_to_string(test.path(&format!("home/project/back/{number}.json"))).unwrap())
            .collect::<Vec<_>>(),
        out
    );
    let mut after = test.json("list --all --list other --json")["tasks"].clone();
    for task in after.as_array_mut().unwrap() {
        task["metadata"].as_object_mut().unwrap().remove("imported");
    }
    assert_eq!(after, before);
}

#[test]
fn batch_names_existing_tasks_by_id_in_every_dialect() {
    for store in ["document:list.json", "teaching:folder"] {
        let mut test = Test::new().env("TASKYARD_STORE", store);
        let made = test.json("create Existing --json");
        let id = made["task"]["id"].as_str().unwrap().to_owned();
        let lines = [
            json!({"name": "one", "subject": "One", "blockedBy": [&id]}),
            json!({"subject": "Two", "blockedBy": ["one", &id], "blocks": []}),
            json!({"subject": "Three", "parent": &id}),
        ];
        let batch = lines.map(|line| line.to_string()).join("\n");
        let mut test = test.file("home/project/batch.jsonl", batch);
        for words in ["create --batch batch.jsonl --dry-run --json", "create --batch batch.jsonl --json"] {
            let made = test.json(words);
            assert_eq!(made["tasks"].as_array().map(Vec::len), Some(3), "{store}: {made}");
        }
        let tasks = test.json("list --json")["tasks"].as_array().unwrap().clone();
        let with = |subject: &str| tasks.iter().find(|task| task["subject"] == subject).unwrap();
        assert_eq!(with("One")["blockedBy"], json!([&id]), "{store}");
        assert_eq!(with("Two")["blockedBy"].as_array().map(Vec::len), Some(2), "{store}");
        assert_eq!(with("Three")["metadata"]["parent"], json!(&id), "{store}");
    }
}

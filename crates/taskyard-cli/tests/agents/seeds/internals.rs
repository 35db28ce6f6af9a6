//! Seed 000: the task files, what the client sees of them, and the conventions of MACF.

use std::fs;

use serde_json::{Value, json};

use crate::seeds::site::{CLIENTS, FOLDER, RULES, Site, printed};
use crate::stdio::{Piped, text};

const SESSION: &str = "77270981-bd9d-4d0f-ad09-3702f5b0d1cb";

#[test]
fn a_task_is_one_file_in_the_folder_of_its_session() {
    for flags in RULES {
        let site = Site::new();
        // Strict rules look at the session only if they are told to.
        if flags == RULES[0] {
            site.write(".config/taskyard/taskyard.toml", "list = \"session\"");
        }
        for subject in ["\u{1f5fa}\u{fe0f} Run", "Second"] {
            let words = [subject, "-d", "All of it", "--active-form", "Running tests"];
            let mut command = site.command(&format!("create {flags}"), &words);
            command.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_SESSION_ID", SESSION);
            printed(&command.output());
        }
        let folder = format!(".claude/tasks/{SESSION}");
        assert_eq!(site.names(&folder), [".lock", "1.json", "2.json"], "{flags}");
        assert_eq!(
            site.read(&format!("{folder}/1.json")),
            "{\n  \"id\": \"1\",\n  \"subject\": \"\u{1f5fa}\u{fe0f} Run\",\n  \"description\": \"All of it\",\n  \"activeForm\": \"Running tests\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": []\n}",
            "{flags}"
        );
    }
}

#[test]
fn a_description_is_in_no_list_and_titles_may_hold_emoji() {
    let site = Site::new();
    site.json("create", &["\u{1f4cb} Phase 1", "-d", "words for the agent that does it"]);
    for list in [site.told("list", &[]), site.server("").call("TaskList", json!({}))] {
        assert!(list.contains("\u{1f4cb} Phase 1") && !list.contains("words for"), "{list}");
    }
    assert!(site.server("").call("TaskGet", json!({ "taskId": "1" })).contains("words for the agent that does it"));
}

/// What servers under each rule set answer to `TaskList`; each is a process of its own.
fn listed(site: &Site) -> [String; 3] {
    RULES.map(|flags| site.server(flags).call("TaskList", json!({})))
}

#[test]
fn the_wrong_example_stays_invisible_until_it_is_mended() {
    let wrong = r#"{"id": 88, "subject": "My Task", "description": "...", "status": "pending"}"#;
    let site = Site::new().strict();
    site.write(&format!("{FOLDER}/88.json"), wrong);
    for _restart in 0..2 {
        assert!(listed(&site).iter().all(|list| !list.contains("My Task")), "{:?}", listed(&site));
        for flags in CLIENTS {
            assert_eq!(site.server(flags).call("TaskGet", json!({ "taskId": "88" })), "Task not found");
        }
    }
    let named = "No tasks found\n1 file could not be read: `88.json`; run `taskyard doctor`";
    assert_eq!(listed(&site), [named, "No tasks found", "No tasks found"]);
    let looked = site.command("list", &[]).output();
    assert!(String::from_utf8(looked.stderr).unwrap().contains("88.json cannot be read: `id` is a number"));
    assert_eq!(site.read(&format!("{FOLDER}/88.json")), wrong, "it exists on disk, and others can read it");
    site.told("doctor --fix --yes", &[]);
    assert_eq!(listed(&site), ["#88 [pending] My Task"; 3]);
}

#[test]
fn files_the_client_cannot_read_are_logged_in_its_words() {
    let site = Site::new();
    site.put_tasks(&["1"]);
    site.write(&format!("{FOLDER}/2.json"), r#"{"id": 2}"#);
    site.write(&format!("{FOLDER}/3.json"), "{");
    for flags in RULES {
        let log = site.path("log");
        let mut command = site.command("mcp", &flags.split_whitespace().collect::<Vec<_>>());
        command.stderr(fs::File::create(&log).unwrap());
        let mut server = Piped::spawn_quiet(command).initialized();
        let list = server.call("TaskList", json!({}));
        assert_eq!(list.contains("\n2 files could not be read: `2.json`, `3.json`; run"), flags == RULES[0], "{list}");
        assert!(list.contains("#1 [pending]"), "{list}");
        server.close();
        let logged = fs::read_to_string(&log).unwrap();
        assert!(logged.contains("[Tasks] Task 2 failed schema validation: `id` is a number"), "{flags}: {logged}");
        assert!(logged.contains("[Tasks] Failed to read task 3: not JSON"), "{flags}: {logged}");
    }
}

#[test]
fn a_file_that_breaks_leaves_its_last_known_state_in_view() {
    let site = Site::new().strict();
    site.told("create One", &[]);
    site.told("list", &[]);
    site.write(&format!("{FOLDER}/1.json"), "{");
    let mut server = site.server("");
    let list = server.call("TaskList", json!({}));
    assert_eq!(list, "#1 [pending] One\n1 file could not be read: `1.json`; run `taskyard doctor`");
    let shown = server.call("TaskGet", json!({ "taskId": "1" }));
    assert!(shown.contains("Task #1: One") && shown.contains("This is the last known state of the task"), "{shown}");
    let looked = site.command("show 1", &[]).output();
    assert!(printed(&looked).contains("One"));
    assert!(String::from_utf8(looked.stderr).unwrap().contains("1.json cannot be read: not JSON"));
    assert_eq!(site.json("show 1", &[])["problems"][0]["file"], "1.json");
}

#[test]
fn correct_example_is_visible_with_and_without_active_form() {
    let mut task = json!({"id": "88", "subject": "My Task", "description": "...", "activeForm": "Working on My Task", "status": "pending"});
    let site = Site::new();
    let path = format!("{FOLDER}/88.json");
    site.write(&path, &task.to_string());
    // As it is printed there both releases pass over it, since it has no edges.
    assert!(listed(&site).iter().all(|list| !list.contains("My Task")), "{:?}", listed(&site));
    site.told("doctor --fix --yes", &[]);
    assert_eq!(listed(&site), ["#88 [pending] My Task"; 3]);
    let mended: Value = serde_json::from_str(&site.read(&path)).unwrap();
    assert_eq!((&mended["blocks"], &mended["blockedBy"]), (&json!([]), &json!([])));
    task = mended;
    task.as_object_mut().unwrap().remove("activeForm");
    site.write(&path, &task.to_string());
    assert_eq!(listed(&site), ["#88 [pending] My Task"; 3]);
}

#[test]
fn no_tool_deletes_and_removing_the_file_removes_the_task() {
    for flags in RULES {
        let site = Site::new();
        site.json("create", &["One"]);
        site.json("create", &["Two"]);
        let mut server = site.server(flags);
        let tools = server.ask("tools/list", json!({}))["result"]["tools"].clone();
        let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        for name in ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"] {
            assert!(names.contains(&name), "{flags}: {names:?}");
        }
        assert!(!names.contains(&"TaskDelete"), "{flags}: {names:?}");
        let refused = server.ask("tools/call", json!({ "name": "TaskDelete", "arguments": { "taskId": "1" } }));
        assert!(text(&refused).starts_with("Error: No such tool available: TaskDelete"), "{refused}");
        assert_eq!(server.call("TaskList", json!({})), "#1 [pending] One\n#2 [pending] Two");
        fs::remove_file(site.path(&format!("{FOLDER}/1.json"))).unwrap();
        assert_eq!(server.call("TaskGet", json!({ "taskId": "1" })), "Task not found", "{flags}");
        assert_eq!(server.call("TaskList", json!({})), "#2 [pending] Two", "{flags}");
        // The releases that were recorded have a way, all the same.
        let deleted = server.call("TaskUpdate", json!({ "taskId": "2", "status": "deleted" }));
        assert!(deleted.starts_with("Updated task #2 deleted"), "{deleted}");
        assert!(!site.path(&format!("{FOLDER}/2.json")).exists());
    }
}

#[test]
fn foreign_keys_are_lost_in_client_rules_but_description_kept() {
    let description = "Text with <tags> & \"quotes\".\n\n<macf_task_metadata version=\"1.0\">\ncreated_cycle: 42\n</macf_task_metadata>";
    for (flags, is_kept) in RULES.into_iter().zip([true, false, false]) {
        let site = Site::new();
        let task = json!({"id": "1", "subject": "One", "description": description, "status": "pending", "blocks": [], "blockedBy": [], "custom_field": "..."});
        site.write(&format!("{FOLDER}/1.json"), &task.to_string());
        site.server(flags).call("TaskUpdate", json!({ "taskId": "1", "subject": "Other", "status": "in_progress" }));
        let after: Value = site.task("1");
        assert_eq!(after.get("custom_field").is_some(), is_kept, "{flags}: {after}");
        assert_eq!((&after["subject"], &after["description"]), (&json!("Other"), &json!(description)), "{flags}");
        let standard = ["id", "subject", "description", "status", "blocks", "blockedBy"];
        assert!(standard.iter().all(|key| after.get(key).is_some()), "{flags}: {after}");
    }
}

#[test]
fn description_over_100_kb_survives_update() {
    let description = format!("<a b=\"c\">{}</a>", "0123456789 \u{e9}\n".repeat(10_000));
    assert!(description.len() > 100_000);
    for flags in RULES {
        let site = Site::new();
        let mut server = site.server(flags);
        server.call("TaskCreate", json!({ "subject": "Long", "description": description }));
        server.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
        let after: Value = site.task("1");
        let is_kept = after["description"] == description.as_str();
        assert_eq!((is_kept, &after["status"]), (true, &json!("completed")), "{flags}");
    }
}

#[test]
fn a_new_number_is_one_above_the_highest_file_and_gaps_stay() {
    // Whether the highest number comes again when its file was removed by hand: each command is a session of its own.
    for (flags, next) in RULES.into_iter().zip(["7", "6", "6"]) {
        let site = Site::new();
        for id in ["1", "2", "5"] {
            let task = json!({"id": id, "subject": "x", "description": "", "status": "pending", "blocks": [], "blockedBy": []});
            site.write(&format!("{FOLDER}/{id}.json"), &task.to_string());
        }
        let create = || site.json(&format!("create x {flags}"), &[])["task"]["id"].clone();
        fs::remove_file(site.path(&format!("{FOLDER}/2.json"))).unwrap();
        assert_eq!(create(), "6", "{flags}");
        fs::remove_file(site.path(&format!("{FOLDER}/6.json"))).unwrap();
        assert_eq!(create(), next, "{flags}");
    }
}

#[test]
fn within_one_session_a_number_is_not_given_out_again() {
    let site = Site::new().strict();
    let mut server = site.server("");
    let mut create = || server.call("TaskCreate", json!({ "subject": "x", "description": "d" }));
    assert!(create().starts_with("Task #1 ") && create().starts_with("Task #2 "));
    fs::remove_file(site.path(&format!("{FOLDER}/2.json"))).unwrap();
    assert!(create().starts_with("Task #3 "));
}

#[test]
fn subagents_and_their_parent_share_one_list() {
    // Under strict rules that list is the project's, which is called as its directory.
    for (flags, list) in RULES.into_iter().zip(["L", SESSION, SESSION]) {
        let site = Site::new();
        let agent = |name: &str| {
            let mut command = site.command(&format!("mcp {flags} --as {name}"), &[]);
            command.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_SESSION_ID", SESSION);
            Piped::spawn(command).initialized()
        };
        let (mut parent, mut subagent) = (agent("PA"), agent("SA"));
        parent.call("TaskCreate", json!({ "subject": "[SA:DevOpsEng] Implement CLI command", "description": "d" }));
        subagent.call("TaskCreate", json!({ "subject": "[SA:TestEng] Write unit tests", "description": "d" }));
        let both = "#1 [pending] [SA:DevOpsEng] Implement CLI command\n#2 [pending] [SA:TestEng] Write unit tests";
        for server in [&mut parent, &mut subagent] {
            assert_eq!(server.call("TaskList", json!({})), both, "{flags}");
        }
        assert_eq!(site.names(&format!(".claude/tasks/{list}")), [".lock", "1.json", "2.json"], "{flags}");
    }
}

#[test]
fn every_kind_of_task_is_visible_to_the_client() {
    let site = Site::new();
    for (kind, more) in [
        ("mission", &["--repo", "yard", "--version", "1.0"][..]),
        ("experiment", &[]),
        ("phase", &["--parent", "1"]),
        ("bug", &["--parent", "1"]),
    ] {
        site.json(&format!("create Title --kind {kind}"), more);
    }
    for list in listed(&site) {
        assert_eq!(list.lines().count(), 4, "{list}");
    }
    for (id, mark) in [("1", "\u{1f5fa}"), ("2", "\u{1f9ea}"), ("3", "\u{1f4cb}"), ("4", "\u{1f41b}")] {
        let task: Value = site.task(id);
        assert_eq!(task["id"], id);
        assert_eq!(task["activeForm"], "Working on Title");
        let parent = if ["3", "4"].contains(&id) { "\u{1b}[2m[^#1]\u{1b}[22m " } else { "" };
        let subject = task["subject"].as_str().unwrap();
        assert!(subject.starts_with(&format!("\u{1b}[2m  #{id}\u{1b}[22m {parent}{mark}")), "{subject:?}");
        assert!(subject.ends_with("Title"), "{subject:?}");
    }
}

#[test]
fn tasks_of_a_kind_are_made_in_the_words_and_marks_of_the_seed() {
    let site = Site::new();
    site.write(".config/taskyard/taskyard.toml", "[kinds]\nmarks = \"compact\"");
    site.json("task create mission", &["Title", "--repo", "yard", "--version", "1.0"]);
    site.json("task create phase --parent 1", &["Phase 1"]);
    site.json("task create experiment", &["Title"]);
    site.json("task create bug --parent 1", &["Title"]);
    assert_eq!(site.task("1")["subject"], "\u{1b}[2m#1\u{1b}[0m \u{1f5fa}\u{fe0f} MISSION: Title");
    assert_eq!(site.task("2")["subject"], "\u{1b}[2m#2\u{1b}[0m \u{1b}[2m[^#1]\u{1b}[0m \u{1f4cb} Phase 1");
    assert_eq!(site.task("3")["subject"], "\u{1b}[2m#3\u{1b}[0m \u{1f9ea} EXPERIMENT: Title");
    assert_eq!(site.task("4")["subject"], "\u{1b}[2m#4\u{1b}[0m \u{1b}[2m[^#1]\u{1b}[0m \u{1f41b} BUG: Title");
    let wrong = site.command("task create epic Title", &[]).output();
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

#[test]
fn missing_active_form_is_told_by_lint_alone() {
    let site = Site::new();
    site.json("create Plain", &[]);
    site.json("create Whole --active-form Making", &[]);
    assert_eq!(site.json("doctor", &[])["findings"], json!([]));
    let found = site.json("doctor --lint", &[])["findings"].clone();
    let facts: Vec<_> = found.as_array().unwrap().iter().map(|one| (&one["code"], &one["task"])).collect();
    assert_eq!(facts, [(&json!("no_active_form"), &json!("1"))]);
    assert_eq!(found[0]["severity"], "warning");
}

#[test]
fn control_sequences_in_titles_are_shown_escaped_everywhere() {
    let site = Site::new().strict();
    let stored = "\u{1b}[2m  #1\u{1b}[22m a \u{1b}[2mb\u{1b}[0m \u{1b}[31mc\u{1b}]0;x\u{7}";
    let task =
        json!({"id": "1", "subject": stored, "description": "", "status": "pending", "blocks": [], "blockedBy": []});
    site.write(&format!("{FOLDER}/1.json"), &task.to_string());
    let shown = "a \\x1b[2mb\\x1b[0m \\x1b[31mc\\x1b]0;x\\x07";
    for words in
        ["list", "show 1", "ready", "search b", "graph", "graph --format mermaid", "prime", "list --style flat"]
    {
        let told = site.told(words, &[]);
        // Mermaid has its own way to write a backslash.
        assert!(told.contains(shown) || told.contains(&shown.replace('\\', "#92;")), "{words}: {told}");
        assert!(!told.contains('\u{1b}') && !told.contains("#1 \\x1b"), "{words}: {told}");
    }
    let mut server = site.server("");
    for (tool, input) in [("TaskList", json!({})), ("TaskGet", json!({"taskId": "1"})), ("TaskClaim", json!({}))] {
        let told = server.call(tool, input);
        assert!(told.contains(shown) && !told.contains('\u{1b}'), "{tool}: {told}");
    }
    assert_eq!(site.task("1")["subject"], stored);
}

#[test]
fn the_stored_example_is_drawn_dim_before_the_title() {
    let site = Site::new();
    let stored = "\u{1b}[2m#89\u{1b}[0m \u{1b}[2m[^#67]\u{1b}[0m \u{1f4cb} Phase 4";
    let task =
        json!({"id": "89", "subject": stored, "description": "", "status": "pending", "blocks": [], "blockedBy": []});
    site.write(&format!("{FOLDER}/89.json"), &task.to_string());
    let shown = site.told("list --style 2.1.20 --color always", &[]);
    assert_eq!(shown, "  \u{25fb} \u{1b}[2m#89 \u{1b}[0m\u{1b}[2m[^#67] \u{1b}[0m\u{1f4cb} Phase 4\n");
    assert_eq!(site.told("list --style 2.1.19", &[]), "#89. [pending] [^#67] \u{1f4cb} Phase 4\n");
}

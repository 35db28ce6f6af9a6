//! Seed 001: where tasks are kept, under which numbers, and behind which locks.

use std::fs;

use serde_json::json;
use taskyard_testkit::Suspended;

use crate::seeds::site::{FOLDER, RULES, Site, printed};

#[test]
fn the_mark_is_read_with_spaces_and_only_ever_raised() {
    for flags in RULES {
        for (mark, next) in [(" 41 \n", "42"), ("garbage", "4"), ("2", "4")] {
            let site = Site::new();
            site.put_tasks(&["3"]);
            site.write(&format!("{FOLDER}/.highwatermark"), mark);
            assert_eq!(site.json(&format!("create x {flags}"), &[])["task"]["id"], next, "{flags} {mark}");
        }
        let site = Site::new();
        site.put_tasks(&["3", "5", "12x"]);
        let mark = || fs::read_to_string(site.path(&format!("{FOLDER}/.highwatermark"))).unwrap_or_default();
        site.told(&format!("delete 5 {flags}"), &[]);
        assert_eq!(mark(), "5", "{flags}");
        site.told(&format!("delete 3 {flags}"), &[]);
        assert_eq!(mark(), "5", "{flags}: a lower number does not lower it");
        assert_eq!(site.json(&format!("create x {flags}"), &[])["task"]["id"], "13", "{flags}: 12x counts as 12");
        let site = Site::new();
        site.put_tasks(&["5"]);
        site.told(&format!("delete 5 {flags}"), &[]);
        assert_eq!(site.json(&format!("create x {flags}"), &[])["task"]["id"], "6", "{flags}");
    }
}

#[test]
fn clearing_raises_the_mark_and_leaves_lock_mark_and_dot_files() {
    // Strict rules give no number of a hidden file away.
    for (flags, next) in RULES.into_iter().zip(["10", "8", "8"]) {
        let site = Site::new();
        site.json("create x", &[]);
        site.put_tasks(&["7"]);
        site.write(&format!("{FOLDER}/.9.json"), "{}");
        site.write(&format!("{FOLDER}/notes.txt"), "mine");
        site.told(&format!("clear {flags}"), &[]);
        assert_eq!(site.names(FOLDER), [".9.json", ".highwatermark", ".lock", "notes.txt"], "{flags}");
        assert_eq!(site.read(&format!("{FOLDER}/.highwatermark")), "7", "{flags}");
        assert_eq!(site.json(&format!("create x {flags}"), &[])["task"]["id"], next, "{flags}");
    }
}

#[test]
fn a_list_without_a_directory_is_empty_and_looking_makes_none() {
    for flags in RULES {
        let site = Site::new();
        assert_eq!(site.server(flags).call("TaskList", json!({})), "No tasks found", "{flags}");
        assert_eq!(site.told(&format!("list {flags}"), &[]), "No tasks found\n", "{flags}");
        assert!(!site.path(".claude/tasks").exists(), "{flags}");
    }
}

#[test]
fn an_id_is_made_a_safe_name_and_a_list_a_directory() {
    for flags in RULES {
        let site = Site::new();
        let mut command = site.command(&format!("create x {flags}"), &[]);
        command.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_TASK_LIST_ID", "my team/\u{e9}!.x");
        printed(&command.output());
        assert_eq!(site.names(".claude/tasks/my-team----x"), [".lock", "1.json"], "{flags}");
        site.put_tasks(&["1"]);
        let got = site.server(flags).call("TaskGet", json!({ "taskId": "../L/1" }));
        assert_eq!(got, "Task not found", "{flags}");
    }
}

#[test]
fn the_lists_lie_in_the_clients_own_directory() {
    let site = Site::new();
    let mut command = site.command("create x", &[]);
    printed(&command.env("CLAUDE_CONFIG_DIR", site.path("elsewhere")).output());
    assert_eq!(site.names("elsewhere/tasks/L"), [".lock", "1.json"]);
    assert!(!site.path(".claude").exists());
}

#[test]
fn writing_command_holds_the_lock_the_client_would_take() {
    for (command, lock) in [
        ("create B", ".lock.lock"),
        ("clear", ".lock.lock"),
        ("claim 1 --as ana", "1.json.lock"),
        ("claim 1 --as ana --if-idle", ".lock.lock"),
    ] {
        let site = Site::new();
        site.json("create A", &[]);
        let before = site.task("1");
        let writer = Suspended::at(&site.home, "journal: flushed", command);
        let held = site.path(&format!("{FOLDER}/{lock}"));
        assert!(held.is_dir(), "{command}: {:?}", site.names(FOLDER));
        assert_eq!(site.names(&format!("{FOLDER}/{lock}")), [""; 0], "nothing is ever put into a lock");
        assert_eq!(site.task("1"), before, "{command}");
        assert_eq!(writer.go_on().code, Some(0), "{command}");
        assert!(!held.exists(), "{command}");
    }
}

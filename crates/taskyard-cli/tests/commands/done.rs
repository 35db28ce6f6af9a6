use std::fs;

use serde_json::json;
use taskyard_testkit::{Home, Scale};

use crate::test::Test;

#[test]
fn completing_a_task_tells_what_can_start_now() {
    Test::new()
        .list("1 in_progress; 2 pending \"Write docs\" <- 1; 3 pending (bob) <- 1; 4 pending <- 3")
        .run("done 1")
        .run("list")
        .snapshot();
}

#[test]
fn json_names_what_is_now_ready() {
    Test::new().list("1 pending; 2 pending <- 1").run("done 1 --json").snapshot();
}

#[test]
fn open_blockers_are_named_and_do_not_stand_in_the_way() {
    Test::new().list("1 pending; 2 pending <- 1").run("done 2").run("done 2 --json").snapshot();
}

#[test]
fn an_edge_that_only_the_waiting_task_knows_of_counts() {
    let test = Test::new().list("1 pending; 2 pending");
    let file = test.path("home/.claude/tasks/project/2.json");
    let text = std::fs::read_to_string(&file).unwrap().replace("\"blockedBy\": []", "\"blockedBy\": [\"1\"]");
    std::fs::write(&file, text).unwrap();
    test.run("done 1").snapshot();
}

#[test]
fn many_tasks_that_can_start_now_are_counted_rather_than_named() {
    let waiting: String = (2..=30).map(|number| format!("; {number} pending <- 1")).collect();
    Test::new().list(&format!("1 pending{waiting}")).run("done 1").snapshot();
}

#[test]
fn a_task_with_open_parts_is_finished_with_them_or_by_force() {
    Test::new()
        .list("1 pending \"Release\"; 2 pending; 3 pending <- 1")
        .quietly("update 2 --parent 1")
        .quietly("create Notes --parent 1")
        .run("done 1")
        .run("done 1 --json")
        .run("update 1 --status completed")
        .run("cancel 1")
        .run("done 1 2 4 --json")
        .run("undo")
        .run("cancel 1 --with-parts")
        .run("undo")
        .run("done 1 --force")
        .snapshot();
}

#[test]
fn several_tasks_are_completed_in_one_revision_or_none_is() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending <- 1,2; 5 pending; 6 pending")
        .run("done 1-2 --json")
        .run("done 3 9")
        .run("done 3 9 5 --keep-going")
        .run("done 3 9 6 --keep-going --json")
        .run("undo")
        .run("done --where 'status:pending not id:4'")
        .run("done --where status:pending --json")
        .run("done 9-7")
        .snapshot();
}

#[test]
fn keep_going_finishes_parts_before_what_they_are_parts_of() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending; 4 pending; 5 pending (ana)")
        .quietly("update 2 3 --parent 1")
        .quietly("update 4 5 --parent 3")
        .quietly("claim 5 --as ana")
        .run("done 1 2 3 4 5 --keep-going --as ben")
        .run("list")
        .snapshot();
}

#[test]
fn keep_going_leaves_what_hooks_forbid() {
    Test::new()
        .file(
            "home/.config/taskyard/taskyard.toml",
            "[[hooks.TaskCompleted]]\ncommand = \"grep -q forbidden && exit 2 || exit 0\"\n",
        )
        .list("1 pending one; 2 pending forbidden; 3 pending three")
        .run("done 1-3")
        .run("done 1-3 --keep-going")
        .run("list")
        .snapshot();
}

#[test]
fn bulk_completion_frees_exactly_its_dependents() {
    Test::new()
        .list(
            "1 pending; 2 pending; 3 pending; 4 pending; 5 pending; 6 pending; 7 pending <- 1,2; 8 pending <- 6,9; \
             9 pending; 10 pending; 11 pending <- 5; 12 pending <- 7",
        )
        .quietly("update 3 4 --parent 10")
        .run("done 1-6 --json")
        .run("undo")
        .run("done 10 1-5 99 --keep-going")
        .snapshot();
}

#[test]
fn parts_of_great_depth_are_done_in_one_pass() {
    let depth = Scale::from_environment(0.25).of(8_000) as u64;
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    fs::create_dir_all(home.list("L")).unwrap();
    let write = |number: u64, blocked_by: &[u64], blocks: &[u64], parent: Option<u64>| {
        let ids = |ids: &[u64]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut task = json!({
            "id": number.to_string(), "subject": "T", "description": "", "status": "pending",
            "blocks": ids(blocks), "blockedBy": ids(blocked_by),
        });
        if let Some(parent) = parent {
            task["metadata"] = json!({ "parent": parent.to_string() });
        }
        fs::write(home.task_file(&number.to_string()), task.to_string()).unwrap();
    };
    let all: Vec<u64> = (1..=depth).collect();
    // Every level waits for the last task.
    write(depth + 1, &[], &all, None);
    all.iter().for_each(|number| write(*number, &[depth + 1], &[], (*number > 1).then_some(number - 1)));
    let done = home.ask(&format!("done {}", depth + 1));
    assert_eq!(done["nowReady"], json!([depth.to_string()]));
    assert_eq!(home.ask("ready")["tasks"][0]["id"], json!(depth.to_string()));
    assert_eq!(home.ask(&format!("show {}", depth / 2))["task"]["id"], json!((depth / 2).to_string()));
    let done = home.ask(&format!("done {depth}"));
    assert_eq!(done["nowReady"], json!([(depth - 1).to_string()]));
    let made = home.ask(&format!("create Deeper --parent {}", depth - 1));
    assert_eq!(made["task"]["id"], json!((depth + 2).to_string()));
    let refused = home.run(&format!("update 1 --parent {} --json", depth + 2));
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(3), &json!("cycle")), "{:?}", refused.stderr);
    assert_eq!(home.run("delete 1 --with-parts --quiet").code, Some(0));
    assert_eq!(home.ask("list --all")["tasks"].as_array().unwrap().len(), 1);
}

//! Files that are not ours keep the modes they have: rewritten, restored, exported over.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::test::Test;

/// Modes that are neither what the usual umask leaves nor each other's.
const MODES: [u32; 3] = [0o600, 0o664, 0o640];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o7777
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Asserts that a file has each mode still after commands that rewrite it.
fn stays_through(mut test: Test, file: &str, lines: &[&str]) {
    for wanted in MODES {
        set(&test.path(file), wanted);
        for line in lines {
            let before = fs::metadata(test.path(file)).map(|found| found.mtime_nsec()).ok();
            test = test.quietly(line);
            assert_eq!(mode(&test.path(file)), wanted, "{line}: {file}");
            assert_ne!(fs::metadata(test.path(file)).map(|found| found.mtime_nsec()).ok(), before, "{line}: {file}");
        }
    }
}

#[test]
fn a_task_keeps_its_mode_when_it_is_rewritten() {
    let test = Test::new().list("1 pending; 2 pending");
    let lines = ["start 1", "update 1 --subject New", "undo", "reopen 1", "depend 1 --on 2", "undepend 1 --on 2"];
    stays_through(test, "home/.claude/tasks/project/1.json", &lines);
}

#[test]
fn the_mark_of_the_highest_number_keeps_its_mode() {
    for wanted in MODES {
        let test = Test::new().list("1 pending; 2 pending; 3 pending").task_file(".highwatermark", "1");
        let mark = test.path("home/.claude/tasks/project/.highwatermark");
        set(&mark, wanted);
        let _test = test.quietly("delete 3");
        assert_eq!((fs::read_to_string(&mark).unwrap().as_str(), mode(&mark)), ("3", wanted));
    }
}

#[test]
fn documents_folders_and_exports_keep_their_modes() {
    let test = Test::new().quietly("create One --store document:tasks.json");
    let lines = ["create Two --store document:tasks.json", "undo --store document:tasks.json"];
    stays_through(test, "home/project/tasks.json", &lines);
    let mut test = Test::new().quietly("create One --store teaching:.tasks");
    let id = test.json("list --json --store teaching:.tasks")["tasks"][0]["id"].as_str().unwrap().to_owned();
    let start = format!("start {id} --store teaching:.tasks");
    let files = fs::read_dir(test.path("home/project/.tasks")).unwrap().map(|entry| entry.unwrap().file_name());
    let file = files.filter_map(|name| name.into_string().ok()).find(|name| name.contains(&id)).unwrap();
    stays_through(test, &format!("home/project/.tasks/{file}"), &[&start, "undo --store teaching:.tasks"]);
    let test = Test::new().list("1 pending").quietly("export --to csv out.csv");
    stays_through(test, "home/project/out.csv", &["export --to csv out.csv"]);
}

#[test]
fn a_todo_list_keeps_its_mode() {
    let todos = r#"[{"content":"Mend it","status":"pending","activeForm":"Mending it"}]"#;
    let mut test = Test::new().env("CLAUDE_CODE_SESSION_ID", "s-1").stdin(todos).quietly("todo write");
    let file = fs::read_dir(test.path("home/.claude/todos")).unwrap().next().unwrap().unwrap().path();
    for wanted in MODES {
        set(&file, wanted);
        test = test.stdin(todos).quietly("todo write");
        assert_eq!(mode(&file), wanted);
    }
}

#[test]
fn inboxes_and_team_files_keep_their_modes() {
    let team =
        || Test::new().quietly("team create alpha").quietly("team join alpha --as bob").quietly("send --to bob hi");
    stays_through(team(), "home/.claude/teams/alpha/inboxes/bob.json", &["send --to bob again"]);
    for wanted in MODES {
        let test = team();
        let file = test.path("home/.claude/teams/alpha/config.json");
        set(&file, wanted);
        let _test = test.quietly("team join alpha --as eve").quietly("team leave --as eve");
        assert_eq!(mode(&file), wanted);
    }
}

#[test]
fn a_settings_file_keeps_its_mode() {
    let test = Test::new().file("home/project/.mcp.json", "{}");
    stays_through(
        test,
        "home/project/.mcp.json",
        &["setup claude --scope project", "setup claude --scope project --remove"],
    );
}

/// Takes a task away.
type Removal = fn(Test) -> Test;

#[test]
fn a_task_comes_back_with_the_mode_it_had() {
    let removals: [(Removal, &str); 5] = [
        (|test| test.meanwhile(|place| fs::remove_file(place.join(FILE)).unwrap()), "restore 1"),
        (
            |test| test.meanwhile(|place| fs::remove_dir_all(place.join(FILE).parent().unwrap()).unwrap()),
            "restore --all",
        ),
        (|test| test.quietly("delete 1"), "undo"),
        (|test| test.quietly("delete 1"), "restore 1 --deleted"),
        (|test| test.quietly("clear"), "undo"),
    ];
    const FILE: &str = "home/.claude/tasks/project/1.json";
    for (remove, bring_back) in removals {
        for wanted in MODES {
            let test = Test::new().quietly("create One").quietly("create Two");
            set(&test.path(FILE), wanted);
            // A reader has looked at the list since.
            let test = remove(test.quietly("list"));
            assert!(!test.path(FILE).exists());
            let test = test.quietly(bring_back);
            assert_eq!(mode(&test.path(FILE)), wanted, "{bring_back}");
        }
    }
}

#[test]
fn a_new_task_has_what_the_umask_leaves() {
    for (umask, wanted) in [("022", 0o644), ("077", 0o600), ("002", 0o664), ("000", 0o666)] {
        let test = Test::new();
        let script = format!("umask {umask}; exec {} create One", env!("CARGO_BIN_EXE_taskyard"));
        assert!(test.command("/bin/sh").args(["-c", &script]).status().success());
        let file = test.path("home/.claude/tasks/project/1.json");
        assert_eq!(
            (mode(&file), mode(file.parent().unwrap())),
            (wanted, wanted | (wanted & 0o444) >> 2),
            "umask {umask}"
        );
    }
}

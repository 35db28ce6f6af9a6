//! A `taskyard.toml` that the user does not trust decides nothing that matters, and one that other users could have written counts for
//! nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use serde_json::json;
use taskyard_testkit::{NOBODY, is_root};

use crate::nobody::{as_nobody, give_away};
use crate::test::Test;

const PROJECTS: &str = "home/project/taskyard.toml";
const USERS: &str = "home/.config/taskyard/taskyard.toml";

/// A hook of the user's own, in a form that the client's rules do not know.
const BLOCKING: &str = r#"{"hooks":{"TaskCompleted":[{"type":"command","command":"echo not yet >&2; exit 2"}]}}"#;

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns the keys that `where` says are ignored.
fn ignored(test: &mut Test) -> Vec<String> {
    let told = test.json("where --json");
    let keys = told["ignored"].as_array().unwrap().iter().flat_map(|file| file["keys"].as_array().unwrap());
    keys.map(|key| key.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_directorys_rules_do_not_switch_off_the_users_own_hook() {
    Test::new()
        .list("1 pending; 2 pending")
        .file("home/.claude/settings.json", BLOCKING)
        .file(PROJECTS, "rules = \"client\"\n")
        .run("done 1")
        .run("done 1 --json")
        .quietly("trust")
        .run("done 1")
        .run("trust --remove")
        .run("done 2")
        .snapshot();
}

#[test]
fn directory_quota_spares_output_of_other_projects() {
    let test = Test::new();
    let temporary = test.path("tmp");
    fs::create_dir_all(test.path("home/project/cloned")).unwrap();
    let mut test = test
        .env("CLAUDE_CODE_TMPDIR", temporary)
        .quietly("job run --name precious -- seq 100000")
        .quietly("job wait precious")
        .file("home/project/cloned/taskyard.toml", "[jobs]\nquota = \"64KB\"\nkeep = \"0s\"\nmax_output = \"8KB\"\n")
        .inside("cloned")
        .quietly("job run --name theirs -- seq 100000")
        .quietly("job wait theirs")
        .quietly("job gc")
        .inside("");
    let output = |test: &mut Test, name: &str| test.json(&format!("job output {name} --json"))["output"].clone();
    for name in ["precious", "theirs"] {
        let kept = output(&mut test, name);
        assert!(kept.to_string().len() > 500_000, "{name}: {} bytes", kept.to_string().len());
    }
}

#[test]
fn untrusted_directory_keys_are_ignored_and_named() {
    for (text, keys) in [
        ("list = \"project\"\nstore = \"file:.taskyard\"\n[display]\nstyle = \"flat\"\ncompleted_after = 1", &[][..]),
        ("list = \"project-api\"", &[]),
        ("list = \"secrets\"", &["list"]),
        ("store = \"file:/tmp/elsewhere\"", &["store"]),
        ("store = \"file:../elsewhere\"", &["store"]),
        ("store = \"memory:\"", &["store"]),
        ("store = \"document:\"", &["store"]),
        ("rules = \"client\"", &["rules"]),
        ("client_version = \"2.1.34\"", &["client_version"]),
        ("[claims]\nlimit = 0", &["claims.limit"]),
        ("[claims]\nlease = \"1ms\"", &["claims.lease"]),
        ("[claims.roles]\ntester = [\"none\"]", &["claims.roles"]),
        ("[jobs]\nquota = 1", &["jobs.quota"]),
        ("[jobs]\nmax_output = 1", &["jobs.max_output"]),
        ("[jobs]\nkeep = 0", &["jobs.keep"]),
        ("[jobs]\ngrace = 0", &["jobs.grace"]),
        ("[jobs]\noutput_form = \"2.1.34\"", &["jobs.output_form"]),
        ("[checks]\ntests = \"true\"", &["checks"]),
        ("[[hooks.TaskCreated]]\ncommand = \"touch ran\"", &["hooks"]),
    ] {
        let mut test = Test::new().list("1 pending").file(PROJECTS, text);
        assert_eq!(ignored(&mut test), keys, "{text}");
        let output = test.command(env!("CARGO_BIN_EXE_taskyard")).args(["create", "One"]).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{text}: {said}");
        for key in keys {
            assert!(said.contains(key) && said.contains("`taskyard trust`"), "{text}: {said}");
        }
        assert_eq!(said.lines().filter(|line| line.contains("taskyard.toml")).count(), keys.len().min(1), "{said}");
        assert!(!test.path("home/project/ran").exists());
        let mut test = test.quietly("trust");
        assert!(ignored(&mut test).is_empty(), "{text}");
    }
}

#[test]
fn what_was_ignored_is_told_by_where_and_counts_after_trust() {
    Test::new()
        .file(USERS, "list = \"mine\"\n")
        .file(
            PROJECTS,
            "list = \"theirs\"\nstore = \"file:/tmp/elsewhere\"\nrules = \"client\"\n[checks]\nx = \"true\"\n",
        )
        .run("where")
        .run("where --json")
        .run("where --quiet")
        .run("trust")
        .run("where")
        .run("trust --json")
        .snapshot();
}

#[test]
fn a_link_out_of_the_project_is_no_store_of_its_own() {
    let test = Test::new().list("1 pending 'Private'");
    fs::create_dir_all(test.path("home/project/.taskyard")).unwrap();
    std::os::unix::fs::symlink(test.path("home/.claude/tasks"), test.path("home/project/.taskyard/tasks")).unwrap();
    let mut test = test.file(PROJECTS, "store = \"file:.taskyard\"\n");
    assert_eq!(ignored(&mut test), ["store"]);
}

/// Asserts that a file counts for nothing, trusted or not, and that this is said.
fn counts_for_nothing(mut test: Test, why: &str) {
    for line in ["where --json", "trust", "where --json"] {
        let output = test.command(env!("CARGO_BIN_EXE_taskyard")).args(line.split(' ')).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains("taskyard.toml") && said.contains(why), "{line}: {said}");
    }
    let told = test.json("where --json");
    assert_eq!((&told["list"], &told["ignored"][0]["keys"]), (&json!("project"), &json!(null)), "{told}");
    assert!(told["ignored"][0]["reason"].as_str().unwrap().contains(why), "{told}");
}

#[test]
fn writable_by_others_file_is_ignored_even_if_trusted() {
    let project = || Test::new().file(PROJECTS, "list = \"project-x\"\n[checks]\nx = \"true\"\n");
    let directory = |test: &Test, mode| set(&test.path("home/project"), mode);
    let file = |test: &Test, mode| set(&test.path(PROJECTS), mode);
    for (mode, why) in
        [(0o777, "every user can write to its directory"), (0o1777, "every user can write to its directory")]
    {
        let test = project();
        directory(&test, mode);
        counts_for_nothing(test, why);
    }
    let test = project();
    file(&test, 0o646);
    counts_for_nothing(test, "every user can write to it");
    if !is_root() {
        return;
    }
    for (path, why) in
        [(PROJECTS, "it belongs to another user"), ("home/project", "its directory belongs to another user")]
    {
        let test = project();
        chown(test.path(path), Some(NOBODY), None).unwrap();
        counts_for_nothing(test, why);
    }
    // A group that is not the owner's private one.
    let test = project();
    chown(test.path("home/project"), None, Some(100)).unwrap();
    directory(&test, 0o775);
    counts_for_nothing(test, "gid 100");
    let test = project();
    chown(test.path(PROJECTS), None, Some(100)).unwrap();
    file(&test, 0o664);
    counts_for_nothing(test, "gid 100");
}

#[test]
fn the_owners_private_group_may_write() {
    let test = Test::new().file(PROJECTS, "list = \"project-x\"\n");
    if is_root() {
        set(&test.path("home/project"), 0o775);
        set(&test.path(PROJECTS), 0o664);
    }
    let mut test = test;
    assert_eq!(test.json("where --json")["list"], "project-x");
}

#[test]
fn root_does_not_obey_a_users_file_and_a_user_obeys_roots() {
    if !is_root() {
        return;
    }
    let mut test = Test::new().file(PROJECTS, "list = \"project-x\"\n");
    set(&test.path("home"), 0o755);
    give_away(&test.path("data"));
    let list = |test: &Test| {
        let output = as_nobody(test).args(["where", "--quiet"]).output();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(list(&test), "project-x");
    chown(test.path(PROJECTS), Some(NOBODY), None).unwrap();
    assert_eq!(list(&test), "project-x");
    assert_eq!(test.json("where --json")["list"], "project");
    chown(test.path(PROJECTS), Some(NOBODY - 1), None).unwrap();
    assert_eq!(list(&test), "project");
}

#[test]
fn what_lies_in_a_directory_for_everybody_above_does_not_count() {
    let mut test = Test::new()
        .file("home/shared/.git/HEAD", "")
        .file("home/shared/taskyard.toml", "list = \"shared-trap\"\n[display]\ncompleted_after = 0\n")
        .file("home/shared/package.json", "{\"name\": \"trap\"}")
        .file("home/shared/work/notes", "");
    set(&test.path("home/shared"), 0o1777);
    test = test.inside("../shared/work");
    let told = test.json("where --json");
    assert_eq!((&told["list"], &told["ignored"][0]["keys"]), (&json!("shared"), &json!(null)), "{told}");
}

#[test]
fn the_users_own_file_counts_only_while_it_is_the_users() {
    let mut test = Test::new().file(USERS, "list = \"mine\"\n");
    set(&test.path(USERS), 0o664);
    assert_eq!(test.json("where --json")["list"], "mine");
    set(&test.path(USERS), 0o666);
    assert_eq!(test.json("where --json")["list"], "project");
    set(&test.path(USERS), 0o644);
    if is_root() {
        chown(test.path(USERS), Some(NOBODY), None).unwrap();
        assert_eq!(test.json("where --json")["list"], "project");
    }
}

#[test]
fn hooks_in_foreign_writable_settings_do_not_run() {
    let settings = r#"{"hooks":{"TaskCreated":[{"hooks":[{"type":"command","command":"touch ran"}]}]}}"#;
    for (path, folder) in [
        ("home/project/.claude/settings.json", "home/project/.claude"),
        ("home/project/.claude/settings.local.json", "home/project/.claude"),
        ("home/.claude/settings.json", "home/.claude"),
    ] {
        let test = Test::new().file(path, settings).quietly("trust");
        let ran = test.path("home/project/ran");
        set(&test.path(path), 0o666);
        let test = test.quietly("create One");
        set(&test.path(path), 0o644);
        set(&test.path(folder), 0o777);
        let mut test = test.quietly("create Two");
        set(&test.path(folder), 0o755);
        if is_root() {
            chown(test.path(path), Some(NOBODY), None).unwrap();
            test = test.quietly("create Three");
            chown(test.path(path), Some(0), None).unwrap();
        }
        assert!(!ran.exists(), "{path}");
        let _test = test.quietly("create Four");
        assert!(ran.exists(), "{path}");
    }
}

#[test]
fn the_clients_hooks_are_answered_by_the_users_settings_too() {
    let event = json!({"session_id": "s-1", "agent_id": "ana", "tasks_completed": ["1"]}).to_string();
    Test::new()
        .list_named("mine", "1 in_progress (ana)")
        .file("home/.claude/settings.json", BLOCKING)
        .file(USERS, "list = \"mine\"\n")
        .file(PROJECTS, "rules = \"client\"\nlist = \"theirs\"\n")
        .stdin(&event)
        .run("hook SubagentStop")
        .stdin("{}")
        .run("hook SessionStart")
        .snapshot();
}

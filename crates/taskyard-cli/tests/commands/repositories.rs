//! A repository has one list: in every worktree and subdirectory, wherever it is moved, and beside others of its name.

use std::fs;
use std::path::Path;

use taskyard_testkit::Program;

use crate::test::Test;

/// Runs git, as its user would.
pub(crate) fn git(directory: &Path, line: &str) {
    let mut command = Program::new("git");
    command.current_dir(directory).args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-c",
        "protocol.file.allow=always",
    ]);
    command.args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"]).args(line.split(' '));
    command.env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output();
    assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a repository with one commit below `home/`.
pub(crate) fn repository(test: Test, path: &str) -> Test {
    let test = test.file(&format!("home/{path}/README"), "");
    let place = test.path(&format!("home/{path}"));
    git(&place, "init -q");
    git(&place, "add .");
    git(&place, "commit -q -m One");
    test
}

/// Returns the list that a directory below `home/` has.
pub(crate) fn list_in(test: Test, path: &str) -> (Test, String) {
    let mut test = test.inside(&format!("../{path}"));
    let answer = test.json("where --json");
    let list = answer["list"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (test, list)
}

#[track_caller]
pub(crate) fn assert_lists(mut test: Test, expected: &[(&str, &str)]) -> Test {
    for (path, list) in expected {
        let found;
        (test, found) = list_in(test, path);
        assert_eq!(found, *list, "{path}");
    }
    test
}

#[test]
fn every_worktree_and_subdirectory_has_the_repositorys_list() {
    let test = repository(Test::new(), "rocket").file("home/rocket/packages/web/package.json", r#"{"name":"@r/web"}"#);
    let root = test.path("home/rocket");
    git(&root, "worktree add -q ../rocket-feature");
    git(&root, "worktree add -q .claude/worktrees/fix");
    git(&root, "worktree add -q ../deep/down -b down");
    let all = ["rocket", "rocket/packages/web", "rocket-feature", "rocket/.claude/worktrees/fix", "deep/down"];
    let mut test = assert_lists(test, &all.map(|path| (path, "rocket")));
    assert!(!root.join(".git/taskyard-id").exists(), "a look leaves nothing behind");
    for (number, path) in all.into_iter().enumerate() {
        test = test.inside(&format!("../{path}")).quietly(&format!("create Task-{number}"));
    }
    assert_eq!(test.json("list --json")["tasks"].as_array().unwrap().len(), all.len());
    assert!(root.join(".git/taskyard-id").exists());
    let directories = test.json("where --json")["directories"].clone();
    let paths = ["deep/down", "rocket", "rocket/.claude/worktrees/fix", "rocket-feature"];
    let expected: Vec<String> =
        paths.iter().map(|path| test.path(&format!("home/{path}")).display().to_string()).collect();
    assert_eq!(directories, serde_json::json!(expected));
    let _ = assert_lists(test, &all.map(|path| (path, "rocket")));
}

#[test]
fn package_at_the_root_names_the_list_everywhere() {
    let test = repository(Test::new(), "mono")
        .file("home/mono/package.json", r#"{"name":"@acme/all"}"#)
        .file("home/mono/packages/web/package.json", r#"{"name":"@acme/web"}"#)
        .file("home/mono/packages/own/taskyard.toml", "list = \"mono-own\"");
    git(&test.path("home/mono"), "worktree add -q ../beside");
    let lists = [
        ("mono", "@acme/all"),
        ("mono/packages/web", "@acme/all"),
        ("beside", "@acme/all"),
        ("mono/packages/own", "mono-own"),
    ];
    let _ = assert_lists(test, &lists);
}

#[test]
fn second_repository_of_a_name_gets_its_parents_in_front() {
    let mut test = Test::new();
    for path in ["one/api", "acme/api", "b/acme/api"] {
        test = repository(test, path);
    }
    test = test.inside("../one/api").run("create First").inside("../acme/api").run("create Second").run("create Third");
    test = assert_lists(test, &[("one/api", "api"), ("acme/api", "acme-api"), ("b/acme/api", "b-acme-api")]);
    test.inside("../acme/api").run("where").run("doctor").snapshot();
}

#[test]
fn copies_and_moved_repositories_are_told_apart() {
    let mut test = repository(Test::new(), "api").inside("../api").quietly("create One");
    let home = test.path("home");
    git(&home, "clone -q api other");
    fs::rename(home.join("api"), home.join("renamed")).unwrap();
    test = assert_lists(test, &[("renamed", "api"), ("other", "other")]);
    // A copy is another repository; the one in the recorded place keeps the list.
    test = test.inside("../renamed").quietly("create Two");
    let mut copy = Program::new("cp");
    assert!(copy.args(["-r", "renamed", "copy"]).current_dir(&home).output().status.success());
    test = assert_lists(test, &[("renamed", "api"), ("copy", "copy")]);
    test = test.inside("../copy").quietly("create Three");
    let ids = ["renamed", "copy"].map(|name| fs::read_to_string(home.join(name).join(".git/taskyard-id")).unwrap());
    assert_ne!(ids[0], ids[1]);
    // Two that change places take their lists along.
    fs::rename(home.join("renamed"), home.join("aside")).unwrap();
    fs::rename(home.join("copy"), home.join("renamed")).unwrap();
    fs::rename(home.join("aside"), home.join("copy")).unwrap();
    let test = assert_lists(test, &[("renamed", "copy"), ("copy", "api")]);
    let test = test.inside("../copy").quietly("create Four").inside("../renamed").quietly("create Five");
    let _ = assert_lists(test, &[("renamed", "copy"), ("copy", "api")]);
}

#[test]
fn binding_follows_a_repository_and_holds_in_its_worktrees() {
    let test = repository(Test::new(), "api").file("home/api/inner/x", "");
    let home = test.path("home");
    git(&home.join("api"), "worktree add -q ../beside");
    let test =
        test.inside("../api").quietly("use launch").quietly("create One").inside("../api/inner").quietly("use deep");
    let test = assert_lists(test, &[("api", "launch"), ("beside", "launch"), ("api/inner", "deep")]);
    fs::rename(home.join("api"), home.join("moved")).unwrap();
    let test = assert_lists(test, &[("moved", "launch"), ("moved/inner", "deep")]);
    let test = test.inside("../moved").quietly("create Two");
    let _ = assert_lists(test, &[("moved", "launch"), ("moved/inner", "deep")]);
}

#[test]
fn directory_keeps_the_list_it_had_if_that_has_tasks() {
    let test = repository(Test::new(), "rocket")
        .file("home/rocket/web/package.json", r#"{"name":"web"}"#)
        .list_named("rocket-feature", "1 pending Old")
        .list_named("web", "1 pending Older");
    git(&test.path("home/rocket"), "worktree add -q ../rocket-feature");
    let mut test = assert_lists(test, &[("rocket", "rocket")]);
    test = test.inside("../rocket-feature").run("list").run("list").run("where");
    test = test
        .inside("../rocket/web")
        .run("where --json --quiet")
        .run("create New")
        .inside("../rocket")
        .quietly("create X");
    test = assert_lists(test, &[("rocket", "rocket"), ("rocket-feature", "rocket-feature"), ("rocket/web", "web")]);
    // The user decides otherwise.
    test = test.inside("../rocket-feature").quietly("use rocket");
    assert_lists(test, &[("rocket-feature", "rocket")]).snapshot();
}

#[test]
fn repositories_that_share_a_list_keep_it_and_doctor_tells() {
    let test = repository(repository(Test::new(), "one/api"), "two/api").list_named("api", "1 pending Old");
    let test =
        test.inside("../one/api").run("create A").inside("../two/api").run("create B").run("create C").run("doctor");
    let test = assert_lists(test, &[("one/api", "api"), ("two/api", "api")]);
    // One that is made later did not share it.
    let test = repository(test, "three/api");
    let test = assert_lists(test, &[("three/api", "three-api")]);
    let mut test = test.inside("../two/api").quietly("use two");
    assert_eq!(test.json("doctor --json --list api")["findings"], serde_json::json!([]));
    test.snapshot();
}

#[test]
fn repositories_that_race_for_a_name_get_two_lists() {
    let mut test = Test::new();
    let paths = ["a/api", "b/api", "c/api", "d/api"];
    for path in paths {
        test = repository(test, path);
    }
    let run = |path: &str| {
        let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
        command.current_dir(test.path(&format!("home/{path}"))).args(["create", path]);
        command.output()
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = paths.map(|path| scope.spawn(move || run(path))).into();
        for output in running.into_iter().map(|thread| thread.join().unwrap()) {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    });
    let mut lists = std::collections::BTreeSet::new();
    for path in paths {
        let list;
        (test, list) = list_in(test, path);
        let tasks = test.json("list --json")["tasks"].clone();
        assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["subject"]), (1, &path.into()), "{list}");
        lists.insert(list);
    }
    assert_eq!(lists.len(), paths.len(), "{lists:?}");
}

#[test]
fn older_releases_and_read_only_repositories_need_no_record() {
    // A repository whose git directory takes no file is known by its path.
    let test = Test::new().file("home/odd/.git", "gitdir: /nowhere\n").inside("../odd").quietly("create One");
    let test = assert_lists(test, &[("odd", "odd")]);
    let test = repository(test, "x/odd");
    let _ = assert_lists(test, &[("x/odd", "x-odd")]);
}

#[test]
fn each_branch_has_a_list_if_that_is_asked_for() {
    let test = repository(Test::new(), "rocket");
    let root = test.path("home/rocket");
    git(&root, "worktree add -q ../beside -b fix/one");
    git(&root, "checkout -q -b side");
    let test = test.file("home/.config/taskyard/taskyard.toml", "[lists]\nper_branch = true\n");
    // A list of the plain name is another one.
    let test = test.inside("../rocket").quietly("create One --list rocket-fix-one");
    let test = assert_lists(test, &[("rocket", "rocket@side")]);
    let test = test.inside("../rocket").quietly("create OnSide");
    git(&root, "checkout -q main");
    let mut test = assert_lists(test, &[("rocket", "rocket")]);
    assert_eq!(test.json("list --json")["tasks"], serde_json::json!([]));
    let mut test = test.inside("../beside").quietly("create Two");
    assert_eq!(test.json("list --json")["tasks"][0]["subject"], "Two");
    assert_eq!(test.json("list --json --list rocket-fix-one")["tasks"][0]["subject"], "One");
}

#[test]
fn lists_of_branches_follow_a_renamed_list() {
    let test = repository(Test::new(), "rocket");
    let root = test.path("home/rocket");
    git(&root, "worktree add -q ../beside -b fix/one");
    git(&root, "checkout -q -b side");
    let test = test.file("home/.config/taskyard/taskyard.toml", "[lists]\nper_branch = true\n");
    // A list of the plain name is no list of a branch.
    let test = test.inside("../rocket").quietly("create Plain --list rocket-fix-one").quietly("create OnSide");
    let test = test.inside("../beside").quietly("create OnFix").inside("../rocket");
    // Only the branches have tasks at first.
    let test = test.run("lists rename rocket shuttle");
    git(&root, "checkout -q main");
    let test = assert_lists(test, &[("rocket", "shuttle"), ("beside", "shuttle@fix/one")]);
    let mut test = test.inside("../rocket").quietly("create OnMain");
    // If one of the names is in use, none is given.
    test = test.quietly("create Other --list ferry@side").run("lists rename shuttle ferry").run("lists");
    test = test.run("lists rename shuttle liner --json").run("lists rename liner@side elsewhere").run("lists");
    git(&root, "checkout -q side");
    test = assert_lists(test, &[("beside", "liner@fix/one"), ("rocket", "liner@side")]);
    git(&root, "checkout -q main");
    for (path, subject) in [("beside", "OnFix"), ("rocket", "OnMain")] {
        test = test.inside(&format!("../{path}"));
        assert_eq!(test.json("list --json")["tasks"][0]["subject"], subject);
    }
    assert_eq!(test.json("list --json --list elsewhere")["tasks"][0]["subject"], "OnSide");
    test.snapshot();
}

/// A repository `rocket` whose committed settings name a list, with worktrees and a clone.
fn with_settings(list: &str) -> Test {
    let settings = format!("{{\"env\":{{\"CLAUDE_CODE_TASK_LIST_ID\":\"{list}\"}}}}");
    let test = Test::new().file("home/rocket/.claude/settings.json", settings);
    let test = repository(test, "rocket");
    let root = test.path("home/rocket");
    git(&root, "worktree add -q ../rocket-feature");
    git(&root, "worktree add -q .claude/worktrees/fix");
    git(&test.path("home"), "clone -q rocket rocket-clone");
    test
}

#[test]
fn committed_settings_name_the_list_in_every_checkout() {
    let all = ["rocket", "rocket/.claude", "rocket-feature", "rocket/.claude/worktrees/fix", "rocket-clone"];
    let mut test = assert_lists(with_settings("shuttle"), &all.map(|path| (path, "shuttle")));
    for path in all {
        test = test.inside(&format!("../{path}")).quietly("create One");
    }
    test = assert_lists(test, &all.map(|path| (path, "shuttle")));
    assert_eq!(test.json("list --json")["tasks"].as_array().unwrap().len(), all.len());
    // The client's order: the variable, the local file, the project's, the user's.
    let user = r#"{"env":{"CLAUDE_CODE_TASK_LIST_ID":"users"}}"#;
    test = test.file("home/.claude/settings.json", user);
    test = assert_lists(test, &[("rocket", "shuttle"), ("project", "users")]);
    test = test.file("home/rocket/.claude/settings.local.json", r#"{"env":{"CLAUDE_CODE_TASK_LIST_ID":"local"}}"#);
    test = assert_lists(test, &[("rocket", "local"), ("rocket-feature", "local"), ("rocket-clone", "shuttle")]);
    test = test.env("CLAUDE_CODE_TASK_LIST_ID", "variable");
    let _ = assert_lists(test, &[("rocket", "variable")]);
}

/// Makes a task through the server that agents are given, started in the current directory, and returns the list that it went to.
fn create_over_mcp(test: &mut Test, words: &[String], subject: &str) -> String {
    let initialize = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let create = serde_json::json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "TaskCreate", "arguments": {"subject": subject, "description": "x"}}});
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let output = test.answer_to(&words.join(" "), &format!("{initialize}\n{initialized}\n{create}\n"));
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && answer.contains("created successfully"), "{answer}");
    let lists = test.json("lists --json")["lists"].clone();
    let has_it = |list: &&serde_json::Value| {
        let list = test.path("home/.claude/tasks").join(list["list"].as_str().unwrap());
        let mut tasks = fs::read_dir(list).unwrap().map(|entry| entry.unwrap().path());
        tasks.any(|path| path.is_file() && fs::read_to_string(path).unwrap().contains(subject))
    };
    lists.as_array().unwrap().iter().find(has_it).expect("it is in some list")["list"].as_str().unwrap().to_owned()
}

/// Sets Codex up, and returns the words that it starts the server with.
fn words_of_codex(test: &mut Test) -> Vec<String> {
    assert!(test.output_of("setup codex --yes").status.success());
    let config = fs::read_to_string(test.path("home/.codex/config.toml")).unwrap();
    let words = config.lines().find_map(|line| line.strip_prefix("args = ")).unwrap();
    serde_json::from_str(words).unwrap()
}

#[test]
fn committed_settings_name_the_list_for_agents_as_well() {
    let mut test = with_settings("shuttle").file("home/.codex/config.toml", "").inside("../rocket");
    let of_codex = words_of_codex(&mut test);
    for (number, path) in
        ["rocket", "rocket-feature", "rocket/.claude/worktrees/fix", "rocket-clone"].iter().enumerate()
    {
        test = test.inside(&format!("../{path}"));
        assert_eq!(create_over_mcp(&mut test, &of_codex, &format!("codex-{number}")), "shuttle", "{path}");
    }
}

#[test]
fn settings_name_no_list_of_another_directory_to_agents() {
    let mut test = repository(with_settings("bank"), "bank").inside("../bank").quietly("create Secret");
    let words = ["mcp".to_owned()];
    for path in ["rocket", "rocket-feature", "rocket/.claude/worktrees/fix"] {
        test = test.inside(&format!("../{path}"));
        assert_eq!(create_over_mcp(&mut test, &words, &path.replace('/', "-")), "rocket", "{path}");
    }
    test = test.inside("../rocket-clone");
    assert_eq!(create_over_mcp(&mut test, &words, "cloned"), "rocket-clone");
    test = test.inside("../rocket").quietly("trust");
    assert_eq!(create_over_mcp(&mut test, &words, "trusted"), "bank");
}

#[test]
fn settings_name_no_list_of_another_directory_before_trust() {
    let mut test = repository(with_settings("bank"), "bank").inside("../bank").quietly("create Secret");
    test = assert_lists(test, &[("bank", "bank"), ("rocket", "rocket"), ("rocket-clone", "rocket-clone")]);
    let ignored = test.inside("../rocket").run("list").run("where");
    assert_lists(ignored.inside("../rocket").quietly("trust"), &[("rocket", "bank"), ("rocket-feature", "bank")])
        .snapshot();
}

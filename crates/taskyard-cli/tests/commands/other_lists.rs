//! A write to another list than the directory's own says so.

use serde_json::json;

use crate::test::Test;

/// A member of a team that was joined elsewhere, in a project with a list of its own.
fn elsewhere() -> Test {
    Test::new()
        .file("home/shop/x", "")
        .inside("../shop")
        .quietly("team create shop")
        .quietly("team join shop --as ben")
        .quietly("create Parser --as ben")
        .quietly("create Docs --as ben")
        .inside("")
        .list("1 pending Ours; 2 pending 'Ours too'")
}

#[test]
fn a_name_does_not_carry_a_list_into_another_directory() {
    let mut test = elsewhere().run("done 2 --as ben").run("done 1 --as ben --list shop").run("team show --as ben");
    let status = |test: &mut Test, list: &str, id: &str| {
        test.json(&format!("show {id} --list {list} --json"))["task"]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (status(&mut test, "project", "2"), status(&mut test, "shop", "2")),
        ("completed".into(), "pending".into())
    );
    test.snapshot();
}

#[test]
fn messages_go_by_name_wherever_one_is() {
    let mut test = elsewhere().quietly("send --to team-lead 'half way' --as ben");
    assert_eq!(test.json("inbox --as team-lead --json")["messages"][0]["text"], "half way");
    test = test.quietly("send --to ben --team shop 'go on' --as team-lead");
    assert_eq!(test.json("inbox --as ben --json")["messages"][0]["text"], "go on");
}

#[test]
fn every_command_that_writes_names_the_list_it_wrote_to() {
    let test = Test::new().list_named("other", "1 pending One; 2 pending Two; 3 pending Three; 4 completed Four");
    let test = test.env("TASKYARD_LIST", "other").env("TASKYARD_AGENT", "ana");
    let mut test = test
        .run("create Five")
        .run("update 1 --subject Uno")
        .run("claim 1")
        .run("claim --next")
        .run("renew 1 --token 1")
        .run("release 1")
        .run("start 1")
        .run("done 1")
        .run("done 1")
        .run("reopen 1")
        .run("cancel 2")
        .run("depend 3 --on 1")
        .run("undepend 3 --on 1")
        .run("delete 5")
        .run("undo")
        .run("release --agent ana")
        .run("clear")
        .run("restore --all --deleted")
        .run("create Quiet --quiet");
    for reading in ["list", "show 3", "ready", "stats", "history", "where", "graph", "search Three", "doctor", "prime"]
    {
        let said = test.output_of(reading);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(!said.contains("the list of this directory is"), "{reading}: {said}");
    }
    test.snapshot();
}

#[test]
fn programs_are_told_the_list_as_well() {
    let mut test = Test::new().list("1 pending").list_named("other", "1 pending; 2 pending; 3 pending");
    for command in [
        "create X",
        "update 1 --subject X",
        "start 1",
        "done 1",
        "claim 2 --as ana",
        "release 2 --as ana",
        "depend 3 --on 2",
        "delete 3",
        "undo",
        "clear",
        "undo",
    ] {
        let answer = test.json(&format!("{command} --list other --json"));
        assert_eq!(answer["list"], "other", "{command}: {answer}");
        let own = test.json(&format!("{command} --list project --json"));
        assert_eq!(own.get("list"), None, "{command}: {own}");
    }
    let answer = test.json("work --list other --json -- true");
    assert_eq!(answer["list"], "other", "{answer}");
    for reading in ["show 1", "stats", "history", "ready"] {
        assert_eq!(test.json(&format!("{reading} --list other --json")).get("list"), None, "{reading}");
    }
}

#[test]
fn a_list_that_is_only_spelled_otherwise_is_the_directorys_own() {
    let mut test = Test::new().file("home/package.json", r#"{"name":"@scope/shop"}"#).quietly("create One");
    assert_eq!(test.json("done 1 --list=-scope-shop --json").get("list"), None);
    test = test.env("CLAUDE_CODE_TASK_LIST_ID", "@scope/shop");
    assert_eq!(test.json("reopen 1 --json").get("list"), None);
}

#[test]
fn directory_binding_and_configuration_are_its_own() {
    let mut test = Test::new().quietly("use bound");
    assert_eq!(test.json("create One --json").get("list"), None);
    assert_eq!(test.json("create One --list project --json")["list"], "project");
    test = test.file("home/project/taskyard.toml", "list = \"project-api\"");
    assert_eq!(test.json("create One --json").get("list"), None);
    assert_eq!(test.json("create One --list bound --json")["list"], "bound");
}

#[test]
fn the_list_of_a_team_and_of_a_session_is_named() {
    let mut test = Test::new().quietly("team create crew").quietly("team join crew --as ben");
    assert_eq!(test.json("create One --as ben --json")["list"], "crew");
    assert_eq!(test.json("team leave --as ben --json").get("list"), None);
    test = test.env("CLAUDE_CODE_SESSION_ID", "0198ffff-1111-4222-8333-444455556666");
    assert_eq!(test.json("create One --json").get("list"), None);
    let answer = test.json("create One --rules client --json");
    assert_eq!(answer["list"], json!("0198ffff-1111-4222-8333-444455556666"));
}

#[test]
fn team_work_uses_the_team_list_and_says_so() {
    let mut test = elsewhere();
    let said = test.output_of("work --team shop --as zed -- true");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.ends_with("  in shop; the list of this directory is project\n"), "{said}");
    assert_eq!(test.json("list --status completed --all --list shop --json")["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(test.json("list --status pending --json")["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_to_be_typed_next_is_about_the_same_list() {
    Test::new()
        .list("1 pending Ours")
        .list_named("the-other", "1 pending Theirs; 2 pending 'Theirs too'")
        .run("delete 2 --list 'the other'")
        .run("delete 1")
        .snapshot();
}

#[test]
fn the_answer_to_a_hook_keeps_its_form() {
    let event =
        json!({"session_id": "s", "agent_id": "ana", "tasks_completed": ["1"], "hook_event_name": "SubagentStop"});
    let mut test = Test::new().list_named("other", "1 in_progress (ana)").env("TASKYARD_LIST", "other");
    test = test.stdin(event.to_string());
    let said = test.output_of("hook SubagentStop");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(!said.contains("the list of this directory is"), "{said}");
    assert_eq!(test.json("show 1 --json")["task"]["status"], "completed");
}

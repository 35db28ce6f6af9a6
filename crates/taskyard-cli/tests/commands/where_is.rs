use serde_json::json;

use crate::test::Test;

const SESSION: &str = "0123456789abcdef";

#[test]
fn the_choice_comes_with_its_reason() {
    Test::new()
        .run("where")
        .run("where --json")
        .run("where --quiet")
        .run("where --list flag")
        .run("where --store file:elsewhere")
        .snapshot();
}

#[test]
fn each_thing_that_names_a_list_beats_the_next() {
    let mut test = Test::new().strict();
    let chosen = |test: &mut Test| test.json("where --json")["list"].as_str().unwrap().to_owned();
    assert_eq!(chosen(&mut test), "project");
    test = test.meanwhile(|place| std::fs::create_dir(place.join("home/.git")).unwrap());
    assert_eq!(chosen(&mut test), "home");
    test = test.file("home/package.json", r#"{"name":"@scope/package"}"#);
    assert_eq!(chosen(&mut test), "@scope/package");
    test = test.env("CLAUDE_CODE_SESSION_ID", "0123456789abcdef");
    assert_eq!(chosen(&mut test), "@scope/package");
    test = test.quietly("use bound");
    assert_eq!(chosen(&mut test), "bound");
    let directory = test.path("home/project").display().to_string();
    let team = |name: &str| json!({"name": name, "members": [{"name": "ana", "cwd": directory}]}).to_string();
    test = test.file("home/.claude/teams/t/config.json", team("crew"));
    assert_eq!(chosen(&mut test), "bound");
    test = test.env("TASKYARD_AGENT", "ana");
    assert_eq!(chosen(&mut test), "crew");
    test = test.file("home/.claude/teams/u/config.json", team("other"));
    assert_eq!(chosen(&mut test), "bound");
    test = test.file("home/.config/taskyard/taskyard.toml", "list = \"configured\"");
    assert_eq!(chosen(&mut test), "configured");
    test = test.env("CLAUDE_CODE_TASK_LIST_ID", "client");
    assert_eq!(chosen(&mut test), "client");
    test = test.env("TASKYARD_LIST", "ours");
    assert_eq!(chosen(&mut test), "ours");
    assert_eq!(test.json("where --list flag --json")["reason"], "given with --list");
}

#[test]
fn empty_variables_count_as_unset() {
    Test::new().env("TASKYARD_LIST", "").env("CLAUDE_CODE_TASK_LIST_ID", "").run("where --quiet").snapshot();
}

/// Returns the list that is chosen, and why.
fn chosen(test: &mut Test, flags: &str) -> (String, String) {
    let answer = test.json(&format!("where --json {flags}"));
    let text = |key: &str| answer[key].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (text("list"), text("reason"))
}

#[test]
fn session_chooses_list_in_client_rules_or_if_configured() {
    let mut test = Test::new().strict().env("CLAUDE_CODE_SESSION_ID", SESSION);
    assert_eq!(chosen(&mut test, "").0, "project");
    assert_eq!(chosen(&mut test, "--rules client").0, SESSION);
    let short = |place: &std::path::Path| {
        std::fs::create_dir_all(place.join("home/.claude/tasks/session-01234567")).unwrap();
    };
    test = test.meanwhile(short);
    assert_eq!(chosen(&mut test, "--rules client").0, "session-01234567");
    test = test.file("home/.config/taskyard/taskyard.toml", "list = \"session\"");
    let configured = ("session-01234567".to_owned(), "`list = \"session\"` in taskyard.toml".to_owned());
    assert_eq!(chosen(&mut test, ""), configured);
    // Outside of sessions it says nothing.
    test = test.without("CLAUDE_CODE_SESSION_ID");
    assert_eq!(chosen(&mut test, "").0, "project");
}

#[test]
fn project_file_gives_session_lists_only_if_trusted() {
    let mut test =
        Test::new().env("CLAUDE_CODE_SESSION_ID", SESSION).file("home/project/taskyard.toml", "list = \"session\"");
    let answer = test.json("where --json");
    assert_eq!((&answer["list"], &answer["ignored"][0]["keys"]), (&json!("project"), &json!(["list"])));
    test = test.quietly("trust");
    assert_eq!(chosen(&mut test, "").0, SESSION);
}

#[test]
fn team_chooses_list_where_it_was_joined_and_below() {
    let mut test = Test::new()
        .file("home/shop/src/x", "")
        .file("home/other/x", "")
        .inside("../shop")
        .quietly("team create crew")
        .quietly("team join crew --as ben");
    for (directory, list) in [("../shop", "crew"), ("../shop/src", "crew"), ("../other", "other"), ("..", "home")] {
        test = test.inside(directory);
        assert_eq!(chosen(&mut test, "--as ben").0, list, "{directory}");
    }
    test.inside("../shop/src").run("where --as ben").inside("../other").run("where --as ben").snapshot();
}

#[test]
fn the_agent_that_made_a_team_works_on_its_list_where_that_was() {
    let mut test = Test::new().file("home/other/x", "").quietly("team create crew --as ana");
    assert_eq!(chosen(&mut test, "--as ana").0, "crew");
    test = test.inside("../other");
    assert_eq!(chosen(&mut test, "--as ana").0, "other");
}

#[test]
fn joining_again_elsewhere_moves_where_a_team_counts() {
    let mut test = Test::new()
        .file("home/other/x", "")
        .quietly("team create crew")
        .quietly("team join crew --as ben")
        .inside("../other")
        .quietly("team join crew --as ben");
    assert_eq!(chosen(&mut test, "--as ben").0, "crew");
    test = test.inside("");
    assert_eq!(chosen(&mut test, "--as ben").0, "project");
}

#[test]
fn of_several_teams_the_one_joined_nearest_counts() {
    let mut test = Test::new()
        .file("home/project/inner/x", "")
        .quietly("team create outer")
        .quietly("team create deep --as boss")
        .quietly("team join outer --as ben")
        .inside("inner")
        .quietly("team join deep --as ben");
    assert_eq!(chosen(&mut test, "--as ben").0, "deep");
    test = test.inside("");
    assert_eq!(chosen(&mut test, "--as ben").0, "outer");
    // A member of the team whose list it works on finishes one task first, whatever other teams it is in.
    let test = test.quietly("create One --as ben").quietly("create Two --as ben").quietly("claim 1 --as ben");
    test.run("claim 2 --as ben").snapshot();
}

#[test]
fn join_place_is_found_behind_links_not_relative_paths() {
    let test = Test::new().file("home/real/x", "").meanwhile(|place| {
        std::os::unix::fs::symlink(place.join("home/real"), place.join("home/link")).unwrap();
    });
    let [real, link, gone] = ["home/real", "home/link", "home/gone"].map(|path| test.path(path).display().to_string());
    let mut test = test.inside("../real");
    for (cwd, list) in [
        (json!(real), "crew"),
        (json!(link), "crew"),
        (json!(format!("{real}/../real")), "crew"),
        (json!(gone), "real"),
        (json!("."), "real"),
        (json!("real"), "real"),
        (json!(""), "real"),
        (json!(null), "real"),
        (json!(7), "real"),
    ] {
        let team = json!({"name": "crew", "members": [{"name": "ben", "cwd": cwd}]}).to_string();
        test = test.file("home/.claude/teams/crew/config.json", team);
        assert_eq!(chosen(&mut test, "--as ben").0, list, "{cwd}");
    }
    let team = json!({"name": "crew", "members": [{"name": "ben"}]}).to_string();
    test = test.file("home/.claude/teams/crew/config.json", team);
    assert_eq!(chosen(&mut test, "--as ben").0, "real");
}

#[test]
fn the_clients_own_team_environment_chooses_wherever_it_is() {
    let mut test = Test::new().file("home/other/x", "").quietly("team create crew").quietly("team join crew --as ben");
    test = test.inside("../other").env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1").env("TASKYARD_AGENT", "ben");
    assert_eq!(chosen(&mut test, ""), ("crew".to_owned(), "the list of the client's team".to_owned()));
    // A flag is no environment: subagents have such names.
    test = test.without("TASKYARD_AGENT");
    assert_eq!(chosen(&mut test, "--as ben").0, "other");
    test = test.env("TASKYARD_AGENT", "ben").env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "0");
    assert_eq!(chosen(&mut test, "").0, "other");
    test = test.without("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS");
    assert_eq!(chosen(&mut test, "").0, "other");
}

#[test]
fn session_leading_a_team_uses_its_list_not_the_implicit_one() {
    let mut test = Test::new()
        .env("CLAUDE_CODE_SESSION_ID", "0123abcd-1111-2222")
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");
    let directory = test.path("home/project").display().to_string();
    let team = |name: &str| {
        let members = json!([
            {"name": "team-lead", "cwd": directory},
            {"name": "bob", "prompt": "do it", "cwd": directory},
            {"name": "zed", "cwd": directory},
        ]);
        json!({"name": name, "leadSessionId": "0123abcd-1111-2222", "members": members}).to_string()
    };
    for (name, lists) in
        [("crew", ["crew", "crew", "crew"]), ("session-0123abcd", ["project", "project", "session-0123abcd"])]
    {
        test = test.file("home/.claude/teams/t/config.json", team(name));
        let found = ["", "--as bob", "--as zed"].map(|flags| chosen(&mut test, flags).0);
        assert_eq!(found, lists, "{name}");
    }
}

use std::fs;

use taskyard_testkit::{Program, rules_under_test};

use crate::test::Test;

#[test]
fn a_team_is_made_joined_shown_and_left() {
    Test::new()
        .strict()
        .run("team list")
        .run("team create alpha -d 'Ship it'")
        .run("team create ALPHA")
        .run("team join alpha --as bob")
        .run("team join alpha --as eve --plan-mode")
        .run("team join beta --as bob")
        .quietly("create Parser --as bob")
        .quietly("start 1 --as bob")
        .run("team show --as bob --json")
        .run("team list")
        .run("team leave --as bob")
        .run("inbox --as eve --json")
        .run("team leave alpha --as team-lead")
        .run("list --as eve")
        .snapshot();
}

#[test]
fn member_is_told_the_list_it_works_on_and_leaves_no_task_there() {
    for teams in ["0", "1"] {
        let test = Test::new().env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", teams).env("TASKYARD_RULES", "client");
        let mut test = test.quietly("team create alpha");
        let joined = test.json("team join alpha --as bob --json");
        let list = if teams == "1" { "alpha" } else { "project" };
        assert_eq!((&joined["list"], &joined["teamList"]), (&list.into(), &"alpha".into()));
        assert_eq!(test.json("where --as bob --json")["list"], list);
        let mut test = test.quietly("create Parser --as bob").quietly(&format!("update 1 --owner bob --list {list}"));
        let left = test.json("team leave --as bob --json");
        assert_eq!(left["unassignedTasks"][0]["subject"], "Parser", "{left}");
        let task = test.json(&format!("show 1 --list {list} --json"))["task"].clone();
        assert_eq!((&task["status"], &task["owner"]), (&"pending".into(), &serde_json::Value::Null));
    }
}

#[test]
fn member_of_two_teams_in_one_directory_leaves_no_task_there() {
    let mut test = Test::new().quietly("team create alpha").quietly("team create beta");
    assert_eq!(test.json("team join alpha --as bob --json")["list"], "alpha");
    let joined = test.json("team join beta --as bob --json");
    assert_eq!((&joined["list"], &joined["teamList"]), (&"project".into(), &"beta".into()));
    let mut test = test.quietly("create Parser --as bob").quietly("start 1 --as bob");
    let left = test.json("team leave beta --as bob --json");
    assert_eq!(left["unassignedTasks"][0]["subject"], "Parser", "{left}");
    assert_eq!(test.json("where --as bob --json")["list"], "alpha");
    assert_eq!(test.json("show 1 --list project --json")["task"]["status"], "pending");
}

#[test]
fn team_ends_when_empty_or_forced_and_tasks_stay() {
    Test::new()
        .strict()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("create Parser --as bob")
        .quietly("start 1 --as bob")
        .run("team delete alpha")
        .run("team delete alpha --force")
        .run("list --list alpha")
        .run("send --to bob hello")
        .run("team show alpha")
        .snapshot();
}

#[test]
fn odd_names_get_one_directory_and_collisions_are_refused() {
    Test::new()
        .run("team create 'My Team!'")
        .run("team create my_team-")
        .run("team create ''")
        .quietly("team join 'My Team!' --as bob")
        .run("send --to bob hello --team 'My Team!'")
        .run("inbox --as bob --ack")
        .meanwhile(|place| {
            let mut teams: Vec<String> = fs::read_dir(place.join("home/.claude/teams"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            teams.sort();
            assert_eq!(teams, ["my-team-"]);
        })
        .snapshot();
}

#[test]
fn inboxes_in_both_of_the_clients_directories_are_read() {
    let message = |text: &str| {
        format!(r#"[{{"from":"team-lead","text":"{text}","timestamp":"2026-11-15T00:00:00.000Z","read":false}}]"#)
    };
    Test::new()
        .quietly("team create My_Team")
        .quietly("team join My_Team --as bob")
        .file("home/.claude/teams/My_Team/inboxes/bob.json", message("as the client spells it"))
        .file("home/.claude/teams/my-team/inboxes/bob.json", message("beside the team"))
        .run("inbox --as bob --ack")
        .run("inbox --as bob")
        .snapshot();
}

#[test]
fn the_dead_are_shown_as_ghosts_and_taken_out_with_a_reason() {
    let mut child = Program::new("sleep").arg("600").start();
    let test = Test::new()
        .quietly("team create alpha")
        .quietly(&format!("team join alpha --as bob --pid {}", child.id()))
        .quietly("create Parser --as bob")
        .quietly("start 1 --as bob");
    child.kill();
    let mut test = test;
    let shown = test.json("team show alpha --json");
    assert_eq!(shown["members"][1]["state"], "ghost");
    assert_eq!(shown["members"][1]["alive"], false);
    test.run("team join alpha --as eve").run("list --as eve").run("inbox --as team-lead --json").snapshot();
}

#[test]
fn nobody_starts_before_a_plan_that_has_to_be_approved_is() {
    let mut test = Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob --plan-mode")
        .quietly("create Parser --as bob")
        .run("start 1 --as bob")
        .run("claim 1 --as bob")
        .run("claim --next --as bob --json");
    let sent = test.json("send --to team-lead --request plan 'First the lexer' --as bob --json");
    let request = sent["request"].as_str().unwrap().to_owned();
    assert_eq!(test.json("team show alpha --json")["members"][1]["state"], "awaiting_approval");
    let test = test
        .run("inbox --as team-lead")
        .run(&format!("send --to bob --approve {request} --as bob"))
        .quietly(&format!("send --to bob --reject {request} 'think of Unicode'"))
        .run("start 1 --as bob")
        .quietly(&format!("send --to bob --approve {request}"))
        .run("start 1 --as bob")
        .run("inbox --as bob --ack");
    test.snapshot();
}

#[test]
fn a_teammate_finishes_one_task_before_it_takes_another() {
    Test::new()
        .strict()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("create One --as bob")
        .quietly("create Two --as bob")
        .quietly("create Three --as bob")
        // What was given to it and is not begun does not count.
        .quietly("update 3 --owner bob --as bob")
        .quietly("claim 1 --as bob")
        .run("claim 2 --as bob --json")
        .run("claim --next --as bob")
        .run("claim 2 --as bob --rules client --list alpha")
        .quietly("update 2 --no-owner --list alpha --rules client")
        .file("home/.config/taskyard/taskyard.toml", "[claims]\nlimit = 2\n")
        .run("claim 2 --as bob")
        .run("claim 3 --as bob")
        .snapshot();
}

#[test]
fn client_teams_let_everybody_finish_one_task_first() {
    Test::new()
        .strict()
        .list("1 pending; 2 pending")
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
        .quietly("claim 1 --as bob")
        .run("claim 2 --as bob --json")
        .run("claim 2 --as bob --rules client --json")
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "0")
        .quietly("update 2 --no-owner --force --as bob")
        .run("claim 2 --as bob")
        .snapshot();
}

#[test]
fn a_member_has_a_name_and_an_inbox_of_its_own() {
    let long = "x".repeat(300);
    let test = Test::new()
        .quietly("team create alpha")
        .run("team join alpha")
        .run("team join alpha --as '*'")
        .run("team join alpha --as 'a\nb' --json")
        .quietly("team join alpha --as 'a b'")
        .run("team join alpha --as a-b")
        .run("team join alpha --as A/B --json")
        .quietly("team join alpha --as '../é😀'")
        .run("send --to '../é😀' hello")
        .run("inbox --as '../é😀'")
        .run("team join alpha --as bob@beta")
        .run("team join alpha --as bob@alpha")
        .run("team list");
    let mut test = test;
    assert_eq!(test.json(&format!("team join alpha --json --as {long}"))["error"]["code"], "bad_agent");
    let inboxes = std::fs::read_dir(test.path("home/.claude/teams/alpha/inboxes")).unwrap().count();
    assert_eq!(inboxes, 1);
    test.snapshot();
}

#[test]
fn an_inbox_that_is_no_file_is_told_of_and_left_alone() {
    let link = |place: &std::path::Path| {
        let inboxes = place.join("home/.claude/teams/alpha/inboxes");
        fs::create_dir_all(inboxes.join("eve.json")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/nowhere/bob.json", inboxes.join("bob.json")).unwrap();
    };
    Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("team join alpha --as eve")
        .meanwhile(link)
        .run("send --to eve hello")
        .run("inbox --as eve")
        .run("send --to bob hello")
        .run("team mend")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn terminal_shows_members_with_colour_state_and_activity() {
    Test::new()
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
        .quietly("team create alpha -d 'Ship it'")
        .quietly("team join alpha --as ana")
        .quietly("team join alpha --as ben --plan-mode")
        .quietly("team join alpha --as eve")
        .quietly("create Parser --as ana")
        .quietly("update 1 --status in_progress --owner ana --as ana")
        // Under client rules an assignment is told even to the agent that made it.
        .quietly("inbox --ack --as ana")
        .quietly("send --to team-lead --request plan 'first the lexer' --as ben")
        .quietly("send --to eve --request shutdown enough")
        .on_terminal(100, "team show alpha", "")
        .on_terminal(40, "team show alpha", "")
        .on_terminal(80, "inbox --sent", "")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn client_teammates_end_with_it_and_joined_members_stay() {
    let mut child = Program::new("true").start();
    child.wait();
    let member =
        |name: &str| serde_json::json!({"agentId": format!("{name}@alpha"), "name": name, "joinedAt": 1, "cwd": "/"});
    let team = serde_json::json!({
        "name": "alpha", "createdAt": 1, "leadAgentId": "team-lead@alpha", "leadSessionId": "5ce1ab1e-1",
        "leadProcess": {"pid": child.id(), "claimedAt": 1}, "members": [member("team-lead"), member("cc")],
    });
    let mut test = Test::new().file("home/.claude/teams/alpha/config.json", team.to_string());
    assert_eq!(test.json("team show alpha --json")["members"][1]["state"], "ghost");
    let mut test = test.run("team join alpha --as bob").quietly("create One --as bob").quietly("claim 1 --as bob");
    let shown = test.json("team show alpha --json");
    assert_eq!(
        (&shown["members"][1]["name"], &shown["members"][1]["alive"]),
        (&"bob".into(), &serde_json::Value::Null)
    );
    test.quietly("team join alpha --as eve").run("team list").snapshot();
}

#[test]
fn busy_teammate_cannot_begin_another_task_at_all() {
    Test::new()
        .strict()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("create One --as bob")
        .quietly("create Two --as bob")
        .quietly("create Three --as bob")
        .quietly("start 1 --as bob")
        .run("start 2 --as bob")
        .run("update 2 --status in_progress --as bob --json")
        .quietly("start 3 --as team-lead --rules client --list alpha")
        .run("update 3 --owner bob --as bob")
        .run("update 2 --subject Second --as bob")
        .run("start 2 --as bob --rules client --list alpha")
        .quietly("update 2 --status pending --as bob")
        .quietly("done 1 --as bob")
        .run("start 2 --as bob")
        .snapshot();
}

/// Returns a home with a team of a lead, bob and eve, where bob has claimed a task.
fn with_work_of_bob(terms: &str) -> Test {
    Test::new()
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("team join alpha --as eve")
        .quietly("create Parser --as bob")
        .quietly(&format!("claim 1 --as bob {terms}"))
}

fn said_to(test: &mut Test, agent: &str) -> Vec<String> {
    let inbox = test.json(&format!("inbox --as {agent} --json"));
    let messages = inbox["messages"].as_array().unwrap_or_else(|| panic!("{inbox}"));
    messages.iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

const BOB_IS_GONE: &str = "bob was terminated. 1 task(s) were unassigned: #1 \"Parser\". Use TaskList to check availability \
                           and TaskUpdate with owner to reassign them to idle teammates.";

#[test]
fn members_hear_of_an_ended_one_but_the_actor_does_not() {
    for lead in ["tester", "eve"] {
        let test = with_work_of_bob("");
        let mut test = test.quietly(&format!("release --agent bob --reason terminated --as {lead} --list alpha"));
        let (told, silent) = if lead == "eve" { ("team-lead", "eve") } else { ("eve", "team-lead") };
        assert_eq!(said_to(&mut test, told), told_in_strict_rules());
        assert_eq!((said_to(&mut test, silent), said_to(&mut test, "bob")), (Vec::new(), Vec::new()));
        // A second time there is nothing to tell.
        let mut test = test.quietly("release --agent bob --list alpha");
        assert_eq!(said_to(&mut test, told), told_in_strict_rules());
    }
}

/// Returns what members are told of one that another agent ended, or that died: under client rules nothing.
fn told_in_strict_rules() -> &'static [&'static str] {
    if rules_under_test().is_client() { &[] } else { &[BOB_IS_GONE] }
}

#[test]
fn a_member_that_leaves_tells_the_others_under_all_rules() {
    let mut test = with_work_of_bob("").quietly("team leave --as bob");
    for agent in ["eve", "team-lead"] {
        assert_eq!(said_to(&mut test, agent), [BOB_IS_GONE.replace("was terminated", "has shut down")], "{agent}");
    }
}

#[test]
fn the_rest_is_told_once_that_a_lease_ended_by_time_or_death() {
    let mut process = Program::new("sleep").arg("600").start();
    let with_process = with_work_of_bob(&format!("--pid {}", process.id()));
    process.kill();
    for mut test in [with_work_of_bob("--ttl 1ms"), with_process] {
        for agent in ["eve", "team-lead", "eve"] {
            assert_eq!(said_to(&mut test, agent), told_in_strict_rules(), "{agent}");
        }
        assert_eq!(said_to(&mut test, "bob"), [""; 0]);
    }
}

#[test]
fn nobody_is_told_what_they_did_themselves() {
    let mut test = Test::new().quietly("team create alpha").quietly("team join alpha --as bob");
    for subject in ["one", "two", "three"] {
        test = test.quietly(&format!("create {subject} --as bob"));
    }
    for (line, told) in [
        ("update 1 --owner bob --as bob", 0),
        ("update 1 --no-owner --as bob", 0),
        ("start 2 --as bob", 0),
        ("update 3 --owner bob --as team-lead", 1),
        ("update 1 --owner bob@alpha --as bob", 1),
    ] {
        test = test.quietly(line);
        assert_eq!(test.json("inbox --as bob --json")["messages"].as_array().unwrap().len(), told, "{line}");
    }
}

#[test]
fn person_who_makes_a_team_works_on_its_list_there() {
    let mut test = Test::new().file("home/other/x", "").run("team create crew").run("create Plan");
    assert_eq!(test.json("list --as ben --list crew --json")["tasks"][0]["subject"], "Plan");
    test = test.quietly("team join crew --as ben");
    assert_eq!(test.json("list --as ben --json")["tasks"][0]["subject"], "Plan");
    test = test.inside("../other");
    assert_eq!(test.json("where --json")["list"], "other");
    test.inside("").run("where").snapshot();
}

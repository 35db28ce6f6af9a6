//! Seed 001: dependencies, claims and teams.

use std::thread;

use serde_json::{Value, json};

use crate::seeds::site::{CLIENTS, RULES, Site, printed};
use crate::stdio::Piped;

fn create(server: &mut Piped, subject: &str) {
    server.call("TaskCreate", json!({ "subject": subject, "description": "d" }));
}

#[test]
fn example_graph_starts_one_and_five_and_four_waits() {
    let site = Site::new();
    let mut server = site.server("");
    for subject in ["1", "2", "3", "4", "5"] {
        create(&mut server, subject);
    }
    for (id, blockers) in [("2", &["1"][..]), ("3", &["1"]), ("4", &["2", "3"])] {
        server.call("TaskUpdate", json!({ "taskId": id, "addBlockedBy": blockers }));
    }
    let ready = || -> Vec<String> {
        let tasks = site.json("ready", &[])["tasks"].clone();
        let mut ids: Vec<String> =
            tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let refused = |id: &str| -> Value {
        let output = site.command("claim --json --as ana", &[id]).output();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(ready(), ["1", "5"]);
    assert_eq!((&refused("2")["reason"], &refused("2")["blockedBy"]), (&json!("blocked"), &json!(["1"])));
    server.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert_eq!(ready(), ["2", "3", "5"]);
    // What is completed is pruned from the list, and stays in the file.
    assert_eq!(server.call("TaskList", json!({})).lines().nth(1), Some("#2 [pending] 2"));
    assert_eq!(site.task("2")["blockedBy"], json!(["1"]));
    server.call("TaskUpdate", json!({ "taskId": "2", "status": "completed" }));
    assert_eq!((ready(), &refused("4")["blockedBy"]), (vec!["3".to_owned(), "5".to_owned()], &json!(["3"])));
    server.call("TaskUpdate", json!({ "taskId": "3", "status": "completed" }));
    assert_eq!(ready(), ["4", "5"]);
}

#[test]
fn claims_are_refused_for_the_reasons_of_the_seed() {
    for (flags, begun) in RULES.into_iter().zip(["in_progress", "pending", "pending"]) {
        let site = Site::new();
        site.put_tasks(&["1", "2", "3", "4", "5"]);
        for words in ["depend 2 --on 1", "done 3", "update 4 --owner ben", "update 5 --owner ana"] {
            site.told(&format!("{words} {flags}"), &[]);
        }
        let claim = |words: &str| -> Value {
            let output = site.command(&format!("claim {words} --as ana --json {flags}"), &[]).output();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        for (words, reason) in [
            ("9", "task_not_found"),
            ("4", "already_claimed"),
            ("3", "already_resolved"),
            ("2", "blocked"),
            ("1 --if-idle", "agent_busy"),
        ] {
            assert_eq!(claim(words)["reason"], reason, "{flags}");
        }
        assert_eq!((&claim("2")["blockedBy"], &claim("1 --if-idle")["busyWith"]), (&json!(["1"]), &json!(["5"])));
        // One's own task can be claimed again.
        for _ in 0..2 {
            let claimed = claim("5");
            assert_eq!((&claimed["claimed"], &claimed["task"]["owner"]), (&json!(true), &json!("ana")), "{flags}");
            assert_eq!(claimed["task"]["status"], begun, "{flags}");
        }
    }
}

#[test]
fn all_agents_of_a_team_share_the_list_of_its_name() {
    // Client rules know teams only while the client's variable says so.
    for (flags, teams) in RULES.into_iter().zip(["", "1", "1"]) {
        let site = Site::new();
        let run = |words: &str| {
            let mut command = site.command(&format!("{words} {flags}"), &[]);
            command.env_remove("TASKYARD_LIST").env_remove("TASKYARD_AGENT");
            command.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", teams);
            command
        };
        for words in ["team create alpha --as lead", "team join alpha --as bob", "team join alpha --as eve"] {
            printed(&run(words).output());
        }
        let team: Value = serde_json::from_str(&site.read(".claude/teams/alpha/config.json")).unwrap();
        let bob = &team["members"][1];
        assert_eq!(
            (&team["name"], &bob["name"], &bob["agentId"]),
            (&json!("alpha"), &json!("bob"), &json!("bob@alpha"))
        );
        let mut bob = Piped::spawn(run("mcp --as bob")).initialized();
        create(&mut bob, "Shared");
        let mut eve = Piped::spawn(run("mcp --as eve")).initialized();
        assert_eq!(eve.call("TaskList", json!({})), "#1 [pending] Shared", "{flags}");
        assert!(site.path(".claude/tasks/alpha/1.json").exists(), "{flags}");
        // An agent that starts a task without an owner becomes its owner; a task that has one keeps it.
        bob.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
        assert_eq!(eve.call("TaskList", json!({})), "#1 [in_progress] Shared (bob)", "{flags}");
        create(&mut eve, "Given");
        eve.call("TaskUpdate", json!({ "taskId": "2", "owner": "bob" }));
        bob.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
        bob.call("TaskUpdate", json!({ "taskId": "2", "status": "in_progress" }));
        assert!(eve.call("TaskList", json!({})).ends_with("#2 [in_progress] Given (bob)"), "{flags}");
        bob.close();
        let shown = printed(&run("team show alpha --json --as eve").output());
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let bob = shown["members"].as_array().unwrap().iter().find(|member| member["name"] == "bob").unwrap();
        // Our own tools are counted under strict rules; nobody but a client knows of tokens.
        assert_eq!((bob["toolUses"].is_u64(), bob["tokens"].is_null()), (flags == RULES[0], true), "{flags}: {bob}");
    }
}

#[test]
fn in_client_rules_the_team_comes_before_the_session() {
    for flags in CLIENTS {
        let site = Site::new();
        let run = |words: &str, teams: &str, name: &str| {
            let mut command = site.command(&format!("{words} --json {flags}"), &[]);
            command.env_remove("TASKYARD_LIST").env_remove("TASKYARD_AGENT").env("CLAUDE_CODE_SESSION_ID", "5e551017");
            command.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", teams).env("CLAUDE_CODE_TASK_LIST_ID", name);
            serde_json::from_str::<Value>(&printed(&command.output())).unwrap()
        };
        let chosen = |teams: &str, name: &str| run("where --as bob", teams, name)["list"].clone();
        assert_eq!(chosen("1", ""), "5e551017", "{flags}: it is not in a team");
        run("team create alpha --as lead", "1", "");
        run("team join alpha --as bob", "1", "");
        assert_eq!((chosen("1", ""), chosen("1", "named")), (json!("alpha"), json!("named")), "{flags}");
        assert_eq!(chosen("0", ""), "5e551017", "{flags}: teams are off");
    }
}

#[test]
fn plan_mode_member_starts_nothing_before_approval() {
    let site = Site::new().strict();
    let run = |words: &str| {
        let mut command = site.command(words, &[]);
        command.env_remove("TASKYARD_LIST").env_remove("TASKYARD_AGENT");
        command
    };
    printed(&run("team create alpha --as lead").output());
    printed(&run("team join alpha --as bob").env("CLAUDE_CODE_PLAN_MODE_REQUIRED", "1").output());
    printed(&run("team join alpha --as eve").env("CLAUDE_CODE_PLAN_MODE_REQUIRED", "no").output());
    for subject in ["One", "Two"] {
        printed(&run(&format!("create {subject} --as eve")).output());
    }
    assert_eq!(run("start 1 --as bob").output().status.code(), Some(3));
    printed(&run("start 1 --as eve").output());
    let request = printed(&run("send --to team-lead --request plan First --as bob --json").output());
    let request: Value = serde_json::from_str(&request).unwrap();
    printed(&run(&format!("send --to bob --approve {} --as team-lead", request["request"].as_str().unwrap())).output());
    printed(&run("start 2 --as bob").output());
}

#[test]
fn idle_claim_gives_one_task_for_any_number_of_requests() {
    let site = Site::new();
    let ids = ["1", "2", "3", "4", "5", "6"];
    site.put_tasks(&ids);
    let claim = |id: &str| -> Value {
        let output = site.command("claim --if-idle --reserve --as ana --json", &[id]).output();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let answers: Vec<Value> = thread::scope(|scope| {
        let claims: Vec<_> = ids.iter().map(|id| scope.spawn(|| claim(id))).collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect()
    });
    let (won, lost): (Vec<&Value>, Vec<&Value>) = answers.iter().partition(|answer| answer["claimed"] == true);
    assert_eq!(won.len(), 1, "{answers:?}");
    for answer in lost {
        assert_eq!((&answer["reason"], &answer["busyWith"]), (&json!("agent_busy"), &json!([won[0]["task"]["id"]])));
    }
}

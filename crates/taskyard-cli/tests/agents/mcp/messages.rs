//! A message wakes the agent it is for, by whatever name the server knows it.

use serde_json::{Value, json};
use taskyard_testkit::{Home, Program};

use crate::mcp::client::{Client, GENERATIONS};
use crate::mcp::dialects::names;
use crate::mcp::http::Served;
use crate::stdio::Piped;

const UPDATED: &str = "notifications/resources/updated";
const INBOX: &str = "taskyard://inbox";
const SESSION: &str = "5ce1ab1e-1111-2222-3333-444444444444";

/// Returns a home in which `tester` leads team alpha, and these are in it.
fn team(members: &[&str]) -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("team create alpha");
    members.iter().for_each(|member| drop(home.ask(&format!("team join alpha --as {member}"))));
    home
}

/// Returns a server for a session of the client that has no name but that.
fn in_session(home: &Home, words: &str) -> Program {
    let mut command = home.command(words);
    command.env_remove("TASKYARD_AGENT").env("CLAUDE_CODE_SESSION_ID", SESSION);
    command
}

fn wait_for(server: &mut Piped, method: &str) -> Value {
    loop {
        let message = server.message().expect("the server goes on");
        if message["method"] == method {
            return message["params"].clone();
        }
    }
}

fn inbox(server: &mut Piped) -> String {
    let read = server.ask("resources/read", json!({ "uri": INBOX }));
    read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
}

#[test]
fn agent_variable_is_honoured_in_both_generations() {
    for generation in GENERATIONS {
        let home = team(&["bob"]);
        let mut client = Client::over_pipes(&home, "", generation);
        if generation == "stateless" {
            client.ask("listen", json!({ "resourceSubscriptions": [INBOX] })).unwrap();
        }
        home.ask("send --to team-lead hello --as bob");
        client.wait_until_said(UPDATED, Some(INBOX));
        let read = client.ask("readResource", json!({ "uri": INBOX })).unwrap();
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("hello"), "{read}");
        let listed = client.ask("listResources", json!({})).unwrap();
        assert!(listed["resources"].as_array().unwrap().iter().any(|resource| resource["uri"] == INBOX), "{listed}");
    }
}

#[test]
fn what_came_before_the_server_was_started_is_told_when_it_is() {
    let home = team(&["bob"]);
    home.ask("send --to bob hello");
    let mut server = Piped::start(&home, "--as bob").initialized();
    assert_eq!(wait_for(&mut server, UPDATED)["uri"], INBOX);
    assert!(inbox(&mut server).contains("hello"));
}

#[test]
fn a_member_known_by_its_session_is_told() {
    let home = team(&["claude-code-5ce1ab1e"]);
    let mut server = Piped::spawn(in_session(&home, "mcp")).initialized();
    home.ask("send --to claude-code-5ce1ab1e hello");
    assert_eq!(wait_for(&mut server, UPDATED)["uri"], INBOX);
    assert!(inbox(&mut server).contains("hello"));
}

#[test]
fn a_lead_known_by_the_session_in_the_teams_file_is_told() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    assert!(in_session(&home, "team create alpha").output().status.success());
    home.ask("team join alpha --as bob");
    let mut server = Piped::spawn(in_session(&home, "mcp")).initialized();
    home.ask("send --to team-lead hello --as bob");
    assert_eq!(wait_for(&mut server, UPDATED)["uri"], INBOX);
    assert!(inbox(&mut server).contains("hello"));
}

#[test]
fn agent_joining_while_server_runs_is_notified() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "--as bob").initialized();
    // Its answer says that the server is at work; there is no team, nor a directory for one.
    server.ask("ping", json!({}));
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    home.ask("send --to bob hello");
    assert_eq!(wait_for(&mut server, UPDATED)["uri"], INBOX);
    assert!(inbox(&mut server).contains("hello"));
    // And in another team of that name.
    home.ask("team delete alpha --force");
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    home.ask("send --to bob again");
    wait_for(&mut server, UPDATED);
    while !inbox(&mut server).contains("again") {
        wait_for(&mut server, UPDATED);
    }
}

#[test]
fn client_gets_log_messages_of_its_level_only() {
    let home = team(&["bob", "eve"]);
    let mut server = Piped::start(&home, "--as bob").initialized();
    server.ask("logging/setLevel", json!({ "level": "info" }));
    home.ask("send --to eve private");
    home.ask("send --to bob --summary greetings hello");
    let said = wait_for(&mut server, "notifications/message");
    assert_eq!(said, json!({ "level": "info", "logger": "taskyard", "data": "New message from team-lead: greetings" }));
    assert_eq!(wait_for(&mut server, UPDATED)["uri"], INBOX);
    server.ask("logging/setLevel", json!({ "level": "error" }));
    server.said.clear();
    home.ask("send --to bob more");
    let said = server.message().unwrap();
    assert_eq!(said["method"], UPDATED, "{said}");
}

#[test]
fn an_official_client_that_asked_for_a_level_hears_of_a_message() {
    let home = team(&["bob"]);
    let mut client = Client::over_pipes(&home, "--as bob", "initialize");
    client.ask("setLoggingLevel", json!("info")).unwrap();
    home.ask("send --to bob hello");
    client.wait_until_said("notifications/message", None);
}

#[test]
fn agents_sharing_an_http_server_are_notified_separately() {
    let home = team(&["bob"]);
    let served = Served::start(&home);
    let mut client = Client::over_http(&served.url(), &served.token, "initialize");
    let call = json!({ "name": "InboxRead", "arguments": {}, "_meta": { "taskyard/agent": "bob" } });
    client.ask("callTool", call).unwrap();
    home.ask("send --to bob hello");
    client.wait_until_said(UPDATED, Some(INBOX));
}

#[test]
fn torn_team_file_sends_no_call_to_another_list() {
    let home = team(&["bob"]);
    let mut command = home.command("mcp --as bob");
    command.env_remove("TASKYARD_LIST");
    let mut server = Piped::spawn(command).initialized();
    server.call("TaskCreate", json!({ "subject": "One", "description": "x" }));
    let file = home.path().join(".claude/teams/alpha/config.json");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let create = json!({ "name": "TaskCreate", "arguments": { "subject": "Two", "description": "x" } });
    let answer = server.ask("tools/call", create.clone());
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    std::fs::write(&file, whole).unwrap();
    assert_eq!(server.ask("tools/call", create)["result"]["isError"], false);
    assert_eq!(home.ask("list --list alpha")["counts"]["pending"], 2);
    assert_eq!(std::fs::read_dir(home.tasks()).unwrap().count(), 1, "there is no other list");
}

#[test]
#[cfg(target_os = "linux")]
fn a_call_of_a_teammate_reads_its_team_once() {
    let home = team(&["ana"]);
    (1..=3).for_each(|number| drop(home.ask(&format!("create task-{number} --as ana"))));
    let mut server = Piped::start(&home, "--as ana --tools all").initialized();
    let opens = taskyard_testkit::OpensCounted::of(&home.path().join(".claude/teams/alpha/config.json"));
    for (tool, arguments) in [
        ("TaskList", json!({})),
        ("TaskGet", json!({ "taskId": "1" })),
        ("TaskClaim", json!({ "taskId": "1" })),
        ("TaskUpdate", json!({ "taskId": "1", "subject": "other" })),
        ("InboxRead", json!({})),
        ("ListAgents", json!({})),
    ] {
        // The watcher of this server's inboxes may look as well; not every time.
        let reads = (0..4).map(|_| {
            opens.take();
            let answer = server.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
            assert!(answer["result"]["isError"] != json!(true), "{answer}");
            opens.take()
        });
        // An answer that is certain to be the same needs no look.
        assert!(reads.min() <= Some(1), "{tool}");
    }
}

#[test]
fn members_are_listed_for_teams_under_client_rules() {
    let home = team(&["ana"]);
    let offers = |flags: &str, teams: &str| {
        let mut command = home.command(&format!("mcp --tools all {flags}"));
        command.env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", teams);
        names(&mut Piped::spawn(command).initialized()).contains(&"ListAgents".to_owned())
    };
    for version in ["2.1.34", "2.1.325"] {
        let flags = |agent: &str| format!("--rules client --client-version {version} --as {agent}");
        assert!(!offers(&flags("ben"), "0"), "{version}");
        assert!(offers(&flags("ana"), "0"), "{version}");
        assert!(offers(&flags("ben"), "1"), "{version}");
    }
    assert!(offers("--rules strict --as ben", "0"));
}

#[test]
fn teams_of_lists_in_memory_live_in_memory() {
    let home = team(&["ana"]);
    let mut server = Piped::start(&home, "--store memory: --as ana --tools all").initialized();
    let mut call = |tool: &str, arguments: Value| {
        let answer = server.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let alone = call("ListAgents", json!({}));
    assert!(!alone.contains("alpha"), "the client's team is none of this store's: {alone}");
    call("TeamCreate", json!({ "team_name": "beta" }));
    call("TaskCreate", json!({ "subject": "first", "description": "d" }));
    let listed = call("ListAgents", json!({}));
    assert!(listed.starts_with("Team beta:") && listed.contains("team-lead"), "{listed}");
    assert!(call("SendMessage", json!({ "to": "team-lead", "message": "hello", "summary": "s" })).contains("Sent"));
    assert!(call("InboxRead", json!({})).contains("hello"));
    assert!(!home.path().join(".claude/teams/beta").exists());
}

//! Who a caller is, and which list it works on.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::mcp::client::Client;
use crate::stdio::{Piped, text};

fn owner(home: &Home, id: &str) -> Value {
    home.present()[id]["owner"].clone()
}

#[test]
fn agent_is_named_after_client_and_session_as_in_shell() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let in_session = |words: &str| {
        let mut command = home.command(words);
        command.env_remove("TASKYARD_AGENT").env("CLAUDE_CODE_SESSION_ID", "5ce1ab1e-1111-2222");
        command
    };
    let mut server = Piped::spawn(in_session("mcp")).initialized();
    server.call("TaskClaim", json!({}));
    assert_eq!(owner(&home, "1"), "claude-code-5ce1ab1e");
    let again = in_session("claim --next").output();
    // It is the same name, which the user did not give: the server holds the task for one of the agents that have it.
    assert!(String::from_utf8_lossy(&again.stderr).contains("claude-code-5ce1ab1e already holds #1"), "{again:?}");
    assert_eq!(again.status.code(), Some(3));
}

#[test]
fn unnamed_agents_resume_what_a_dead_server_held() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for subject in ["One", "Two", "Three", "Four"] {
        home.run(&format!("create {subject}"));
    }
    let in_session = || {
        let mut command = home.command("mcp");
        command.env_remove("TASKYARD_AGENT").env("CLAUDE_CODE_SESSION_ID", "5ce1ab1e-1111-2222");
        Piped::spawn(command).initialized()
    };
    let mut first = in_session();
    let mut second = in_session();
    assert!(first.call("TaskClaim", json!({})).contains("Task #1: One"));
    let said = second.call("TaskClaim", json!({}));
    assert!(said.contains("Task #2: Two") && said.contains("Yours, as claude-code-5ce1ab1e"), "{said}");
    assert!(said.contains("who also holds #1"), "{said}");
    assert!(first.call("TaskClaim", json!({})).contains("Task #3: Three"));
    first.close();
    // What the first server held is resumed, what the second one holds is not.
    let mut third = in_session();
    let resumed = third.call("TaskClaim", json!({}));
    assert!(resumed.starts_with("You already have this task.\nTask #1: One"), "{resumed}");
    assert!(third.call("TaskClaim", json!({})).contains("Task #3: Three"));
    assert!(third.call("TaskClaim", json!({})).contains("Task #4: Four"));
    let mut command = home.command("mcp");
    command.env_remove("TASKYARD_AGENT").env("TASKYARD_SESSION_AGENT", "zoe");
    let mut fourth = Piped::spawn(command).initialized();
    home.run("create Five");
    assert!(fourth.call("TaskClaim", json!({})).contains("Yours, as zoe"));
}

#[test]
fn a_name_that_was_given_counts_over_that_of_the_session() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let mut command = home.command("mcp");
    command.env("TASKYARD_AGENT", "ana").env("TASKYARD_SESSION_AGENT", "zoe");
    let mut server = Piped::spawn(command).initialized();
    assert!(server.call("TaskClaim", json!({})).contains("Yours, as ana"));
    // It was given, so it is a reason to resume.
    assert!(server.call("TaskClaim", json!({})).starts_with("You already have this task."));
}

#[test]
fn session_shares_project_list_with_shell_and_people() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard")).strict();
    let project = home.path().join("rocket");
    fs::create_dir(&project).unwrap();
    let here = |words: &str, session: bool| {
        let mut command = home.command(words);
        command.env_remove("TASKYARD_LIST").env_remove("TASKYARD_AGENT").current_dir(&project);
        if session {
            command.env("CLAUDE_CODE_SESSION_ID", "5ce1ab1e-1111-4222-8333-444455556666");
        }
        command
    };
    assert!(here("create Person", false).status().success());
    assert!(here("create Shell", true).status().success());
    // The newest client gives servers its session, the older one does not.
    for session in [true, false] {
        let mut server = Piped::spawn(here("mcp", session)).initialized();
        let created = server.call("TaskCreate", json!({ "subject": "Agent", "description": "b" }));
        assert!(!created.contains("the list of this directory"), "{created}");
        let listed = server.call("TaskList", json!({}));
        assert!(listed.contains("Person") && listed.contains("Shell"), "{listed}");
    }
    let listed = here("list", false).output();
    assert_eq!(String::from_utf8_lossy(&listed.stdout).matches("Agent").count(), 2);
}

#[test]
fn write_to_another_list_names_it_in_the_answer() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for (rules, named) in [("strict", true), ("client", false)] {
        let mut command = home.command("mcp");
        command.env("TASKYARD_LIST", "other").env("TASKYARD_RULES", rules);
        let mut server = Piped::spawn(command).initialized();
        let create = json!({ "subject": "a", "description": "b" });
        let answers = [
            server.call("TaskCreate", create),
            server.call("TaskUpdate", json!({ "taskId": "1", "subject": rules })),
            server.call("TaskClaim", json!({ "taskId": if named { "1" } else { "2" } })),
            server.call("TaskRelease", json!({ "taskId": if named { "1" } else { "2" } })),
        ];
        for answer in answers {
            let is_named = answer.ends_with("\n\n(In list other; the list of this directory is L.)");
            assert_eq!(is_named, named, "{rules}: {answer}");
        }
        let listed = server.call("TaskList", json!({}));
        assert!(!listed.contains("In list other"), "{listed}");
    }
}

#[test]
fn member_uses_team_list_where_it_joined_only() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let [shop, other] = ["shop", "other"].map(|name| home.path().join(name));
    for directory in [&shop, &other] {
        fs::create_dir(directory).unwrap();
    }
    let here = |words: &str, directory: &std::path::Path| {
        let mut command = home.command(words);
        command.env_remove("TASKYARD_LIST").env("TASKYARD_AGENT", "ben").current_dir(directory);
        command
    };
    assert!(here("team create crew --as boss", &shop).status().success());
    assert!(here("team join crew", &shop).status().success());
    for (directory, list) in [(&shop, "crew"), (&other, "other")] {
        let mut server = Piped::spawn(here("mcp", directory)).initialized();
        let created = server.call("TaskCreate", json!({ "subject": "a", "description": "b" }));
        assert!(home.list(list).join("1.json").exists(), "{list}");
        assert_eq!(created.contains("In list crew; the list of this directory is shop"), list == "crew", "{created}");
    }
    // The same server, and another name in the call.
    let mut server = Piped::spawn(here("mcp --as zoe", &other)).initialized();
    let arguments = json!({ "subject": "a", "description": "b" });
    server.ask(
        "tools/call",
        json!({ "name": "TaskCreate", "arguments": arguments, "_meta": { "taskyard/agent": "ben" } }),
    );
    assert!(home.list("other").join("2.json").exists());
}

#[test]
fn a_name_that_was_given_counts_and_a_call_may_carry_another() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    home.run("create Two");
    let mut server = Piped::start(&home, "--as ana").initialized();
    server.call("TaskClaim", json!({ "taskId": "1" }));
    let params = json!({ "name": "TaskClaim", "arguments": {}, "_meta": { "taskyard/agent": "ben" } });
    let answer = server.ask("tools/call", params);
    assert!(text(&answer).contains("Task #2: Two"), "{answer}");
    assert_eq!((owner(&home, "1"), owner(&home, "2")), (json!("ana"), json!("ben")));
}

#[test]
fn sessionless_name_survives_a_server_restart() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    for told in ["Claimed", "You already have this task."] {
        let mut command = home.command("mcp");
        command.env_remove("TASKYARD_AGENT");
        let mut server = Piped::spawn(command).initialized();
        let answer = server.call("TaskClaim", json!({}));
        assert!(answer.starts_with(told), "{answer}");
    }
}

#[test]
fn client_roots_choose_the_list_again_on_change() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let folder = |name: &str| {
        let folder = home.path().join(name);
        fs::create_dir_all(folder.join(".git")).unwrap();
        format!("file://{}", folder.display())
    };
    let (first, second) = (folder("first"), folder("second one").replace(' ', "%20"));
    let mut command = home.command("mcp");
    command.env_remove("TASKYARD_LIST").env("CLAUDE_PROJECT_DIR", home.path());
    let mut client = Client::with_command(&command, json!({ "roots": ["file:///nowhere", first] }));
    client.call("TaskCreate", &json!({ "subject": "a", "description": "b" }));
    assert!(home.list("first").join("1.json").exists());
    client.ask("subscribeResource", json!({ "uri": "taskyard://task/2" })).unwrap();
    client.ask("roots", json!({ "roots": [second] })).unwrap();
    // Calls that come after the news wait until it is decided what the news means.
    client.call("TaskCreate", &json!({ "subject": "a", "description": "b" }));
    assert!(home.list("second-one").join("1.json").exists());
    // That there is another list is news of every resource; then what was subscribed to is followed there.
    client.wait_until_said("notifications/resources/updated", Some("taskyard://task/2"));
    home.run("create Two --list second-one");
    client.wait_until_said("notifications/resources/updated", Some("taskyard://task/2"));
}

#[test]
fn the_clients_project_decides_where_it_has_no_roots() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let project = home.path().join("rocket");
    fs::create_dir(&project).unwrap();
    let mut command = home.command("mcp");
    command.env_remove("TASKYARD_LIST").env("CLAUDE_PROJECT_DIR", &project);
    let mut server = Piped::spawn(command).initialized();
    server.call("TaskCreate", json!({ "subject": "a", "description": "b" }));
    assert!(home.list("rocket").join("1.json").exists());
}

//! Tools called by models, in strict rules: what is refused comes with what to do instead, and nothing changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, thread};

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::rules::hooks::System;
use taskyard::core::tools::{Answer, catalogue};
use taskyard::core::{AgentName, Holder, ListId, ProcessMark, Rules, Todo};
use taskyard::liveness::own_mark;
use taskyard::operations::Claim;
use taskyard::store::MemoryStore;
use taskyard::teams::{FileTeamsOptions, NewMember, Presence, TeamCaller, Teams};
use taskyard::todos::{FileTodos, TodoLists};
use taskyard_mcp::calls::Toolbox;
use taskyard_testkit::rules_under_test;

/// Returns the tools of two agents on one list.
fn ana_and_ben() -> (Toolbox, Toolbox) {
    ana_and_ben_in(rules_under_test())
}

fn ana_and_ben_in(rules: Rules) -> (Toolbox, Toolbox) {
    let agent = |name| AgentName::new(name).unwrap();
    let yard = Yard::new(Arc::new(MemoryStore::new(rules)), ListId::new("L").unwrap(), agent("ana")).with_rules(rules);
    let ben = yard.acting_as(agent("ben"));
    (Toolbox::new(yard, System::Tasks), Toolbox::new(ben, System::Tasks))
}

/// Returns the teams of a directory.
fn teams_in(folder: &Path) -> Teams {
    Teams::new(
        FileTeamsOptions {
            root: folder.join("teams"),
            tasks: folder.join("tasks"),
            data: folder.join("data"),
            rules: Rules::Strict,
        },
        TeamCaller::default(),
    )
}

fn call(tools: &Toolbox, name: &str, input: Value) -> Answer {
    tools.call(name, &input).unwrap()
}

fn text(tools: &Toolbox, name: &str, input: Value) -> String {
    call(tools, name, input).text
}

/// Makes tasks of these titles.
fn create(tools: &Toolbox, titles: &[&str]) {
    for title in titles {
        assert!(!call(tools, "TaskCreate", json!({ "subject": title, "description": "d" })).is_error);
    }
}

#[test]
fn every_tool_of_the_catalogue_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let yard =
        Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    let tasks = Toolbox::new(yard.clone().with_teams(Arc::new(teams_in(folder.path()))), System::Tasks);
    let todos = Toolbox::new(yard, System::Todos);
    for tool in catalogue::TOOLS {
        let unavailable = format!("Error: No such tool available: {}", tool.name);
        if ["TaskOutput", "TaskStop"].contains(&tool.name) {
            // Both systems have jobs.
            assert!([&tasks, &todos].into_iter().all(|tools| text(tools, tool.name, json!({})) != unavailable));
            continue;
        }
        if tool.name == "TaskRun" {
            assert_eq!(text(&tasks, tool.name, json!({})), unavailable, "nobody has allowed commands");
            continue;
        }
        let (on, off) = if tool.system == System::Tasks { (&tasks, &todos) } else { (&todos, &tasks) };
        assert_ne!(text(on, tool.name, json!({})), unavailable);
        assert_eq!(text(off, tool.name, json!({})), unavailable);
    }
    assert_eq!(text(&tasks, "Nothing", json!({})), "Error: No such tool available: Nothing");
}

#[test]
fn refused_start_and_cycle_change_nothing_and_give_advice() {
    let (ana, _) = ana_and_ben();
    create(&ana, &["Design", "Build", "Docs"]);
    text(&ana, "TaskUpdate", json!({ "taskId": "2", "addBlockedBy": ["#1"] }));
    let refused = call(&ana, "TaskUpdate", json!({ "taskId": "2", "status": "in_progress", "subject": "x" }));
    assert_eq!(
        refused.text,
        "Task #2 cannot start: it waits for #1 Design (pending). Nothing was changed. Ready instead: #1 Design, #3 Docs."
    );
    assert!(refused.is_error);
    assert_eq!(refused.structured.unwrap()["success"], false);
    let circle = text(&ana, "TaskUpdate", json!({ "taskId": "1", "addBlockedBy": ["2"] }));
    assert!(circle.contains(": #1 → #2 → #1. Nothing was changed."), "{circle}");
    assert_eq!(
        text(&ana, "TaskList", json!({})),
        "#1 [pending] Design\n#2 [pending] Build [blocked by #1]\n#3 [pending] Docs"
    );
    let done = text(&ana, "TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert_eq!(done, "Updated task #1 status\nNow ready: #2. Take one with TaskClaim.");
}

#[test]
fn claimed_task_is_exclusive_until_released_with_reason() {
    let (ana, ben) = ana_and_ben();
    create(&ana, &["Design", "Build"]);
    let won = call(&ana, "TaskClaim", json!({ "taskId": "1" }));
    assert!(won.text.starts_with("Claimed.\nTask #1: Design\nStatus: in_progress\n"), "{}", won.text);
    assert_eq!(won.structured.unwrap()["claimed"], true);
    let lost = call(&ben, "TaskClaim", json!({ "taskId": "1" }));
    assert!(lost.is_error);
    assert!(lost.text.starts_with("Task #1 is not yours: ana has it. Leave it to ana. Ready instead: #2 Build."));
    let leased = call(&ben, "TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(leased.is_error);
    assert!(leased.text.starts_with("Task #1 is taken: ana is working on it until "), "{}", leased.text);
    let next = text(&ben, "TaskClaim", json!({}));
    assert!(next.contains("Task #2: Build"), "{next}");

    text(&ana, "TaskRelease", json!({ "taskId": "1", "reason": "no network here" }));
    text(&ben, "TaskUpdate", json!({ "taskId": "2", "status": "completed" }));
    let taken = text(&ben, "TaskClaim", json!({}));
    assert!(taken.contains("Task #1: Design") && taken.contains("\nNote: no network here (ana)\n"), "{taken}");
    let again = text(&ben, "TaskClaim", json!({}));
    assert!(again.starts_with("You already have this task.\nTask #1: Design"), "{again}");
    let nothing = call(&ana, "TaskClaim", json!({}));
    assert!(!nothing.is_error);
    assert!(nothing.text.starts_with("Nothing is ready for you now: 1 in progress, 0 pending"), "{}", nothing.text);
}

#[test]
fn a_reserved_task_is_owned_and_not_begun_and_a_limit_is_kept() {
    let (ana, _) = ana_and_ben();
    create(&ana, &["Design", "Build"]);
    let reserved = text(&ana, "TaskClaim", json!({ "taskId": "1", "reserve": true }));
    assert!(reserved.contains("Reserved, not started"), "{reserved}");
    assert_eq!(text(&ana, "TaskList", json!({})), "#1 [pending] Design (ana)\n#2 [pending] Build");
    let limited = ana.claiming(Claim { limit: Some(1), ..Claim::default() });
    text(&limited, "TaskClaim", json!({ "taskId": "1" }));
    let busy = text(&limited, "TaskClaim", json!({ "taskId": "2" }));
    assert!(busy.starts_with("Not claimed: you are not finished with #1 Design (in_progress, ana)."), "{busy}");
}

#[test]
fn edge_to_missing_task_names_it_and_changes_nothing() {
    let (ana, _) = ana_and_ben_in(Rules::Strict);
    create(&ana, &["Design", "Build"]);
    for input in [
        json!({ "taskId": "1", "addBlocks": ["404"] }),
        json!({ "taskId": "1", "addBlocks": ["2", "404"], "subject": "x" }),
        json!({ "taskId": "1", "addBlockedBy": ["#404"], "addBlocks": ["2"] }),
    ] {
        let refused = call(&ana, "TaskUpdate", input.clone());
        assert!(refused.is_error, "{input}: {}", refused.text);
        assert!(refused.text.contains("#404") && refused.text.contains("Nothing was changed."), "{}", refused.text);
        let structured = refused.structured.unwrap();
        assert_eq!((&structured["success"], &structured["taskId"]), (&json!(false), &json!("1")));
        assert_eq!(structured["error"], refused.text);
        assert_eq!(text(&ana, "TaskList", json!({})), "#1 [pending] Design\n#2 [pending] Build");
    }
    let missing = call(&ana, "TaskUpdate", json!({ "taskId": "9", "addBlocks": ["404"] }));
    assert_eq!((missing.text.as_str(), missing.is_error), ("Task not found", false));
}

#[test]
fn long_description_shows_both_ends_and_what_follows() {
    let (ana, _) = ana_and_ben();
    let description = format!("first words {} last words", "x".repeat(150_000));
    call(&ana, "TaskCreate", json!({ "subject": "Long", "description": description }));
    create(&ana, &["Build"]);
    text(&ana, "TaskUpdate", json!({ "taskId": "1", "addBlocks": ["2"] }));
    let shown = text(&ana, "TaskGet", json!({ "taskId": "1" }));
    assert!(shown.starts_with("Task #1: Long\nStatus: pending\nDescription: first words xxx"));
    assert!(shown.ends_with("xxx last words\nBlocks: #2"), "{}", &shown[shown.len() - 100..]);
    assert!(shown.contains(" characters) left out here: ") && shown.len() > 99_000 && shown.len() <= 100_000);
    let won = text(&ana, "TaskClaim", json!({ "taskId": "1" }));
    assert!(won.contains("Description: first words xxx") && won.contains("xxx last words\n"));
    assert!(won.contains(" (token ") && won.ends_with(" and the reason."), "{}", &won[won.len() - 300..]);
}

#[test]
fn a_task_with_open_parts_is_no_work_for_a_model_either() {
    let (ana, ben) = ana_and_ben();
    create(&ana, &["Schema", "Release"]);
    let part = json!({ "subject": "Notes", "description": "d", "metadata": { "parent": "2" } });
    assert!(!call(&ana, "TaskCreate", part).is_error);
    let lost = call(&ana, "TaskCreate", json!({ "subject": "x", "description": "d", "metadata": { "parent": "9" } }));
    assert!(lost.is_error && lost.text.contains("There is no task #9 to be the parent."), "{}", lost.text);
    let circle = call(&ana, "TaskUpdate", json!({ "taskId": "3", "addBlockedBy": ["2"] }));
    assert!(circle.is_error && circle.text.contains("#3 → #2 → #3"), "{}", circle.text);
    let open = call(&ana, "TaskUpdate", json!({ "taskId": "2", "status": "completed" }));
    assert!(open.is_error && open.text.contains("it has open parts: #3 Notes (pending)"), "{}", open.text);
    assert!(!call(&ana, "TaskUpdate", json!({ "taskId": "2", "addBlockedBy": ["1"] })).is_error);
    let blocked = call(&ben, "TaskClaim", json!({ "taskId": "3" }));
    assert!(blocked.text.contains("it waits for #1 Schema (pending), as a part of #2"), "{}", blocked.text);
    assert_eq!(
        text(&ana, "TaskList", json!({})),
        "#1 [pending] Schema\n#2 [pending] Release [blocked by #1]\n#3 [pending] Notes [blocked by #1]"
    );
    assert!(text(&ben, "TaskClaim", json!({})).contains("#1"));
    let freed = call(&ben, "TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(freed.text.contains("#3") && !freed.text.contains("#2"), "{}", freed.text);
    assert!(text(&ben, "TaskClaim", json!({})).contains("#3"));
    assert!(text(&ana, "TaskClaim", json!({})).contains("Nothing is ready for you now"));
    let freed = call(&ben, "TaskUpdate", json!({ "taskId": "3", "status": "completed" }));
    assert!(freed.text.contains("#2"), "{}", freed.text);
    assert!(text(&ana, "TaskClaim", json!({})).contains("#2"));
}

#[test]
fn what_is_not_there_is_told_in_the_clients_words() {
    let (ana, _) = ana_and_ben();
    for (tool, input) in [
        ("TaskGet", json!({ "taskId": "9" })),
        ("TaskUpdate", json!({ "taskId": "9", "status": "deleted" })),
        ("TaskUpdate", json!({ "taskId": "9", "owner": "ana" })),
    ] {
        let answer = call(&ana, tool, input);
        assert_eq!((answer.text.as_str(), answer.is_error), ("Task not found", false), "{tool}");
    }
    assert!(text(&ana, "TaskClaim", json!({ "taskId": "9" })).starts_with("Task #9 not found."));
    assert!(text(&ana, "TaskRelease", json!({ "taskId": "9" })).starts_with("Task #9 not found."));
}

#[test]
fn a_list_that_is_too_long_hides_no_open_task() {
    let (ana, _) = ana_and_ben();
    let title = "x".repeat(1000);
    create(&ana, &vec![title.as_str(); 240]);
    for number in 1..=120 {
        text(&ana, "TaskUpdate", json!({ "taskId": number.to_string(), "status": "completed" }));
    }
    let shown = text(&ana, "TaskList", json!({}));
    assert!(shown.chars().count() <= 100_000);
    let (lines, folded) = shown.rsplit_once('\n').unwrap();
    let is_told = |(line, number): (&str, usize)| line.starts_with(&format!("#{number} [pending] xxx"));
    assert_eq!(lines.lines().count(), 120);
    assert!(lines.lines().zip(121..).all(is_told), "{lines}");
    assert!(folded.starts_with("+120 completed"), "{folded}");
}

fn in_folder(folder: PathBuf) -> TodoLists {
    TodoLists::new(Arc::new(FileTodos::in_folder(folder)), "s")
}

fn todos(contents: &[&str]) -> Vec<Todo> {
    let todo = |content: &&str| Todo {
        content: (*content).into(),
        status: taskyard::core::Status::Pending,
        active_form: "b".into(),
    };
    contents.iter().map(todo).collect()
}

#[test]
fn todo_calls_of_one_agent_happen_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    for lists in [TodoLists::in_memory(), in_folder(folder.path().join("todos"))] {
        let replaced: Vec<_> = thread::scope(|scope| {
            let call = |number: usize| {
                let list = lists.of("ana");
                scope.spawn(move || list.replace(&todos(&[&number.to_string()])).unwrap())
            };
            let calls: Vec<_> = (0..20).map(call).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        // Each call saw what exactly one other left, so before and after make one chain.
        let mut before: Vec<_> =
            replaced.iter().filter_map(|one| one.before.first()).map(|todo| &todo.content).collect();
        before.sort();
        before.dedup();
        assert_eq!(before.len(), 19);
        assert_eq!(lists.of("ben").read().unwrap(), []);
    }
    let left: Vec<_> =
        fs::read_dir(folder.path().join("todos")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["s-agent-ana.json"]);
}

#[test]
fn junk_in_todo_file_reads_as_empty_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s-agent-a.json");
    let item = r#"{"content":"a","status":"pending","activeForm":"b"}"#;
    for (junk, read) in [("", 0), ("{", 0), ("null", 0), ("{\"todos\":1}", 0), ("\u{0}\u{1}", 0)] {
        fs::write(&path, junk).unwrap();
        let list = in_folder(folder.path().to_owned()).of("a");
        assert_eq!(list.read().unwrap().len(), read, "{junk}");
        list.begin().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), junk, "what is there is left alone until it is replaced");
        assert_eq!(list.replace(&todos(&["x"])).unwrap().before, []);
        assert_eq!(list.read().unwrap(), todos(&["x"]));
    }
    fs::write(&path, format!("[{item}, {{\"content\": 5}}, {item}]")).unwrap();
    assert_eq!(in_folder(folder.path().to_owned()).of("a").read().unwrap().len(), 2);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(in_folder(folder.path().to_owned()).of("a").read().is_err());
    assert!(in_folder(folder.path().to_owned()).of("a").replace(&[]).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn team_is_created_used_and_deleted_by_our_tools() {
    let folder = tempfile::tempdir().unwrap();
    let agent = |name| AgentName::new(name).unwrap();
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let teams = Arc::new(teams_in(folder.path()));
    let yard = Yard::new(store, ListId::new("alpha").unwrap(), agent("ana")).with_teams(Arc::clone(&teams));
    let tools = |name| Toolbox::new(yard.acting_as(agent(name)), System::Tasks);
    let (ana, ben) = (tools("ana"), tools("ben"));
    assert!(
        text(&ben, "SendMessage", json!({"to": "ana", "message": "hi"}))
            .starts_with("Not sent: you are not in a team.")
    );
    assert!(text(&ana, "TeamCreate", json!({"team_name": "alpha"})).starts_with("Team alpha is made, and you lead it"));
    let team = teams.find("alpha").unwrap().done().unwrap();
    let new = NewMember {
        agent: agent("ben"),
        agent_type: None,
        model: None,
        plan_mode_required: true,
        presence: Presence::Lasting,
        backend: None,
    };
    teams.join(&team, &new).unwrap().done().unwrap();
    let missed = call(&ana, "SendMessage", json!({"to": "bob", "message": "hi"}));
    assert!(missed.is_error && missed.text.ends_with("You can reach: team-lead, ben."), "{}", missed.text);
    assert!(text(&ana, "SendMessage", json!({"to": "*", "message": "hi"})).starts_with("Sent to 1: ben."));

    // What was read comes again until it is acknowledged.
    let shown = call(&ben, "InboxRead", json!({}));
    assert!(shown.text.contains("<teammate-message teammate_id=\"team-lead\" id="), "{}", shown.text);
    let ids = shown.structured.unwrap()["messages"].clone();
    assert!(text(&ben, "InboxRead", json!({})).contains("hi"));
    assert_eq!(text(&ben, "InboxRead", json!({"acknowledge": ids})), "No new messages.");

    create(&ana, &["Parser"]);
    assert!(call(&ben, "TaskClaim", json!({"taskId": "1"})).text.starts_with("Not claimed: your plan"));
    let plan = json!({"to": "team-lead", "message": {"type": "plan_approval_request", "plan": "First the lexer"}});
    let request = call(&ben, "SendMessage", plan).structured.unwrap()["request_id"].as_str().unwrap().to_owned();
    let approve = json!({"type": "plan_approval_response", "request_id": request, "approve": true});
    assert!(text(&ana, "SendMessage", json!({"to": "ben", "message": approve})).starts_with("Plan approved for ben."));
    assert!(!call(&ben, "TaskUpdate", json!({"taskId": "1", "status": "in_progress"})).is_error);
    assert_eq!(text(&ana, "TaskList", json!({})), "#1 [in_progress] Parser (ben)");
    assert!(text(&ana, "ListAgents", json!({})).ends_with("ben [running] #1"));

    assert!(call(&ana, "TeamDelete", json!({})).is_error);
    let asked = json!({"to": "ben", "message": {"type": "shutdown_request", "reason": "done"}});
    let request = call(&ana, "SendMessage", asked).structured.unwrap()["request_id"].as_str().unwrap().to_owned();
    let answer = json!({"type": "shutdown_response", "request_id": request, "approve": true});
    assert!(
        text(&ben, "SendMessage", json!({"to": "team-lead", "message": answer})).starts_with("You have left the team")
    );
    assert_eq!(text(&ana, "TaskList", json!({})), "#1 [pending] Parser");
    assert_eq!(text(&ana, "TeamDelete", json!({})), "Team alpha is ended. Its tasks stay.");
}

#[test]
fn sender_to_ghost_is_told_and_team_end_frees_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let agent = |name| AgentName::new(name).unwrap();
    let teams = Arc::new(teams_in(folder.path()));
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("alpha").unwrap(), agent("ana")).with_teams(Arc::clone(&teams));
    let tools = |name| Toolbox::new(yard.acting_as(agent(name)), System::Tasks);
    let (ana, ben) = (tools("ana"), tools("ben"));
    text(&ana, "TeamCreate", json!({"team_name": "alpha"}));
    // Its number is another's by now.
    let process = ProcessMark { started: own_mark().started + 1, ..own_mark() };
    let new = NewMember {
        agent: agent("ben"),
        agent_type: None,
        model: None,
        plan_mode_required: false,
        presence: Presence::Held(Holder::Process(process)),
        backend: None,
    };
    teams.join(&teams.find("alpha").unwrap().done().unwrap(), &new).unwrap().done().unwrap();
    create(&ana, &["Parser"]);
    text(&ben, "TaskUpdate", json!({"taskId": "1", "status": "in_progress"}));
    let told = text(&ana, "SendMessage", json!({"to": "ben", "message": "hi"}));
    assert!(told.ends_with("Its process has ended: it gets this only if it comes back under that name."), "{told}");
    assert_eq!(text(&ana, "TeamDelete", json!({})), "Team alpha is ended. Its tasks stay.");
    assert_eq!(text(&ana, "TaskList", json!({})), "#1 [pending] Parser");
}

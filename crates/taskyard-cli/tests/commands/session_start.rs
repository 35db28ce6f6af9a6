use std::fs;

use serde_json::json;

use crate::test::Test;

const OLD: &str = "0198c0de-1111-4222-8333-444455556666";
const NEW: &str = "0198ffff-1111-4222-8333-444455556666";

/// Gives the next command the event that the client sends when a session begins in the project.
fn begins(test: Test, source: &str, session: &str) -> Test {
    let directory = test.path("home/project").display().to_string();
    let event = json!({
        "session_id": session, "transcript_path": "", "cwd": directory, "hook_event_name": "SessionStart", "source": source
    });
    test.stdin(event.to_string())
}

fn transcript(test: Test, session: &str) -> Test {
    let project = test.path("home/project").display().to_string();
    let slug: String = project.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    test.file(&format!("home/.claude/projects/{slug}/{session}.jsonl"), "{}\n")
}

#[test]
fn a_session_with_nothing_open_hears_which_list_is_in_use() {
    let test = Test::new().list("1 completed");
    begins(test, "startup", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn a_session_hears_of_the_list_of_the_project() {
    let mut test = Test::new()
        .list("1 completed; 2 in_progress (ana) 'Write the parser'; 3 pending 'Write the docs' <- 2; 4 pending Ship");
    for source in ["resume", "clear", "compact", "fork"] {
        test = begins(test, source, NEW).run("hook SessionStart");
    }
    test.snapshot();
}

#[test]
fn a_new_session_hears_what_is_open_elsewhere() {
    let test =
        Test::new().list("1 pending; 2 pending").list_named(OLD, "1 completed; 2 pending Docs; 3 in_progress Parser");
    let test = transcript(test, OLD);
    begins(test, "startup", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn a_session_hears_what_its_own_tools_keep_in_another_list() {
    let test = transcript(Test::new().list_named(NEW, "1 pending Native; 2 completed"), NEW);
    let test = begins(test, "resume", NEW).run("hook SessionStart");
    let adopted = test.run(&format!("adopt {NEW}"));
    begins(adopted, "compact", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn nothing_is_offered_where_all_tools_use_one_list() {
    let test = Test::new().list("1 pending 'For all'").env("CLAUDE_CODE_TASK_LIST_ID", "project");
    begins(test, "startup", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn directory_list_is_mentioned_not_offered_if_another_used() {
    let test = Test::new().list("1 pending 'For all'").env("TASKYARD_LIST", "mine");
    begins(test, "startup", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn in_the_clients_rules_the_list_of_the_session_is_in_use() {
    let test = Test::new().list_named(NEW, "1 pending").list("1 pending").env("TASKYARD_RULES", "client");
    begins(test, "resume", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn a_bound_list_is_the_list_of_every_session() {
    let test = Test::new().list_named("shared", "1 pending 'For all'").quietly("use shared").inside("..");
    begins(test, "startup", NEW).run("hook SessionStart").snapshot();
}

#[test]
fn only_an_event_that_cannot_be_read_is_an_error() {
    let test = Test::new().stdin("no event").run("hook SessionStart").stdin("[]").run("hook SessionStart");
    let test =
        begins(test, "startup", NEW).env("TASKYARD_RULES", "none").run("hook SessionStart").without("TASKYARD_RULES");
    test.stdin("{}").run("hook SessionStart").snapshot();
}

#[test]
fn nothing_is_kept_of_lists_that_were_only_looked_at() {
    let mut test = Test::new().list("1 pending");
    for number in 0..5 {
        let session = format!("0198c0de-1111-4222-8333-44445555666{number}");
        test = transcript(test.list_named(&session, "1 pending"), &session);
    }
    let test = begins(test, "startup", NEW).quietly("hook SessionStart");
    let kept: Vec<_> = fs::read_dir(test.path("data/lists")).unwrap().collect();
    // The list of the directory, and no other.
    assert_eq!(kept.len(), 1, "{kept:?}");
}

#[test]
fn session_commands_act_under_its_mcp_server_name() {
    let test = Test::new().list("1 pending");
    let file = test.path("home/session.sh");
    let mut test = test.env("CLAUDE_ENV_FILE", &file);
    for source in ["startup", "compact"] {
        test = begins(test, source, NEW).quietly("hook SessionStart");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "export TASKYARD_SESSION_AGENT=claude-code-0198ffff\n");
    // What cannot be written troubles no command.
    let nowhere = test.path("nowhere/session.sh");
    begins(test.env("CLAUDE_ENV_FILE", nowhere), "startup", NEW).quietly("hook SessionStart");
}

use crate::test::Test;

const LIST: &str = "1 in_progress (bob@alpha) 'Write the parser'; 2 in_progress (bob) 'Write the docs'; 3 in_progress (ana); \
                    4 completed (bob); 5 pending (bob)";

fn event(more: &str) -> String {
    format!(r#"{{"session_id":"s","cwd":"/x","hook_event_name":"SubagentStop","stop_hook_active":false{more}}}"#)
}

#[test]
fn an_agent_cannot_end_while_it_holds_unfinished_work() {
    Test::new()
        .list(LIST)
        .stdin(event(r#","agent_id":"a1","agent_type":"bob""#))
        .run("hook SubagentStop --list project")
        .stdin(event(r#","agent_id":"bob@alpha","agent_type":"general-purpose""#))
        .run("hook SubagentStop --list project")
        .stdin(event(r#","teammate_name":"cyd""#))
        .run("hook SubagentStop --list project")
        .stdin(event(r#","agent_id":"a1""#))
        .run("hook SubagentStop --list project --as ana")
        .snapshot();
}

#[test]
fn the_tasks_an_agent_names_are_completed() {
    Test::new()
        .strict()
        .list(LIST)
        .stdin(event(r#","agent_type":"bob","tasks_completed":["1",2,"4"]"#))
        .run("hook SubagentStop --list project")
        .run("list --list project")
        .run("history --list project")
        .snapshot();
}

#[test]
fn tasks_that_cannot_be_completed_are_named_in_the_reason() {
    Test::new()
        .list(LIST)
        .quietly("update 2 --list project --meta 'verify=\"tests\"'")
        .stdin(event(r#","agent_type":"bob","tasks_completed":["1","2","9","../x"]"#))
        .run("hook SubagentStop --list project")
        .snapshot();
}

#[test]
fn an_agent_that_was_blocked_before_is_let_go() {
    Test::new()
        .list(LIST)
        .stdin(r#"{"stop_hook_active":true,"agent_type":"bob","tasks_completed":["9"]}"#)
        .run("hook SubagentStop --list project")
        .stdin(event(r#","agent_type":"bob""#))
        .run("hook SubagentStop --list project --allow-unfinished")
        .snapshot();
}

#[test]
fn agent_answers_for_the_directorys_list_and_the_sessions() {
    Test::new()
        .list_named("s", "1 in_progress (bob)")
        .list("2 in_progress (bob)")
        .stdin(event(r#","agent_type":"bob""#))
        .run("hook SubagentStop")
        .stdin(event(r#","agent_type":"bob""#))
        .run("hook SubagentStop --rules client")
        .stdin(event(r#","agent_type":"bob","tasks_completed":["1","2"]"#))
        .run("hook SubagentStop")
        .run("show 1 --list s")
        .snapshot();
}

#[test]
fn agent_on_a_document_answers_for_the_clients_own_files_too() {
    let test = Test::new().list_named("s", "1 in_progress (bob)").env("TASKYARD_STORE", "document:tasks.json");
    test.quietly("create 'In the document' --owner bob")
        .stdin(event(r#","agent_type":"bob""#))
        .run("hook SubagentStop")
        .snapshot();
}

#[test]
fn what_is_wrong_with_the_input_or_with_us_blocks_nobody() {
    Test::new()
        .stdin("{\"agent_type\":")
        .run("hook SubagentStop")
        .stdin("[]")
        .run("hook SubagentStop --json")
        .file("home/project/taskyard.toml", "rules = \"none\"")
        .stdin(event(""))
        .run("hook SubagentStop")
        .snapshot();
}

#[test]
fn an_unknown_event_is_wrong_usage() {
    Test::new().run("hook PreToolUse").run("hook PreToolUse --json").snapshot();
}

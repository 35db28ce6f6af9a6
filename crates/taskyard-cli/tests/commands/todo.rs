use crate::test::Test;

const TWO: &str = r#"[{"content":"Run the tests","status":"in_progress","activeForm":"Running the tests","id":7},
    {"content":"Write the docs","status":"pending","activeForm":"Writing the docs"}]"#;
const DONE: &str = r#"{"todos":[{"content":"Run the tests","status":"completed","activeForm":"Running the tests"}]}"#;

#[test]
fn a_list_is_replaced_shown_and_cleared_when_all_is_done() {
    Test::new()
        .env("CLAUDE_CODE_SESSION_ID", "4ad28a0a-1a74-428b-a505-64f885db5f79")
        .run("todo read")
        .stdin(TWO)
        .run("todo write")
        .run("todo read --json")
        .stdin(DONE)
        .run("todo write --json")
        .run("todo read")
        .snapshot();
}

#[test]
fn each_agent_of_a_session_has_its_own_todo_list() {
    let session = "4ad28a0a-1a74-428b-a505-64f885db5f79";
    Test::new()
        .env("CLAUDE_CODE_SESSION_ID", session)
        .stdin(TWO)
        .run("todo write --quiet")
        .run("todo read --as bob")
        .meanwhile(|place| {
            let file = place.join(format!("home/.claude/todos/{session}-agent-{session}.json"));
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.starts_with("[\n  {\n    \"content\": \"Run the tests\",\n    \"status\": \"in_progress\""));
            assert!(text.ends_with("\n  }\n]") && !text.contains("id"), "{text}");
        })
        .stdin(DONE)
        .run("todo write --as bob")
        .meanwhile(|place| {
            let file = place.join(format!("home/.claude/todos/{session}-agent-bob.json"));
            assert_eq!(std::fs::read_to_string(file).unwrap(), "[]");
        })
        .snapshot();
}

#[test]
fn what_is_no_list_is_refused_in_the_clients_words() {
    Test::new()
        .stdin("[")
        .run("todo write")
        .stdin(r#"[{"content":"a","status":"pending"}]"#)
        .run("todo write")
        .stdin(r#"{"todos":[{"content":"","status":"later","activeForm":"b"}]}"#)
        .run("todo write --json")
        .stdin(r#"{"todos":[],"x":1}"#)
        .run("todo write --json")
        .run("todo read")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn on_a_terminal_it_is_drawn_as_tasks_are() {
    Test::new().stdin(TWO).quietly("todo write --as ana").on_terminal(80, "todo read --as ana", "").snapshot();
}

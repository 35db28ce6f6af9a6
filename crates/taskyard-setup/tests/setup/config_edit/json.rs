use serde_json::json;
use taskyard_setup::config_edit::json_entries::{add, remove};
use taskyard_setup::config_edit::{Added, Entry, Unfit};

fn server() -> Entry {
    Entry::member(&["mcpServers", "taskyard"], json!({"command": "taskyard", "args": ["mcp"]}))
}

fn hook() -> Entry {
    Entry::hook(&["hooks", "SessionStart"], "taskyard hook SessionStart", 10)
}

fn word() -> Entry {
    Entry::word(&["permissions", "allow"], "mcp__taskyard")
}

/// Adds the entry, looks that taking it out gives the very text back, in both ways, and returns the text with it.
#[track_caller]
fn added(text: &str, entry: &Entry) -> String {
    let Added::Now { text: longer, additions, existing } = add(text, entry).unwrap() else {
        panic!("it is there already")
    };
    assert_eq!(additions.take_out(&longer).as_deref(), Some(text));
    let (shorter, _) = remove(&longer, entry, existing).unwrap().unwrap();
    assert_eq!(shorter, text, "taken out of {longer:?}");
    assert_eq!(add(&longer, entry).unwrap(), Added::AlreadyThere);
    longer
}

#[test]
fn a_server_joins_the_others_in_their_manner() {
    for (text, with) in [
        (
            "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"taskyard\": {\n      \"command\": \"taskyard\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
        ),
        (
            "{\r\n\t\"x\": 1, // one\r\n\t// two\r\n}",
            "{\r\n\t\"x\": 1, // one\r\n\t\"mcpServers\": {\r\n\t\t\"taskyard\": {\r\n\t\t\t\"command\": \"taskyard\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t},\r\n\t// two\r\n}",
        ),
        (
            "{\n    \"mcpServers\": {\n        \"a\": {} // last\n    }\n}",
            "{\n    \"mcpServers\": {\n        \"a\": {}, // last\n        \"taskyard\": {\n            \"command\": \"taskyard\",\n            \"args\": [\"mcp\"]\n        }\n    }\n}",
        ),
        (r#"{"mcpServers":{"a":{}}}"#, r#"{"mcpServers":{"a":{},"taskyard":{"command":"taskyard","args":["mcp"]}}}"#),
        (r#"{"a":1,"mcpServers":{}}"#, r#"{"a":1,"mcpServers":{"taskyard":{"command":"taskyard","args":["mcp"]}}}"#),
        (
            r#"{ "mcpServers": { "a": {}, }, }"#,
            r#"{ "mcpServers": { "a": {}, "taskyard": {"command": "taskyard", "args": ["mcp"]}, }, }"#,
        ),
        (
            "\u{feff}{}",
            "\u{feff}{\n  \"mcpServers\": {\n    \"taskyard\": {\n      \"command\": \"taskyard\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
        ),
    ] {
        assert_eq!(added(text, &server()), with);
    }
}

#[test]
fn an_empty_file_gets_an_object() {
    let object = "{\n  \"mcpServers\": {\n    \"taskyard\": {\n      \"command\": \"taskyard\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
    for text in ["", "\n", "// mine\n"] {
        let Added::Now { text: longer, additions, .. } = add(text, &server()).unwrap() else {
            panic!("nothing is there")
        };
        assert_eq!(longer, format!("{text}{object}"));
        assert_eq!(additions.take_out(&longer).as_deref(), Some(text));
    }
}

#[test]
fn hooks_and_permissions_are_appended_to_what_is_there() {
    let text = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  },\n  \"hooks\": {\n    \"SessionStart\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"x\" }] }\n    ]\n  }\n}\n";
    let longer = added(text, &word());
    assert!(longer.contains("\"Bash(ls)\",\n      \"mcp__taskyard\"\n    ]"), "{longer}");
    let longer = added(text, &hook());
    assert!(
        longer.contains("\"x\" }] },\n      {\n        \"hooks\": [\n          {\n            \"type\""),
        "{longer}"
    );
    added("{\"permissions\": {\"allow\": []}}", &word());
    added("{\n \"hooks\": {}\n}", &hook());
}

#[test]
fn hook_moved_to_another_group_is_removed_alone() {
    let text = r#"{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"command": "a"}, {"command": "taskyard hook SessionStart"}]}]}}"#;
    assert_eq!(add(text, &hook()).unwrap(), Added::AlreadyThere);
    let (shorter, _) = remove(text, &hook(), 0).unwrap().unwrap();
    assert_eq!(shorter, r#"{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"command": "a"}]}]}}"#);
    let alone = r#"{"a": 1, "hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"command": "taskyard hook SessionStart"}]}]}}"#;
    assert_eq!(remove(alone, &hook(), 0).unwrap().unwrap().0, r#"{"a": 1}"#);
    assert_eq!(remove(alone, &hook(), 2).unwrap().unwrap().0, r#"{"a": 1, "hooks": {"SessionStart": []}}"#);
}

#[test]
fn what_stands_beside_our_entry_survives_its_removal() {
    for (text, without) in [
        // The user added a server behind ours, and a comment to it.
        (
            "{\n  \"mcpServers\": {\n    \"taskyard\": {}, // ours\n    \"b\": {}\n  }\n}",
            "{\n  \"mcpServers\": { // ours\n    \"b\": {}\n  }\n}",
        ),
        // On one line with what comes after it, below a comment that would swallow that.
        ("{\"mcpServers\": { // x\n\"taskyard\": {}, \"b\": {}}}", "{\"mcpServers\": { // x\n \"b\": {}}}"),
        ("{\"mcpServers\": { // x\n\"taskyard\": {}}}", "{\"mcpServers\": { // x\n}}"),
        ("{\"mcpServers\": {\"taskyard\": 1, \"taskyard\": {}}}", "{\"mcpServers\": {\"taskyard\": 1}}"),
    ] {
        let result = remove(text, &server(), 1);
        if text.contains("1, ") {
            // Two of one name: taking one out would bring the other to life.
            assert!(matches!(result, Err(Unfit::Odd { .. })), "{result:?}");
        } else {
            assert_eq!(result.unwrap().unwrap().0, without);
        }
    }
}

#[test]
fn what_is_there_otherwise_is_left_alone() {
    let text = r#"{"mcpServers": {"taskyard": {"command": "/opt/taskyard"}}}"#;
    assert_eq!(add(text, &server()).unwrap(), Added::ThereOtherwise);
    assert_eq!(remove(r#"{"mcpServers": {}}"#, &server(), 1).unwrap(), None);
}

#[test]
fn a_file_of_another_shape_is_refused_with_the_line() {
    let shape = |line, key: &str, expected| Err(Unfit::Shape { line, key: key.into(), expected });
    assert_eq!(add("{\n \"mcpServers\": []\n}", &server()), shape(2, "mcpServers", "object"));
    assert_eq!(add("\n[]", &server()), shape(2, "", "object"));
    assert_eq!(add("{\"permissions\": {\"allow\":\n null}}", &word()), shape(2, "permissions.allow", "array"));
    assert!(matches!(add("{\n\n\"a\": }", &server()), Err(Unfit::Unreadable { line: 3, .. })));
}

#[test]
fn a_setting_is_ours_as_long_as_it_has_our_value() {
    let list = |value: &str| Entry::setting(&["env", "LIST"], json!(value));
    assert_eq!(added(r#"{"env":{"A":"1"}}"#, &list("ours")), r#"{"env":{"A":"1","LIST":"ours"}}"#);
    assert_eq!(added("{}", &list("ours")), "{\n  \"env\": {\n    \"LIST\": \"ours\"\n  }\n}");
    let theirs = r#"{"env":{"LIST":"theirs"}}"#;
    assert_eq!(add(theirs, &list("ours")).unwrap(), Added::ThereOtherwise);
    assert_eq!(remove(theirs, &list("ours"), 1).unwrap(), None);
    assert_eq!(add(theirs, &list("theirs")).unwrap(), Added::AlreadyThere);
}

use serde_json::json;
use taskyard_setup::config_edit::toml_entries::{TableEntry, add, remove};
use taskyard_setup::config_edit::{Added, Unfit};

fn server() -> TableEntry {
    let members = vec![("command".to_owned(), json!("taskyard")), ("args".to_owned(), json!(["mcp"]))];
    TableEntry { around: "mcp_servers".into(), name: "taskyard".into(), members }
}

/// Adds the table, looks that it can be taken out, and returns the text with it.
#[track_caller]
fn added(text: &str) -> String {
    let Added::Now { text: longer, additions, .. } = add(text, &server()).unwrap() else {
        panic!("it is there already")
    };
    assert_eq!(additions.take_out(&longer).as_deref(), Some(text));
    assert_eq!(add(&longer, &server()).unwrap(), Added::AlreadyThere);
    assert_eq!(remove(text, &server()).unwrap(), None);
    let (shorter, _) = remove(&longer, &server()).unwrap().unwrap();
    assert_eq!(shorter.trim_end(), text.trim_end(), "taken out of {longer:?}");
    longer
}

#[test]
fn the_table_comes_at_the_end_in_the_manner_of_the_file() {
    let table = "[mcp_servers.taskyard]\ncommand = \"taskyard\"\nargs = [\"mcp\"]";
    for (text, with) in [
        ("", format!("{table}\n")),
        ("model = \"x\" # mine\n", format!("model = \"x\" # mine\n\n{table}\n")),
        ("a = 1\n\n", format!("a = 1\n\n{table}\n")),
        ("a = 1", format!("a = 1\n\n{table}")),
        ("\u{feff}a = 1\r\nb = 2\r\n", format!("\u{feff}a = 1\r\nb = 2\r\n\r\n{}\r\n", table.replace('\n', "\r\n"))),
        (
            "[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.other.env]\nA = \"1\"\n# the end\n",
            format!(
                "[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.other.env]\nA = \"1\"\n# the end\n\n{table}\n"
            ),
        ),
        ("mcp_servers.other.command = \"x\"\n", format!("mcp_servers.other.command = \"x\"\n\n{table}\n")),
    ] {
        assert_eq!(added(text), with);
    }
}

#[test]
fn a_table_on_one_line_gets_one_more_member() {
    let new = "taskyard = { command = \"taskyard\", args = [\"mcp\"] }";
    assert_eq!(
        added("mcp_servers = { a = { command = \"x\" } }\n"),
        format!("mcp_servers = {{ a = {{ command = \"x\" }}, {new} }}\n")
    );
    let longer = format!("mcp_servers = {{ {new} }}\nz = 1\n");
    assert_eq!(added("mcp_servers = {}\nz = 1\n").replace("  ", " "), longer);
}

#[test]
fn everything_of_the_table_goes_and_nothing_else() {
    let text = "a = 1\n\n[mcp_servers.taskyard]\ncommand = \"taskyard\" # x\nargs = [\n  \"mcp\",\n]\n\n[mcp_servers.taskyard.env]\nA = \"1\"\n# of the next\n[other]\nb = 2\n";
    let (shorter, _) = remove(text, &server()).unwrap().unwrap();
    assert_eq!(shorter, "a = 1\n\n# of the next\n[other]\nb = 2\n");
    let line =
        "[mcp_servers]\na = { command = \"x\" }\ntaskyard = { command = \"y\" } # mine\nb = { command = \"z\" }\n";
    let (shorter, _) = remove(line, &server()).unwrap().unwrap();
    assert_eq!(shorter, "[mcp_servers]\na = { command = \"x\" }\nb = { command = \"z\" }\n");
}

#[test]
fn what_cannot_be_edited_is_refused_with_the_line() {
    assert!(matches!(add("a = 1\nb = \n", &server()), Err(Unfit::Unreadable { line: 2, .. })));
    assert!(matches!(add("\nmcp_servers = 1\n", &server()), Err(Unfit::Shape { line: 2, .. })));
    assert_eq!(add("mcp_servers.taskyard.command = \"y\"\n", &server()).unwrap(), Added::ThereOtherwise);
    assert!(matches!(remove("mcp_servers.taskyard.command = \"y\"\n", &server()), Err(Unfit::Odd { line: 1, .. })));
}

//! A program that takes no lock gives a number out a second time.

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::{findings, home, read, write};

/// A task as MACF makes one, under a number that it took for free.
fn of_macf(number: u64) -> Value {
    json!({
        "id": number.to_string(),
        "subject": format!("\u{1b}[2m  #{number} \u{1b}[22mDeploy the documentation"),
        "description": "To the staging server\n\n<macf_task_metadata version=\"1.0\">\ncreation_breadcrumb: s_77b2a1/c_42\nupdates:\n  - description: made\n</macf_task_metadata>",
        "activeForm": "Deploying",
        "status": "pending",
        "blocks": [],
        "blockedBy": [],
    })
}

fn replaced() -> Home {
    let home = home();
    home.ask("create Base");
    home.ask("create Parser -d Grammar --blocked-by 1");
    home.ask("create Lexer --blocked-by 2");
    home.ask("done 1");
    home.ask("claim 2 --as ana");
    write(&home, "2", &of_macf(2));
    home
}

#[test]
fn a_task_that_was_overwritten_by_another_comes_back_under_a_new_number() {
    let home = replaced();
    let offered = home.ask("restore");
    assert_eq!(offered["restorable"].as_array().unwrap().len(), 1, "{offered}");
    assert_eq!(offered["restorable"][0]["task"]["subject"], json!("Parser"));
    assert_eq!(offered["restorable"][0]["replaced"], json!(true));
    assert_eq!(findings(&home, "replaced_task").len(), 1);
    let restored = home.ask("restore 2");
    assert_eq!(restored["tasks"][0]["id"], json!("4"), "{restored}");
    let (old, new) = (read(&home, "4"), read(&home, "2"));
    assert_eq!((&old["subject"], &old["owner"]), (&json!("Parser"), &json!("ana")));
    assert_eq!((&old["blockedBy"], &old["blocks"]), (&json!(["1"]), &json!(["3"])));
    assert_eq!(new, of_macf(2));
    assert!(read(&home, "3")["blockedBy"].as_array().unwrap().contains(&json!("4")));
    assert_eq!(home.ask("restore")["restorable"], json!([]));
    assert!(findings(&home, "replaced_task").is_empty());
    assert!(home.run("restore").stdout.contains("Nothing is missing"));
}

#[test]
fn a_rename_by_a_person_replaces_nothing() {
    let home = home();
    home.ask("create Parser -d Grammar");
    home.ask("start 1");
    for (key, value) in [("subject", "Deploy documents"), ("description", "To the staging server")] {
        let mut task = read(&home, "1");
        task[key] = json!(value);
        write(&home, "1", &task);
        home.ask("list");
    }
    let mut task = read(&home, "1");
    task["subject"] = json!("Something else");
    task["description"] = json!("Entirely");
    write(&home, "1", &task);
    assert_eq!(home.ask("restore")["restorable"], json!([]));
    assert_eq!(home.run("restore 1").code, Some(3));
}

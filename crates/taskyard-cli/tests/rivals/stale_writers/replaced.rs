//! A program gives a number out a second time, or makes a list anew: nothing of the old task is put into the new one.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::stale_writers::{entries, findings, home, read, verdicts, without_putting_back, write, write_stale};

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
fn overwritten_task_is_restored_under_new_number() {
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

/// What we do to the old task.
const OURS: [&str; 5] =
    ["done 1", "claim 1 --as ana", "start 1", "note 1 remark --as ana", "update 1 --owner ana --meta k=1"];

/// How the new task comes to stand in the old one's file.
#[derive(Clone, Copy, Debug)]
enum How {
    ListEmptied,
    FileRemoved,
    InPlace,
}

/// A new task as a client makes it.
fn new_task(subject: &str, description: &str) -> Value {
    json!({"id": "1", "subject": subject, "description": description, "status": "pending", "blocks": [], "blockedBy": []})
}

/// Puts a new task under number 1.
fn put_new(home: &Home, how: How, task: &Value) {
    match how {
        How::ListEmptied => {
            fs::remove_dir_all(home.list("L")).unwrap();
            fs::create_dir_all(home.list("L")).unwrap();
        }
        How::FileRemoved => fs::remove_file(home.task_file("1")).unwrap(),
        How::InPlace => {}
    }
    write(home, "1", task);
}

/// Does something to a task, puts a new one in its place, and has everybody look who could put something back.
fn stays_as_made(made: &str, ours: &str, how: How, new: &Value) {
    let home = home();
    home.ask(made);
    home.ask(ours);
    let old = read(&home, "1");
    put_new(&home, how, new);
    let case = format!("{made}; {ours}; {how:?}; {new}");
    for command in ["list", "show 1", "create Another", "history"] {
        home.ask(command);
        assert_eq!(read(&home, "1"), *new, "{case}; {command}");
    }
    assert!(entries(&home).iter().all(|entry| entry["op"] != "put_back"), "{case}");
    assert!(verdicts(&home).iter().all(|(_, verdict)| verdict == "other_task"), "{case}: {:?}", verdicts(&home));
    let offered = home.ask("restore");
    assert_eq!(offered["restorable"][0]["task"]["subject"], old["subject"], "{case}: {offered}");
    assert_eq!(offered["restorable"][0]["task"]["status"], old["status"], "{case}: {offered}");
    home.run("doctor --fix --yes");
    assert_eq!(read(&home, "1"), *new, "{case}; doctor");
}

#[test]
fn a_new_task_gets_nothing_of_the_old_one() {
    for how in [How::ListEmptied, How::FileRemoved, How::InPlace] {
        for ours in OURS {
            stays_as_made("create Parser", ours, how, &new_task("Buy milk", ""));
        }
    }
}

#[test]
fn a_title_or_a_description_shows_no_same_task() {
    for ours in OURS {
        stays_as_made("create Tests", ours, How::InPlace, &new_task("Tests", "The slow ones"));
        stays_as_made("create Tests -d All", ours, How::InPlace, &new_task("Buy milk", "All"));
        stays_as_made("create Tests -d All", ours, How::InPlace, &new_task("Tests", "The slow ones"));
        let mut told = new_task("Tests", "");
        told["activeForm"] = json!("Testing");
        stays_as_made("create Tests", ours, How::InPlace, &told);
    }
}

#[test]
fn a_copy_of_the_task_as_it_was_made_stands() {
    for ours in ["done 1", "claim 1 --as ana", "start 1"] {
        let home = home();
        home.ask("create Tests");
        let made = read(&home, "1");
        home.ask(ours);
        put_new(&home, How::FileRemoved, &made);
        home.ask("list");
        home.run("doctor --fix --yes");
        assert_eq!(read(&home, "1"), made, "{ours}");
        assert!(verdicts(&home).iter().all(|(_, verdict)| verdict == "meant"), "{ours}");
    }
}

#[test]
fn an_old_token_does_not_complete_a_new_task() {
    for looks in [false, true] {
        let home = home();
        home.ask("create Parser");
        let token = home.ask("claim 1 --as ana")["token"].as_u64().unwrap();
        put_new(&home, How::InPlace, &new_task("Buy milk", ""));
        if looks {
            home.ask("list");
        }
        let done = format!("done 1 --as ana --token {token} --json");
        let is_refused = || home.run(&done).json()["error"]["code"] == "stale_token";
        assert!(is_refused());
        // The lease has ended: nobody gets it back with the name of its holder.
        home.ask("update 1 --owner ana --status in_progress --as lead");
        assert!(is_refused());
        assert_eq!(read(&home, "1")["status"], json!("in_progress"));
    }
}

#[test]
fn a_loss_is_not_mended_in_the_next_task() {
    for removes in [false, true] {
        let home = home();
        without_putting_back(&home);
        home.ask("create Parser -d Grammar");
        write_stale(&home, "done 1");
        home.ask("list");
        assert_eq!(findings(&home, "taken_back").len(), 1);
        if removes {
            fs::remove_file(home.task_file("1")).unwrap();
            home.ask("history");
        }
        let new = new_task("Buy milk", "");
        write(&home, "1", &new);
        assert_eq!(findings(&home, "taken_back"), [] as [Value; 0]);
        home.run("doctor --fix --yes");
        assert_eq!(read(&home, "1"), new);
    }
}

#[test]
fn a_new_task_under_a_deleted_number_is_not_deleted() {
    for new in [new_task("Buy milk", ""), new_task("Parser", "Another grammar")] {
        let home = home();
        home.ask("create Parser -d Grammar");
        home.ask("delete 1");
        write(&home, "1", &new);
        home.ask("list");
        assert_eq!(verdicts(&home), []);
        home.run("doctor --fix --yes");
        assert_eq!(read(&home, "1"), new);
    }
}

#[test]
fn a_new_task_in_another_dialect_gets_nothing() {
    let home = home();
    let document = home.path().join("tasks.json");
    let folder = home.path().join(".tasks");
    let text = |path: &std::path::Path| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap();
    for store in [format!("--store document:{}", document.display()), format!("--store teaching:{}", folder.display())]
    {
        for ours in ["done ID", "claim ID --as ana"] {
            let id = home.ask(&format!("create Parser {store}"))["task"]["id"].as_str().unwrap().to_owned();
            home.ask(&format!("{} {store}", ours.replace("ID", &id)));
            if store.contains("document") {
                let mut all = text(&document);
                let new = json!({"id": id, "description": "Buy milk", "status": "pending", "created_at": "2026-01-01T00:00:00Z"});
                let tasks = all["tasks"].as_array_mut().unwrap();
                *tasks.iter_mut().find(|task| task["id"] == id.as_str()).unwrap() = new;
                tasks.push(json!({"id": format!("other-{id}"), "description": "More", "status": "pending"}));
                fs::write(&document, serde_json::to_string_pretty(&all).unwrap()).unwrap();
            } else {
                let new = json!({"id": id, "subject": "Buy milk", "description": "", "status": "pending", "owner": null, "blockedBy": []});
                fs::write(folder.join(format!("{id}.json")), serde_json::to_string_pretty(&new).unwrap()).unwrap();
            }
            let listed = home.ask(&format!("list {store}"));
            let task = listed["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id.as_str()).unwrap();
            assert_eq!((&task["subject"], &task["status"]), (&json!("Buy milk"), &json!("pending")), "{ours} {store}");
            assert_eq!(task["owner"], Value::Null, "{ours} {store}");
        }
    }
}

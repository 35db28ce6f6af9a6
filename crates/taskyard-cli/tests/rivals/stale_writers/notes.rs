//! Notes beside programs that lose them: the journal has them all, and the file gets them back.

use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Scale, write_in_place};

use crate::stale_writers::{entries, findings, home, read, without_putting_back, write};

/// Returns the texts of a task's notes in its file.
fn texts(home: &Home) -> Vec<Value> {
    let task = read(home, "1");
    let notes = task["metadata"]["notes"].as_array().cloned().unwrap_or_default();
    notes.into_iter().map(|note| if note.is_string() { note } else { note["text"].clone() }).collect()
}

#[test]
fn notes_lost_to_other_programs_are_always_put_back() {
    let home = home();
    home.ask("create Parser");
    let before = read(&home, "1");
    home.ask("note 1 first --as ana");
    home.ask("note 1 second --as ben");
    for _ in 0..3 {
        // It changes nothing else: of another field that would be meant.
        write(&home, "1", &before);
        home.ask("show 1");
        assert_eq!(texts(&home), ["first", "second"]);
    }
    let put_back = entries(&home).iter().filter(|entry| entry["op"] == "put_back").count();
    assert_eq!(put_back, 3);
    assert_eq!(home.run("doctor").code, Some(0));
}

#[test]
fn what_others_note_is_taken_in_and_stands_beside_ours() {
    let home = home();
    home.ask("create Parser -d Grammar");
    home.ask("note 1 ours --as ana");
    let mut theirs = read(&home, "1");
    theirs["metadata"]["notes"] = json!("a remark of theirs");
    theirs["metadata"]["seen"] = json!(true);
    write(&home, "1", &theirs);
    // The next writer finds it, whatever it writes.
    home.ask("update 1 --owner ben");
    assert_eq!(texts(&home), ["ours", "a remark of theirs"]);
    theirs["metadata"]["notes"] = json!(["another"]);
    write(&home, "1", &theirs);
    home.ask("note 1 last --as ana");
    assert_eq!(texts(&home), ["ours", "a remark of theirs", "another", "last"]);
    assert_eq!(read(&home, "1")["metadata"]["seen"], json!(true));
}

#[test]
fn what_undo_or_we_took_away_is_not_put_back() {
    let home = home();
    home.ask("create Parser");
    home.ask("note 1 kept");
    home.ask("note 1 wrong");
    home.ask("undo");
    let mut stale = read(&home, "1");
    stale["description"] = json!("theirs");
    write(&home, "1", &stale);
    home.ask("show 1");
    assert_eq!(texts(&home), ["kept"]);
    home.ask("update 1 --meta notes=null");
    stale = read(&home, "1");
    stale["description"] = json!("theirs again");
    write(&home, "1", &stale);
    home.ask("show 1");
    assert_eq!(texts(&home), [] as [&str; 0]);
    assert_eq!(home.run("doctor").code, Some(0));
}

#[test]
fn unrestored_loss_is_put_back_by_next_note_or_look() {
    for next in ["show 1", "note 1 third"] {
        let home = home();
        home.ask("create Parser");
        let before = read(&home, "1");
        home.ask("note 1 first");
        home.ask("note 1 second");
        write(&home, "1", &before);
        // In the client's rules the loss is recorded, and left: as where the process that recorded it died right after.
        home.ask("list --rules client");
        assert_eq!(texts(&home), [] as [&str; 0]);
        home.ask(next);
        assert_eq!(texts(&home)[..2], ["first", "second"]);
    }
}

#[test]
fn where_nothing_is_put_back_doctor_tells_and_mends() {
    let home = home();
    without_putting_back(&home);
    home.ask("create Parser");
    let before = read(&home, "1");
    home.ask("note 1 first");
    write(&home, "1", &before);
    home.ask("show 1");
    assert_eq!(texts(&home), [] as [&str; 0]);
    let found = findings(&home, "taken_back");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0]["message"].as_str().unwrap().contains("first"), "{found:?}");
    assert_eq!(home.run("doctor --fix --yes").code, Some(0));
    assert_eq!(texts(&home), ["first"]);
}

#[test]
fn an_agent_that_sets_notes_as_metadata_writes_over_none() {
    let home = home();
    home.ask("create Parser");
    home.ask("note 1 first");
    home.ask("update 1 --meta notes=\"second\"");
    assert_eq!(texts(&home), ["first", "second"]);
}

#[test]
fn notes_survive_rivals_that_write_old_contents() {
    let home = home();
    home.ask("create Parser -d Grammar");
    let rounds = Scale::from_environment(0.1).of(60);
    let stale = read(&home, "1");
    thread::scope(|scope| {
        for writer in 0..3 {
            let home = &home;
            scope.spawn(move || {
                for round in 0..rounds {
                    home.ask(&format!("note 1 {writer}-{round}"));
                }
            });
        }
        for round in 0..rounds * 3 {
            let mut stale = stale.clone();
            stale["activeForm"] = json!(format!("theirs {round}"));
            write_in_place(&home.task_file("1"), &stale);
            home.ask("list");
        }
    });
    write(&home, "1", &stale);
    home.ask("show 1");
    let mut told: Vec<String> = texts(&home).iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    for writer in 0..3 {
        let own: Vec<&String> = told.iter().filter(|text| text.starts_with(&format!("{writer}-"))).collect();
        let expected: Vec<String> = (0..rounds).map(|round| format!("{writer}-{round}")).collect();
        assert!(own.into_iter().eq(&expected), "{told:?}");
    }
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), rounds * 3);
}

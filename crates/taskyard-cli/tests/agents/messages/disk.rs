//! A disk that takes no more: the sender is told, and everything is as it was.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::{Ran, finishes};

use crate::messages::office::Office;

/// Runs a command where no file may grow beyond so many kilobytes, which stands for a full disk.
fn limited(office: &Office, kilobytes: usize, words: &str) -> Ran {
    let mut command = office.home.command(words).limited(&format!("ulimit -f {}", kilobytes * 2));
    finishes(move || command.run())
}

/// Returns a team in which bob has an inbox of about a megabyte, with one message of ours at its end.
fn long_inbox() -> Office {
    let office = Office::with(&["bob"]);
    let old = |number: usize| json!({"from": "team-lead", "text": "x".repeat(1000), "timestamp": format!("t{number}"), "read": true});
    let inbox: Vec<Value> = (0..1000).map(old).collect();
    fs::create_dir_all(office.path("inboxes")).unwrap();
    fs::write(office.path("inboxes/bob.json"), serde_json::to_string_pretty(&inbox).unwrap()).unwrap();
    office.home.ask("send --to bob last");
    office
}

#[test]
fn full_disk_is_reported_to_sender_and_inbox_unchanged() {
    let office = long_inbox();
    let before = fs::read(office.path("inboxes/bob.json")).unwrap();
    let ran = limited(&office, 512, "send --to bob more");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.starts_with("error: nothing was sent to bob: cannot write `"), "{ran:?}");
    assert!(ran.stderr.contains("\n hint: "), "{ran:?}");
    assert_eq!(fs::read(office.path("inboxes/bob.json")).unwrap(), before);
    assert_eq!(office.left_behind(), Vec::<String>::new());
    assert_eq!(office.home.ask("inbox --sent")["messages"].as_array().unwrap().len(), 1);
    office.home.ask("send --to bob more");
    assert_eq!(office.shown("bob"), ["last", "more"]);
}

#[test]
fn acknowledgement_on_full_disk_goes_with_the_next() {
    let office = long_inbox();
    let before = fs::read(office.path("inboxes/bob.json")).unwrap();
    let ran = limited(&office, 512, "inbox --as bob --ack");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("last"), "{ran:?}");
    assert!(ran.stderr.starts_with("error: acknowledged, but still in the inbox: cannot write `"), "{ran:?}");
    assert_eq!(fs::read(office.path("inboxes/bob.json")).unwrap(), before);
    assert_eq!(office.shown("bob"), Vec::<String>::new());
    office.home.ask("inbox --as bob --ack");
    assert_eq!(office.inbox("bob").unwrap().len(), 1000);
    assert_eq!(office.left_behind(), Vec::<String>::new());
}

#[test]
fn where_nothing_at_all_can_be_written_teams_stay_as_they_are() {
    let office = Office::with(&["bob"]);
    office.home.ask("create Parser --list alpha --as bob");
    office.home.ask("start 1 --list alpha --as bob");
    let before = fs::read(office.path("config.json")).unwrap();
    for words in ["team join alpha --as eve", "team leave alpha --as bob", "team create beta", "send --to bob hello"] {
        let ran = limited(&office, 0, words);
        assert_eq!(ran.code, Some(1), "`{words}`: {ran:?}");
    }
    assert_eq!(fs::read(office.path("config.json")).unwrap(), before);
    assert_eq!(office.members().unwrap(), ["team-lead", "bob"]);
    assert_eq!(office.home.ask("show 1 --list alpha")["task"]["owner"], "bob");
    assert!(!office.lying("bob").contains(&"hello".to_owned()));
    assert_eq!(office.left_behind(), Vec::<String>::new());
}

#[test]
fn a_disk_that_is_really_full_loses_nothing() {
    let office = long_inbox();
    let small = office.home.path().join("small");
    fs::create_dir(&small).unwrap();
    // A file system of its own with room for one and a half such inboxes, where the system lets us have one.
    let line = format!(
        "mount -t tmpfs -o size=1700k none {small} && cp -r {teams}/. {small} && mount --bind {small} {teams} && \
         exec \"$0\" \"$@\"",
        small = small.display(),
        teams = office.home.path().join(".claude/teams").display()
    );
    let mut command = office.home.command("send --to bob more").started_by("unshare", &["-rm", "sh", "-c", &line]);
    let ran = finishes(move || command.run());
    if ran.stderr.contains("unshare:") || ran.stderr.contains("mount:") {
        return;
    }
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("nothing was sent to bob") && ran.stderr.contains("No space left"), "{ran:?}");
}

//! An inbox of a hundred thousand messages: nothing takes longer than its length explains.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::time::Duration;

use taskyard_testkit::{Ran, Scale, Took};

use crate::messages::office::Office;

/// Returns a team in which bob has an inbox of so many messages of the newest client.
fn full(messages: usize) -> Office {
    let office = Office::with(&["bob"]);
    let mut inbox = String::from("[");
    for number in 0..messages {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            inbox,
            "{comma}\n  {{\n    \"from\": \"team-lead\",\n    \"text\": \"message {number}\",\n    \"timestamp\": \
             \"2026-11-15T00:00:00.000Z\",\n    \"msgV\": 1,\n    \"msg_id\": \"{number:08}-0000-4000-8000-000000000000\",\n    \
             \"type\": \"message\",\n    \"read\": false\n  }}"
        );
    }
    inbox.push_str("\n]");
    fs::create_dir_all(office.path("inboxes")).unwrap();
    fs::write(office.path("inboxes/bob.json"), inbox).unwrap();
    office
}

/// Sends, shows and acknowledges; returns how long each worked.
fn use_inbox(messages: usize) -> [Duration; 3] {
    let office = full(messages);
    let timed = |words: &str| {
        // It says much, for which nobody waits before it has ended.
        let said = office.home.path().join("said");
        let mut command = office.home.command(words);
        command.stdout(File::create(&said).unwrap());
        let (ran, took) = Took::by(command);
        assert_eq!(ran.code, Some(0), "`{words}`: {}", ran.stderr);
        (took.worked, Ran { stdout: fs::read_to_string(said).unwrap(), ..ran })
    };
    let (send, _) = timed("send --to bob last");
    assert_eq!(office.inbox("bob").unwrap().len(), messages + 1);
    let (show, shown) = timed("inbox --as bob --json");
    let shown = shown.json()["messages"].as_array().unwrap().clone();
    assert_eq!((shown.len(), &shown[messages]["text"]), (messages + 1, &"last".into()));
    let (acknowledge, _) = timed("inbox --as bob --ack");
    assert_eq!(office.inbox("bob").unwrap().len(), 0);
    assert_eq!(office.shown("bob"), Vec::<String>::new());
    [send, show, acknowledge]
}

#[test]
fn hundred_thousand_messages_scale_linearly() {
    let many_messages = Scale::from_environment(0.1).of(100_000);
    let few = use_inbox(many_messages / 10);
    let many = use_inbox(many_messages);
    for (what, (few, many)) in ["send", "inbox", "inbox --ack"].into_iter().zip(few.into_iter().zip(many)) {
        println!("{what}: {few:?} with {}, {many:?} with {many_messages}", many_messages / 10);
        // Ten times as many: whatever grows with the square takes a hundred times as long.
        assert!(many < few * 40 + Duration::from_secs(2), "{what}: {few:?}, then {many:?}");
    }
}

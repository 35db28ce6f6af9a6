//! `inbox --follow`: messages as they come, in whatever team their reader is by then.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::ChildStdout;

use rustix::process::Signal;
use serde_json::Value;
use taskyard_testkit::{Process, finishes};

use crate::messages::office::{Office, text};

/// A reader that follows its inbox. A test that fails leaves none behind.
struct Follower {
    child: Process,
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl Follower {
    fn start(office: &Office, words: &str) -> Self {
        let mut child = office.home.command(words).start();
        let lines = child.take_output().lines();
        Self { child, lines: Some(lines) }
    }

    fn send(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Waits for the next message.
    fn next(&mut self) -> String {
        let mut lines = self.lines.take().unwrap();
        let (line, lines) = finishes(move || (lines.next().unwrap().unwrap(), lines));
        self.lines = Some(lines);
        text(&serde_json::from_str::<Value>(&line).unwrap()["text"])
    }
}

/// The directories of the new team have the names, and on many file systems the numbers, of those that went.
#[test]
fn reader_asleep_while_team_was_remade_hears_of_messages() {
    let office = Office::with(&["bob"]);
    let mut bob = Follower::start(&office, "inbox --follow --as bob");
    for round in 0..4 {
        office.home.ask(&format!("send --to bob awake-{round}"));
        assert_eq!(bob.next(), format!("awake-{round}"));
        bob.send(Signal::STOP);
        office.home.ask("team delete alpha --force");
        office.home.ask("team create alpha");
        office.home.ask("team join alpha --as bob");
        bob.send(Signal::CONT);
        for number in 0..2 {
            office.home.ask(&format!("send --to bob {round}-{number}"));
            assert_eq!(bob.next(), format!("{round}-{number}"));
        }
    }
}

#[test]
fn reader_hears_of_messages_in_teams_joined_later() {
    let office = Office::empty();
    let mut bob = Follower::start(&office, "inbox --follow --ack --as bob");
    for round in ["one", "two"] {
        office.home.ask("team create alpha");
        office.home.ask("team join alpha --as bob");
        for number in 0..3 {
            office.home.ask(&format!("send --to bob {round}-{number}"));
            assert_eq!(bob.next(), format!("{round}-{number}"));
        }
        office.home.ask("team delete alpha --force");
    }
}

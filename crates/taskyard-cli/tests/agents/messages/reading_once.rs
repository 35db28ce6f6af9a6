//! A command reads the file of a team once, and an inbox once.
#![cfg(target_os = "linux")]

use taskyard_testkit::OpensCounted;

use crate::messages::office::Office;

#[test]
fn a_command_of_a_teammate_reads_its_team_once() {
    let office = Office::with(&["ana"]);
    for number in 1..=4 {
        office.home.ask(&format!("create task-{number} --as ana"));
    }
    office.home.ask("send --to ana hello");
    let (team, inbox) =
        (OpensCounted::of(&office.path("config.json")), OpensCounted::of(&office.path("inboxes/ana.json")));
    for command in [
        "list",
        "claim 1",
        "claim --next",
        "done 1",
        "update 2 --subject other",
        "start 3",
        "show 4",
        "create five",
        "where",
        "team leave",
    ] {
        office.home.ask(&format!("{command} --as ana"));
        // A member that leaves takes the file in hand once more, under its lock.
        assert!(team.take() <= if command == "team leave" { 3 } else { 1 }, "{command}");
        assert_eq!(inbox.take(), 0, "{command}");
    }
}

#[test]
fn a_command_reads_an_inbox_once() {
    let office = Office::with(&["ana"]);
    office.home.ask("send --to ana hello");
    let (team, inbox) =
        (OpensCounted::of(&office.path("config.json")), OpensCounted::of(&office.path("inboxes/ana.json")));
    for command in
        ["inbox", "team show", "team show alpha", "team list", "inbox --sent", "inbox --team alpha", "doctor"]
    {
        office.home.ask(&format!("{command} --as ana"));
        assert_eq!((team.take(), inbox.take() <= 1), (1, true), "{command}");
    }
}

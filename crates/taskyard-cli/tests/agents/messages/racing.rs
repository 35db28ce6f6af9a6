//! Processes in each other's way: every answer is true, and nothing comes back to life.

use std::collections::HashSet;

use taskyard_testkit::{Process, Program, Ran};

use crate::messages::office::{Office, text};

/// Starts commands at the same moment, and waits for all of them.
fn at_once(office: &Office, commands: &[String]) -> Vec<Ran> {
    let started: Vec<Process> = commands.iter().map(|words| office.home.command(words).start()).collect();
    started.into_iter().map(Process::end).collect()
}

fn codes(ran: &[Ran]) -> Vec<i32> {
    ran.iter().map(|ran| ran.code.unwrap_or(-1)).collect()
}

#[test]
fn message_to_team_being_deleted_is_refused_or_goes_along() {
    for _ in 0..6 {
        let office = Office::with(&["bob"]);
        let mut commands: Vec<String> = (0..5).map(|number| format!("send --to bob m{number} --json")).collect();
        commands.insert(2, "team delete alpha --force".to_owned());
        let ran = at_once(&office, &commands);
        assert_eq!(ran[2].code, Some(0), "{ran:?}");
        assert!(codes(&ran).iter().all(|code| [0, 4].contains(code)), "{ran:?}");
        for refused in ran.iter().filter(|ran| ran.code == Some(4)) {
            let code = text(&refused.json()["error"]["code"]);
            assert!(["team_not_found", "not_in_a_team", "agent_not_found"].contains(&code.as_str()), "{refused:?}");
        }
        assert!(!office.path("").exists(), "it came back to life");
        assert_eq!(office.members(), None);
        // One of that name has nothing of what was sent.
        office.home.ask("team create alpha");
        office.home.ask("team join alpha --as bob");
        assert_eq!(office.shown("bob"), Vec::<String>::new());
    }
}

#[test]
fn a_message_to_a_member_that_is_leaving_is_refused_or_expires() {
    for _ in 0..6 {
        let office = Office::with(&["bob", "eve"]);
        let mut commands: Vec<String> = (0..5).map(|number| format!("send --to bob m{number} --json")).collect();
        commands.insert(2, "team leave alpha --as bob".to_owned());
        let ran = at_once(&office, &commands);
        assert_eq!(ran[2].code, Some(0), "{ran:?}");
        assert!(codes(&ran).iter().all(|code| [0, 4].contains(code)), "{ran:?}");
        assert_eq!(office.members().unwrap(), ["team-lead", "eve"]);
        let sent = office.home.ask("inbox --sent")["messages"].as_array().unwrap().clone();
        let accepted = codes(&ran).iter().filter(|code| **code == 0).count() - 1;
        assert_eq!((sent.len(), office.lying("bob").len()), (accepted, accepted));
        assert!(sent.iter().all(|message| message["state"] == "expired"), "{sent:?}");
    }
}

#[test]
fn of_names_that_share_a_directory_one_wins() {
    let office = Office::empty();
    let names = ["my-team", "My_Team", "MY-TEAM", "my_team", "my.team", "My-Team"];
    let ran = at_once(&office, &names.map(|name| format!("team create {name} --json")));
    let won: Vec<usize> = (0..names.len()).filter(|at| ran[*at].code == Some(0)).collect();
    assert_eq!(won.len(), 1, "{ran:?}");
    for refused in ran.iter().filter(|ran| ran.code != Some(0)) {
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert_eq!(refused.json()["error"]["team"], names[won[0]], "{refused:?}");
    }
    let teams = office.home.ask("team list")["teams"].as_array().unwrap().clone();
    assert_eq!((teams.len(), &teams[0]["team"]), (1, &names[won[0]].into()));
}

#[test]
fn simultaneous_joiners_are_all_in_with_own_colours() {
    let office = Office::with(&[]);
    let names: Vec<String> = (0..7).map(|number| format!("m{number}")).collect();
    let ran = at_once(&office, &names.iter().map(|name| format!("team join alpha --as {name}")).collect::<Vec<_>>());
    assert!(codes(&ran).iter().all(|code| *code == 0), "{ran:?}");
    let members: HashSet<String> = office.members().unwrap().into_iter().collect();
    assert!(names.iter().all(|name| members.contains(name)) && members.len() == 8, "{members:?}");
    let shown = office.home.ask("team show alpha")["members"].as_array().unwrap().clone();
    let colours: HashSet<String> = shown.iter().map(|member| text(&member["color"])).collect();
    assert_eq!(colours.len(), 8, "{colours:?}");
}

#[test]
fn of_those_who_find_a_ghost_at_once_one_tells_the_rest() {
    let office = Office::with(&["ana", "ben", "eve"]);
    let mut child = Program::new("sleep").arg("600").start();
    office.home.ask(&format!("team join alpha --as bob --pid {}", child.id()));
    office.home.ask("create Parser --list alpha");
    office.home.ask("start 1 --list alpha --as bob");
    child.kill();
    let claims = ["ana", "ben", "eve"].map(|name| format!("claim --next --list alpha --as {name}"));
    let ran = at_once(&office, &claims);
    // The work of the dead comes back to one of them.
    assert_eq!(codes(&ran).iter().filter(|code| **code == 0).count(), 1, "{ran:?}");
    for member in ["ana", "ben", "eve", "team-lead"] {
        let heard = office.lying(member).iter().filter(|text| text.starts_with("bob was terminated")).count();
        assert_eq!(heard, 1, "{member}");
    }
}

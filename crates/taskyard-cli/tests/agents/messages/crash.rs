//! A command on a team killed at any step has done it or has not, and the next one goes on from there.

use serde_json::json;
use taskyard_testkit::{Scale, Step};

use crate::messages::office::Office;

/// Runs a command again and again on new homes, killed at another step each time, and looks at what it left. Every step:
/// `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test agents messages::`. Unset, each distinct step is taken at least once.
fn killed_at_every_step(set_up: impl Fn() -> Office, command: &str, look: impl Fn(&Office, &str)) {
    let office = set_up();
    let steps = office.home.steps(command);
    look(&office, "not killed");
    assert!(steps.len() > 4, "{steps:?}");
    for step in Step::sampled(&steps, Scale::from_environment(0.1)) {
        let office = set_up();
        let ran = office.home.run_with(&step.killing(), command);
        assert!(ran.was_killed(), "{step}: {ran:?}");
        look(&office, &format!("`{command}` killed at {step}"));
    }
}

fn one_message() -> Office {
    let office = Office::with(&["bob", "eve"]);
    office.home.ask("send --to bob first");
    office
}

#[test]
fn a_killed_send_has_sent_or_has_not() {
    killed_at_every_step(one_message, "send --to bob second", |office, place| {
        let lying = office.lying("bob");
        assert!([&["first"][..], &["first", "second"]].iter().any(|texts| lying == *texts), "{place}: {lying:?}");
        assert_eq!(office.shown("bob"), lying, "{place}");
        // What is told of deliveries is true, and what cannot be told is not told.
        let sent = office.home.ask("inbox --sent")["messages"].as_array().unwrap().clone();
        assert!(sent.len() <= lying.len() && !sent.is_empty(), "{place}: {sent:?}");
        assert!(sent.iter().all(|message| message["state"] == "delivered"), "{place}: {sent:?}");
        office.home.ask("send --to bob third");
        assert_eq!(office.lying("bob"), [lying, vec!["third".to_owned()]].concat(), "{place}");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn a_killed_first_message_has_made_an_inbox_that_is_whole() {
    let set_up = || Office::with(&["bob"]);
    killed_at_every_step(set_up, "send --to bob first", |office, place| {
        let lying = office.lying("bob");
        assert!(lying.is_empty() || lying == ["first"], "{place}: {lying:?}");
        office.home.ask("send --to bob second");
        assert_eq!(office.lying("bob"), [lying, vec!["second".to_owned()]].concat(), "{place}");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn killed_acknowledgement_is_all_or_nothing() {
    let set_up = || {
        let office = one_message();
        office.home.ask("send --to bob second");
        office.home.ask("inbox --as bob");
        office
    };
    killed_at_every_step(set_up, "inbox --as bob --ack", |office, place| {
        let (lying, shown) = (office.lying("bob"), office.shown("bob"));
        assert!(lying.is_empty() || lying == ["first", "second"], "{place}: {lying:?}");
        assert!(shown.is_empty() || shown == ["first", "second"], "{place}: {shown:?}");
        let state = if shown.is_empty() { "read" } else { "delivered" };
        let sent = office.home.ask("inbox --sent")["messages"].as_array().unwrap().clone();
        assert!(sent.len() == 2 && sent.iter().all(|message| message["state"] == state), "{place}: {sent:?}");
        // The next acknowledgement clears away what this one did not come to.
        office.home.ask("send --to bob third");
        assert_eq!(office.shown("bob"), [shown, vec!["third".to_owned()]].concat(), "{place}");
        office.home.ask("inbox --as bob --ack");
        assert_eq!((office.lying("bob"), office.shown("bob")), (vec![], vec![]), "{place}");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn a_killed_join_has_joined_or_has_not_and_can_be_done_again() {
    let set_up = || Office::with(&["eve"]);
    killed_at_every_step(set_up, "team join alpha --as bob", |office, place| {
        let members = office.members().unwrap();
        assert!(members == ["team-lead", "eve"] || members == ["team-lead", "eve", "bob"], "{place}: {members:?}");
        office.home.ask("team join alpha --as bob");
        assert_eq!(office.members().unwrap(), ["team-lead", "eve", "bob"], "{place}");
        let shown = office.home.ask("team show alpha");
        assert_eq!(shown["members"][2]["color"], "green", "{place}");
        office.home.ask("send --to bob hello");
        assert_eq!(office.shown("bob"), ["hello"], "{place}");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn killed_leave_is_all_or_nothing_and_frees_tasks() {
    let set_up = || {
        let office = Office::with(&["bob", "eve"]);
        office.home.ask("create Parser --list alpha --as bob");
        office.home.ask("start 1 --list alpha --as bob");
        office.home.ask("inbox --as bob --ack");
        office.home.ask("send --to bob --request shutdown");
        office
    };
    killed_at_every_step(set_up, "team leave alpha --as bob", |office, place| {
        let task = || office.home.ask("show 1 --list alpha")["task"].clone();
        let members = office.members().unwrap();
        if members.contains(&"bob".to_owned()) {
            let owner = task()["owner"].clone();
            assert!(owner == json!("bob") || owner.is_null(), "{place}: {owner}");
            office.home.ask("team leave alpha --as bob");
        }
        assert_eq!(office.members().unwrap(), ["team-lead", "eve"], "{place}");
        assert_eq!((&task()["status"], &task()["owner"]), (&json!("pending"), &json!(null)), "{place}");
        assert!(office.shown("eve").len() <= 1, "{place}: told twice");
        // An agent that comes under that name is another: nothing is asked of it.
        office.home.ask("team join alpha --as bob");
        assert_eq!(office.home.ask("team show alpha")["members"][2]["state"], "idle", "{place}");
        office.home.ask("send --to * hello");
        office.home.ask("send --to * hello --as eve");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn a_killed_creation_has_made_a_team_with_a_lead_or_none() {
    killed_at_every_step(Office::empty, "team create alpha", |office, place| {
        match office.members() {
            Some(members) => assert_eq!(members, ["team-lead"], "{place}"),
            None => drop(office.home.ask("team create alpha")),
        }
        let refused = office.home.run("team create alpha --json");
        assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(3), &json!("team_exists")), "{place}");
        // The agent that made it leads it, and can write.
        office.home.ask("team join alpha --as bob");
        office.home.ask("send --to bob hello");
        assert_eq!(office.inbox("bob").unwrap()[0]["from"], "team-lead", "{place}");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn a_killed_deletion_leaves_a_team_or_none_and_its_tasks() {
    let set_up = || {
        let office = one_message();
        office.home.ask("create Parser --list alpha --as bob");
        office.home.ask("start 1 --list alpha --as bob");
        office
    };
    killed_at_every_step(set_up, "team delete alpha --force", |office, place| {
        if office.members().is_some() {
            office.home.ask("team delete alpha --force");
        }
        assert_eq!(office.members(), None, "{place}");
        let task = office.home.ask("show 1 --list alpha")["task"].clone();
        assert_eq!((&task["status"], &task["owner"]), (&json!("pending"), &json!(null)), "{place}");
        // A new team of that name has nothing of the old one.
        office.home.ask("team create alpha");
        office.home.ask("team join alpha --as bob");
        assert_eq!(office.shown("bob"), Vec::<String>::new(), "{place}");
        office.home.ask("team delete alpha --force");
        assert_eq!(office.left_behind(), Vec::<String>::new(), "{place}");
    });
}

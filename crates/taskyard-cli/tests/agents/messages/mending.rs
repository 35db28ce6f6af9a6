//! Files that another program left torn: the person is told which command mends them, and nothing is lost.

use std::fs;

use serde_json::json;

use crate::messages::office::Office;

fn kept(office: &Office) -> Vec<String> {
    let folder = office.home.data().join("set-aside");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut texts: Vec<String> = files.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    texts.sort();
    texts
}

#[test]
fn torn_inbox_is_salvaged_and_original_is_kept() {
    let office = Office::with(&["bob"]);
    for text in ["one", "two", "three"] {
        office.home.ask(&format!("send --to bob {text}"));
    }
    let path = office.path("inboxes/bob.json");
    let whole = fs::read_to_string(&path).unwrap();
    let torn = &whole[..whole.find("three").unwrap()];
    fs::write(&path, torn).unwrap();
    let refused = office.home.run("send --to bob four");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("nothing was sent to bob") && refused.stderr.contains("`taskyard team mend`"),
        "{refused:?}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), torn);
    let mended = office.home.ask("team mend");
    assert_eq!((&mended["mended"][0]["mended"], &mended["mended"][0]["saved"]), (&json!(true), &json!(2)), "{mended}");
    assert_eq!(kept(&office), [torn]);
    assert_eq!(office.shown("bob"), ["one", "two"]);
    office.home.ask("send --to bob four");
    assert_eq!(office.lying("bob"), ["one", "two", "four"]);
    assert_eq!(office.home.ask("team mend")["mended"], json!([]));
}

#[test]
fn invalid_inbox_is_kept_and_replaced_by_an_empty_one() {
    let office = Office::with(&["bob"]);
    office.home.ask("send --to bob one");
    for other in ["", "{\"a\": 1}", "hello", "\"x\"", "[{\"from\":"] {
        fs::write(office.path("inboxes/bob.json"), other).unwrap();
        let ran = office.home.run("team mend");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("with 0 messages; the original is in `"), "{ran:?}");
        assert_eq!(office.lying("bob"), Vec::<String>::new(), "{other}");
        assert!(kept(&office).contains(&other.to_owned()), "{other}");
    }
}

#[test]
fn a_torn_team_file_is_mended_with_the_members_before_the_cut() {
    let office = Office::with(&["bob", "eve"]);
    office.home.ask("send --to bob hello");
    let path = office.path("config.json");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.find("eve@alpha").unwrap()]).unwrap();
    let refused = office.home.run("send --to bob more");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("`taskyard team mend`"), "{refused:?}");
    assert_eq!(office.home.ask("team mend")["mended"][0]["saved"], 2);
    assert_eq!(office.members().unwrap(), ["team-lead", "bob"]);
    // It is the same team: its lead, its messages and their history are known.
    assert_eq!(office.shown("bob"), ["hello"]);
    assert_eq!(office.home.ask("inbox --sent")["messages"][0]["state"], "delivered");
    office.home.ask("team join alpha --as eve");
    // Nothing that could be a team is left alone.
    fs::write(&path, "[1]").unwrap();
    let ran = office.home.run("team mend");
    assert_eq!((ran.code, fs::read_to_string(&path).unwrap().as_str()), (Some(1), "[1]"), "{ran:?}");
}

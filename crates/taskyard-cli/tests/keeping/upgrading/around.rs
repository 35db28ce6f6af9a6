//! What is kept beside lists: jobs, notices, teams, messages, bindings, trust, todos.

use serde_json::{Value, json};
use taskyard_testkit::{OldYard, Ran, Rows};

use crate::upgrading::yards;

fn ask(yard: &OldYard, words: &str) -> Value {
    let ran = yard.run(&format!("{words} --json"));
    assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
    ran.json()
}

#[test]
fn jobs_of_earlier_release_are_found_with_output() {
    for yard in yards() {
        let before = Rows::of(&yard.data().join("machine.sqlite"));
        assert_eq!((before.count("jobs"), before.count("bindings"), before.count("trusted")), (3, 1, 1));
        let jobs = ask(&yard, "job list")["jobs"].clone();
        let job = |name: &str| jobs.as_array().unwrap().iter().find(|job| job["description"] == name).unwrap().clone();
        assert_eq!((&job("heard")["status"], &job("heard")["exitCode"]), (&json!("completed"), &json!(0)));
        assert_eq!((&job("failed")["status"], &job("failed")["exitCode"]), (&json!("failed"), &json!(3)));
        // Its supervisor was killed.
        assert_eq!(job("lost")["status"], "lost");
        let output = yard.run(&format!("job output {}", job("failed")["id"].as_str().unwrap()));
        assert!(output.stdout.contains("to be read"), "{output:?}");
        let after = before.again_in(&yard.data().join("machine.sqlite"));
        for table in ["bindings", "trusted"] {
            assert_eq!(after.rows(table), before.rows(table));
        }
    }
}

#[test]
fn team_of_earlier_release_keeps_members_and_messages() {
    for yard in yards() {
        let before = Rows::of(&yard.data().join("teams.sqlite"));
        assert_eq!((before.count("seats"), before.count("sent")), (3, 5));
        let shown = ask(&yard, "team show crew");
        for member in ["team-lead", "bob", "cid"] {
            assert!(shown.to_string().contains(member), "{shown}");
        }
        let texts = |words: &str| -> Vec<String> {
            let messages = ask(&yard, words)["messages"].clone();
            messages.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
        };
        let unread = ["Message 1, not read yet", "Message 2, not read yet", "Message 3, not read yet"];
        assert_eq!(texts("inbox --as bob --team crew --ack"), unread);
        assert_eq!(texts("inbox --as bob --team crew"), Vec::<String>::new());
        assert_eq!(texts("inbox --as cid --team crew"), ["One for cid"]);
        let acknowledged = texts("inbox --as ana --team crew");
        assert!(!acknowledged.iter().any(|text| text == "Seen and acknowledged"), "{acknowledged:?}");
        let after = before.again_in(&yard.data().join("teams.sqlite"));
        assert_eq!(after.rows("sent"), before.rows("sent"));
    }
}

#[test]
fn bindings_trust_and_todos_of_an_earlier_release_count() {
    for yard in yards() {
        // A person, who is not in a team.
        let chosen = yard.command("where --json").env_remove("TASKYARD_AGENT").output();
        assert_eq!(Ran::from(chosen).json()["list"], "long");
        let todos = ask(&yard, "todo read --as ana");
        assert!(todos.to_string().contains("Doing two"), "{todos}");
        let trust = yard.run("list");
        assert!(!trust.stderr.contains("trust"), "{trust:?}");
    }
}

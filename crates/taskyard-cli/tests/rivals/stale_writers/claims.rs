//! Stale writes that take back a claim.

use serde_json::json;
use taskyard_testkit::Home;

use crate::stale_writers::{findings, home, read, write};

/// Has ana claim a task that a client has just read, and the client write it without knowing. Returns her token.
fn claimed_and_taken_back(home: &Home) -> u64 {
    home.ask("create Parser -d Grammar");
    let mut stale = read(home, "1");
    let token = home.ask("claim 1 --as ana")["token"].as_u64().unwrap();
    stale["activeForm"] = json!("theirs");
    write(home, "1", &stale);
    token
}

#[test]
fn a_claim_that_was_taken_back_is_still_a_claim() {
    let home = home();
    claimed_and_taken_back(&home);
    let refused = home.run("claim 1 --as ben --json");
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert_eq!(refused.json()["reason"], json!("already_claimed"));
    let task = read(&home, "1");
    assert_eq!((&task["owner"], &task["status"]), (&json!("ana"), &json!("in_progress")));
    assert!(findings(&home, "taken_back").is_empty());
}

#[test]
fn nobody_is_handed_a_task_whose_claim_was_taken_back() {
    let home = home();
    claimed_and_taken_back(&home);
    let refused = home.run("claim --next --as ben --json");
    assert_eq!((refused.code, &refused.json()["reason"]), (Some(3), &json!("nothing_ready")), "{refused:?}");
}

#[test]
fn the_holder_of_the_lease_can_go_on_with_its_token() {
    let home = home();
    let token = claimed_and_taken_back(&home);
    let done = home.run(&format!("done 1 --as ana --token {token} --json"));
    assert_eq!(done.code, Some(0), "{done:?}");
    let task = read(&home, "1");
    assert_eq!((&task["owner"], &task["status"]), (&json!("ana"), &json!("completed")));
    assert_eq!(task["activeForm"], json!("theirs"));
}

#[test]
fn a_list_shows_the_claim_that_was_taken_back() {
    let home = home();
    claimed_and_taken_back(&home);
    let listed = home.ask("list");
    assert_eq!(listed["tasks"][0]["owner"], json!("ana"), "{listed}");
    assert!(home.ask("show 1").to_string().contains("token"), "the lease stands");
}

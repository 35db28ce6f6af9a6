//! Changes that are made only to what the caller has read: `ETag`, `If-Match` and `If-None-Match`.

use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::web::served::{Line, Response, Served};

const TASK: &str = "/api/v1/lists/L/tasks/1";

fn etag(response: &Response) -> String {
    response.header("etag").unwrap_or_else(|| panic!("no tag: {response:?}")).to_owned()
}

fn patch(line: &mut Line, tag: &str, body: Value) -> Response {
    line.ask("PATCH", TASK, &[("If-Match", tag)], Some(body))
}

#[test]
fn a_change_over_one_that_was_not_seen_is_refused() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let contract = served.contract();
    let mut line = served.line();
    line.create("One");
    let tag = etag(&line.get(TASK));
    assert!(!tag.starts_with("W/"));
    home.ask("update 1 --subject Theirs");
    let refused = patch(&mut line, &tag, json!({"subject": "Mine"}));
    contract.hold("PATCH", TASK, &refused);
    let error = refused.json()["error"].clone();
    assert_eq!((refused.status, &error["code"]), (412, &json!("not_as_expected")));
    assert_eq!((&error["current"]["subject"], &error["base"]["subject"]), (&json!("Theirs"), &json!("One")));
    for (method, path) in [
        ("POST", format!("{TASK}/start")),
        ("POST", format!("{TASK}/done")),
        ("POST", format!("{TASK}/cancel")),
        ("POST", format!("{TASK}/release")),
        ("POST", format!("{TASK}/dependencies")),
        ("DELETE", TASK.to_owned()),
    ] {
        let body =
            (method == "POST").then(|| if path.ends_with("dependencies") { json!({"on": ["1"]}) } else { json!({}) });
        let refused = line.ask(method, &path, &[("If-Match", &tag)], body);
        contract.hold(method, &path, &refused);
        assert_eq!(refused.status, 412, "{method} {path}: {refused:?}");
    }
    let note = line.ask("POST", &format!("{TASK}/notes"), &[("If-Match", &tag)], Some(json!({"text": "x"})));
    assert_eq!(note.status, 412);
    assert_eq!(home.ask("history")["entries"].as_array().unwrap().len(), 2, "nothing was changed");
    // The refusal has the tag of what is there, and so has the answer to a change.
    let made = patch(&mut line, &etag(&refused), json!({"subject": "Both"}));
    assert_eq!((made.status, made.json()["task"]["subject"].as_str()), (200, Some("Both")));
    assert_eq!(patch(&mut line, &etag(&made), json!({"subject": "Again"})).status, 200);
    assert_eq!(patch(&mut line, "*", json!({"subject": "Whatever"})).status, 200);
    assert_eq!(patch(&mut line, "\"x\"", json!({"subject": "Nothing"})).status, 412);
    let many =
        line.ask("PATCH", "/api/v1/lists/L/tasks", &[("If-Match", &tag)], Some(json!({"ids": ["1"], "owner": "bo"})));
    let claim = line.ask("POST", &format!("{TASK}/claim"), &[("If-Match", &tag)], Some(json!({})));
    for refused in [many, claim] {
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad_input"), "it would count for nothing");
    }
}

#[test]
fn what_the_caller_has_is_not_sent_again() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    let mut line = served.line();
    line.create("One");
    let tag = etag(&line.get(TASK));
    let same = line.ask("GET", TASK, &[("If-None-Match", &tag)], None);
    assert_eq!((same.status, same.body.as_str(), etag(&same)), (304, "", tag.clone()));
    // A lease belongs to the answer and not to the task.
    let token = home.ask("claim 1 --as ana")["token"].clone();
    let changed = line.ask("GET", TASK, &[("If-None-Match", &tag)], None);
    assert_eq!(changed.status, 200);
    let claimed = etag(&changed);
    home.ask(&format!("renew 1 --as ana --ttl 5h --token {token}"));
    assert_eq!(line.ask("GET", TASK, &[("If-None-Match", &claimed)], None).status, 200);
    let made =
        line.ask("PATCH", TASK, &[("If-Match", &claimed), ("Taskyard-Agent", "ana")], Some(json!({"subject": "Two"})));
    assert_eq!(made.status, 200, "the task is as it was: {made:?}");
}

#[test]
fn of_many_with_one_tag_one_makes_its_change() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&home);
    served.line().create("One");
    for round in 0..10 {
        let tag = etag(&served.line().get(TASK));
        let statuses: Vec<u16> = thread::scope(|scope| {
            let change = |number: usize| {
                let subject = format!("{round} {number}");
                patch(&mut served.line(), &tag, json!({ "subject": subject })).status
            };
            let workers: Vec<_> = (0..4).map(|number| scope.spawn(move || change(number))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((count(200), count(412)), (1, 3), "{statuses:?}");
    }
}

//! Half a surrogate pair, which JavaScript may write and Rust strings do not hold: it is a task, and nothing of it is lost.

use std::fs;

use crate::test::Test;

/// A task with halves wherever a text can stand.
const HALVED: &str = r#"{
  "id": "2",
  "subject": "Fix \ud83d",
  "description": "\ude00\ud83d \ud83d😀",
  "activeForm": "Fixing \uD83D",
  "owner": "an\udfff",
  "status": "pending",
  "blocks": [],
  "blockedBy": [],
  "metadata": {
    "\ud83d": "\ud83e",
    "\ud83e": [
      "\udc00"
    ],
    "plain": 1
  },
  "odd\ud83d": {
    "deep": "\ud83d"
  }
}"#;

const FILE: &str = "home/.claude/tasks/project/2.json";

fn text(test: &Test, path: &str) -> String {
    fs::read_to_string(test.path(path)).unwrap()
}

#[test]
fn lone_surrogate_shows_as_replacement_and_is_no_error() {
    let test = Test::new().list("1 pending").task_file("2.json", HALVED);
    let test =
        test.run("list").run("show 2").run("show 2 --json").run("ready --json").run("doctor").run("doctor --fix --yes");
    assert_eq!(text(&test, FILE), HALVED);
    test.snapshot();
}

#[test]
fn it_is_kept_to_the_letter_by_a_change_of_something_else() {
    let test = Test::new().list("1 pending").task_file("2.json", HALVED).quietly("update 2 --meta plain=2");
    assert_eq!(text(&test, FILE), HALVED.replace(r#""plain": 1"#, r#""plain": 2"#));
    let test =
        test.quietly("depend 2 --on 1").quietly("undepend 2 --on 1").quietly("start 2 --force").quietly("release 2");
    for kept in
        [r"Fix \ud83d", r"\ude00\ud83d", r"Fixing \uD83D", r#""\ud83d": "\ud83e""#, r#""\udc00""#, r#"odd\ud83d"#]
    {
        assert!(text(&test, FILE).contains(kept), "{kept}: {}", text(&test, FILE));
    }
    let test = test.quietly("update 2 --subject Fixed");
    assert!(text(&test, FILE).contains(r#""subject": "Fixed""#) && text(&test, FILE).contains(r"Fixing \uD83D"));
}

#[test]
fn in_client_rules_it_is_kept_as_the_client_writes_it() {
    let test = Test::new().task_file("2.json", HALVED).quietly("update 2 --meta plain=2 --rules client");
    let after = text(&test, FILE);
    assert!(
        after.contains(r#""subject": "Fix \ud83d""#) && after.contains(r#""activeForm": "Fixing \ud83d""#),
        "{after}"
    );
    assert!(!after.contains("odd"), "the client drops what it does not know: {after}");
}

#[test]
fn it_comes_back_to_the_letter() {
    let test =
        Test::new().list("1 pending").task_file("2.json", HALVED).quietly("update 2 --subject x").quietly("undo");
    assert_eq!(text(&test, FILE), HALVED);
    let test = test.quietly("delete 2").quietly("undo");
    assert_eq!(text(&test, FILE), HALVED);
    let test = test.quietly("list").meanwhile(|place| fs::remove_file(place.join(FILE)).unwrap()).quietly("restore 2");
    assert_eq!(text(&test, FILE), HALVED);
}

#[test]
fn it_moves_with_its_task() {
    let test = Test::new().list_named("other", "1 pending").task_file("2.json", HALVED).quietly("merge project other");
    let moved = text(&test, "home/.claude/tasks/other/2.json");
    assert_eq!(moved, HALVED);
    let huge = "home/.claude/tasks/project/1794754403000000000.json";
    let test = test.file(huge, HALVED).quietly("doctor --fix --yes");
    assert_eq!(text(&test, "home/.claude/tasks/project/3.json"), HALVED.replace(r#""id": "2""#, r#""id": "3""#));
}

#[test]
fn an_export_keeps_it_or_says_that_it_does_not() {
    let test =
        Test::new().task_file("2.json", HALVED).run("export out --to native").run("export out.json --to document");
    assert_eq!(text(&test, "home/project/out/2.json"), HALVED);
    test.run("import out --from native").run("list --json").snapshot();
}

#[test]
fn an_import_takes_it_in_and_says_what_became_of_it() {
    let test = Test::new()
        .file("home/project/issues.jsonl", "{\"id\":\"bd-1\",\"title\":\"Fix \\ud83d\",\"status\":\"open\"}\n")
        .file(
            "home/project/tasks.json",
            r#"{"version":2,"tasks":[{"id":"a","title":"Fix \ud83d","status":"pending"}]}"#,
        )
        .file("home/project/todos.json", r#"[{"content":"Fix \ud83d","status":"pending","activeForm":"x"}]"#)
        .file("home/project/tasks.jsonl", HALVED.replace('\n', " "));
    test.run("import issues.jsonl --from beads")
        .run("import tasks.json --from document")
        .run("import todos.json --from todos")
        .run("import tasks.jsonl --from jsonl")
        .run("list")
        .snapshot();
}

#[test]
fn a_document_keeps_it_in_every_task_that_is_not_changed_there() {
    let document = r#"{"version":2,"tasks":[
        {"id":"a","description":"Fix \ud83d","status":"pending","note\ud83d":"\udc00"},
        {"id":"b","description":"Other \ud83e","status":"pending"}]}"#;
    let test = Test::new().file("home/project/tasks.json", document);
    let test = test.run("--store document:tasks.json list").run("--store document:tasks.json doctor");
    let test = test.quietly("--store document:tasks.json update a --priority high");
    let test =
        test.quietly("--store document:tasks.json create another").quietly("--store document:tasks.json delete b");
    let after = text(&test, "home/project/tasks.json");
    assert!(after.contains(r#""Fix \ud83d""#) && after.contains(r#""note\ud83d": "\udc00""#), "{after}");
    assert!(!after.contains(r"\ud83e"), "{after}");
    test.snapshot();
}

#[test]
fn a_teaching_folder_keeps_it() {
    let task = r#"{"id":"task_1_0000","subject":"Fix \ud83d","description":"\udc00","status":"pending","owner":null,"blockedBy":[]}"#;
    let test = Test::new().file("home/project/.tasks/task_1_0000.json", task);
    let test = test.run("--store teaching:.tasks list").run("--store teaching:.tasks doctor");
    let test = test.quietly("--store teaching:.tasks update task_1_0000 --description plain");
    let after = text(&test, "home/project/.tasks/task_1_0000.json");
    assert!(after.contains(r#""subject": "Fix \ud83d""#) && after.contains(r#""description": "plain""#), "{after}");
    test.snapshot();
}

#[test]
fn teams_and_inboxes_are_read_with_it_and_keep_it() {
    let (config, inbox) = ("home/.claude/teams/alpha/config.json", "home/.claude/teams/alpha/inboxes/bob.json");
    let messages = r#"[{"from":"team-lead","text":"Look \ud83d","timestamp":"2026-01-01T00:00:00Z","read":false,"odd\ud83d":1},
        {"from":"team-lead","text":"And \udc00","timestamp":"2026-01-01T00:00:01Z","read":false}]"#;
    let test = Test::new().quietly("team create alpha").quietly("team join alpha --as bob").meanwhile(|place| {
        let team = fs::read_to_string(place.join(config)).unwrap();
        fs::write(place.join(config), team.replacen('{', "{\"odd\": \"\\ud83d\",", 1)).unwrap();
    });
    let test = test.file(inbox, messages).run("doctor").run("inbox --as bob").quietly("send --to bob hello");
    for kept in [r"Look \ud83d", r"And \udc00", r"odd\ud83d", "hello"] {
        assert!(text(&test, inbox).contains(kept), "{kept}: {}", text(&test, inbox));
    }
    let test = test.quietly("team join alpha --as eve");
    assert!(text(&test, config).contains(r#""odd": "\ud83d""#) && text(&test, config).contains("eve"));
    let test = test.quietly("inbox --as bob --ack --rules client --client-version 2.1.34");
    assert!(text(&test, inbox).contains(r"Look \ud83d"), "{}", text(&test, inbox));
    test.run("doctor").snapshot();
}

use crate::test::Test;

#[test]
fn notes_are_dated_signed_and_kept_in_order() {
    Test::new()
        .list("1 pending Parser")
        .run("note 1 'numbers are from the first run' --as ana")
        .stdin("two\nlines\n")
        .run("note 1 - --as ben")
        .run("note 1 and words without quotes --as ana --json")
        .run("show 1")
        .run("history 1")
        .run("search quotes")
        .run("export --to markdown")
        .snapshot();
}

#[test]
fn a_note_needs_a_task_and_a_text() {
    Test::new()
        .list("1 pending")
        .run("note 7 hello")
        .run("note 1")
        .run("note 1 ' '")
        .run("note 1 -- --verbose is no flag here")
        .snapshot();
}

#[test]
fn anybody_may_note_on_a_task_that_somebody_has() {
    Test::new()
        .list("1 pending; 2 completed")
        .quietly("claim 1 --as ana")
        .run("update 1 --subject mine --as ben")
        .run("note 1 'mind the encoding' --as ben")
        .run("note 2 'worked for me' --as ben")
        .run("done 1 --as ana")
        .snapshot();
}

#[test]
fn owner_author_or_commenter_is_notified_once() {
    Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("team join alpha --as eve")
        .quietly("create Parser --as team-lead --list alpha")
        .quietly("claim 1 --as bob --list alpha")
        .run("note 1 'first look' --as eve --list alpha")
        .run("note 1 answered --as bob --json --list alpha")
        // An agent that is no member can note, too.
        .run("note 1 'from outside' --as guest --list alpha")
        .run("inbox --as bob")
        .run("inbox --as eve")
        .snapshot();
}

#[test]
fn undo_takes_a_note_back() {
    Test::new().list("1 pending").quietly("note 1 one").quietly("note 1 two").run("undo").run("show 1").snapshot();
}

#[test]
fn watch_tells_a_note_with_the_task() {
    let mut test = Test::new().list("1 pending").quietly("note 1 'slow disk' --as ana");
    let entries = test.json("history 1 --json");
    let entry = entries["entries"].as_array().unwrap().last().unwrap();
    assert_eq!(entry["after"]["metadata"]["notes"][0]["text"], "slow disk");
    assert_eq!(entry["before"]["metadata"]["notes"], serde_json::Value::Null);
}

//! Templates.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::test::Test;

const PLACE: &str = "home/.config/taskyard/templates";

const RELEASE: &str = "\
# release

- Release {version}
  priority: high
  due: today+4d
  - Build
    estimate: 2h
  - Test after: Build
    tags: v{version}
";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

fn task(home: &Home, id: &str) -> Value {
    home.ask(&format!("show {id}"))["task"].clone()
}

#[test]
fn tasks_are_saved_as_a_template_and_made_again() {
    let home = home();
    home.ask("create Elsewhere");
    home.ask("create Release 2.0 --priority high --owner ana --kind launch --meta verify=\"tests\"");
    home.ask("create Build --parent 2 --estimate 2h --blocked-by 1");
    home.ask("create Test --parent 2 --blocked-by 3 --tag v2.0 -d All:2.0");
    home.ask("done 1 3");
    home.ask("note 3 slow");
    let saved = home.ask("template save release 2-4 version=2.0");
    assert_eq!((&saved["leftOut"], &saved["variables"]), (&json!([["3", "1"]]), &json!(["version"])));

    let made = home.ask("create --template release version=2.1");
    let [whole, build, test] = ["5", "6", "7"].map(|id| task(&home, id));
    assert_eq!(made["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&whole["subject"], &whole["owner"], &whole["status"]),
        (&json!("Release 2.1"), &Value::Null, &json!("pending"))
    );
    assert_eq!(whole["metadata"], json!({"priority": "high", "kind": "launch", "verify": "tests"}));
    assert_eq!((&build["metadata"], &build["blockedBy"]), (&json!({"parent": "5", "estimate": 7200}), &json!([])));
    assert_eq!((&test["blockedBy"], &test["description"]), (&json!(["6"]), &json!("All:2.1")));
    assert_eq!(test["metadata"], json!({"parent": "5", "tags": ["v2.1"]}));

    home.ask("undo");
    assert_eq!(home.ask("list --all")["tasks"].as_array().unwrap().len(), 4);
}

#[test]
fn template_says_what_it_needs_and_what_it_has_not() {
    Test::new()
        .file(&format!("{PLACE}/release.md"), RELEASE)
        .run("create --template release")
        .run("create --template release version=2.1 date=fri")
        .run("create --template release 2.1")
        .run("create --template release version=1 version=2")
        .run("create --template relase version=2.1")
        .run("create --template ../release")
        .run("create --template release version=2.1 -p high")
        .run("list")
        .snapshot();
}

#[test]
fn template_is_drawn_before_it_is_made() {
    Test::new()
        .file(&format!("{PLACE}/release.md"), RELEASE)
        .run("add --template release version=2.1 --dry-run")
        .run("add --template release version=2.1")
        .run("list")
        .snapshot();
}

#[test]
fn file_that_is_no_plan_is_refused_with_its_line() {
    Test::new()
        .file(&format!("{PLACE}/torn.md"), "- A\n- B after: 7\n")
        .file(&format!("{PLACE}/late.md"), "- A\n  due: {when}\n")
        .file(&format!("{PLACE}/circle.md"), "- A after: B\n- B after: A\n")
        .run("create --template torn")
        .run("create --template late when=someday")
        .run("create --template circle --json")
        .run("list")
        .snapshot();
}

#[test]
fn templates_are_listed_shown_and_removed() {
    Test::new()
        .run("template list")
        .list("1 pending \"Release 2.0\"; 2 pending \"Build\" <- 1")
        .run("template save release 1,2 version=2.0 --dry-run")
        .run("template save release 1-2 version=2.0")
        .run("template save release 1-2")
        .run("template save release 1-2 --replace version=9.9")
        .run("template save other 7")
        .run("template save other --where 'Build'")
        .run("template list")
        .run("template show release")
        .run("template show release --json")
        .run("template list --json")
        .run("template save one 1 --dry-run --json")
        .run("template remove other")
        .run("template remove other")
        .run("template remove release --json")
        .snapshot();
}

#[test]
fn template_with_a_rule_comes_again_with_its_parts() {
    let home = home();
    let place = home.path().join(".config/taskyard/templates");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("review.md"), "- Review {what}\n  - Read\n  - Write after: Read\n").unwrap();
    fs::write(place.join("two.md"), "- A\n- B\n").unwrap();
    home.ask("create --every mon --template review what=books");
    home.ask("done 1-3");
    let next = task(&home, "6");
    assert_eq!((&next["blockedBy"], &next["metadata"]["parent"]), (&json!(["5"]), &json!("4")));
    assert_eq!(home.run("create --every mon --template two").code, Some(2));
}

#[test]
fn template_that_others_can_write_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let open = |place: &std::path::Path| {
        let path = place.join(PLACE).join("release.md");
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    };
    Test::new()
        .file(&format!("{PLACE}/release.md"), RELEASE)
        .meanwhile(open)
        .run("create --template release version=2.1")
        .run("template list")
        .snapshot();
}

//! Mistakes that people make, and what they are told to do.

use crate::test::Test;

#[test]
fn flag_of_another_program_names_ours() {
    Test::new()
        .list("1 pending")
        .run("update 1 --name x")
        .run("update 1 --assignee ana --json")
        .run("create x --label db")
        .run("list --frobnicate")
        .run("update 1 --priorty high")
        .snapshot();
}

#[test]
fn title_in_the_place_of_a_number_names_the_task() {
    Test::new()
        .list("1 pending 'Login form'; 19 pending 'Payment form'; 20 completed 'Payment page'")
        .run("done Payment form")
        .run("done 'Payment form' --json")
        .run("show payment")
        .run("start zebra")
        .snapshot();
}

#[test]
fn note_before_its_task_is_turned_round() {
    Test::new().list("3 pending").run("note 'it rains' 3").run("note it rains 3").snapshot();
}

#[test]
fn import_without_a_format_names_the_formats() {
    Test::new()
        .file("home/project/f.json", r#"{"tasks":[{"id":1,"title":"a","status":"pending"}]}"#)
        .file("home/project/notes.txt", "nothing")
        .run("import f.json")
        .run("import notes.txt")
        .snapshot();
}

#[test]
fn file_of_another_format_is_refused_and_named() {
    Test::new()
        .file(
            "home/project/f.json",
            r#"[{"id":"1","subject":"a","description":"b","status":"pending","blocks":[],"blockedBy":[]}]"#,
        )
        .file("home/project/plan.md", "# Plan\n\nNo task at all.\n")
        .file("home/project/page/readme.md", "# Hello\n")
        .run("import f.json --from taskwarrior")
        .run("import f.json --from beads --json")
        .run("import plan.md --from markdown")
        .run("import page --from backlog")
        .run("import page --from native")
        .run("list --json")
        .snapshot();
}

#[test]
fn circle_in_a_batch_names_its_lines() {
    Test::new()
        .file("home/project/plan.md", "- Build after: Ship\n- Test after: Build\n\n- Ship after: Test\n")
        .run("create --batch plan.md")
        .run("create --batch plan.md --dry-run --json")
        .snapshot();
}

#[test]
fn bad_configuration_leads_to_its_page() {
    Test::new().file("home/project/taskyard.toml", "[claims\n").run("list").snapshot();
    let mut test = Test::new();
    for topic in ["query", "dates", "config", "lists", "agents", "options"] {
        let shown = test.output_of(&format!("help {topic}"));
        assert!(shown.status.success() && shown.stdout.len() > 500, "{topic}");
    }
    let page = test.output_of("man query").stdout;
    assert!(String::from_utf8(page).unwrap().starts_with(".TH taskyard-query 7"));
    let test = test.quietly("man --out pages");
    assert!(test.path("home/project/pages/taskyard-dates.7").exists());
}

use serde_json::json;

use crate::test::Test;

const LIST: &str = "1 completed 'Design it'; 2 in_progress (ana) 'Write, test' <- 1; 3 pending '=1+1' <- 2,1";

#[test]
fn what_is_for_people_is_printed_and_says_what_it_leaves_out() {
    Test::new()
        .list(LIST)
        .run("export --to markdown")
        .run("export --to csv")
        .run("export --to mermaid")
        .run("export --to jsonl")
        .snapshot();
}

#[test]
fn a_folder_needs_a_place_and_an_empty_one() {
    Test::new()
        .list(LIST)
        .run("export --to native")
        .run("export --to native out")
        .run("export --to native out")
        .run("export --to csv out")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn title_cannot_steer_terminal_and_reaches_pipe_unchanged() {
    Test::new()
        .quietly("create 'Red \u{1b}[31mtitle'")
        .on_terminal(80, "export --to markdown", "")
        .run("export --to jsonl")
        .snapshot();
}

#[test]
fn native_files_are_what_the_list_holds() {
    let test = Test::new().list(LIST).quietly("export --to native out");
    for id in 1..=3 {
        let here = std::fs::read(test.path(&format!("home/.claude/tasks/project/{id}.json"))).unwrap();
        let there = std::fs::read(test.path(&format!("home/project/out/{id}.json"))).unwrap();
        let [here, there]: [serde_json::Value; 2] = [here, there].map(|bytes| serde_json::from_slice(&bytes).unwrap());
        assert_eq!(here, there);
    }
}

#[test]
fn programs_get_the_text_and_the_losses() {
    let mut test = Test::new().list(LIST);
    let answer = test.json("export --to markdown --json");
    assert_eq!((&answer["count"], &answer["path"]), (&json!(3), &json!(null)));
    assert_eq!(answer["lost"], json!([]));
    assert!(answer["text"].as_str().unwrap().starts_with("- [x] #1 Design it\n"));
}

#[test]
fn a_checklist_comes_back_with_its_edges() {
    let mut test = Test::new().list(LIST).quietly("export --to markdown list.md");
    test.json("import list.md --from markdown --list copy --json");
    let mut of = |id: u8| test.json(&format!("show {id} --list copy --json"))["task"].clone();
    assert_eq!(of(3)["blockedBy"], json!(["2", "1"]));
    assert_eq!((&of(2)["status"], &of(1)["status"]), (&json!("in_progress"), &json!("completed")));
}

#[test]
fn ids_that_cannot_name_a_file_are_told_and_no_task_is_lost() {
    let task = |id: &str, on: &str| {
        format!(r#"{{"id":"{id}","description":"{id}","status":"pending","dependencies":[{on}]}}"#)
    };
    let tasks = [task("a/b", ""), task("a-b", ""), task("c", "\"a/b\"")].join(",");
    let mut test = Test::new().file("home/project/t.json", format!(r#"{{"tasks":[{tasks}],"version":2}}"#));
    let report = test.json("export --to native out --store document:t.json --json");
    assert_eq!((&report["count"], report["lost"].as_array().unwrap().len()), (&serde_json::json!(3), 1), "{report}");
    let imported = test.json("import out --from native --json");
    assert_eq!((&imported["counts"]["created"], &imported["lost"]), (&serde_json::json!(3), &serde_json::json!([])));
}

#[test]
fn only_what_a_query_chooses_is_written() {
    Test::new()
        .list("1 pending one; 2 completed two; 3 pending three")
        .run("export --to markdown --where status:pending")
        .run("export --to csv --where 'not status:pending' --json")
        .run("export --to csv --where 'sttus:pending'")
        .run("export --to csv tag:db")
        .run("export --to csv ./tag:db")
        .snapshot();
}

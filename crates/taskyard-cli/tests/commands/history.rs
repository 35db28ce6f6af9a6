use crate::test::Test;

#[test]
fn the_journal_tells_who_did_what() {
    Test::new()
        .quietly("create one --as ana")
        .quietly("create two --blocked-by 1 --as ana")
        .quietly("start 1 --as ben")
        .quietly("update 1 --subject 'uno' --owner ben --as ben")
        .run("history")
        .run("history 2")
        .run("history --since 3")
        .run("history -n 1")
        .run("history 1 --since 2 --json")
        .run("history 1 --since 99")
        .run("history 999")
        .run("history 999 --json")
        .quietly("delete 2")
        .run("history 2 --since 99")
        .snapshot();
}

#[test]
fn a_list_without_a_past_says_so() {
    Test::new().run("history").run("history --json").run("history --since x").snapshot();
}

#[test]
fn a_revision_of_many_tasks_is_one_line_and_verbose_lists_them() {
    let checklist = "- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n- [ ] e\n";
    Test::new()
        .quietly("create one")
        .file("home/project/list.md", checklist)
        .quietly("import list.md --from markdown")
        .quietly("create last --blocked-by 2,3,4")
        .quietly("clear")
        .run("history")
        .run("history --verbose --since 3")
        .run("history 3")
        .on_terminal(60, "history --since 3", "")
        .run("undo")
        .run("undo 3 --force")
        .run("undo 2 --verbose")
        .run("history --since 4")
        .snapshot();
}

#[test]
fn history_since_a_time_takes_the_latest_that_has_passed() {
    Test::new()
        .quietly("create one")
        .quietly("start 1")
        .run("history --since 1h")
        .run("history --since yesterday")
        .run("history --since r1")
        .run("history --since 2100-01-01")
        .run("history --since soon")
        .snapshot();
}

use crate::test::Test;

#[test]
fn any_field_can_be_changed() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending <- 2; 4 pending")
        .run(
            "update 3 --subject New -d Text --active-form Doing --owner ana --priority low --tag a,b --parent 4 \
             --add-blocked-by 1 --remove-blocked-by 2 --meta 'x=[1]'",
        )
        .run("show 3 --json")
        .snapshot();
}

#[test]
fn a_null_takes_metadata_away() {
    Test::new()
        .list("1 pending")
        .quietly("update 1 --tag a --kind b")
        .run("update 1 --meta tags=null --json")
        .snapshot();
}

#[test]
fn an_owner_can_be_taken_away() {
    Test::new()
        .list("1 pending (ana)")
        .run("update 1 --no-owner --json")
        .run("update 1 --owner a --no-owner")
        .snapshot();
}

#[test]
fn nothing_to_change_is_told_apart_from_nothing_given() {
    Test::new().list("1 pending").run("update 1 --status pending").run("update 1").run("update 1 --json").snapshot();
}

#[test]
fn a_task_that_is_not_there_is_not_found() {
    Test::new().run("update 1 --subject x").run("update 1 --subject x --json").snapshot();
}

#[test]
fn a_parent_is_another_task_that_is_there_and_closes_no_circle() {
    Test::new()
        .list("1 pending; 2 pending; 3 pending")
        .quietly("update 2 --parent 1")
        .run("update 1 --parent 1")
        .run("update 1 --parent 1 --json")
        .run("update 1 --parent 9 --json")
        .run("create x --parent 9")
        .run("update 1 --parent 2")
        .run("update 2 --add-blocked-by 1 --json")
        .run("depend 2 --on 1")
        .run("create x --parent 1 --blocked-by 1")
        .run("depend 1 --on 2")
        .run("update 1 --meta parent='\"1\"' --rules client")
        .snapshot();
}

#[test]
fn tags_are_added_removed_set_and_the_change_is_shown() {
    Test::new()
        .list("1 pending; 2 pending")
        .run("update 1 --tag a --tag b")
        .run("update 1 --tag c --untag a")
        .run("update 1 --tag c")
        .run("update 1 --tags x,y --json")
        .run("update 1 --tags ''")
        .run("update 1 --priority high --owner ana --subject 'A new title' --add-blocked-by 2")
        .run("update 1 --priority low --no-owner --json")
        .snapshot();
}

#[test]
fn several_tasks_change_in_one_revision_or_none_does() {
    Test::new()
        .list("1 pending; 2 pending; 3 completed; 4 pending")
        .run("update 1-2 4 --priority high --tag db")
        .run("history --json --since 1")
        .run("update 1 9 --tag late")
        .run("update 1 9 2 --tag late --keep-going")
        .run("update --where 'tag:late -id:1' --untag late --json")
        .run("update --where tag:nothing --tag x")
        .run("update --where 'tag:' --tag x")
        .run("update 1 --where ready --tag x")
        .run("update --tag x")
        .snapshot();
}

#[test]
fn a_rehearsal_judges_as_the_change_would_and_changes_nothing() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 in_progress (ana); 4 completed")
        .run("start 1-2 --dry-run")
        .run("start 1-2 --dry-run --keep-going")
        .run("done 1 3 --dry-run --json")
        .run("cancel 1 --dry-run")
        .run("reopen 4 --dry-run")
        .run("update 1,4 --priority high --dry-run")
        .run("claim 1 --dry-run --as ben")
        .run("claim --next --dry-run --as ben")
        .run("release --where owner:ana --dry-run")
        .run("release --agent ana --dry-run")
        .run("depend 1 --on 2,3 --dry-run")
        .run("depend 4 --on 1,3 --dry-run")
        .run("work --where pending --dry-run -- true")
        .run("export --to csv --where done --dry-run")
        .run("list --json")
        .run("history -n 1")
        .snapshot();
}

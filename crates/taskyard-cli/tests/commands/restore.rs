use std::path::Path;

use crate::test::Test;

#[test]
fn what_was_deleted_comes_back_with_its_edges() {
    Test::new()
        .list("1 pending; 2 pending <- 1; 3 pending <- 2")
        .quietly("delete 2 --as ana")
        .run("restore")
        .run("restore 2")
        .run("restore --deleted")
        .run("restore --deleted --json")
        .run("restore 2 --deleted")
        .run("list --json")
        .run("restore --deleted")
        .snapshot();
}

#[test]
fn what_another_program_removed_comes_back() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .quietly("list")
        .meanwhile(|place| std::fs::remove_dir_all(place.join("home/.claude/tasks/project")).unwrap())
        .run("list")
        .run("restore")
        .run("restore --all")
        .run("list")
        .snapshot();
}

#[test]
fn open_client_is_warned_it_clears_completed_lists() {
    Test::new()
        .list("1 completed; 2 completed")
        .quietly("list")
        .meanwhile(remove_every_task)
        .quietly("list")
        .run("restore 1")
        .run("restore --all --json")
        .quietly("reopen 1")
        .meanwhile(|place| std::fs::remove_file(place.join("home/.claude/tasks/project/2.json")).unwrap())
        .quietly("list")
        .run("restore 2")
        .snapshot();
}

#[test]
fn a_task_that_is_there_needs_no_restoring() {
    Test::new()
        .list("1 pending")
        .run("restore 1")
        .run("restore 9 --json")
        .run("restore --all")
        .run("restore 1 --all")
        .snapshot();
}

#[test]
fn a_number_that_came_back_is_not_given_out_twice() {
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("delete 2")
        .quietly("create three")
        .run("restore 2 --deleted")
        .run("list")
        .snapshot();
}

#[test]
fn what_an_undo_of_a_restore_took_away_is_named() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .quietly("list")
        .meanwhile(remove_every_task)
        .quietly("restore --all")
        .quietly("undo --anyone --as ana")
        .run("restore")
        .run("restore --json")
        .run("restore --all")
        .snapshot();
}

#[test]
fn a_missing_task_can_be_deleted_on_purpose() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .quietly("list")
        .meanwhile(|place| std::fs::remove_file(place.join("home/.claude/tasks/project/1.json")).unwrap())
        .run("restore")
        .run("delete 1 --as ana")
        .run("restore")
        .run("history 1 --as ana")
        .run("restore 1")
        .run("undo --anyone")
        .run("restore")
        .run("delete 1 2 --json")
        .snapshot();
}

#[test]
fn a_list_that_is_gone_can_be_cleared_on_purpose() {
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("list")
        .meanwhile(|place| std::fs::remove_dir_all(place.join("home/.claude/tasks/project")).unwrap())
        .run("clear")
        .run("restore --all")
        .run("undo")
        .run("clear --json")
        .run("restore --all --deleted")
        .snapshot();
}

#[test]
fn a_number_that_another_task_has_now_is_not_restored() {
    let other = r#"{"id":"1","subject":"Another","description":"","status":"pending","blocks":[],"blockedBy":[]}"#;
    Test::new()
        .list("1 pending; 2 pending")
        .quietly("list")
        .meanwhile(remove_every_task)
        .quietly("list")
        .meanwhile(|place| std::fs::write(place.join("home/.claude/tasks/project/1.json"), other).unwrap())
        .run("restore 1")
        .run("restore --all")
        .run("list")
        .snapshot();
}

fn remove_every_task(place: &Path) {
    let list = place.join("home/.claude/tasks/project");
    for entry in std::fs::read_dir(list).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

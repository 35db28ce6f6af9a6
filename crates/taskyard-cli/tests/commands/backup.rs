use std::fs;
use std::path::Path;

use crate::test::Test;

#[test]
fn a_backup_is_made_once_under_a_name_and_says_what_came_back() {
    Test::new()
        .list("1 pending; 2 pending <- 1")
        .quietly("list")
        .quietly("backup ../b")
        .run("backup ../b")
        .run("backup ../b.zip")
        .run("restore --from ../b")
        .run("restore --from ../b 1")
        .run("restore --dry-run")
        .meanwhile(lose_everything)
        .run("restore --from ../b --dry-run")
        .run("list")
        .run("restore --from ../b")
        .run("list")
        .run("history")
        .quietly("update 1 --subject Newer")
        .quietly("delete 2")
        .run("restore --from ../b")
        .run("restore --from ../b --deleted --json")
        .snapshot();
}

#[test]
fn what_is_no_backup_brings_nothing_back() {
    Test::new()
        .file("home/letter", "dear")
        .run("restore --from ../letter")
        .run("restore --from ../nothing --json")
        .run("backup ../b --store memory:")
        .snapshot();
}

fn lose_everything(place: &Path) {
    fs::remove_dir_all(place.join("home/.claude")).unwrap();
    fs::remove_dir_all(place.join("data")).unwrap();
    fs::create_dir(place.join("data")).unwrap();
}

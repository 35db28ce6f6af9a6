//! A data directory at rest that was copied with `cp` is whole; with the lists on the same path, so is everything.

use std::fs;

use serde_json::json;
use taskyard_testkit::{Program, leftovers};

use crate::backup::vault::{Vault, home, must_be_whole};

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let copied = Program::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.success());
}

#[test]
fn copied_data_directory_restores_everything_up_to_the_copy() {
    let (home, vault) = (home(), Vault::new());
    for words in ["create A", "create B --blocked-by 1", "claim 1 --as ana", "note 1 words", "create X --list M"] {
        let ran = home.run(words);
        assert!(ran.code == Some(0) || words.starts_with("note"), "{ran:?}");
    }
    let history = home.ask("history");
    copy(&home.data(), &vault.path("data"));
    copy(&home.tasks(), &vault.path("tasks"));
    // The disk is lost; both come back to the same paths, as on a new machine.
    fs::remove_dir_all(home.data()).unwrap();
    fs::remove_dir_all(home.tasks()).unwrap();
    copy(&vault.path("data"), &home.data());
    copy(&vault.path("tasks"), &home.tasks());
    assert_eq!(home.ask("history"), history);
    assert_eq!(home.ask("show 1")["task"]["owner"], json!("ana"));
    must_be_whole(&home, "L");
    must_be_whole(&home, "M");
    assert_eq!(home.ask("create Next")["task"]["id"], json!("3"));
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
}

#[test]
fn restored_data_directory_restores_the_lists() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    home.ask("create B --blocked-by 1");
    let present = home.present();
    copy(&home.data(), &vault.path("data"));
    fs::remove_dir_all(home.data()).unwrap();
    fs::remove_dir_all(home.tasks()).unwrap();
    copy(&vault.path("data"), &home.data());
    let missing = home.ask("restore");
    assert_eq!(missing["restorable"].as_array().unwrap().len(), 2, "{missing}");
    home.ask("restore --all");
    assert_eq!(home.present(), present);
    must_be_whole(&home, "L");
}

#[test]
fn data_directory_copied_to_other_paths_needs_a_backup() {
    let (home, vault, other) = (home(), Vault::new(), self::home());
    home.ask("create A");
    home.ask(&format!("backup {}", vault.path("b").display()));
    copy(&home.data(), &other.data());
    fs::create_dir_all(other.tasks().parent().unwrap()).unwrap();
    copy(&home.tasks(), &other.tasks());
    // The tasks are there; what we remember is found by the path that they had.
    assert_eq!(other.present(), home.present());
    assert_eq!(other.ask("history")["entries"][0]["op"], json!("created_elsewhere"));
    let back = crate::backup::vault::brought_back(&vault.path("b"));
    assert_eq!(back.ask("history")["entries"][0]["op"], json!("create"));
}

//! Documents and teaching folders are backed up and brought back like the client's own lists.

use std::fs;

use serde_json::json;

use crate::backup::vault::{Vault, home};

#[test]
fn document_backup_restores_history_and_single_tasks() {
    check("document", "tasks.json");
}

#[test]
fn teaching_folder_backup_restores_history_and_tasks() {
    check("teaching", ".tasks");
}

fn check(scheme: &str, name: &str) {
    let (home, vault) = (home(), Vault::new());
    let place = vault.path("project").join(name);
    fs::create_dir(vault.path("project")).unwrap();
    let store = format!("--store {scheme}:{}", place.display());
    for words in ["create A", "create B --priority high", "create C"] {
        home.ask(&format!("{words} {store}"));
    }
    let tasks = home.ask(&format!("list --all {store}"));
    let history = home.ask(&format!("history {store}"));
    let backup = vault.path("b.tar");
    home.ask(&format!("backup {} {store}", backup.display()));
    let from = format!("restore --from {} {store}", backup.display());

    // Nothing is left but the backup.
    let bytes = fs::read(&place).ok();
    if place.is_dir() {
        fs::remove_dir_all(&place).unwrap()
    } else {
        fs::remove_file(&place).unwrap()
    }
    fs::remove_dir_all(home.data()).unwrap();
    let back = home.ask(&from);
    assert_eq!((&back["lists"][0]["whole"], &back["lists"][0]["history"]), (&json!(true), &json!(true)), "{back}");
    assert_eq!(home.ask(&format!("list --all {store}"))["tasks"], tasks["tasks"]);
    assert_eq!(home.ask(&format!("history {store}"))["entries"], history["entries"]);
    assert_eq!(fs::read(&place).ok(), bytes);

    // One task is gone without anybody having meant it.
    let id = tasks["tasks"][1]["id"].as_str().unwrap().to_owned();
    match scheme {
        "document" => {
            let mut document: serde_json::Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
            document["tasks"].as_array_mut().unwrap().retain(|task| task["id"] != json!(id));
            fs::write(&place, serde_json::to_vec_pretty(&document).unwrap()).unwrap();
        }
        _ => {
            let is_it = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy() == format!("{id}.json");
            let files = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path());
            files.filter(is_it).for_each(|path| fs::remove_file(path).unwrap());
        }
    }
    assert_eq!(home.ask(&format!("list --all {store}"))["tasks"].as_array().unwrap().len(), 2);
    let back = home.ask(&from);
    assert_eq!((&back["lists"][0]["restored"], &back["lists"][0]["same"]), (&json!([id]), &json!(2)), "{back}");
    let now = home.ask(&format!("show {id} {store}"));
    assert_eq!(now["task"]["subject"], tasks["tasks"][1]["subject"]);

    // What a store of another kind keeps cannot be brought back to it.
    let ran = home.run(&format!("restore --from {} --json", backup.display()));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(2), &json!("wrong_store")), "{ran:?}");
}

//! A backup that is not what was written brings nothing back, and says what is wrong with it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use taskyard_testkit::{Home, Program, Ran};

use crate::backup::vault::{Vault, home};

fn small_home() -> Home {
    let home = home();
    home.ask("create A");
    home.ask("create B --blocked-by 1");
    home
}

/// Tries to bring a backup back to a home in which nothing is, which must fail and leave nothing.
fn refused(path: &Path) -> Ran {
    let back = home();
    let ran = back.run(&format!("restore --from {} --json", path.display()));
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(!back.tasks().exists(), "something was brought back: {ran:?}");
    assert!(!back.data().join("lists").exists(), "something was brought back: {ran:?}");
    ran
}

fn every_file(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { every_file(&path, found) } else { found.push(path) }
    }
}

#[test]
fn a_folder_in_which_any_file_changed_or_is_missing_is_damaged() {
    let (home, vault) = (small_home(), Vault::new());
    let path = vault.path("b");
    home.ask(&format!("backup {}", path.display()));
    let mut files = Vec::new();
    every_file(&path, &mut files);
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let was = fs::read(&file).unwrap();
        let mut changed = was.clone();
        match changed.last_mut() {
            Some(last) => *last ^= 1,
            None => changed.push(b'x'),
        }
        fs::write(&file, &changed).unwrap();
        let ran = refused(&path);
        assert_eq!(ran.json()["error"]["code"], json!("backup_damaged"), "{}: {ran:?}", file.display());
        fs::remove_file(&file).unwrap();
        let code = refused(&path).json()["error"]["code"].clone();
        let wanted = if file.ends_with("MANIFEST.json") { "not_a_backup" } else { "backup_damaged" };
        assert_eq!(code, json!(wanted), "{}", file.display());
        fs::write(&file, &was).unwrap();
    }
    assert_eq!(crate::backup::vault::brought_back(&path).present(), home.present());
}

#[test]
fn an_archive_that_was_cut_or_changed_anywhere_is_damaged() {
    let (home, vault) = (small_home(), Vault::new());
    let path = vault.path("b.tar");
    home.ask(&format!("backup {}", path.display()));
    let was = fs::read(&path).unwrap();
    let length = was.len();
    for cut in [length / 8, length / 3, length / 2, length * 3 / 4, length - 3000] {
        fs::write(&path, &was[..cut]).unwrap();
        let ran = refused(&path);
        assert_eq!(ran.json()["error"]["code"], json!("backup_damaged"), "cut at {cut} of {length}: {ran:?}");
    }
    // In contents, in a header, and where the sums are.
    for place in [700, length / 3, length / 2] {
        let mut changed = was.clone();
        changed[place] ^= 4;
        fs::write(&path, &changed).unwrap();
        let ran = refused(&path);
        assert_eq!(ran.json()["error"]["code"], json!("backup_damaged"), "changed at {place}: {ran:?}");
    }
    fs::write(&path, &was).unwrap();
    assert_eq!(crate::backup::vault::brought_back(&path).present(), home.present());
}

#[test]
fn what_is_no_backup_is_said_to_be_none() {
    let vault = Vault::new();
    fs::create_dir(vault.path("folder")).unwrap();
    fs::write(vault.path("text"), "words").unwrap();
    fs::write(vault.path("empty.tar"), "").unwrap();
    for name in ["folder", "text", "empty.tar"] {
        let ran = refused(&vault.path(name));
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(2), &json!("not_a_backup")), "{name}: {ran:?}");
    }
    let ran = refused(&vault.path("nothing"));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(1), &json!("io")), "{ran:?}");
}

#[test]
fn a_backup_of_a_newer_taskyard_is_refused() {
    let (home, vault) = (small_home(), Vault::new());
    let path = vault.path("b");
    home.ask(&format!("backup {}", path.display()));
    let manifest =
        fs::read_to_string(path.join("MANIFEST.json")).unwrap().replace("taskyard-backup/1", "taskyard-backup/2");
    fs::write(path.join("MANIFEST.json"), &manifest).unwrap();
    let sums = Program::new("sh")
        .args(["-c", "grep -v MANIFEST SHA256SUMS > s; sha256sum MANIFEST.json >> s; mv s SHA256SUMS"])
        .current_dir(&path)
        .status();
    assert!(sums.success());
    let ran = refused(&path);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(1), &json!("newer_backup")), "{ran:?}");
}

#[test]
fn names_that_lead_out_of_a_backup_are_not_followed() {
    let (home, vault) = (small_home(), Vault::new());
    let path = vault.path("b");
    home.ask(&format!("backup {}", path.display()));
    fs::write(vault.path("outside"), "secret").unwrap();
    let line = "sha256sum ../outside | sed 's|../outside|lists/L/files/../../../../outside|' >> SHA256SUMS";
    let status = Program::new("sh").args(["-c", line]).current_dir(&path).status();
    assert!(status.success());
    let ran = refused(&path);
    assert_eq!(ran.json()["error"]["code"], json!("backup_damaged"), "{ran:?}");
}

#[test]
fn a_journal_that_does_something_by_itself_is_not_brought_back() {
    let (home, vault) = (small_home(), Vault::new());
    let path = vault.path("b");
    home.ask(&format!("backup {}", path.display()));
    let line = "python3 -c 'import sqlite3; d = sqlite3.connect(\"lists/L/journal.sqlite\"); \
        d.execute(\"CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM known; END\"); d.commit()' && \
        grep -v journal.sqlite SHA256SUMS > s; sha256sum lists/L/journal.sqlite >> s; mv s SHA256SUMS";
    assert!(Program::new("sh").args(["-c", line]).current_dir(&path).status().success());
    let back = crate::backup::vault::home();
    let ran = back.run(&format!("restore --from {}", path.display()));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("triggers"), "{ran:?}");
    assert!(!back.list("L").exists() && !back.sidecar("L").exists());
    assert_eq!(fs::read_dir(back.data().join("lists")).unwrap().count(), 0, "nothing is left of it");
}

#[test]
fn list_with_damaged_journal_is_backed_up_without_it() {
    let (home, vault) = (small_home(), Vault::new());
    home.ask("create Other --list M");
    let stamp = home.sidecar("L").join("stamp");
    fs::write(&stamp, "no stamp").unwrap();
    let ran = home.run(&format!("backup {} --json", vault.path("b").display()));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let made = ran.json();
    assert_eq!(
        (&made["complete"], &made["lists"][0]["history"], &made["lists"][1]["history"]),
        (&json!(false), &json!(false), &json!(true)),
        "{made}"
    );
    assert!(made["lists"][0]["problem"].as_str().unwrap().contains("damaged"), "{made}");
    let back = crate::backup::vault::brought_back(&vault.path("b"));
    assert_eq!(back.present(), home.present());
}

//! A list in a backup is as it was at one moment, though writers are at work.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Rival, Scale, Suspended, one_sided_edges, write_in_place};

use crate::backup::vault::{Vault, brought_back, home, must_be_private, must_be_whole};

#[test]
fn list_copy_is_one_revision_while_all_programs_write() {
    let home = home();
    for number in 1..=12 {
        home.ask(&format!("create Task{number}"));
    }
    let vault = Vault::new();
    let backups = Scale::from_environment(0.1).of(100).max(6);
    let (is_over, writes) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for writer in 0..2 {
            let (home, is_over, writes) = (&home, &is_over, &writes);
            scope.spawn(move || write_without_end(home, writer, is_over, writes));
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let end = Rival::start("rewrite.js", &[home.list("L").to_str().unwrap(), "500"]).end();
                assert_eq!(end.code, Some(0), "{end:?}");
            }
        });
        let looked = scope.spawn(|| {
            for number in 0..backups {
                let name = if number % 2 == 0 { format!("{number}.tar") } else { number.to_string() };
                let path = vault.path(&name);
                let before = writes.load(Ordering::Relaxed);
                let made = home.ask(&format!("backup {}", path.display()));
                assert_eq!(made["complete"], json!(true), "{made}");
                must_be_private(&path);
                look_at(&path, &made);
                // A writer writes between any two of them.
                while writes.load(Ordering::Relaxed) == before {
                    thread::yield_now();
                }
            }
        });
        let looked = looked.join();
        is_over.store(true, Ordering::Relaxed);
        looked.unwrap();
    });
    assert_eq!(must_be_whole(&home, "L"), newest(&home));
}

/// Requires that a backup shows whole commits only, and that its files are those of its journal: where they were not, the first reader
/// would record what differs.
fn look_at(path: &std::path::Path, made: &Value) {
    let back = brought_back(path);
    assert_eq!(one_sided_edges(&back.present()), Vec::<String>::new(), "half a commit");
    let revision = must_be_whole(&back, "L");
    assert_eq!(json!(revision), made["lists"][0]["revision"], "the files are not those of the journal");
}

fn newest(home: &Home) -> u64 {
    let history = home.ask("history");
    history["entries"].as_array().unwrap().last().unwrap()["revision"].as_u64().unwrap()
}

/// Makes and takes back edges, tasks and texts until it is told to stop.
fn write_without_end(home: &Home, writer: usize, is_over: &AtomicBool, writes: &AtomicUsize) {
    for turn in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let (one, two) = (1 + (turn + writer) % 5, 6 + (turn * 3 + writer) % 6);
        for words in [
            format!("depend {two} --on {one}"),
            format!("create New{writer}x{turn} --blocked-by {one}"),
            format!("update {two} --subject S{writer}x{turn}"),
            format!("undepend {two} --on {one}"),
        ] {
            let ran = home.run(&words);
            // Two writers may have taken each other's edge.
            assert!(matches!(ran.code, Some(0 | 3 | 4 | 5)), "{words}: {ran:?}");
            writes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn what_a_client_wrote_just_before_the_backup_is_in_it() {
    let home = home();
    home.ask("create One");
    let theirs = |id: &str, subject: &str| json!({"id": id, "subject": subject, "description": "", "status": "pending", "blocks": [], "blockedBy": []});
    write_in_place(&home.task_file("1"), &theirs("1", "Theirs"));
    write_in_place(&home.task_file("2"), &theirs("2", "New"));
    let vault = Vault::new();
    home.ask(&format!("backup {}", vault.path("b").display()));
    let back = brought_back(&vault.path("b"));
    assert_eq!(back.present()["1"]["subject"], json!("Theirs"));
    assert_eq!(back.present()["2"]["subject"], json!("New"));
    must_be_whole(&back, "L");
}

#[test]
fn what_comes_after_the_moment_is_not_in_it() {
    let home = home();
    home.ask("create One");
    let vault = Vault::new();
    let words = format!("backup {} --json", vault.path("b").display());
    let stopped = Suspended::at(&home, "backup: the moment of a list", &words);
    home.ask("create Two --blocked-by 1");
    home.ask("update 1 --subject Later");
    home.ask("delete 1");
    let ran = stopped.go_on();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let back = brought_back(&vault.path("b"));
    assert_eq!(back.present().len(), 1);
    assert_eq!(back.present()["1"]["subject"], json!("One"));
    assert_eq!(json!(must_be_whole(&back, "L")), ran.json()["lists"][0]["revision"]);
}

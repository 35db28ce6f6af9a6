//! What comes back, what stays, and what goes along beside the tasks.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;
use taskyard_testkit::{Program, Suspended, read_tasks};

use crate::backup::vault::{Vault, brought_back, files, home, must_be_whole};

#[test]
fn list_backup_restores_every_byte_and_file_attributes() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    home.ask("create B");
    home.ask("delete 2");
    let list = home.list("L");
    fs::write(list.join("..5.json"), fs::read(list.join("1.json")).unwrap()).unwrap();
    fs::write(list.join("tasks.json"), "{\"tasks\":[]}").unwrap();
    fs::write(list.join("7.json"), "torn {").unwrap();
    fs::write(list.join("notes with spaces.md"), "words").unwrap();
    fs::create_dir(list.join("attachments")).unwrap();
    fs::write(list.join("attachments/a.bin"), [0, 255, 10]).unwrap();
    fs::set_permissions(list.join("1.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("/etc/passwd", list.join("link.json")).unwrap();
    fs::create_dir(list.join("9.json.lock")).unwrap();
    let ran = home.run(&format!("backup {} --json", vault.path("b.tar").display()));
    assert_eq!(ran.code, Some(1), "a link is not followed, and that is told: {ran:?}");
    assert!(ran.json()["lists"][0]["leftOut"]["link.json"].as_str().unwrap().contains("link"), "{ran:?}");
    let back = brought_back(&vault.path("b.tar"));
    let (mut was, now) = (files(&list), files(&back.list("L")));
    was.remove("link.json");
    assert_eq!(now, was);
    assert_eq!(fs::read(back.list("L").join("attachments/a.bin")).unwrap(), [0, 255, 10]);
    assert_eq!(fs::metadata(back.task_file("1")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!back.list("L").join("9.json.lock").exists());
    assert_eq!(back.ask("create C")["task"]["id"], json!("8"));
}

#[test]
fn nothing_is_overwritten_and_deleted_tasks_stay_away() {
    let (home, vault) = (home(), Vault::new());
    for words in ["create Same", "create Changed", "create Deleted", "create Lost --blocked-by 1"] {
        home.ask(words);
    }
    let from = format!("restore --from {}", vault.path("b").display());
    home.ask(&format!("backup {}", vault.path("b").display()));
    home.ask("update 2 --subject Newer");
    home.ask("delete 3");
    fs::remove_file(home.task_file("4")).unwrap();
    let looked = home.ask(&format!("{from} --dry-run"));
    assert!(!home.task_file("4").exists());
    let back = home.ask(&from);
    for answer in [&looked["lists"][0], &back["lists"][0]] {
        assert_eq!(answer["restored"], json!(["4"]), "{answer}");
        assert_eq!(answer["different"], json!(["2"]), "{answer}");
        assert_eq!(answer["deleted"], json!(["3"]), "{answer}");
        assert_eq!((&answer["same"], &answer["whole"], &answer["history"]), (&json!(1), &json!(false), &json!(false)));
    }
    let present = home.present();
    assert_eq!((&present["2"]["subject"], present.contains_key("3")), (&json!("Newer"), false));
    assert_eq!((&present["4"]["blockedBy"], &present["1"]["blocks"]), (&json!(["1"]), &json!(["4"])));
    let last = home.ask("history")["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["op"], &last["task"], &last["actor"]), (&json!("restore"), &json!("4"), &json!("tester")));
    // A user who names a task is told why it does not come.
    for (id, code, exit) in [("2", "not_removed", 3), ("3", "not_missing", 3), ("9", "task_not_found", 4)] {
        let ran = home.run(&format!("{from} {id} --json"));
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(exit), &json!(code)), "{ran:?}");
    }
    assert_eq!(home.ask(&format!("{from} 3 --deleted"))["lists"][0]["restored"], json!(["3"]));
    must_be_whole(&home, "L");
    // A commit like any other: it can be taken back.
    home.ask("undo");
    assert!(!home.task_file("3").exists());
}

#[test]
fn one_list_can_be_chosen_and_the_others_stay_away() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    home.ask("create B --list M");
    home.ask(&format!("backup {}", vault.path("b").display()));
    let back = self::home();
    back.ask(&format!("restore --from {} --list M", vault.path("b").display()));
    assert!(back.list("M").exists() && !back.list("L").exists());
    let ran = back.run(&format!("restore --from {} --list N --json", vault.path("b").display()));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(4), &json!("list_not_found")), "{ran:?}");
}

#[test]
fn lost_memory_restores_history_and_keeps_tasks() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    home.ask("update 1 --subject B");
    home.ask(&format!("backup {}", vault.path("b").display()));
    home.ask("update 1 --subject C");
    fs::remove_dir_all(home.data()).unwrap();
    home.ask(&format!("restore --from {}", vault.path("b").display()));
    assert_eq!(home.present()["1"]["subject"], json!("C"));
    let ops =
        home.ask("history")["entries"].as_array().unwrap().iter().map(|entry| entry["op"].clone()).collect::<Vec<_>>();
    assert_eq!(ops, [json!("create"), json!("update"), json!("changed_elsewhere")]);
}

#[test]
fn list_without_directory_is_backed_up_from_memory() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    fs::remove_dir_all(home.list("L")).unwrap();
    home.ask(&format!("backup {}", vault.path("b").display()));
    let back = brought_back(&vault.path("b"));
    assert!(!back.list("L").exists());
    back.ask("restore --all");
    assert_eq!(back.present()["1"]["subject"], json!("A"));
}

#[test]
fn backup_restores_teams_and_bindings_but_not_trust() {
    let (home, vault) = (home(), Vault::new());
    for words in [
        "team create crew --as lead",
        "team join crew --as bob",
        "send --to bob one --as lead",
        "inbox --as bob --ack",
        "send --to bob two --as lead",
        "use bound --as tester",
        "trust",
    ] {
        home.ask(words);
    }
    let unread = home.ask("inbox --as bob")["messages"].clone();
    assert_eq!(unread.as_array().unwrap().len(), 1);
    home.ask(&format!("backup {}", vault.path("b").display()));
    // The machine is lost.
    fs::remove_dir_all(home.data()).unwrap();
    fs::remove_dir_all(home.path().join(".claude")).unwrap();
    let back = home.ask(&format!("restore --from {}", vault.path("b").display()));
    assert_eq!(
        (&back["teams"], &back["bindings"]),
        (&json!(["crew"]), &json!([home.path().to_str().unwrap()])),
        "{back}"
    );
    assert_eq!(home.ask("inbox --as bob")["messages"], unread);
    let ran = home.run("trust --remove --json");
    assert_eq!(ran.json()["error"]["code"], json!("not_trusted"), "a backup says nobody is to be trusted: {ran:?}");
    let again = home.ask(&format!("restore --from {}", vault.path("b").display()));
    assert_eq!((&again["teams"], &again["teamsKept"], &again["bindings"]), (&json!([]), &json!(["crew"]), &json!([])));
}

#[test]
fn a_backup_is_not_overwritten_without_a_word() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    for name in ["b", "b.tar"] {
        let words = format!("backup {}", vault.path(name).display());
        home.ask(&words);
        let ran = home.run(&format!("{words} --json"));
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(3), &json!("exists")), "{ran:?}");
        home.ask("create More");
        home.ask(&format!("{words} --replace"));
        assert_eq!(brought_back(&vault.path(name)).present(), home.present());
    }
    fs::create_dir(vault.path("empty")).unwrap();
    home.ask(&format!("backup {}", vault.path("empty").display()));
    fs::write(vault.path("letter.tar"), "dear").unwrap();
    let ran = home.run(&format!("backup {} --replace --json", vault.path("letter.tar").display()));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(2), &json!("not_a_backup")), "{ran:?}");
    assert_eq!(fs::read_to_string(vault.path("letter.tar")).unwrap(), "dear");
    assert_eq!(vault.names(), ["b", "b.tar", "empty", "letter.tar"]);
    for folder in [home.data(), home.tasks(), home.list("L")] {
        let ran = home.run(&format!("backup {} --json", folder.join("b").display()));
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(2), &json!("within")), "{ran:?}");
    }
}

#[test]
fn two_at_once_do_not_write_into_one_backup() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    let words = format!("backup {}", vault.path("b.tar").display());
    let stopped = Suspended::at(&home, "backup: begun", &words);
    let ran = home.run(&format!("{words} --json"));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(5), &json!("locked")), "{ran:?}");
    assert_eq!(stopped.go_on().code, Some(0));
    assert_eq!(brought_back(&vault.path("b.tar")).present(), home.present());
}

#[test]
fn unreadable_list_does_not_stop_backup_of_others() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    let long = "long-".repeat(40);
    home.ask(&format!("create B --list {long}"));
    // A list whose journal is a folder: whatever opens it fails.
    home.ask("create C --list broken");
    let journal = home.sidecar("broken").join("journal.sqlite");
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    for name in ["b", "b.tar"] {
        let ran = home.run(&format!("backup {} --json", vault.path(name).display()));
        assert_eq!((ran.code, &ran.json()["complete"]), (Some(1), &json!(false)), "{ran:?}");
        let back = brought_back(&vault.path(name));
        assert_eq!(back.present(), home.present());
        assert_eq!(files(&back.list(&long)), files(&home.list(&long)));
        assert_eq!(read_tasks(&back.list("broken")), read_tasks(&home.list("broken")));
    }
}

#[test]
fn empty_backup_is_made_and_restored() {
    let (home, vault) = (home(), Vault::new());
    let made = home.ask(&format!("backup {}", vault.path("b.tar").display()));
    assert_eq!((&made["lists"], &made["teams"], &made["complete"]), (&json!([]), &json!([]), &json!(true)), "{made}");
    assert!(!home.data().exists(), "looking makes nothing");
    let back = home.ask(&format!("restore --from {}", vault.path("b.tar").display()));
    assert_eq!(back["lists"], json!([]));
}

#[test]
fn an_archive_can_be_looked_into_and_unpacked_with_common_tools() {
    let (home, vault) = (home(), Vault::new());
    home.ask("create A");
    home.ask(&format!("backup {}", vault.path("b.tar").display()));
    let shell = |line: &str| {
        let output = Program::new("sh").args(["-ec", line]).current_dir(vault.path("")).output();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    shell("tar xf b.tar && cd taskyard-backup && sha256sum --strict -c SHA256SUMS");
    let subject = shell("cat taskyard-backup/lists/L/files/1.json");
    assert!(subject.contains("\"A\""), "{subject}");
    assert_eq!(brought_back(&vault.path("taskyard-backup")).present(), home.present());
    shell("tar cf again.tar -C taskyard-backup . && tar czf b.tar.gz taskyard-backup");
    assert_eq!(brought_back(&vault.path("again.tar")).present(), home.present());
}

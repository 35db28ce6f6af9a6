//! Killed at any step, a backup is whole or not there, and what comes back comes back in full at the next attempt.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Random, Scale, Step, Suspended, leftovers, side_by_side};

use crate::backup::vault::{Vault, brought_back, files, home, must_be_whole};

/// Makes a home with two lists, things beside the tasks, and a team with a message.
fn busy_home() -> Home {
    let home = home();
    for words in [
        "create A",
        "create B --blocked-by 1",
        "create C --blocked-by 2",
        "done 1",
        "delete 3",
        "create X --list M",
        "claim 2 --as ana",
        "team create crew --as lead",
        "team join crew --as bob",
        "send --to bob hello --as lead --team crew",
    ] {
        home.ask(words);
    }
    fs::write(home.list("L").join("notes.txt"), "theirs").unwrap();
    home
}

/// What a home holds that a backup carries.
fn contents(home: &Home) -> Value {
    let list =
        |name: &str| files(&home.list(name)).into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap()));
    json!({
        "L": list("L").map(|(name, text)| (name, json!(text))).collect::<serde_json::Map<_, _>>(),
        "M": list("M").map(|(name, text)| (name, json!(text))).collect::<serde_json::Map<_, _>>(),
        "inbox": home.ask("inbox --as bob")["messages"],
        "history": home.ask("history")["entries"],
    })
}

/// Returns the steps to be killed at: all of them, or each name once.
fn sampled(steps: &[Step]) -> Vec<&Step> {
    Step::each_name(steps, Scale::from_environment(0.1))
}

#[test]
fn killed_backup_is_whole_or_absent_and_next_one_works() {
    let home = busy_home();
    let expected = contents(&home);
    for form in ["b", "b.tar"] {
        let vault = Vault::new();
        let steps = home.steps(&format!("backup {}", vault.path(&format!("traced-{form}")).display()));
        assert!(steps.iter().any(|step| step.name == "backup: on the disk"), "{steps:?}");
        side_by_side(sampled(&steps), |step| {
            let vault = Vault::new();
            let (path, place) = (vault.path(form), format!("{form}, {step}"));
            let words = format!("backup {}", path.display());
            let ran = home.run_with(&step.killing(), &words);
            assert!(ran.was_killed(), "{place}: {ran:?}");
            if path.exists() {
                assert_eq!(contents(&brought_back(&path)), expected, "{place}");
                home.ask(&format!("{words} --replace"));
            } else {
                home.ask(&words);
            }
            assert_eq!(vault.names(), [form], "{place}");
            assert_eq!(contents(&brought_back(&path)), expected, "{place}");
        });
    }
    assert_eq!(contents(&home), expected, "a backup changes nothing");
}

#[test]
fn a_killed_return_of_everything_is_finished_by_the_next_one() {
    let home = busy_home();
    let vault = Vault::new();
    let path = vault.path("b.tar");
    home.ask(&format!("backup {}", path.display()));
    let expected = contents(&home);
    let words = format!("restore --from {}", path.display());
    let steps = self::home().steps(&words);
    assert!(steps.iter().any(|step| step.name == "restore: the journal is in its place"), "{steps:?}");
    side_by_side(sampled(&steps), |step| {
        let place = step.to_string();
        let back = self::home();
        let ran = back.run_with(&step.killing(), &words);
        assert!(ran.was_killed(), "{place}: {ran:?}");
        // A reader that looks between the two sees a list in full, or none.
        let between = back.ask("list --all");
        assert!([0, 2].contains(&between["tasks"].as_array().unwrap().len()), "{place}: {between}");
        back.ask(&words);
        must_match(&back, &expected, &place);
    });
}

/// Requires that everything is back. A command that looked in between may have recorded that a list was gone, and so its history may go on.
fn must_match(back: &Home, expected: &Value, place: &str) {
    let found = contents(back);
    for key in ["L", "M", "inbox"] {
        assert_eq!(found[key], expected[key], "{place}: {key}");
    }
    let [found, expected] = [&found, expected].map(|contents| contents["history"].as_array().unwrap());
    assert_eq!(&found[..expected.len()], expected.as_slice(), "{place}");
    must_be_whole(back, "L");
    must_be_whole(back, "M");
    must_be_tidy(back, place);
    assert_eq!(back.ask("create Next")["task"]["id"], json!("4"), "{place}: no number is given out twice");
}

fn must_be_tidy(home: &Home, place: &str) {
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new(), "{place}");
    for folder in [home.tasks(), home.data().join("lists"), home.path().join(".claude/teams")] {
        assert_eq!(hidden(&folder), Vec::<String>::new(), "{place}: {}", folder.display());
    }
}

fn hidden(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_killed_return_to_a_list_that_is_there_happened_or_did_not() {
    let home = busy_home();
    let vault = Vault::new();
    let path = vault.path("b");
    home.ask(&format!("backup {}", path.display()));
    // The client removes files without asking.
    fs::remove_file(home.task_file("1")).unwrap();
    fs::remove_file(home.task_file("2")).unwrap();
    home.ask("history");
    let words = format!("restore --from {} --list L", path.display());
    let steps = home.copy().steps(&words);
    side_by_side(sampled(&steps), |step| {
        let place = step.to_string();
        let back = home.copy();
        let ran = back.run_with(&step.killing(), &words);
        assert!(ran.was_killed(), "{place}: {ran:?}");
        let count = back.ask("list --all")["tasks"].as_array().unwrap().len();
        assert!([0, 2].contains(&count), "{place}: {count} tasks");
        back.ask(&words);
        assert_eq!(back.ask("list --all")["tasks"].as_array().unwrap().len(), 2, "{place}");
        must_be_whole(&back, "L");
        assert_eq!(leftovers(&back.list("L")), Vec::<String>::new(), "{place}");
    });
}

#[test]
fn a_backup_that_is_told_to_end_leaves_nothing_half_made() {
    let home = busy_home();
    for form in ["b", "b.tar"] {
        let vault = Vault::new();
        let words = format!("backup {}", vault.path(form).display());
        let stopped = Suspended::at(&home, "backup: a file is copied", &words);
        stopped.tell_to_end();
        let ran = stopped.go_on();
        assert!(matches!(ran.code, Some(0 | 129)), "{ran:?}");
        // It learns of it while it goes on, and may be done before.
        match vault.names().as_slice() {
            [] => {}
            whole => {
                assert_eq!(whole, [form]);
                assert_eq!(contents(&brought_back(&vault.path(form))), contents(&home));
            }
        }
    }
}

#[test]
fn kills_at_random_moments_lose_nothing() {
    let home = busy_home();
    let vault = Vault::new();
    let mut random = Random::new(11);
    let expected = contents(&home);
    for number in 0..Scale::from_environment(0.1).of(100).max(8) {
        let path = vault.path(if number % 2 == 0 { "b" } else { "b.tar" });
        let killed = |home: &Home, words: &str, random: &mut Random| {
            let mut child = home.command(words).start();
            // A moment and nothing to wait for: that is what a random kill is.
            thread::sleep(Duration::from_micros(random.below(60_000) as u64));
            child.kill();
            child.end()
        };
        killed(&home, &format!("backup {} --replace", path.display()), &mut random);
        if !path.exists() {
            home.ask(&format!("backup {}", path.display()));
        }
        let back = self::home();
        killed(&back, &format!("restore --from {}", path.display()), &mut random);
        back.ask(&format!("restore --from {}", path.display()));
        must_match(&back, &expected, &format!("number {number}"));
        home.ask(&format!("backup {} --replace", path.display()));
    }
    assert_eq!(contents(&home), expected);
}

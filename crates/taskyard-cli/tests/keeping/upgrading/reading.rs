//! What an earlier release left where nothing can be written is read as it is.

use std::path::Path;

use taskyard_testkit::{NOBODY, OldYard, Program, Ran, is_root};

use crate::upgrading::yards;

fn must(program: &str, words: &[&str], path: &Path) {
    assert!(Program::new(program).args(words).arg(path).status().success(), "{program} {words:?}");
}

/// Runs a command as a user who may read everything and write nothing of ours.
fn read(yard: &OldYard, words: &str) -> Ran {
    let mut command = yard.command(words);
    command.unprivileged().run()
}

#[test]
fn earlier_release_is_readable_on_read_only_disk() {
    for yard in yards() {
        let root = yard.data().parent().unwrap().to_owned();
        must("chmod", &["755"], root.parent().unwrap());
        if is_root() {
            must("chown", &["-R", &NOBODY.to_string()], &root);
        }
        must("chmod", &["-R", "a-w"], &yard.data());
        for list in yard.lists() {
            let written = list.entries();
            let shown = read(&yard, &format!("list --all --json {}", list.flags()));
            assert_eq!(shown.code, Some(0), "{list:?}: {shown:?}");
            let history = read(&yard, &format!("history --json {}", list.flags()));
            assert_eq!(history.code, Some(0), "{list:?}: {history:?}");
            let entries = history.json()["entries"].as_array().unwrap().clone();
            let told: Vec<(u64, String)> = entries
                .iter()
                .map(|entry| (entry["revision"].as_u64().unwrap(), entry["task"].as_str().unwrap().to_owned()))
                .collect();
            for entry in &written {
                assert!(told.contains(&(entry.revision, entry.task.clone())), "{list:?}: {entry:?}");
            }
        }
        let shown = read(&yard, "show 1 --json --list long");
        assert_eq!(shown.json()["jobs"][0]["status"], "failed", "{shown:?}");
        let shown = read(&yard, "team show crew --json");
        assert_eq!(shown.code, Some(0), "{shown:?}");
        must("chmod", &["-R", "u+w"], &yard.data());
    }
}

//! Lists, in every store.

use std::collections::BTreeSet;

use taskyard_testkit::{OldList, Process, Program};

use crate::upgrading::{is_as_the_journal_says, what_was_added, yards};

#[test]
fn lists_of_every_earlier_release_continue_with_history() {
    for yard in yards() {
        let lists = yard.lists();
        let stores: BTreeSet<&str> = lists.iter().filter_map(|list| list.store.split(':').next()).collect();
        assert_eq!(stores.into_iter().collect::<Vec<_>>(), ["claude", "document", "file", "teaching"]);
        assert_eq!(lists.len(), 12);
        for list in lists {
            let (written, leases) = (list.entries(), list.leases());
            assert!(written.len() > 15, "{list:?}");
            let made = yard.run(&format!("create New --json {}", list.flags()));
            assert_eq!(made.code, Some(0), "{list:?}: {made:?}");
            let added = what_was_added(&yard, &list, &written);
            assert!(added.iter().any(|entry| entry.op == "create"), "{list:?}: {added:?}");
            let store = yard.open(&list);
            is_as_the_journal_says(&*store, &list);
            let kept = store.read(&list.id()).unwrap().leases().unwrap();
            for (task, agent, token) in leases.iter().filter(|(_, agent, _)| agent == "bob") {
                let is_kept = kept
                    .iter()
                    .any(|lease| (lease.task.as_str(), lease.agent.as_str(), lease.token.0) == (task, agent, *token));
                assert!(is_kept, "the lease of {agent} on {task} of {list:?}: {kept:?}");
            }
            // What it found in the database is what it goes on above.
            let tokens = leases.iter().map(|(.., token)| *token).max().unwrap_or(0);
            let claimed = yard.run(&format!("claim {} --json --as eve {}", made.id(), list.flags()));
            assert!(claimed.json()["token"].as_u64().unwrap() > tokens, "{list:?}: {claimed:?}");
            let findings = yard.run(&format!("doctor --json {}", list.flags())).stdout;
            assert!(!findings.contains("journal_damaged") && !findings.contains("newer_format"), "{findings}");
        }
    }
}

#[test]
fn interrupted_commit_is_finished_after_upgrade() {
    for yard in yards() {
        let list = yard.list("claude", "broken-off");
        let task = || yard.run(&format!("show 4 --json {}", list.flags())).json()["task"].clone();
        assert_eq!(task()["blockedBy"], serde_json::json!(["1", "2", "3"]));
        let documents = yard.list("document", "own");
        let shown = yard.run(&format!("list --json {}", documents.flags())).json()["tasks"].clone();
        let broken_off = shown.as_array().unwrap().iter().find(|task| task["subject"] == "Broken off").unwrap();
        assert_eq!(broken_off["description"], "recorded, and not in the document");
        assert!(std::fs::read_to_string(&documents.path).unwrap().contains("recorded, and not in the document"));
    }
}

#[test]
fn interrupted_commit_of_earlier_boot_survives_upgrade() {
    for yard in yards() {
        let list = yard.list("claude", "broken-off");
        let shown = yard.run_with("any=boot:another", &format!("show 4 --json {}", list.flags()));
        assert_eq!(shown.json()["task"]["blockedBy"], serde_json::json!(["1", "2", "3"]));
        is_as_the_journal_says(&*yard.open(&list), &list);
    }
}

#[test]
fn interrupted_merge_is_whole_or_absent_after_upgrade() {
    for yard in yards() {
        for (way, happened) in [("noted", false), ("existing", true)] {
            let (came, went) =
                (yard.list("claude", &format!("{way}-came")), yard.list("claude", &format!("{way}-went")));
            let written = [came.entries(), went.entries()];
            for list in [&came, &went] {
                assert_eq!(yard.run(&format!("create New {}", list.flags())).code, Some(0));
            }
            let count = |list: &OldList| {
                let listed = yard.run(&format!("list --all --json {}", list.flags())).json();
                listed["tasks"].as_array().unwrap().iter().filter(|task| task["subject"] != "New").count()
            };
            assert_eq!((count(&came), count(&went)), if happened { (8, 0) } else { (4, 4) }, "{way}");
            for (list, written) in [came, went].iter().zip(&written) {
                what_was_added(&yard, list, written);
                is_as_the_journal_says(&*yard.open(list), list);
            }
        }
    }
}

#[test]
fn what_was_removed_before_the_upgrade_comes_back_after_it() {
    for yard in yards() {
        let (long, emptied) = (yard.list("claude", "long"), yard.list("claude", "emptied"));
        let back = yard.run(&format!("restore 9 --json {}", long.flags()));
        assert_eq!(back.code, Some(0), "{back:?}");
        let back = yard.run(&format!("restore 8 --deleted --json {}", long.flags()));
        assert_eq!(back.code, Some(0), "{back:?}");
        let shown = yard.run(&format!("show plan-b --json {}", long.flags())).json();
        assert_eq!(shown["task"]["description"], "changed here");
        assert_eq!(yard.run(&format!("restore --all --json {}", emptied.flags())).code, Some(0));
        assert_eq!(
            yard.run(&format!("list --all --json {}", emptied.flags())).json()["tasks"].as_array().unwrap().len(),
            4
        );
        // The newest revision of the earlier release is taken back as one of today's would be.
        let list = yard.list("file", "own");
        let newest = list.entries().last().unwrap().revision;
        assert_eq!(yard.run(&format!("undo {newest} {}", list.flags())).code, Some(0));
    }
}

#[test]
fn a_lease_of_an_earlier_release_is_proved_by_its_token() {
    for yard in yards() {
        let list = yard.list("claude", "long");
        let (task, _, token) = list.leases().into_iter().find(|(_, agent, _)| agent == "bob").unwrap();
        let refused = yard.run(&format!("update {task} --subject Mine --as eve --json {}", list.flags()));
        assert_eq!(refused.code, Some(3), "{refused:?}");
        let stale = yard.run(&format!("done {task} --token {} --as bob --json {}", token + 1000, list.flags()));
        assert_eq!(stale.code, Some(3), "{stale:?}");
        for words in ["renew", "done"] {
            let proved = yard.run(&format!("{words} {task} --token {token} --as bob --json {}", list.flags()));
            assert_eq!(proved.code, Some(0), "{proved:?}");
        }
        // Whose time is up, and whose process has ended, holds nothing any more.
        let listed = yard.run(&format!("list --json {}", list.flags())).json();
        let owner = |id: &str| {
            listed["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap()["owner"].clone()
        };
        assert_eq!([owner("6"), owner("7")], [serde_json::Value::Null, serde_json::Value::Null]);
    }
}

#[test]
fn concurrent_openers_upgrade_an_old_list_once() {
    for yard in yards() {
        for list in yard.lists() {
            let written = list.entries();
            let start = |number: usize| -> Process {
                let mut command: Program = yard.command(&format!("create New{number} --json {}", list.flags()));
                command.start()
            };
            let children: Vec<Process> = (0..4).map(start).collect();
            let ids: BTreeSet<String> = children.into_iter().map(|child| child.end().id()).collect();
            assert_eq!(ids.len(), 4, "{list:?}");
            let added = what_was_added(&yard, &list, &written);
            assert_eq!(added.iter().filter(|entry| entry.op == "create").count(), 4, "{list:?}");
            is_as_the_journal_says(&*yard.open(&list), &list);
        }
    }
}

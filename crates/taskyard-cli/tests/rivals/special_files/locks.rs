//! In the place of a lock: what can be none is told at once, with the way out, and `doctor --fix` takes it away.

use std::fs;
use std::path::Path;

use taskyard_testkit::{StrangeFile, leftovers};

use crate::special_files::site::{SECRET, Site};

/// What can be no lock of the client's. A directory is one, until it has grown old.
fn kinds() -> impl Iterator<Item = StrangeFile> {
    StrangeFile::ALL.into_iter().filter(|kind| *kind != StrangeFile::Directory)
}

fn called(kind: StrangeFile, path: &Path) -> &'static str {
    if kind == StrangeFile::Huge { "a file" } else { kind.called(path) }
}

#[test]
fn no_lock_on_the_list() {
    for kind in kinds() {
        let site = Site::new(SECRET);
        site.good_run("create A");
        let path = site.home.list("L").join(".lock.lock");
        kind.put(&path, &site.good());
        let called = called(kind, &path);
        site.good_run("list");
        site.good_run("show 1");
        for words in ["create B", "delete 1"] {
            let said = site.refused(words, 5, &path, called);
            assert!(said.contains("taskyard doctor --fix"), "{said}");
        }
        // What names no new task and raises no mark needs the lock of the task alone.
        site.good_run("update 1 --subject x");
        site.good_run("claim 1");
        site.doctor_mends("", "lock_in_the_way", &[".lock.lock", called]);
        site.good_run("create B");
        assert!(fs::symlink_metadata(&path).is_err(), "{kind:?}");
        assert_eq!(leftovers(&site.home.list("L")), Vec::<String>::new(), "{kind:?}");
        site.check();
    }
}

#[test]
fn no_lock_on_a_task() {
    for kind in kinds() {
        let site = Site::new(SECRET);
        site.good_run("create A");
        site.good_run("create B");
        let path = site.home.list("L").join("1.json.lock");
        kind.put(&path, &site.good());
        let called = called(kind, &path);
        for words in ["update 1 --subject x", "claim 1"] {
            let said = site.refused(words, 5, &path, called);
            assert!(said.contains("taskyard doctor --fix"), "{said}");
        }
        site.good_run("create C");
        site.good_run("update 2 --subject x");
        site.doctor_mends("", "lock_in_the_way", &["1.json.lock", called]);
        site.good_run("update 1 --subject x");
        site.check();
    }
}

#[test]
fn no_lock_on_an_inbox_or_a_team() {
    for kind in kinds() {
        for (file, words) in
            [("inboxes/bob.json.lock", "send --to bob hi"), ("config.json.lock", "team join alpha --as eve")]
        {
            let site = Site::new(SECRET);
            site.good_run("team create alpha");
            site.good_run("team join alpha --as bob");
            site.good_run("send --to bob hello");
            let path = site.home.path().join(".claude/teams/alpha").join(file);
            kind.put(&path, &site.good());
            let called = called(kind, &path);
            let said = site.refused(words, 5, &path, called);
            assert!(said.contains("taskyard doctor --fix"), "{said}");
            site.doctor_mends("", "lock_in_the_way", &[".json.lock", called]);
            site.good_run(words);
            site.check();
        }
    }
}

#[test]
fn something_strange_in_the_place_of_the_locked_file_itself() {
    for kind in StrangeFile::ALL.into_iter().filter(|kind| *kind != StrangeFile::Huge) {
        let site = Site::new(SECRET);
        site.good_run("create A");
        let path = site.home.list("L").join(".lock");
        kind.put(&path, &site.good());
        site.good_run("create B");
        site.good_run("claim 1");
        site.doctor_mends("", "lock_in_the_way", &[".lock", kind.called(&path)]);
        site.good_run("create C");
        assert!(path.is_file());
        site.check();
    }
}

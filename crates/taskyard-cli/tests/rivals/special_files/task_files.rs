//! In the place of a task's file.

use std::fs;

use serde_json::Value;
use taskyard_testkit::{StrangeFile, list_builder};

use crate::special_files::site::{SECRET, Site};

fn task(id: &str) -> String {
    list_builder::file(&format!("{id} pending '{SECRET}'"))
}

/// Returns what a task is called. Only its own file is read: what stands beside it may have no end.
fn subject(site: &Site, id: &str) -> String {
    let task: Value = serde_json::from_slice(&fs::read(site.home.task_file(id)).unwrap()).unwrap();
    task["subject"].as_str().unwrap().to_owned()
}

#[test]
fn it_is_told_and_left_alone_and_every_other_task_is_as_before() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&task("3"));
        site.good_run("create A");
        site.good_run("create B");
        let path = site.home.task_file("3");
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        let listed = site.good_run("list");
        assert!(listed.contains("3.json cannot be read") && listed.contains(called), "{kind:?}: {listed}");
        assert!(listed.contains("#1 [pending] A") && !listed.contains(SECRET), "{kind:?}: {listed}");
        assert!(site.good_run("list --json").contains(called), "{kind:?}");
        for words in ["show 3", "update 3 --subject x", "delete 3", "done 3"] {
            site.refused(words, 3, &path, called);
        }
        assert_eq!(site.run("claim 3").code, Some(4), "{kind:?}");
        assert!(site.good_run("create C").contains("#4"));
        site.good_run("update 1 --subject A2");
        site.good_run("depend 2 --on 1");
        site.good_run("claim 1");
        site.good_run("done 1");
        site.good_run("history");
        let found = site.run("doctor");
        assert!(found.code == Some(3) && found.stdout.contains(called), "{kind:?}: {found:?}");
        site.run("doctor --fix --yes");
        if kind == StrangeFile::Huge {
            // It may be a task of a user who writes at length: that is for a person to judge.
            assert!(path.exists());
        } else {
            site.good_run("doctor");
            assert!(fs::symlink_metadata(&path).is_err());
            assert!(fs::symlink_metadata(path.with_added_extension("unreadable")).is_ok());
            site.good_run("undo");
        }
        assert_eq!(subject(&site, "4"), "C");
        site.check();
    }
}

#[test]
fn a_task_the_journal_knows_comes_back_when_it_is_mended() {
    for kind in StrangeFile::ALL.into_iter().filter(|kind| *kind != StrangeFile::Huge) {
        let site = Site::new(&task("2"));
        site.good_run("create A");
        site.good_run("create B --blocked-by 1");
        site.good_run("list");
        let path = site.home.task_file("2");
        kind.put(&path, &site.good());
        site.refused("update 2 --subject x", 3, &path, kind.called(&path));
        site.doctor_mends("", "unreadable", &["2.json", kind.called(&path)]);
        assert_eq!(subject(&site, "2"), "B", "{kind:?}");
        assert!(site.good_run("show 2").contains("#1"), "{kind:?}");
        site.check();
    }
}

#[test]
fn under_a_hidden_name_it_is_the_same() {
    for kind in StrangeFile::ALL.into_iter().filter(|kind| *kind != StrangeFile::Huge) {
        let site = Site::new(&task("3"));
        site.good_run("create A");
        let path = site.home.list("L").join(".3.json");
        kind.put(&path, &site.good());
        assert!(site.good_run("list").contains(kind.called(&path)), "{kind:?}");
        site.good_run("create B");
        site.doctor_mends("", "unreadable", &[".3.json", kind.called(&path)]);
        site.check();
    }
}

#[test]
fn the_clients_rules_do_not_open_it_either() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&task("3"));
        site.good_run("create A --rules client");
        let path = site.home.task_file("3");
        kind.put(&path, &site.good());
        site.good_run("list --rules client");
        site.good_run("create B --rules client");
        site.good_run("update 1 --subject x --rules client");
        assert!(site.run("update 3 --subject x --rules client").code != Some(0), "{kind:?}");
        site.run("clear --rules client");
        assert!(fs::symlink_metadata(&path).is_ok(), "{kind:?}");
        site.check();
    }
}

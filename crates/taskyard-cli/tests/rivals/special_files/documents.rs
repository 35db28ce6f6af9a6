//! In the place of a document, or of a file of a teaching folder.

use std::fs;

use taskyard_testkit::StrangeFile;

use crate::special_files::site::{SECRET, Site};

#[test]
fn torn_document_is_reported_set_aside_and_restored() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!(r#"{{"version":2,"note":"{SECRET}","tasks":[]}}"#));
        let path = site.home.path().join("tasks.json");
        let store = "--store document:tasks.json";
        site.good_run(&format!("create A {store}"));
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        for words in ["list", "create B", "ready"] {
            let said = site.refused(&format!("{words} {store}"), 3, &path, called);
            assert!(said.contains("doctor --fix"), "{said}");
        }
        let found = site.run(&format!("doctor {store}"));
        assert!(found.code == Some(3) && found.stdout.contains(called), "{kind:?}: {found:?}");
        site.good_run(&format!("doctor {store} --fix --yes"));
        assert!(site.good_run(&format!("list {store}")).contains('A'), "{kind:?}");
        site.good_run(&format!("create B {store}"));
        site.good_run("list");
        site.check();
    }
}

#[test]
fn pipe_in_teaching_folder_is_skipped_and_doctor_names_it() {
    for kind in StrangeFile::ALL {
        let good = format!(r#"{{"id":"task_9","title":"{SECRET}","status":"pending"}}"#);
        let site = Site::new(&good);
        let store = "--store teaching:folder";
        site.good_run(&format!("create A {store}"));
        let path = site.home.path().join("folder/task_9.json");
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        let listed = site.good_run(&format!("list {store}"));
        assert!(listed.contains('A') && !listed.contains(SECRET), "{kind:?}: {listed}");
        site.good_run(&format!("create B {store}"));
        if kind != StrangeFile::Huge {
            site.doctor_mends(store, "unreadable", &["task_9.json", called]);
            assert!(fs::symlink_metadata(path.with_added_extension("unreadable")).is_ok(), "{kind:?}");
        }
        site.check();
    }
}

#[test]
fn non_file_in_place_of_carried_data_is_set_aside() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!(r#"{{"{SECRET}":{{}}}}"#));
        let store = "--store teaching:folder";
        site.good_run(&format!("create A {store}"));
        let path = site.home.path().join("folder/.taskyard.json");
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        site.refused(&format!("list {store}"), 3, &path, called);
        site.refused(&format!("create B {store}"), 3, &path, called);
        site.run(&format!("doctor {store} --fix --yes"));
        assert!(site.good_run(&format!("list {store}")).contains('A'), "{kind:?}");
        site.check();
    }
}

#[test]
fn a_pipe_in_the_place_of_a_whole_folder_is_told() {
    let site = Site::new(SECRET);
    for name in ["folder", "store"] {
        StrangeFile::Pipe.put(&site.home.path().join(name), &site.good());
    }
    for words in ["list --store teaching:folder", "create A --store teaching:folder", "create A --store file:store"] {
        let ran = site.run(words);
        assert!(ran.code == Some(1) && ran.stderr.contains("directory"), "`{words}`: {ran:?}");
    }
}

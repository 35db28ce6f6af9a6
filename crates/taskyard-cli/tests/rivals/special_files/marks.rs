//! In the place of `.highwatermark`.

use std::fs;

use taskyard_testkit::StrangeFile;

use crate::special_files::site::{SECRET, Site};

#[test]
fn numbers_are_given_without_mark_and_removal_writes_one() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!("700 {SECRET}"));
        site.good_run("create A");
        site.good_run("create B");
        let path = site.home.list("L").join(".highwatermark");
        kind.put(&path, &site.good());
        assert!(site.good_run("create C").contains("#3"), "{kind:?}");
        site.good_run("list");
        site.good_run("update 1 --subject x");
        site.good_run("claim 1");
        site.good_run("delete 3");
        assert_eq!(fs::read_to_string(&path).unwrap(), "3", "{kind:?}");
        assert!(site.good_run("create D").contains("#4"), "{kind:?}");
        site.good_run("doctor");
        site.check();
    }
}

#[test]
fn doctor_names_it_and_writes_the_number() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!("700 {SECRET}"));
        site.good_run("create A");
        let path = site.home.list("L").join(".highwatermark");
        kind.put(&path, &site.good());
        site.doctor_mends("", "bad_mark", &[".highwatermark", kind.called(&path)]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1", "{kind:?}");
        site.check();
    }
}

#[test]
fn gc_writes_the_number_too() {
    let site = Site::new(SECRET);
    site.good_run("create A");
    let path = site.home.list("L").join(".highwatermark");
    StrangeFile::Pipe.put(&path, &site.good());
    assert!(site.good_run("gc").contains("an unreadable mark"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "1");
}

//! In the place of an inbox.

use std::path::PathBuf;

use serde_json::json;
use taskyard_testkit::StrangeFile;

use crate::special_files::site::{SECRET, Site};

fn office() -> (Site, PathBuf) {
    let good = json!([{"from": "eve", "text": SECRET, "timestamp": "2026-01-01T00:00:00.000Z", "read": false}]);
    let site = Site::new(&good.to_string());
    site.good_run("team create alpha");
    for member in ["bob", "eve"] {
        site.good_run(&format!("team join alpha --as {member}"));
    }
    let inboxes = site.home.path().join(".claude/teams/alpha/inboxes");
    (site, inboxes)
}

#[test]
fn unread_inbox_is_skipped_and_others_still_hear() {
    for kind in StrangeFile::ALL {
        let (site, inboxes) = office();
        let path = inboxes.join("bob.json");
        site.good_run("send --to bob hello");
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        site.refused("send --to bob again", 1, &path, called);
        site.refused("inbox --as bob", 1, &path, called);
        site.good_run("send --to eve hello");
        assert!(site.good_run("inbox --as eve").contains("hello"), "{kind:?}");
        site.run("team show alpha");
        site.good_run("create A");
        site.good_run("list");
        let found = site.run("doctor");
        assert!(found.code == Some(3) && found.stdout.contains("torn_inbox"), "{kind:?}: {found:?}");
        assert!(found.stdout.contains(called), "{kind:?}: {found:?}");
        site.run("doctor --fix --yes");
        if kind != StrangeFile::Huge {
            site.good_run("doctor");
            site.good_run("send --to bob again");
            assert!(site.good_run("inbox --as bob").contains("again"), "{kind:?}");
        }
        site.check();
    }
}

#[test]
fn team_mend_takes_it_out_of_the_way() {
    let (site, inboxes) = office();
    site.good_run("send --to bob hello");
    StrangeFile::LinkOutside.put(&inboxes.join("bob.json"), &site.good());
    assert!(site.good_run("team mend").contains("out of the way"));
    site.good_run("send --to bob hello");
    site.check();
}

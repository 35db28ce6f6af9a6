//! In the place of a team's file.

use std::fs;

use taskyard_testkit::StrangeFile;

use crate::special_files::site::{SECRET, Site};

#[test]
fn the_team_cannot_be_read_and_the_others_can() {
    for kind in StrangeFile::ALL {
        let first = Site::new(SECRET);
        first.good_run("team create alpha");
        let team = fs::read_to_string(first.home.path().join(".claude/teams/alpha/config.json")).unwrap();
        let site = Site::new(&team.replacen("\"name\"", &format!("\"note\": \"{SECRET}\",\n  \"name\""), 1));
        site.good_run("team create alpha");
        site.good_run("team create beta");
        let path = site.home.path().join(".claude/teams/alpha/config.json");
        kind.put(&path, &site.good());
        let called = kind.called(&path);
        site.refused("team show alpha", 1, &path, called);
        site.refused("team join alpha --as bob", 1, &path, called);
        let listed = site.good_run("team list");
        assert!(listed.contains("beta") && listed.contains(called), "{kind:?}: {listed}");
        site.good_run("team show beta");
        site.good_run("create A");
        site.good_run("list");
        let found = site.run("doctor");
        assert!(found.code == Some(3) && found.stdout.contains(called), "{kind:?}: {found:?}");
        site.run("doctor --fix --yes");
        if kind != StrangeFile::Huge {
            site.good_run("doctor");
            assert!(fs::symlink_metadata(path.with_added_extension("unreadable")).is_ok(), "{kind:?}");
        }
        site.check();
    }
}

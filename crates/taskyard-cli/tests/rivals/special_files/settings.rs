//! In the place of configuration files.

use std::fs;

use taskyard_testkit::StrangeFile;

use crate::special_files::site::{SECRET, Site};

#[test]
fn a_projects_settings_are_not_read_from_it() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!("# {SECRET}\nlist = \"other\"\n"));
        let path = site.home.path().join("taskyard.toml");
        kind.put(&path, &site.good());
        for words in ["list", "create A", "ready"] {
            site.refused(words, 1, &path, kind.called(&path));
        }
        site.check();
    }
}

#[test]
fn a_users_own_settings_may_be_behind_a_link_to_a_regular_file() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!("# {SECRET}\nrules = \"client\"\n"));
        let path = site.home.path().join(".config/taskyard/taskyard.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        kind.put(&path, &site.good());
        let ran = site.run("list");
        let is_good = matches!(kind, StrangeFile::LinkInside | StrangeFile::LinkOutside | StrangeFile::LinkToNothing);
        assert_eq!(ran.code, Some(if is_good { 0 } else { 1 }), "{kind:?}: {ran:?}");
        assert!(is_good || ran.stderr.contains("taskyard.toml"), "{kind:?}: {ran:?}");
        site.check();
    }
}

#[test]
fn the_clients_settings_and_a_package_are_never_waited_for() {
    for kind in StrangeFile::ALL {
        let site = Site::new(&format!(r#"{{"name":"x","note":"{SECRET}"}}"#));
        site.good_run("create A");
        fs::create_dir_all(site.home.path().join(".claude")).unwrap();
        for name in [".claude/settings.json", ".claude/settings.local.json", "package.json"] {
            kind.put(&site.home.path().join(name), &site.good());
        }
        site.good_run("list");
        site.good_run("done 1");
        site.good_run("where");
        site.check();
    }
}

//! Links in the place of directories: one's own may be anywhere, another user's is not used.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use crate::special_files::site::{SECRET, Site};

/// Returns a directory of another user: one that was given away, or one of root's where we may not do that.
fn of_somebody_else(place: &Path) -> PathBuf {
    fs::create_dir_all(place).unwrap();
    chown(place, Some(12_345), None).map_or(PathBuf::from("/"), |()| place.to_owned())
}

#[test]
fn list_behind_link_to_own_directory_is_used() {
    for link in [".claude", ".claude/tasks", ".claude/tasks/L"] {
        let site = Site::new(SECRET);
        let (elsewhere, link) = (site.home.path().join("elsewhere"), site.home.path().join(link));
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&elsewhere, &link).unwrap();
        site.good_run("create A");
        site.good_run("update 1 --subject B");
        site.good_run("doctor");
        assert!(link.is_symlink() && site.home.task_file("1").exists());
    }
}

#[test]
fn list_behind_link_to_foreign_directory_is_refused() {
    for link in [".claude", ".claude/tasks", ".claude/tasks/L"] {
        let site = Site::new(SECRET);
        let link = site.home.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let theirs = of_somebody_else(&site.home.path().join("theirs"));
        fs::create_dir_all(site.home.path().join("theirs/tasks/L")).unwrap();
        fs::create_dir_all(site.home.path().join("theirs/L")).unwrap();
        symlink(&theirs, &link).unwrap();
        for words in ["list", "create A", "ready", "doctor"] {
            let ran = site.run(words);
            assert!(ran.code == Some(1) && ran.stderr.contains("a directory of another user"), "`{words}`: {ran:?}");
        }
        assert!(!site.home.task_file("1").exists());
    }
}

#[test]
fn document_folder_and_team_behind_foreign_link_are_refused() {
    let site = Site::new(SECRET);
    let theirs = of_somebody_else(&site.home.path().join("theirs"));
    fs::create_dir_all(site.home.path().join(".claude/teams")).unwrap();
    for link in ["theirs-too", ".claude/teams/alpha"] {
        symlink(&theirs, site.home.path().join(link)).unwrap();
    }
    for words in [
        "list --store document:theirs-too/tasks.json",
        "create A --store document:theirs-too/tasks.json",
        "list --store teaching:theirs-too",
        "create A --store teaching:theirs-too",
        "team show alpha",
    ] {
        let ran = site.run(words);
        assert!(ran.code == Some(1) && ran.stderr.contains("a directory of another user"), "`{words}`: {ran:?}");
    }
}

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use taskyard::core::ListId;
use taskyard_testkit::list_builder;

use crate::yard;

#[test]
fn lists_that_sessions_left_open_are_found_the_last_used_first() {
    let home = tempfile::tempdir().unwrap();
    let transcripts = home.path().join("projects/-projects-my-app");
    fs::create_dir_all(&transcripts).unwrap();
    let sessions = ["11111111-aaaa", "22222222-bbbb", "33333333-cccc", "44444444-dddd"];
    for (age, session) in sessions.iter().enumerate() {
        let file = fs::File::create(transcripts.join(format!("{session}.jsonl"))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60 * age as u64)).unwrap();
    }
    fs::write(transcripts.join("memory.md"), "").unwrap();

    let yard = yard("1 pending");
    let fill = |list: &str, line: &str| list_builder::fill(yard.store(), &ListId::new(list).unwrap(), line);
    fill("22222222-bbbb", r#"1 pending; 2 completed; 3 in_progress; 4 pending {"_internal":true}"#);
    fill("session-11111111", "1 pending");
    fill("33333333-cccc", "1 completed");
    fill("55555555-eeee", "1 pending");
    let left = yard.left_by_sessions(home.path(), Path::new("/projects/my_app")).unwrap();
    let told: Vec<_> =
        left.iter().map(|left| (left.list.as_str(), left.open.len(), left.last_used.is_some())).collect();
    assert_eq!(told, [("session-11111111", 1, true), ("22222222-bbbb", 2, true)]);

    let ours = yard.on(ListId::new("22222222-bbbb").unwrap());
    assert_eq!(ours.left_by_sessions(home.path(), Path::new("/projects/my_app")).unwrap().len(), 1);
    assert!(yard.left_by_sessions(home.path(), Path::new("/elsewhere")).unwrap().is_empty());
}

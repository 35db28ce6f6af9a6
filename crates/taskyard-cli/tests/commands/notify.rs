//! Desktop notices, by a command of the user's.

use std::fs;
use std::process::Stdio;

use taskyard_testkit::{Home, wait_until};

/// A home whose notices are lines of a file.
fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let config = home.path().join(".config/taskyard");
    fs::create_dir_all(&config).unwrap();
    let notices = home.path().join("notices");
    let command = r#"printf '%s|%s|%s\n' "$TASKYARD_NOTICE_KIND" "$TASKYARD_NOTICE_TITLE" "$TASKYARD_NOTICE_TEXT""#;
    let text = format!("[notify]\ncommand = '''{command} >>{}'''\n", notices.display());
    fs::write(config.join("taskyard.toml"), text).unwrap();
    home
}

fn notices(home: &Home) -> String {
    fs::read_to_string(home.path().join("notices")).unwrap_or_default()
}

#[test]
fn end_of_a_job_is_shown_as_a_notice() {
    let home = home();
    home.run("job run --wait --notify --name tests -- sh -c false");
    wait_until("the notice", || notices(&home).ends_with("failed|tests\n"));
    assert!(notices(&home).starts_with("job|Job b"), "{}", notices(&home));
    // Without the flag there is none.
    home.run("job run --wait -- true");
    assert_eq!(notices(&home).lines().count(), 1);
}

#[test]
fn claim_and_work_show_notices() {
    let home = home();
    home.run("create One");
    home.run("create Two");
    home.run("claim --next --wait --notify --as ana");
    wait_until("the notice", || notices(&home).contains("claim|ana has #1|One\n"));
    home.run("work --notify --as bo -- true");
    wait_until("the notice", || notices(&home).contains("done|bo completed #2|Two\n"));
}

#[test]
fn commands_that_follow_show_notices() {
    let home = home();
    home.ask("create One");
    let mut watch = home.command("watch --notify --since 0").stdout(Stdio::piped()).start();
    assert!(watch.line().unwrap().contains("create"));
    home.ask("done 1 --as ana");
    wait_until("the notice of watch", || notices(&home).contains("done|ana completed #1|One\n"));
    watch.kill();
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    let mut inbox = home.command("inbox --follow --notify --as bob").stdout(Stdio::piped()).start();
    home.ask("send --to bob hello");
    wait_until("the notice of inbox", || notices(&home).ends_with("|hello\n"));
    assert!(notices(&home).contains("\nmessage|Message from "), "{}", notices(&home));
    inbox.kill();
}

#[test]
fn project_decides_nothing_about_notices_before_trust() {
    let home = home();
    fs::write(home.path().join("taskyard.toml"), "[notify]\non = []\ncommand = \"touch bad\"\n").unwrap();
    home.run("job run --wait --notify --name tests -- true");
    wait_until("the user's notice", || notices(&home).contains("completed|tests"));
    assert!(!home.path().join("bad").exists());
}

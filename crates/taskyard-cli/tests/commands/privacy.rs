//! What is ours is private, whatever the umask, and closed where an older version left it open; files of the client's keep the
//! modes they have.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::fs::{FlockOperation, flock};
use taskyard_testkit::{NOBODY, Program, is_root};

use crate::nobody::{as_nobody, give_away, run_as_nobody};
use crate::test::Test;

/// Runs commands in a shell with this umask, and waits until none of their jobs is left.
fn run_under(test: &Test, umask: &str, lines: &[&str]) {
    for line in lines {
        let script = format!("umask {umask}; exec {} {line}", env!("CARGO_BIN_EXE_taskyard"));
        let output = test.command("/bin/sh").args(["-c", &script]).output();
        assert!(output.status.success(), "umask {umask}: {line}: {output:?}");
    }
}

/// What leaves something of every kind in the data directory.
const EVERYTHING: [&str; 10] = [
    "create Parser",
    "use project",
    "team create alpha",
    "team join alpha --as bob",
    "send --to bob hello",
    "job run --name talk -- echo said",
    "job wait talk",
    "create Noted --store document:tasks.json",
    "create Taught --store teaching:.tasks",
    "trust",
];

fn below(path: &Path, found: &mut Vec<PathBuf>) {
    found.push(path.to_owned());
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for inner in fs::read_dir(path).unwrap() {
            below(&inner.unwrap().path(), found);
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Asserts that everything here is for the user alone, and returns how many files there are.
fn assert_private(path: &Path) -> usize {
    let mut found = Vec::new();
    below(path, &mut found);
    for path in &found {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(path), wanted, "{}", path.display());
    }
    found.len()
}

/// Gives everything in the data directory the rights that an older version gave it.
fn leave_open(test: &Test, directories: u32, files: u32) {
    let mut found = Vec::new();
    below(&test.path("data"), &mut found);
    for path in found.iter().rev() {
        set(path, if path.is_dir() { directories } else { files });
    }
}

fn everything(umask: &str) -> Test {
    let test = Test::new();
    let temporary = test.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let test = test.env("CLAUDE_CODE_TMPDIR", temporary);
    fs::remove_dir(test.path("data")).unwrap();
    run_under(&test, umask, &EVERYTHING);
    test
}

#[test]
fn what_is_ours_is_private_whatever_the_umask() {
    for umask in ["000", "022", "077", "777"] {
        // Under the last only root can use what the client's own files become.
        if umask != "777" || is_root() {
            let test = everything(umask);
            assert!(assert_private(&test.path("data")) > 20, "umask {umask}");
            assert_private(&fs::read_dir(test.path("tmp")).unwrap().next().unwrap().unwrap().path());
        }
    }
}

#[test]
fn files_left_open_by_older_version_are_closed_next_time() {
    let test = everything("022");
    for line in ["list", "create Another", "where", "team list", "job list", "list --store document:tasks.json"] {
        for (directories, files) in [(0o755, 0o644), (0o777, 0o666), (0o750, 0o640)] {
            leave_open(&test, directories, files);
            run_under(&test, "022", &[line]);
            assert_private(&test.path("data"));
        }
    }
}

#[test]
fn open_list_in_closed_directory_closes_everything() {
    let test = everything("022");
    for line in ["list", "create More", "job list", "inbox --as bob"] {
        leave_open(&test, 0o755, 0o644);
        set(&test.path("data"), 0o700);
        run_under(&test, "022", &[line]);
        assert_private(&test.path("data"));
    }
}

/// Returns what another user is told by a program.
fn as_another(test: &Test, program: &str, arguments: &[&str]) -> Output {
    let mut command = Program::new(program);
    command.as_nobody().current_dir(test.path(".")).args(arguments).output()
}

#[test]
fn another_user_reads_no_command_line_and_holds_no_lock_of_ours() {
    if !is_root() {
        return;
    }
    for umask in ["000", "022"] {
        let test = everything(umask);
        run_under(&test, umask, &["job run --name login -- true --password=hunter2", "job wait login"]);
        set(&test.path("."), 0o755);
        let mut found = Vec::new();
        below(&test.path("data"), &mut found);
        let names = ["machine.sqlite", "queue", "journal.sqlite", "stamp", "teams.sqlite", "machine.turn"];
        for name in names {
            let path = found.iter().find(|path| path.ends_with(name)).unwrap_or_else(|| panic!("no {name}"));
            let path = path.to_str().unwrap();
            assert!(!as_another(&test, "/bin/cat", &[path]).status.success(), "{name} was read");
            assert!(!as_another(&test, "/usr/bin/flock", &["-n", path, "true"]).status.success(), "{name} was locked");
        }
        assert!(!as_another(&test, "/bin/ls", &[test.path("data").to_str().unwrap()]).status.success());
        let outputs = as_another(&test, "/usr/bin/find", &[test.path("tmp").to_str().unwrap(), "-name", "*.output"]);
        assert!(outputs.stdout.is_empty(), "{outputs:?}");
    }
}

#[test]
fn a_data_directory_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let mut test = Test::new().list("1 pending");
    let theirs = test.path("data");
    std::os::unix::fs::chown(&theirs, Some(NOBODY - 1), None).unwrap();
    set(&theirs, 0o777);
    set(&test.path("home/.claude/tasks/project"), 0o777);
    for line in ["list", "create x", "create x --json", "job list", "team list"] {
        run_as_nobody(&mut test, line);
    }
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    test.snapshot();
}

#[test]
fn root_uses_a_users_data_directory_and_leaves_it_to_them() {
    if !is_root() {
        return;
    }
    let test = Test::new();
    give_away(&test.path("data"));
    let test = test
        .quietly("create one")
        .quietly("use project")
        .quietly("job run --name quick -- true")
        .quietly("job wait quick");
    let mut found = Vec::new();
    below(&test.path("data"), &mut found);
    for path in found {
        assert_eq!(fs::symlink_metadata(&path).unwrap().uid(), NOBODY, "{}", path.display());
    }
    fs::set_permissions(test.path("home"), Permissions::from_mode(0o777)).unwrap();
    let mut command = as_nobody(&test);
    let output = command.args(["list"]).output();
    assert!(String::from_utf8_lossy(&output.stdout).contains("one"), "{output:?}");
}

#[test]
fn output_avoids_directory_made_by_another_user() {
    if !is_root() {
        return;
    }
    let squats: [fn(&Path); 3] = [
        |ours| {
            fs::create_dir(ours).unwrap();
            std::os::unix::fs::chown(ours, Some(NOBODY), None).unwrap();
        },
        |ours| {
            fs::create_dir(ours.with_extension("elsewhere")).unwrap();
            std::os::unix::fs::symlink(ours.with_extension("elsewhere"), ours).unwrap();
        },
        |ours| {
            fs::create_dir(ours).unwrap();
            set(ours, 0o777);
        },
    ];
    for squat in squats {
        let test = Test::new();
        let temporary = test.path("tmp");
        fs::create_dir(&temporary).unwrap();
        squat(&temporary.join("claude-0"));
        let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
        let output = command.env("CLAUDE_CODE_TMPDIR", &temporary).args(["job", "run", "--", "true"]).output();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("claude-0"), "{output:?}");
        assert_eq!(fs::read_dir(temporary.join("claude-0")).unwrap().count(), 0);
    }
}

#[test]
fn a_data_directory_is_locked_by_nobody_who_could_only_read() {
    let test = Test::new().quietly("create one");
    let queue = fs::read_dir(test.path("data/lists")).unwrap().next().unwrap().unwrap().path().join("queue");
    // We ourselves can: it is the rights on it that keep others from it.
    flock(File::open(&queue).unwrap(), FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(mode(&queue), 0o600);
}

//! What people see: the same commands with a terminal at the other end.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::ExitStatus;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use taskyard_testkit::Program;

use crate::test::Test;

/// Runs a command on a terminal of its own, types a text, and returns everything that appeared on the screen.
pub(crate) fn run(mut command: Program, columns: u16, typed: &str) -> (String, ExitStatus) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = File::options().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let mut master = File::from(master);
    master.write_all(typed.as_bytes()).unwrap();
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    let mut child = command.start();
    // Our ends of the terminal must be closed, or reading would never come to an end.
    drop(command);
    let mut screen = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = master.read(&mut piece) {
        screen.extend_from_slice(&piece[..count]);
    }
    (String::from_utf8(screen).unwrap(), child.wait())
}

/// A list with something of everything.
fn varied() -> Test {
    Test::new()
        .strict()
        .list("1 completed (ana) Design; 2 in_progress (ana) 'Write the parser' <- 1; 3 pending 'Write a very long chapter of the documentation' <- 2; 4 completed; 5 pending 日本語のタイトルはとても広い")
        .quietly("update 2 --active-form 'Writing the parser' --priority high --as ana")
        .quietly("create 'Check the examples' --parent 3 --tag docs --as ana")
        .quietly("create 'Ship' --blocked-by 2,3 --as ana")
        .quietly("cancel 4 --as ana")
}

#[test]
fn a_list_is_a_tree_in_colours() {
    varied().on_terminal(72, "list", "").snapshot();
}

#[test]
fn a_narrow_terminal_leaves_out_blockers_before_it_cuts_titles() {
    varied().on_terminal(40, "list --color never", "").on_terminal(40, "graph --color never", "").snapshot();
}

#[test]
fn without_unicode_the_marks_are_ascii() {
    varied()
        .env("LANG", "C")
        .on_terminal(72, "list --color never", "")
        .on_terminal(72, "graph --color never", "")
        .snapshot();
}

#[test]
fn no_color_means_no_colours() {
    varied().env("NO_COLOR", "1").on_terminal(72, "list", "").on_terminal(72, "show 9", "").snapshot();
}

#[test]
fn a_task_is_shown_in_full_however_narrow_the_terminal() {
    varied().on_terminal(40, "show 3", "").snapshot();
}

#[test]
fn the_journal_tells_ages_and_changes() {
    varied().on_terminal(72, "history", "").snapshot();
}

#[test]
fn what_is_ready_comes_with_the_reason() {
    varied().on_terminal(72, "ready", "").on_terminal(72, "search examples docs", "").snapshot();
}

#[test]
fn advice_is_broken_between_words() {
    varied()
        .on_terminal(40, "inbox --as ana", "")
        .on_terminal(40, "show 99", "")
        .on_terminal(44, "import x --from jsonl", "")
        .snapshot();
}

#[test]
fn an_empty_list_tells_what_to_type() {
    Test::new().on_terminal(72, "list", "").on_terminal(72, "lists", "").on_terminal(72, "ready", "").snapshot();
}

#[test]
fn doctor_asks_before_it_mends() {
    let one_sided = r#"{"id":"2","subject":"two","description":"","status":"pending","blocks":[],"blockedBy":["1"]}"#;
    Test::new()
        .list("1 pending")
        .task_file("2.json", one_sided)
        .on_terminal(72, "doctor --fix", "n\n")
        .on_terminal(72, "doctor --fix", "y\n")
        .run("doctor")
        .snapshot();
}

#[test]
fn an_error_is_told_in_colours() {
    varied().on_terminal(72, "start 7", "").on_terminal(50, "show 9", "").on_terminal(72, "shw", "").snapshot();
}

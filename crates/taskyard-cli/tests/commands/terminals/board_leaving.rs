//! Leaving the board, of one's own will or not.

use std::path::Path;

use taskyard_testkit::wait_until;

use crate::terminals::terminal::{Home, Terminal};

/// Opens the board from a shell, which is seen again once it is left.
fn board_in_shell<'a>(home: &'a Home, before: &str) -> Terminal<'a> {
    let terminal = Terminal::start(home, 100, 24, &["sh"]);
    terminal.text(&format!("PS1=ready; clear; {before} taskyard board; echo code $?")).keys(&["Enter"]);
    terminal.wait_for("? help");
    terminal
}

#[test]
fn leaving_gives_the_terminal_back_however_it_happens() {
    let home = Home::new();
    home.run(&["create", "One"]);
    for (leave, code) in [("C-c", "code 0"), ("q", "code 0")] {
        let terminal = board_in_shell(&home, "");
        terminal.keys(&[leave]);
        assert_sane(&terminal, code);
    }
    for (signal, code) in
        [("TERM", "code 143"), ("HUP", "code 129"), ("INT", "code 130"), ("QUIT", "code 131"), ("ABRT", "code 134")]
    {
        let terminal = board_in_shell(&home, "");
        terminal.signal(signal);
        assert_sane(&terminal, code);
    }
}

#[test]
fn a_board_that_was_suspended_comes_back() {
    let home = Home::new();
    home.run(&["create", "One"]);
    let terminal = Terminal::start(&home, 100, 24, &["bash", "--norc"]);
    terminal.text("PS1=ready; clear; taskyard board").keys(&["Enter"]);
    terminal.wait_for("#1 One");
    terminal.keys(&["C-z"]).wait_for("Stopped");
    terminal.text("fg").keys(&["Enter"]).wait_for("#1 One");
    terminal.keys(&["j", "c"]).wait_for("New task:");
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let home = Home::new();
    home.run(&["create", "One"]);
    let terminal = board_in_shell(&home, "TASKYARD_FAILPOINTS=board-key=panic");
    terminal.keys(&["j"]);
    let screen = terminal.wait_for("code 101");
    assert!(
        screen.contains("the plan of a test says so"),
        "what went wrong is read on the screen of the shell: {screen}"
    );
    assert_sane(&terminal, "code 101");
}

#[test]
fn a_board_whose_terminal_is_closed_ends() {
    // In front of the terminal, where the system sends a signal; and away from it, where only the terminal itself tells.
    for program in
        ["echo $$ >../process; exec taskyard board", "setsid --wait sh -c 'echo $$ >../process; exec taskyard board'"]
    {
        let home = Home::new();
        home.run(&["create", "One"]);
        let terminal = Terminal::start(&home, 100, 24, &["sh", "-c", program]);
        terminal.wait_for("#1 One");
        let process = std::fs::read_to_string(home.path("process")).unwrap();
        let process = Path::new("/proc").join(process.trim());
        assert!(process.exists(), "{program}");
        drop(terminal);
        wait_until(&format!("the end of `{program}`, which has no terminal"), || !process.exists());
    }
}

/// The screen is the shell's again, its lines end where they should, and what is typed is seen.
fn assert_sane(terminal: &Terminal<'_>, code: &str) {
    terminal.wait_for(code);
    let screen = terminal.run("stty -a; printf 'one\\ntwo\\n'");
    assert!(screen.lines().any(|line| line.trim_end() == "two"), "{screen}");
    let flags: Vec<&str> = screen.split_whitespace().collect();
    assert!(["icanon", "echo", "isig", "onlcr"].iter().all(|flag| flags.contains(flag)), "{screen}");
    assert!(!screen.contains("? help"), "{screen}");
}

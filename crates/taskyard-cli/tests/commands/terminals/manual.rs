use crate::terminals::terminal::{Home, Terminal};

#[test]
fn man_shows_a_page_and_help_its_groups() {
    let home = Home::new();
    let terminal = Terminal::start(&home, 100, 30, &["sh"]);
    let end = terminal.begin("taskyard man note");
    terminal.wait_until("a page of man", |screen| screen.contains("SYNOPSIS") && screen.contains("DESCRIPTION"));
    terminal.keys(&["q"]);
    terminal.wait_for_line(&end);
    terminal.text("clear; taskyard help").keys(&["Enter"]);
    terminal.wait_until("the first group", |screen| screen.contains("\nTasks:\n"));
    terminal.keys(&["q"]);
}

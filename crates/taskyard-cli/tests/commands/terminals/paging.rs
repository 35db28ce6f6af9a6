use crate::terminals::terminal::{Home, Terminal};

fn long_list() -> Home {
    let home = Home::new();
    let tasks: Vec<String> = (1..=60).map(|number| format!("- [ ] #{number} Chapter {number}")).collect();
    std::fs::write(home.path("rocket/tasks.md"), tasks.join("\n")).unwrap();
    home.run(&["import", "tasks.md", "--from", "markdown"]);
    home
}

#[test]
fn long_output_goes_to_pager_and_short_does_not() {
    let home = long_list();
    let terminal = Terminal::start(&home, 80, 24, &["sh"]);
    let end = terminal.begin("taskyard list");
    // The pager shows the beginning, and waits.
    let screen =
        terminal.wait_until("the first page", |screen| screen.lines().last().is_some_and(|last| last.starts_with(':')));
    assert!(screen.contains("Chapter 1\n") && !screen.contains("Chapter 60"), "{screen}");
    // An interrupt is the pager's.
    terminal.keys(&["C-c"]);
    // It throws away what was typed before it has heard of that.
    terminal.wait_until("the last page", |screen| {
        terminal.keys(&["G"]);
        screen.contains("Chapter 60")
    });
    terminal.keys(&["q"]);
    terminal.wait_for_line(&end);
    terminal.run("taskyard show 1");
    terminal.run("taskyard list --no-pager");
}

#[test]
fn the_pager_is_the_users_and_a_pipe_has_none() {
    let home = long_list();
    let terminal = Terminal::start(&home, 80, 24, &["sh"]);
    terminal.run("export PAGER='sed -n s/Chapter/Kapitel/p'");
    let screen = terminal.run("taskyard list");
    assert!(screen.contains("Kapitel 60"), "{screen}");
    let screen = terminal.run("taskyard list | tail -1");
    assert!(screen.contains("Chapter 60") && !screen.contains("Kapitel"), "{screen}");
}

#[test]
fn descriptions_and_notes_render_as_markdown_and_diffs() {
    let home = Home::new();
    home.run(&["create", "Parser", "-d", "# Why\n\n- one\n- **two**\n\n> quoted"]);
    home.run(&["note", "1", "see `src/lexer.rs`"]);
    home.run(&["update", "1", "-d", "# Why\n\n- one\n- **three**\n\n> quoted"]);
    let terminal = Terminal::start(&home, 80, 40, &["sh"]);
    let screen = terminal.run("taskyard show 1");
    for line in ["  Why", "  • one", "  • three", "  │ quoted", "      see `src/lexer.rs`"] {
        assert!(screen.lines().any(|shown| shown.trim_end() == line), "{line}\n{screen}");
    }
    let screen = terminal.run("taskyard history 1");
    for line in ["        - - **two**", "        + - **three**", "          - one"] {
        assert!(screen.lines().any(|shown| shown.trim_end() == line), "{line}\n{screen}");
    }
}

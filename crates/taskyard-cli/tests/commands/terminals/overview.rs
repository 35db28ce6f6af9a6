use crate::terminals::terminal::{Home, Terminal};

/// Returns a list with something of everything, and more than a small screen holds.
fn busy() -> Home {
    let home = Home::new();
    home.run(&["create", "Write the parser", "--priority", "high", "--active-form", "Writing the parser"]);
    for number in 2..=30 {
        home.run(&["create", &format!("Chapter {number} of the documentation")]);
    }
    home.run(&["depend", "30", "--on", "1"]);
    home.run(&["done", "29"]);
    home.run(&["claim", "1", "--as", "ana"]);
    home.run(&["update", "5", "--due", "2020-01-01"]);
    home.run(&["update", "6", "--due", "tomorrow"]);
    home.run(&["update", "7", "--defer", "1w"]);
    home
}

#[test]
fn taskyard_alone_shows_one_screen_at_every_width() {
    let home = busy();
    for (columns, rows) in [(40, 20), (80, 24), (140, 50)] {
        let terminal = Terminal::start(&home, columns, rows, &["sh"]);
        // Whatever it shows, the prompt is below it.
        terminal.text("PS1=en''d; clear; taskyard").keys(&["Enter"]);
        let screen = terminal.wait_for_line("end");
        let lines: Vec<&str> = screen.lines().collect();
        // Nothing has scrolled away.
        assert!(lines[0].starts_with("  rocket  "), "{screen}");
        for part in [
            "1 of 30 done",
            "Needs you 1",
            "#5 is overdue: Chapter 5",
            "In progress 1",
            "#1 Write the parser",
            "Ready 26",
        ] {
            assert!(screen.contains(part), "{part} at {columns}:\n{screen}");
        }
        if columns > 40 {
            assert!(screen.contains("documentation  taskyard show 5"), "{screen}");
            assert!(screen.contains("1 blocked · 1 deferred"), "{screen}");
        }
        // What is due comes soon enough to be seen, and what is not to start yet is not ready.
        if rows > 40 {
            assert!(screen.contains("#6 Chapter 6 of the documentation due in ") && !screen.contains("#7"), "{screen}");
        }
        // The longest lists are cut, and say so.
        assert_eq!(screen.contains(" more\n"), rows < 40, "{screen}");
    }
}

#[test]
fn an_empty_list_says_what_to_do_first() {
    let home = Home::new();
    let terminal = Terminal::start(&home, 80, 24, &["sh"]);
    terminal.text("taskyard").keys(&["Enter"]);
    let screen = terminal.wait_for("no tasks yet");
    assert!(screen.contains("taskyard create"), "{screen}");
}

//! The board, in a real terminal.

use std::time::{Duration, Instant};

use taskyard_testkit::{Program, is_once_within, wait_or};

use crate::terminals::terminal::{Home, Terminal};

/// Opens the board on the list of a home.
pub(crate) fn board<'a>(home: &'a Home, columns: u16, words: &[&str]) -> Terminal<'a> {
    let terminal = Terminal::start(home, columns, 24, &[&["taskyard", "board"], words].concat());
    terminal.wait_for("? help");
    terminal
}

fn tasks(home: &Home) -> serde_json::Value {
    let output = home.run(&["list", "--all", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn task(home: &Home, id: &str) -> serde_json::Value {
    let output = home.run(&["show", id, "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    shown["task"].clone()
}

/// Waits until a task is as it should be.
fn wait_for_task(home: &Home, id: &str, is: impl Fn(&serde_json::Value) -> bool) {
    wait_or(|| is(&task(home, id)).then_some(()), || format!("#{id} is {}", task(home, id)));
}

/// As the client does it: a file, without us.
fn write_as_the_client(home: &Home, number: usize, subject: &str) {
    let file = home.path(&format!(".claude/tasks/rocket/{number}.json"));
    let task = serde_json::json!({
        "id": number.to_string(), "subject": subject, "description": "", "status": "pending", "blocks": [], "blockedBy": [],
    });
    std::fs::write(file, task.to_string()).unwrap();
}

#[test]
fn a_task_of_another_program_appears_within_a_fifth_of_a_second() {
    let home = Home::new();
    home.run(&["create", "Here already"]);
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("Here already");
    let mut round = 0;
    // Asking tmux takes its time, too.
    is_once_within(Duration::from_millis(200), "a task of another program to appear", || {
        round += 1;
        let subject = format!("From the client, {round}");
        write_as_the_client(&home, 2, &subject);
        let begun = Instant::now();
        terminal.wait_for(&subject);
        begun.elapsed()
    });
}

#[test]
fn everything_is_done_from_the_keyboard() {
    let home = Home::new();
    home.run(&["create", "Design the schema"]);
    let terminal = board(&home, 120, &[]);
    terminal.wait_for("Design the schema");
    // Create: the cursor goes to what was made.
    terminal.keys(&["c"]).wait_for("New task:");
    terminal.text("Write the parser").keys(&["Enter"]).wait_for("Created #2 Write the parser");
    // An edge, by picking; it is drawn.
    terminal.keys(&["b"]).wait_for("#2 waits for:");
    terminal.text("schema").keys(&["Enter"]).wait_for("‹ #1");
    assert_eq!(task(&home, "2")["blockedBy"], serde_json::json!(["1"]));
    // A refusal says why, below the cursor.
    terminal.keys(&["s"]);
    let screen = terminal.wait_for("▲");
    let lines: Vec<&str> = screen.lines().collect();
    let cursor = lines.iter().position(|line| line.starts_with('▸')).unwrap();
    assert!(lines[cursor + 1].contains("blocked") || lines[cursor + 1].contains("waits"), "{screen}");
    assert_eq!(task(&home, "2")["status"], "pending");
    // Claim the first, and complete it.
    terminal.keys(&["g"]).keys(&["t"]).wait_for("#1 is yours");
    wait_for_task(&home, "1", |task| task["status"] == "in_progress" && task["owner"] == "tester");
    terminal.wait_for("1 in progress");
    terminal.keys(&["n"]).wait_for("Note on #1:");
    terminal.text("numbers are from the first run").keys(&["Enter"]).wait_for("Noted on #1");
    assert!(task(&home, "1")["metadata"]["notes"].to_string().contains("first run"));
    terminal.keys(&["g"]).keys(&["d"]).wait_for("#2 can start now");
    wait_for_task(&home, "1", |task| task["status"] == "completed");
    // Undo, and redo.
    terminal.keys(&["u"]).wait_for("Undid");
    wait_for_task(&home, "1", |task| task["status"] == "in_progress");
    terminal.keys(&["U"]);
    wait_for_task(&home, "1", |task| task["status"] == "completed");
    terminal.keys(&["q"]);
}

#[test]
fn the_subject_is_changed_in_place_and_all_of_it_in_the_editor() {
    let home = Home::new();
    home.run(&["create", "Write teh parser"]);
    std::fs::write(home.path("editor"), "#!/bin/sh\nsed -i 's/parser/compiler/' \"$1\"\n").unwrap();
    assert!(Program::new("chmod").arg("+x").arg(home.path("editor")).status().success());
    let editor = format!("EDITOR={} taskyard board", home.path("editor").display());
    let terminal = Terminal::start(&home, 100, 24, &["sh", "-c", &editor]);
    terminal.wait_for("Write teh parser");
    terminal.keys(&["e"]).wait_for("Subject of #1:");
    terminal.keys(&["C-u"]).text("Write the parser").keys(&["Enter"]).wait_for("Changed #1");
    terminal.keys(&["E"]).wait_for("Write the compiler");
    assert_eq!(task(&home, "1")["subject"], "Write the compiler");
}

#[test]
fn several_tasks_are_selected_and_moved_together() {
    let home = Home::new();
    for name in ["One", "Two", "Three"] {
        home.run(&["create", name]);
    }
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("Three");
    terminal.keys(&["x", "x"]).wait_for("2 selected");
    terminal.keys(&["d"]).wait_for("Done #1, #2");
    assert_eq!(tasks(&home)["counts"]["completed"], 2);
}

#[test]
fn a_filter_shows_what_a_query_chooses_as_it_is_typed() {
    let home = Home::new();
    home.run(&["create", "Write the parser", "--tag", "core"]);
    home.run(&["create", "Write the docs"]);
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("Write the docs");
    terminal.keys(&["/"]).text("tag:core");
    let screen = terminal.wait_until("the filter", |screen| screen.contains("1 found") && !screen.contains("#2"));
    assert!(screen.contains("Write the parser"), "{screen}");
    terminal.keys(&["Enter"]).keys(&["Escape"]).wait_for("Write the docs");
}

#[test]
fn messages_are_written_and_acknowledged_and_a_job_is_stopped() {
    let home = Home::new();
    home.run(&["team", "create", "rocket", "--as", "lead"]);
    home.run(&["team", "join", "rocket", "--as", "tester"]);
    home.run(&["create", "Something", "--as", "tester"]);
    home.run(&["send", "--to", "tester", "the numbers are wrong", "--as", "lead"]);
    home.run(&[
        "job",
        "run",
        "--as",
        "tester",
        "--",
        "sh",
        "-c",
        "echo first line; until [ -e ../go ]; do sleep 0.05; done; echo second line; sleep 1000",
    ]);
    let terminal = board(&home, 120, &["--as", "tester"]);
    terminal.keys(&["6"]).wait_for("the numbers are wrong");
    terminal.wait_for("1 unread");
    terminal.keys(&["A"]).wait_until("acknowledged", |screen| !screen.contains("unread"));
    // A user who writes in a conversation answers it.
    terminal.keys(&["M"]).wait_for("Write to:");
    terminal.text("lead").keys(&["Enter"]).wait_for("To ");
    terminal.text("they are right now").keys(&["Enter"]).wait_for("Sent to");
    terminal.wait_for("│   they are right now");
    terminal.wait_for("│   the numbers are wrong");
    terminal.keys(&["m"]).wait_for("To ");
    terminal.text("and checked").keys(&["Enter"]).wait_for("│   and checked");
    let inbox = home.run(&["inbox", "--as", "lead"]);
    let inbox = String::from_utf8(inbox.stdout).unwrap();
    assert!(inbox.contains("they are right now") && inbox.contains("and checked"), "{inbox}");
    terminal.keys(&["5"]).wait_for("first line");
    terminal.wait_for("running");
    // What it writes is followed.
    std::fs::write(home.path("go"), "").unwrap();
    terminal.wait_for("second line");
    terminal.keys(&["S"]).wait_for("Stopped");
    terminal.wait_for("killed");
    terminal.keys(&["4"]).wait_for("tester");
}

#[test]
fn every_view_is_a_key_away_and_another_list_too() {
    let home = Home::new();
    home.run(&["create", "Design"]);
    home.run(&["create", "Build", "--blocked-by", "1"]);
    home.run(&["create", "Elsewhere", "--list", "moon"]);
    home.run(&["claim", "1", "--list", "moon", "--as", "bo"]);
    let terminal = board(&home, 120, &[]);
    terminal.keys(&["2"]).wait_for("In progress 0");
    terminal.keys(&["3"]).wait_for("critical path: 2 tasks");
    let screen = terminal.wait_for("▸ ◻ #2 Build");
    assert!(screen.contains("#1 Design ━━"), "{screen}");
    terminal.keys(&["7"]).wait_for("created #2");
    terminal.keys(&["8"]).wait_for("moon");
    terminal.wait_for("bo at work");
    terminal.keys(&["g"]).keys(&["Enter"]).wait_for("Elsewhere");
    terminal.keys(&[":"]).text("lists").keys(&["Enter"]).wait_for("rocket");
    terminal.keys(&["?"]).wait_for("any other key closes");
}

#[test]
fn a_revision_is_undone_from_the_history() {
    let home = Home::new();
    home.run(&["create", "One"]);
    home.run(&["create", "Two"]);
    let terminal = board(&home, 100, &[]);
    terminal.keys(&["7"]).wait_for("created #1");
    terminal.keys(&["j"]).keys(&["u"]).wait_for("Undid r1");
    assert_eq!(tasks(&home)["counts"]["pending"], 1);
}

#[test]
fn the_mouse_chooses_and_the_screen_may_change_its_size() {
    let home = Home::new();
    for name in ["One", "Two", "Three"] {
        home.run(&["create", name]);
    }
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("Three");
    // A click on the third row, as a terminal tells of it.
    terminal.text("\x1b[<0;10;4M").text("\x1b[<0;10;4m");
    terminal
        .wait_until("the third row", |screen| screen.lines().any(|line| line.starts_with('▸') && line.contains("#3")));
    terminal.resize(60, 12);
    let is_small = |screen: &str| screen.lines().all(|line| line.chars().count() <= 60);
    terminal.wait_until("the small screen", |screen| is_small(screen) && screen.contains("#3 Three"));
    terminal.resize(140, 30);
    terminal.wait_for("8 lists");
}

#[test]
fn a_list_that_goes_is_told_of_and_brought_back() {
    let home = Home::new();
    home.run(&["create", "Still open"]);
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("Still open");
    std::fs::remove_dir_all(home.path(".claude/tasks/rocket")).unwrap();
    terminal.wait_until("that it is gone", |screen| !screen.contains("◻ #1 Still open"));
    terminal.keys(&["7"]).wait_for("removed elsewhere");
    terminal.keys(&["R"]).wait_for("Restored #1");
    terminal.keys(&["1"]).wait_for("◻ #1 Still open");
}

#[test]
fn without_a_terminal_there_is_no_board() {
    let home = Home::new();
    let output = home.command(env!("CARGO_BIN_EXE_taskyard")).arg("board").output();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("needs a terminal"), "{output:?}");
}

#[test]
fn any_command_is_run_from_the_board_and_comes_back_to_it() {
    let home = Home::new();
    home.run(&["create", "One"]);
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("#1 One");
    terminal.keys(&[":"]).text("create \"From the palette\" --tag core").wait_for("run taskyard create");
    // The board stays in view around the pane.
    let screen = terminal.keys(&["Enter"]).wait_for("done, esc closes");
    assert!(screen.contains("Created #2") && screen.contains("#1 One"), "{screen}");
    terminal.keys(&["Escape"]).wait_for("◻ #2 From the palette");
    terminal.keys(&[":"]).text("show 99").keys(&["Enter"]).wait_for("exit code 4");
    terminal.wait_for("no task 99");
    terminal.keys(&["Escape"]).keys(&[":"]).text("palette").keys(&["Enter"]);
    terminal.wait_until("the task", |screen| screen.lines().any(|line| line.starts_with('▸') && line.contains("#2")));
}

#[test]
fn properties_are_set_by_keys_on_the_board() {
    let home = Home::new();
    home.run(&["create", "One"]);
    let terminal = board(&home, 120, &[]);
    terminal.wait_for("#1 One");
    terminal.keys(&["c"]).wait_for("attributes:");
    terminal.text("fix login +ops est:2h").wait_for("takes 2h");
    terminal.keys(&["Enter"]).wait_for("Created #2 fix login");
    wait_for_task(&home, "2", |task| task["metadata"] == serde_json::json!({"tags": ["ops"], "estimate": 7200}));
    terminal.keys(&["P"]).wait_for("Priority of #2");
    terminal.keys(&["Enter"]).wait_for("Priority of #2: high");
    terminal.keys(&["D"]).text("2026-12-24").keys(&["Enter"]);
    wait_for_task(&home, "2", |task| task["metadata"]["due"].is_string() && task["metadata"]["priority"] == "high");
    terminal.keys(&["O"]).text("One").keys(&["Enter"]);
    wait_for_task(&home, "2", |task| task["metadata"]["parent"] == "1");
    // A refusal names the key that resolves it.
    terminal.keys(&["g", "d"]).wait_for("press F to close it anyway");
    terminal.keys(&["F"]);
    wait_for_task(&home, "1", |task| task["status"] == "completed");
}

#[test]
fn what_agents_do_by_todo_write_turns_on_the_board() {
    let home = Home::new();
    home.run(&["create", "One"]);
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("#1 One");
    let todos = r#"[{"content":"Read","status":"completed","activeForm":"Reading"},{"content":"Test","status":"in_progress","activeForm":"Testing it"}]"#;
    let script = format!("printf '%s' '{todos}' | taskyard todo write --as tester");
    assert!(home.command("sh").args(["-c", &script]).status().success());
    terminal.wait_for("Testing it…  1/2 of its todos");
}

#[test]
fn keys_are_those_of_the_configuration() {
    let home = Home::new();
    home.run(&["create", "One"]);
    std::fs::create_dir_all(home.path(".config/taskyard")).unwrap();
    std::fs::write(home.path(".config/taskyard/taskyard.toml"), "[board.keys]\ndone = [\"f5\", \"Z\"]\n").unwrap();
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("f5 done");
    terminal.keys(&["Z"]).wait_for("Done #1");
}

#[test]
fn without_colours_marks_and_reverse_video_say_it() {
    let home = Home::new();
    home.run(&["create", "One", "--priority", "high"]);
    home.run(&["start", "1"]);
    let terminal = Terminal::start(&home, 100, 24, &["sh", "-c", "NO_COLOR=1 taskyard board"]);
    terminal.wait_for("◼ #1 One");
    let styled = terminal.styled_screen();
    let is_colour = |code: &str| code.parse().is_ok_and(|code: u8| matches!(code, 30..=38 | 40..=48 | 90..=107));
    let codes = styled.split("\x1b[").skip(1).filter_map(|part| part.split_once('m')).map(|(codes, _)| codes);
    let codes: Vec<&str> = codes.flat_map(|codes| codes.split(';')).collect();
    assert!(codes.contains(&"7"), "the cursor is seen: {styled:?}");
    assert!(!codes.into_iter().any(is_colour), "{styled:?}");
}

#[test]
fn what_another_program_does_brings_the_tasks_to_the_front_once() {
    let home = Home::new();
    home.run(&["create", "Here already"]);
    let terminal = board(&home, 100, &[]);
    terminal.wait_for("Here already");
    terminal.keys(&["5"]).wait_for("no jobs on this list");
    write_as_the_client(&home, 2, "From the client");
    terminal.wait_for("From the client");
    terminal.keys(&["5"]).wait_for("no jobs on this list");
    write_as_the_client(&home, 3, "One more");
    let screen = terminal.wait_for("0 of 3");
    assert!(screen.contains("no jobs on this list"), "{screen}");
}

//! The console sessions of the README, the tour and the page for operators are run, and print what these pages show.

use std::fs;
use std::path::Path;
use taskyard_testkit::Program;

#[test]
fn the_readmes_console_sessions_are_true() {
    must_be_true("README.md");
}

#[test]
fn console_sessions_of_the_tour_are_true() {
    must_be_true("docs/tour.md");
}

#[test]
fn the_console_sessions_of_the_page_for_operators_are_true() {
    must_be_true("docs/operating.md");
}

fn must_be_true(page: &str) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("rocket");
    fs::create_dir(&project).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_taskyard"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let steps = steps(&text);
    assert!(steps.len() > 10, "{page} has no console sessions");
    for (command, expected) in steps {
        let output = Program::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(&project)
            .env_clear()
            .envs([
                ("HOME", home.path().as_os_str()),
                ("PATH", path.as_ref()),
                ("LANG", "C.UTF-8".as_ref()),
                ("USER", "ana".as_ref()),
            ])
            .output();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(without_times(&printed), without_times(&expected), "$ {command}");
    }
}

/// Replaces the moments in a text, which are others each time.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let words = text.split_inclusive([' ', '\n']);
    words
        .map(|word| if is_time(word.trim_end()) { word.replace(word.trim_end(), "[time]") } else { word.to_owned() })
        .collect()
}

/// Returns the commands of all `console` blocks, each with what it prints.
fn steps(page: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if inside && line.starts_with("$ ") => steps.push((line[2..].to_owned(), String::new())),
            _ if inside => {
                let (_, output) = steps.last_mut().expect("a session begins with a command");
                output.push_str(line);
                output.push('\n');
            }
            _ => {}
        }
    }
    steps
}

//! The console sessions of the pages for users are run, and print what these pages show. Troubleshooting names messages that exist.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use taskyard_testkit::Program;

#[test]
fn the_readmes_console_sessions_are_true() {
    must_be_true("README.md", 10);
}

#[test]
fn console_sessions_of_the_tour_are_true() {
    must_be_true("docs/tour.md", 40);
}

#[test]
fn the_console_sessions_of_the_page_for_operators_are_true() {
    must_be_true("docs/operating.md", 10);
}

#[test]
fn console_sessions_of_the_tutorial_are_true() {
    must_be_true("docs/tutorial.md", 30);
}

#[test]
fn console_sessions_of_the_faq_are_true() {
    must_be_true("docs/faq.md", 10);
}

#[test]
fn console_sessions_of_the_cookbook_are_true() {
    // Each recipe begins in a directory of its own.
    let text = page("docs/cookbook.md");
    let recipes: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert!(recipes.len() > 5, "the cookbook has {} recipes", recipes.len());
    let steps: usize = recipes.iter().map(|recipe| run(recipe)).sum();
    assert!(steps > 40, "the cookbook has {steps} steps");
}

#[test]
fn console_sessions_of_troubleshooting_are_true() {
    let text = page("docs/troubleshooting.md");
    let steps: usize = text.split("\n## ").skip(1).map(run).sum();
    assert!(steps > 20, "troubleshooting has {steps} steps");
}

/// A message is either shown by a console session of its section, or its text is in the sources; `…` stands for what differs.
#[test]
fn troubleshooting_has_messages_of_the_program() {
    let text = page("docs/troubleshooting.md");
    let sources = sources(&root().join("crates"));
    let mut count = 0;
    for section in text.split("\n### ").skip(1) {
        let (heading, rest) = section.split_once('\n').expect("a section has a text");
        let sessions: String =
            steps(rest.split("\n## ").next().unwrap()).into_iter().map(|step| step.printed).collect();
        for message in heading.trim_matches('`').split('…').map(str::trim).filter(|part| part.len() > 2) {
            count += 1;
            assert!(
                sessions.contains(message) || sources.contains(message),
                "troubleshooting has `{message}`, which nothing says"
            );
        }
    }
    assert!(count > 20, "only {count} messages were found");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the texts of all source files below a folder, without their tests; a line that a string continues on is joined.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            all.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.split("\\\n");
            all.extend(lines.enumerate().map(|(number, line)| if number == 0 { line } else { line.trim_start() }));
        }
    }
    all
}

fn must_be_true(path: &str, at_least: usize) {
    let steps = run(&page(path));
    assert!(steps >= at_least, "{path} has {steps} steps");
}

/// Does what a page does, in a home of its own, and returns how many steps that were.
fn run(page: &str) -> usize {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("rocket");
    fs::create_dir(&project).unwrap();
    let steps = steps(page);
    for step in &steps {
        let printed = match &step.action {
            Action::Shell(command) => shell(command, home.path(), &project),
            Action::Client(call) => client(call, &home.path().join(".claude/tasks/rocket")),
            Action::Write(path) => {
                fs::write(project.join(path), &step.printed).unwrap();
                continue;
            }
        };
        assert_eq!(without_times(&printed), without_times(&step.printed), "{:?}", step.action);
    }
    steps.len()
}

fn shell(command: &str, home: &Path, project: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_taskyard"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Program::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(project)
        .env_clear()
        .envs([
            ("HOME", home.as_os_str()),
            ("PATH", path.as_ref()),
            ("LANG", "C.UTF-8".as_ref()),
            ("USER", "ana".as_ref()),
        ])
        .output();
    String::from_utf8(output.stdout).unwrap()
}

/// Writes what Claude Code's own tools write, as they write it, and returns what they answer.
fn client(call: &str, list: &Path) -> String {
    let (tool, input) = call.split_once(' ').expect("a call has a tool and an input");
    let mut input: Map<String, Value> = serde_json::from_str(input).unwrap();
    let save = |id: &str, task: &Map<String, Value>| {
        fs::write(list.join(format!("{id}.json")), serde_json::to_string_pretty(task).unwrap()).unwrap();
    };
    match tool {
        "TaskCreate" => {
            let id = (1_usize..).find(|id| !list.join(format!("{id}.json")).exists()).unwrap().to_string();
            let mut task = Map::from_iter([("id".to_owned(), Value::from(id.as_str()))]);
            task.append(&mut input);
            task.insert("status".to_owned(), "pending".into());
            task.insert("blocks".to_owned(), Value::Array(Vec::new()));
            task.insert("blockedBy".to_owned(), Value::Array(Vec::new()));
            save(&id, &task);
            format!("Task #{id} created successfully: {}\n", task["subject"].as_str().unwrap())
        }
        "TaskUpdate" => {
            let id = input.remove("taskId").unwrap().as_str().unwrap().to_owned();
            if input["status"] == "deleted" {
                fs::write(list.join(".highwatermark"), &id).unwrap();
                fs::remove_file(list.join(format!("{id}.json"))).unwrap();
                return format!("Updated task #{id} deleted\n");
            }
            let text = fs::read_to_string(list.join(format!("{id}.json"))).unwrap();
            let mut task: Map<String, Value> = serde_json::from_str(&text).unwrap();
            let fields = input.keys().cloned().collect::<Vec<_>>().join(", ");
            task.append(&mut input);
            save(&id, &task);
            format!("Updated task #{id} {fields}\n")
        }
        other => panic!("the pages have no calls of {other}"),
    }
}

/// Replaces the moments in a text, which are others each time.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.ends_with('Z') && word.as_bytes()[10] == b'T' && word.starts_with("20");
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match rest.get(..24) {
            Some(word) if is_time(word) => {
                plain.push_str("[time]");
                24
            }
            _ => {
                plain.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    plain
}

/// What a page shows, in order.
struct Step {
    action: Action,
    /// What is printed, or what the file has.
    printed: String,
}

#[derive(Debug)]
enum Action {
    /// A command after `$ ` in a block `console`.
    Shell(String),
    /// A call of one of Claude Code's tools in a block `claude`.
    Client(String),
    /// A block of another language that names the file it is.
    Write(String),
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block = None;
    let step = |action| Step { action, printed: String::new() };
    let is_call = |line: &str| line.starts_with("Task") && line.contains(" {");
    for line in page.lines() {
        match (block, line.strip_prefix("```")) {
            (Some(_), Some(_)) => block = None,
            (None, Some(info)) => {
                block = Some(info);
                if let Some((_, path)) = info.split_once(' ') {
                    steps.push(step(Action::Write(path.to_owned())));
                }
            }
            (Some("console"), None) if line.starts_with("$ ") => steps.push(step(Action::Shell(line[2..].to_owned()))),
            (Some("claude"), None) if is_call(line) => steps.push(step(Action::Client(line.to_owned()))),
            (Some(info), None) if ["console", "claude"].contains(&info) || info.contains(' ') => {
                let printed = &mut steps.last_mut().expect("a session begins with a command").printed;
                printed.push_str(line);
                printed.push('\n');
            }
            _ => {}
        }
    }
    steps
}

use crate::terminals::terminal::{Home, Terminal};

/// The shells, how each is started, and what has it ask us.
const SHELLS: [(&str, &[&str], &str); 3] = [
    ("bash", &["bash", "--norc", "--noprofile"], "eval \"$(taskyard completions bash)\""),
    ("zsh", &["zsh", "-f"], "autoload -Uz compinit; compinit -u -D; eval \"$(taskyard completions zsh)\""),
    ("fish", &["fish", "--no-config"], "taskyard completions fish | source"),
];

fn rocket() -> Home {
    let home = Home::new();
    home.run(&["create", "Write the parser", "--tag", "core", "--owner", "anamaria"]);
    home.run(&["create", "Write the lexer"]);
    home.run(&["create", "Old idea"]);
    home.run(&["done", "3"]);
    home.run(&["create", "x", "--list", "moonshot"]);
    // Its lead works on the list of the team from then on.
    home.run(&["team", "create", "alpha", "--as", "boss"]);
    home
}

fn ready<'a>(home: &'a Home, program: &[&str], setup: &str) -> Terminal<'a> {
    let terminal = Terminal::start(home, 120, 40, program);
    terminal.text(&format!("{setup}; echo read''y")).keys(&["Enter"]);
    terminal.wait_for_line("ready");
    terminal.text("clear").keys(&["Enter"]);
    terminal.wait_until("an empty screen", |screen| !screen.contains("ready"));
    terminal
}

#[test]
fn tasks_are_offered_with_their_titles_in_every_shell() {
    let home = rocket();
    for (name, program, setup) in SHELLS {
        let terminal = ready(&home, program, setup);
        terminal.text("taskyard done ").keys(&["Tab", "Tab"]);
        let screen = terminal
            .wait_until(name, |screen| screen.contains("Write the parser") && screen.contains("Write the lexer"));
        // What is completed cannot be completed.
        assert!(!screen.contains("Old idea"), "{name}: {screen}");
        assert!(!screen.contains("--force"), "{name}: {screen}");
    }
}

#[test]
fn what_is_meant_is_filled_in_in_every_shell() {
    let home = rocket();
    let job = home.run(&["job", "run", "--name", "sleeper", "--json", "--", "true"]);
    let job: serde_json::Value = serde_json::from_slice(&job.stdout).unwrap();
    let job = job["job"]["id"].as_str().unwrap().to_owned();
    let begun = format!("taskyard job output {}", &job[..4]);
    let whole = format!("taskyard job output {job}");
    for (name, program, setup) in SHELLS {
        let terminal = ready(&home, program, setup);
        for (typed, filled) in [
            ("taskyard undep", "taskyard undepend"),
            ("taskyard list --owner anam", "taskyard list --owner anamaria"),
            ("taskyard list --tag co", "taskyard list --tag core"),
            ("taskyard list --list moon", "taskyard list --list moonshot"),
            ("taskyard list --list=moon", "taskyard list --list=moonshot"),
            ("taskyard use moon", "taskyard use moonshot"),
            ("taskyard update 1 --priority hi", "taskyard update 1 --priority high"),
            ("taskyard update 1 --status in", "taskyard update 1 --status in_progress"),
            ("taskyard team show al", "taskyard team show alpha"),
            ("taskyard show 1 --no-pa", "taskyard show 1 --no-pager"),
            ("taskyard man undep", "taskyard man undepend"),
            ("taskyard export --to merm", "taskyard export --to mermaid"),
            (begun.as_str(), whole.as_str()),
        ] {
            terminal.text(typed).keys(&["Tab"]);
            terminal
                .wait_until(&format!("{name}: {filled}"), |screen| screen.lines().any(|line| line.contains(filled)));
            terminal.keys(&["C-u"]);
        }
    }
}

#[test]
fn task_of_another_list_is_found_by_list_in_line() {
    let home = rocket();
    home.run(&["create", "Land on it", "--list", "moonshot"]);
    let (_, program, setup) = SHELLS[0];
    let terminal = ready(&home, program, setup);
    terminal.text("taskyard --list moonshot show ").keys(&["Tab", "Tab"]);
    let screen = terminal.wait_for("Land on it");
    assert!(!screen.contains("parser"), "{screen}");
}

#[test]
fn the_scripts_are_small() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(&["completions", shell]).stdout;
        assert!(script.len() < 1000, "{shell}: {} bytes", script.len());
    }
}

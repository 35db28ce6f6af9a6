//! The password in the address of a store is found nowhere afterwards.

use std::fs;
use std::path::Path;

use taskyard_testkit::{Home, Program, Ran};

const SECRET: &str = "s3cret";
const ADDRESS: &str = "postgres://user:s3cret@host/db?sslpassword=s3cret";
/// The same of a store that no opener knows.
const UNKNOWN: &str = "board://user:s3cret@host/db?sslpassword=s3cret";
const SHOWN: &str = "TASKYARD_STORE=postgres://user@host/db";

fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create one");
    home
}

fn run(command: &mut Program) -> Ran {
    let ran = command.env("TASKYARD_LOG", "trace").run();
    assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{command:?}: {ran:?}");
    ran
}

/// Fails where a file below a directory holds the password.
fn assert_nowhere_below(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            assert_nowhere_below(&entry.path());
        } else if kind.is_file() {
            let contents = fs::read(entry.path()).unwrap();
            let is_here = contents.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!is_here, "{}", entry.path().display());
        }
    }
}

#[test]
fn unusable_address_is_refused_without_showing_password() {
    let home = home();
    let addresses = [
        UNKNOWN,
        "board://us:er:s3cret@host/db",
        "postgres://user:x@s3cret@host/db",
        "postgres://user:x/s3cret@host/db",
        "board://user:x%40s3cret@host/db",
        "postgres://user:s3cret",
        "postgres:user:s3cret@host",
        "board://host/db?password=s3cret",
        "user_name:s3cret@host",
        "mysql://user:s3cret@host",
    ];
    let commands =
        ["list", "create two", "claim 1", "where", "doctor", "mcp", "job run -- true", "work -- true", "inbox"];
    for address in addresses {
        for command in commands {
            for json in ["", " --json"] {
                let flag =
                    run(home.command(&format!("--store {address} {}{json}", insert(command, json))).env("A", "b"));
                assert_eq!(flag.code, Some(2), "{address} {command}: {flag:?}");
                let variable = run(home.command(&insert(command, json)).env("TASKYARD_STORE", address));
                assert_eq!(variable.code, Some(2), "{address} {command}: {variable:?}");
            }
        }
        fs::create_dir_all(home.path().join(".config/taskyard")).unwrap();
        let config = home.path().join(".config/taskyard/taskyard.toml");
        fs::write(&config, format!("store = \"{address}\"\n")).unwrap();
        assert_eq!(run(&mut home.command("list")).code, Some(2), "{address}");
        for wrong in [format!("rules = \"{address}\""), format!("client_version = \"{address}\"\n[{address}")] {
            fs::write(&config, wrong).unwrap();
            assert_eq!(run(&mut home.command("list")).code, Some(2), "{address}");
        }
        fs::remove_file(config).unwrap();
    }
    assert_nowhere_below(&home.data());
}

#[test]
fn password_on_the_command_line_is_refused() {
    let home = home();
    for address in [ADDRESS, "postgres://user@host/db?password=s3cret"] {
        let refused = run(&mut home.command(&format!("list --store {address}")));
        assert!(refused.code == Some(2) && refused.stderr.contains("TASKYARD_STORE"), "{refused:?}");
    }
}

#[test]
fn address_in_the_place_of_an_argument_is_not_repeated() {
    let home = home();
    for command in
        ["list", "search", "show", "done", "update", "depend 1", "list --where", "claim", "export --to", "edit", "undo"]
    {
        for json in ["", " --json"] {
            let ran = run(&mut home.command(&format!("{command} {ADDRESS}{json}")));
            assert_ne!(ran.code, Some(0), "{command}: {ran:?}");
        }
    }
}

/// Puts a flag before the command that is to be run.
fn insert(command: &str, flag: &str) -> String {
    match command.split_once(" -- ") {
        Some((ours, theirs)) => format!("{ours}{flag} -- {theirs}"),
        None => format!("{command}{flag}"),
    }
}

#[test]
fn senseless_address_error_hides_the_password() {
    let home = home();
    for words in [ADDRESS.to_owned(), format!("--shop={ADDRESS}"), format!("list --color {ADDRESS}")] {
        for json in ["", " --json"] {
            assert_eq!(run(&mut home.command(&format!("{words}{json}"))).code, Some(2), "{words}");
        }
    }
}

#[test]
fn children_get_the_address_without_its_password() {
    let home = home();
    let seen = |name: &str| home.path().join(name);
    let settings = format!(
        r#"{{"hooks":{{"TaskCompleted":[{{"hooks":[{{"type":"command","command":"env > {}"}}]}}],
             "TaskCreated":[{{"hooks":[{{"type":"command","async":true,"command":"env > {}.new; mv {}.new {}"}}]}}]}}}}"#,
        seen("hook").display(),
        seen("async").display(),
        seen("async").display(),
        seen("async").display(),
    );
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    fs::write(home.path().join(".claude/settings.json"), settings).unwrap();
    let inherits = |words: &str| run(home.command(&format!("--store claude: {words}")).env("TASKYARD_STORE", ADDRESS));

    assert_eq!(inherits("done 1").code, Some(0));
    let hook = fs::read_to_string(seen("hook")).unwrap();
    assert!(hook.contains(SHOWN) && !hook.contains(SECRET), "{hook}");

    assert_eq!(inherits("create two").code, Some(0));
    taskyard_testkit::wait_until("the hook", || seen("async").exists());
    let hook = fs::read_to_string(seen("async")).unwrap();
    assert!(hook.contains(SHOWN) && !hook.contains(SECRET), "{hook}");

    let job = run(home.command("job run --quiet --store claude: -- env").env("TASKYARD_STORE", ADDRESS));
    let id = job.stdout.trim();
    assert_eq!(run(&mut home.command(&format!("job wait {id}"))).code, Some(0), "{job:?}");
    let output = home.run(&format!("job output {id}"));
    assert!(output.stdout.contains(SHOWN) && !output.stdout.contains(SECRET), "{output:?}");

    let worked = inherits(&format!("work -- sh -c env>{}", seen("work").display()));
    assert_eq!(worked.code, Some(0), "{worked:?}");
    let worked = fs::read_to_string(seen("work")).unwrap();
    assert!(worked.contains("TASKYARD_STORE=claude:") && !worked.contains(SECRET), "{worked}");
    assert_nowhere_below(home.path());
}

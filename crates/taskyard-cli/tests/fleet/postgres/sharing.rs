//! One yard for many machines.

use std::fs;
use std::io::BufRead;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use taskyard_testkit::{Home, Program, SharedPostgres};

use crate::postgres::{ask, command, home, run};

#[test]
fn two_machines_work_on_one_list() {
    let store = SharedPostgres::get().fresh_address();
    let (one, two) = (home(), home());
    assert_eq!(ask(&one, &store, "lists"), "No lists found\n");
    ask(&one, &store, "create first");
    ask(&two, &store, "create second");
    ask(&two, &store, "depend 2 --on 1");
    let refused = run(&one, &store, "claim 2 --as ana");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    ask(&one, &store, "claim 1 --as ana");
    let refused = run(&two, &store, "claim 1 --as ben");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    ask(&one, &store, "done 1 --as ana");
    let listed: Value = serde_json::from_str(&ask(&two, &store, "list --json")).unwrap();
    let state =
        |id: &str| listed["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap()["status"].clone();
    assert_eq!((state("1"), state("2")), ("completed".into(), "pending".into()));
    ask(&two, &store, "undo --anyone");
    assert!(ask(&one, &store, "history").contains("reverts r"), "{}", ask(&one, &store, "history"));
}

#[test]
fn schemas_of_one_database_are_yards_of_their_own() {
    let (one, two) = (SharedPostgres::get().fresh_address(), SharedPostgres::get().fresh_address());
    let home = home();
    ask(&home, &one, "create only-here");
    assert!(ask(&home, &one, "lists").contains('L'));
    assert_eq!(ask(&home, &two, "lists"), "No lists found\n");
}

#[test]
fn history_follows_a_renamed_list() {
    let store = SharedPostgres::get().fresh_address();
    let home = home();
    for words in ["create first", "create second", "delete 2", "update 1 --subject changed", "lists rename L M"] {
        ask(&home, &store, words);
    }
    let history: Value = serde_json::from_str(&ask(&home, &store, "history --list M --json")).unwrap();
    let told = |entry: &Value| [&entry["revision"], &entry["op"], &entry["task"]].map(ToString::to_string).join(" ");
    let told: Vec<String> = history["entries"].as_array().unwrap().iter().map(told).collect();
    let made = ["1 \"create\" \"1\"", "2 \"create\" \"2\"", "3 \"delete\" \"2\"", "4 \"update\" \"1\""];
    assert_eq!(told[..4], made);
    assert!(told[4..].iter().all(|entry| entry.starts_with("5 \"rename\"")), "{told:?}");
    ask(&home, &store, "undo 4 --list M");
    ask(&home, &store, "restore 2 --deleted --list M");
    let listed = ask(&home, &store, "list --list M");
    assert!(listed.contains("first") && listed.contains("second"), "{listed}");
    assert!(ask(&home, &store, "create third --list M").contains("#3"), "a number is given out again");
    let mut watching = command(&home, &store, "watch --json --since 0 --list M").stdout(Stdio::piped()).start();
    let first = watching.take_output().lines().next().unwrap().unwrap();
    watching.kill();
    assert_eq!(serde_json::from_str::<Value>(&first).unwrap()["revision"], 1, "{first}");
}

#[test]
fn lists_of_branches_of_other_machines_are_renamed() {
    let store = SharedPostgres::get().fresh_address();
    let (here, there) = (home(), home());
    ask(&there, &store, "create branch --list L@side");
    ask(&here, &store, "create plain");
    assert_eq!(ask(&here, &store, "lists rename L M"), "Renamed list L to M, and the list of one branch\n");
    assert!(ask(&there, &store, "list --list M@side").contains("branch"));
    assert!(ask(&there, &store, "list --list M").contains("plain"));
}

#[test]
fn clones_on_two_machines_share_the_list_of_a_branch() {
    let store = SharedPostgres::get().fresh_address();
    let clone_on_side = || {
        let home = home();
        let repository = home.path().join("rocket");
        fs::create_dir_all(home.path().join(".config/taskyard")).unwrap();
        fs::write(home.path().join(".config/taskyard/taskyard.toml"), "[lists]\nper_branch = true\n").unwrap();
        for line in ["init -q -b main rocket", "-C rocket checkout -q -b side"] {
            let mut git = Program::new("git");
            git.args(line.split(' ')).env("HOME", home.path()).current_dir(home.path());
            assert_eq!(git.run().code, Some(0));
        }
        (home, repository)
    };
    let (one, two) = (clone_on_side(), clone_on_side());
    let ask = |(home, repository): &(Home, PathBuf), words: &str| {
        let ran = command(home, &store, words).env_remove("TASKYARD_LIST").current_dir(repository).run();
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        ran.stdout
    };
    ask(&one, "create Lexer");
    assert!(ask(&two, "list").contains("Lexer"));
    ask(&two, "create Parser");
    assert!(ask(&one, "list").contains("Parser"));
}

#[test]
fn watch_tells_what_another_machine_does() {
    let store = SharedPostgres::get().fresh_address();
    let (here, there) = (home(), home());
    ask(&there, &store, "create before");
    let mut watching = command(&here, &store, "watch --json --since 0").stdout(Stdio::piped()).start();
    let mut lines = watching.take_output().lines();
    let mut next = || lines.find_map(|line| Some(line.unwrap()).filter(|line| line.contains("revision"))).unwrap();
    assert!(next().contains("before"));
    ask(&there, &store, "create meanwhile");
    assert!(next().contains("meanwhile"));
    watching.kill();
}

#[test]
fn watch_tells_that_the_database_went_back() {
    let store = SharedPostgres::get().fresh_address();
    let home = home();
    ask(&home, &store, "create before");
    let mut watching = command(&home, &store, "watch --json --since 0").stdout(Stdio::piped()).start();
    let mut lines = watching.take_output().lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["revision"], 1);
    let schema = store.rsplit_once('=').unwrap().1;
    SharedPostgres::get().cluster().sql(&format!("UPDATE {schema}.yard SET epoch = 'another'"));
    let told = next();
    assert_eq!((&told["op"], &told["revision"]), (&"went_back".into(), &1.into()), "{told}");
    ask(&home, &store, "create after");
    assert!(next().to_string().contains("after"));
    watching.kill();
}

#[test]
fn a_team_and_its_messages_are_where_its_list_is() {
    let store = SharedPostgres::get().fresh_address();
    let (one, two) = (home(), home());
    ask(&one, &store, "team create alpha --as boss");
    ask(&two, &store, "team join alpha --as ana");
    ask(&one, &store, "send hello --to ana --as boss");
    assert!(ask(&two, &store, "inbox --as ana").contains("hello"));
}

#[test]
fn work_does_the_tasks_of_a_list() {
    let server = SharedPostgres::get();
    let store = server.fresh_address();
    let home = home();
    for subject in ["one", "two", "three"] {
        ask(&home, &store, &format!("create {subject}"));
    }
    ask(&home, &store, "work --jobs 2 -- true");
    assert!(ask(&home, &store, "stats").contains("3 of 3 done"), "{}", ask(&home, &store, "stats"));
    let schema = store.rsplit_once('=').unwrap().1;
    let left = server.cluster().sql(&format!("SELECT count(*) FROM {schema}.alive"));
    assert_eq!(left, "0", "a process that holds nothing any more leaves no heartbeat");
}

//! Lists that move between files and the database, and backups of the database's lists.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use serde_json::{Value, json};
use taskyard_testkit::{COMMANDS_WITH_HISTORY, Cluster, Home, Scale, SharedPostgres, Step, Suspended, side_by_side};

use crate::postgres::home;

/// Makes a list that has a history, in a store.
fn busy_home(store: &str) -> Home {
    let home = home();
    for words in COMMANDS_WITH_HISTORY {
        home.ask(&format!("--store {store} {words}"));
    }
    home
}

/// Returns the task files of the list `L`.
fn files(home: &Home) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(home.list("L")).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file() && !path.ends_with(".lock"));
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// Returns what a store says of the list: its tasks and its history, without who wrote that into a database.
fn contents(home: &Home, store: &str) -> [Value; 2] {
    let mut entries = home.ask(&format!("--store {store} history"))["entries"].clone();
    for entry in entries.as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("dbUser");
    }
    [home.ask(&format!("--store {store} list --all"))["tasks"].clone(), entries]
}

fn must_have_left(home: &Home, store: &str, place: &str) {
    for words in ["list", "create D", "history", "show 1", "claim --next", "watch --since 0"] {
        let ran = home.run(&format!("--store {store} {words}"));
        assert_eq!(ran.code, Some(4), "{place}: `{words}`: {ran:?}");
        assert!(ran.stderr.contains("list `L` has moved to `"), "{place}: `{words}`: {ran:?}");
    }
    assert_eq!(home.ask(&format!("--store {store} lists"))["lists"], json!([]), "{place}");
}

#[test]
fn list_goes_to_the_database_and_back_to_the_letter() {
    let store = SharedPostgres::get().fresh_address();
    let home = busy_home("claude:");
    let before = contents(&home, "claude:");
    let kept = files(&home);
    home.ask(&format!("move L --to {store}"));
    must_have_left(&home, "claude:", "there");
    assert_eq!(contents(&home, &store), before);
    home.ask(&format!("--store {store} move L --to claude:"));
    must_have_left(&home, &store, "back");
    assert_eq!(files(&home), kept);
    assert_eq!(contents(&home, "claude:"), before);
    let deleted = before[1].as_array().unwrap().iter().rfind(|entry| entry["op"] == "delete").unwrap();
    home.ask(&format!("undo {}", deleted["revision"]));
    assert_eq!(home.ask("show 3")["task"]["subject"], json!("C"));
    assert_eq!(home.ask("create Next")["task"]["id"], json!("4"));
    // The database has what it had of the history; the rest follows.
    home.ask(&format!("move L --to {store}"));
    let schema = store.rsplit_once('=').unwrap().1;
    let cluster = SharedPostgres::get().cluster();
    let gaps = format!("SELECT count(DISTINCT revision) = max(revision) FROM {schema}.changes");
    assert_eq!(cluster.sql(&gaps), "t");
    home.ask(&format!("--store {store} claim 2 --as ben"));
    home.ask(&format!("--store {store} done 2 --as ben"));
}

#[test]
fn list_with_an_unreadable_file_stays() {
    let store = SharedPostgres::get().fresh_address();
    let home = busy_home("claude:");
    fs::write(home.list("L").join("7.json"), b"{\"id\":\"7\",\"subject\":\"\xff\",\"status\":\"pending\"}").unwrap();
    let before = contents(&home, "claude:");
    for words in ["--dry-run", ""] {
        let ran = home.run(&format!("move L --to {store} {words} --json"));
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(3), &json!("unreadable")), "{ran:?}");
    }
    assert_eq!(contents(&home, "claude:"), before);
}

#[test]
fn address_of_a_moved_list_is_told_without_its_password() {
    let store = SharedPostgres::get().fresh_address();
    let home = busy_home("claude:");
    home.ask(&format!("move L --to {}", store.replace("postgres@", "postgres:s3cret@")));
    let ran = home.run("list");
    assert!(ran.stderr.contains("has moved to `postgres://") && !ran.stderr.contains("s3cret"), "{ran:?}");
}

#[test]
fn killed_move_to_the_database_is_finished_or_taken_back() {
    killed("claude:", &SharedPostgres::get().fresh_address());
}

#[test]
fn killed_move_from_the_database_is_finished_or_taken_back() {
    killed(&SharedPostgres::get().fresh_address(), "claude:");
}

/// Kills moves between two stores at each step. A fresh schema takes the place of the database's each time.
fn killed(from: &str, to: &str) {
    let words = |from: &str, to: &str| format!("--store {from} move L --to {to}");
    let traced = busy_home(from);
    let steps = traced.steps(&words(from, to));
    for name in ["move: copied", "move: closed", "move: arrived", "move: noted as gone", "move: left"] {
        assert!(steps.iter().any(|step| step.name == name), "{name}: {steps:?}");
    }
    let fresh = |store: &str| match store {
        "claude:" => store.to_owned(),
        _ => SharedPostgres::get().fresh_address(),
    };
    side_by_side(Step::each_name(&steps, Scale::from_environment(0.1)), |step| {
        let (place, from, to) = (step.to_string(), fresh(from), fresh(to));
        let home = busy_home(&from);
        let [tasks, history] = contents(&home, &from);
        let ran = home.run_with(&step.killing(), &words(&from, &to));
        assert!(ran.was_killed(), "{place}: {ran:?}");
        let looked = home.run(&format!("--store {from} list --all --json"));
        match looked.code {
            Some(0) => assert_eq!(looked.json()["tasks"], tasks, "{place}"),
            Some(4) => assert!(looked.stdout.contains("\"moved\""), "{place}: {looked:?}"),
            _ => assert!(looked.code == Some(5) && looked.stdout.contains("\"moving\""), "{place}: {looked:?}"),
        }
        home.ask(&words(&from, &to));
        must_have_left(&home, &from, &place);
        let [tasks_now, history_now] = contents(&home, &to);
        assert_eq!(tasks_now, tasks, "{place}");
        let (now, before) = (history_now.as_array().unwrap(), history.as_array().unwrap());
        assert_eq!(&now[..before.len()], before.as_slice(), "{place}");
        assert_eq!(home.ask(&format!("--store {to} create Next"))["task"]["id"], json!("4"), "{place}");
    });
}

#[test]
fn writers_beside_a_move_from_the_database_lose_nothing() {
    let store = SharedPostgres::get().fresh_address();
    let home = busy_home(&store);
    home.ask(&format!("--store {store} claim 2 --as ana"));
    let ran = home.run(&format!("--store {store} move L --to claude: --json"));
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(3), &json!("leased")), "{ran:?}");
    home.ask(&format!("--store {store} release 2 --as ana"));
    let acknowledged = thread::scope(|scope| {
        let writer = || {
            let mut acknowledged = 0;
            loop {
                let ran = home.run(&format!("--store {store} create meanwhile"));
                match ran.code {
                    Some(0) => acknowledged += 1,
                    // It is on its way.
                    Some(5) => {}
                    _ => {
                        assert_eq!(ran.code, Some(4), "{ran:?}");
                        return acknowledged;
                    }
                }
            }
        };
        let writers = [scope.spawn(writer), scope.spawn(writer)];
        home.ask(&format!("--store {store} move L --to claude:"));
        writers.map(|writer| writer.join().unwrap()).iter().sum::<usize>()
    });
    assert_eq!(contents(&home, "claude:")[0].as_array().unwrap().len(), 2 + acknowledged);
}

#[test]
fn list_stays_where_it_was_if_the_server_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let (home, store) = (busy_home("claude:"), cluster.address());
    let before = contents(&home, "claude:");
    let words = format!("move L --to {store}");
    for step in ["move: a page is written", "move: about to be committed to the database"] {
        let stopped = Suspended::at(&home, step, &words);
        cluster.stop("immediate");
        cluster.start();
        let ran = stopped.go_on();
        assert_eq!(ran.code, Some(1), "{step}: {ran:?}");
        assert_eq!(contents(&home, "claude:"), before, "{step}");
    }
    home.ask(&words);
    assert_eq!(contents(&home, &store), before);
    let words = format!("--store {store} move L --to claude:");
    let stopped = Suspended::at(&home, "move: copied", &words);
    cluster.stop("immediate");
    cluster.start();
    let ran = stopped.go_on();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    home.ask(&words);
    assert_eq!(contents(&home, "claude:"), before);
}

#[test]
fn backup_of_the_database_comes_back_to_files_and_databases() {
    let server = SharedPostgres::get();
    let (store, other) = (server.fresh_address(), server.fresh_address());
    let home = busy_home(&store);
    home.ask(&format!("--store {store} create X --list M"));
    let before = contents(&home, &store);
    for form in ["b", "b.tar"] {
        let made = home.ask(&format!("--store {store} backup {form}"));
        assert_eq!((&made["complete"], made["lists"].as_array().unwrap().len()), (&json!(true), 2), "{made}");
    }
    let back = home.ask(&format!("--store {other} restore --from b.tar"));
    assert!(back["lists"].as_array().unwrap().iter().all(|list| list["whole"] == true), "{back}");
    home.ask("restore --from b");
    for restored in [&other, "claude:"] {
        assert_eq!(contents(&home, restored), before, "{restored}");
        assert_eq!(home.ask(&format!("--store {restored} create Next"))["task"]["id"], json!("4"), "{restored}");
    }
    home.ask(&format!("--store {store} update 2 --subject changed"));
    let again = home.ask(&format!("--store {store} restore --from b"));
    assert_eq!(again["lists"][0]["different"], json!(["2"]), "{again}");
    home.ask("backup files.tar");
    let third = server.fresh_address();
    home.ask(&format!("--store {third} restore --from files.tar --list L"));
    assert_eq!(contents(&home, &third), contents(&home, "claude:"));
}

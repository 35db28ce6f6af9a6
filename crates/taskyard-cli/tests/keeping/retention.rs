//! What is kept, for how long, and that nothing is lost whenever `gc` is killed; by the real program, at moments a year apart.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use taskyard_testkit::{Home, Ran, Scale, Step, is_consistent_journal, wait_until};

const DAY: i64 = 24 * 3_600_000;
const YEAR: i64 = 365 * DAY;

/// A home in which nothing is tidied without being asked for.
fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    configure(&home, "[gc]\nauto = false\n");
    home
}

fn configure(home: &Home, text: &str) {
    let place = home.path().join(".config/taskyard");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("taskyard.toml"), text).unwrap();
}

/// Runs a command so many milliseconds from now.
fn run_at(home: &Home, later: i64, words: &str) -> Ran {
    let ran = home.run_with(&format!("any=wall:{later}"), &format!("{words} --json"));
    assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
    ran
}

fn ask_at(home: &Home, later: i64, words: &str) -> Value {
    run_at(home, later, words).json()
}

/// Returns the revisions that history tells of, each with its task.
fn told(history: &Value) -> Vec<(u64, String)> {
    let entries = history["entries"].as_array().unwrap().iter();
    entries.map(|entry| (entry["revision"].as_u64().unwrap(), entry["task"].as_str().unwrap().to_owned())).collect()
}

fn size_of(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() { size_of(&entry.path()) } else { metadata.len() }
        })
        .sum()
}

#[test]
fn old_history_is_thinned_to_first_and_last_state() {
    let home = home();
    for command in ["create A", "update 1 --subject B", "update 1 --subject C", "create X"] {
        home.ask(command);
    }
    ask_at(&home, YEAR, "update 1 --subject D");
    ask_at(&home, YEAR, "update 1 --subject E");
    let before = home.ask("history");
    // Nothing is old yet.
    home.ask("gc");
    assert_eq!(told(&home.ask("history")).len(), 6);
    let dry = ask_at(&home, YEAR + DAY, "gc --dry-run --yes");
    assert_eq!((&dry["journals"][0]["entries"], &dry["dryRun"]), (&json!(1), &json!(true)), "{dry}");
    assert_eq!(home.ask("history"), before, "a dry run changes nothing");
    let done = ask_at(&home, YEAR + DAY, "gc --yes");
    assert_eq!(done["journals"][0]["entries"], json!(1), "{done}");
    let history = home.ask("history");
    let expected =
        [(1, "1"), (3, "1"), (4, "2"), (5, "1"), (6, "1")].map(|(revision, task)| (revision, task.to_owned()));
    assert_eq!(told(&history), expected);
    is_consistent_journal(&history, &home.present()).unwrap();
    assert_eq!(history["entries"][1]["after"], before["entries"][2]["after"]);
    // A revision of which a part is gone cannot be taken back, and the newest one can.
    let refused = home.run("undo 3 --json");
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(3), &json!("revision_thinned")), "{refused:?}");
    home.ask("undo");
    assert_eq!(ask_at(&home, YEAR + DAY, "doctor")["findings"], json!([]));
}

#[test]
fn removed_task_is_kept_for_its_time_and_open_one_longer() {
    let home = home();
    for subject in ["Deleted", "Vanished", "Finished", "Left"] {
        home.ask(&format!("create {subject}"));
    }
    home.ask("done 3");
    home.ask("delete 1");
    for id in ["2", "3"] {
        fs::remove_file(home.task_file(id)).unwrap();
    }
    // History waits until what happened this instant can be recorded.
    home.ask("history");
    let missing = |later: i64| -> Vec<String> {
        let entries = ask_at(&home, later, "restore --deleted");
        let tasks = entries["restorable"].as_array().or(entries["tasks"].as_array()).unwrap().iter();
        tasks.map(|task| task["task"]["id"].as_str().or(task["id"].as_str()).unwrap().to_owned()).collect()
    };
    ask_at(&home, YEAR - DAY, "gc --yes");
    assert_eq!(missing(0), ["1", "2", "3"]);
    ask_at(&home, YEAR + DAY, "gc --yes");
    assert_eq!(missing(0), ["2"], "it was open, and nobody deleted it");
    let kept = home.run_with(&format!("any=wall:{}", YEAR + DAY), "gc --forget 4 --json");
    assert!(kept.stderr.contains("task 4 is kept"), "{kept:?}");
    let done = ask_at(&home, YEAR + DAY, "gc --forget 2");
    assert_eq!(done["journals"][0]["forgotten"], json!(["2"]), "{done}");
    assert_eq!(missing(0), Vec::<String>::new());
    // Numbers and revisions go on above everything that ever was.
    assert_eq!(home.ask("create Next")["task"]["id"], json!("5"));
    assert_eq!(ask_at(&home, YEAR + DAY, "doctor")["findings"], json!([]));
}

#[test]
fn short_journals_shrink_after_their_time_and_continue() {
    let home = home();
    let count = if Scale::from_environment(0.1).is_full() { 300 } else { 12 };
    for list in 0..count {
        for task in 0..5 {
            home.ask(&format!("create Task{task} --list S{list}"));
        }
        home.ask(&format!("done 1 2 3 4 5 --list S{list}"));
    }
    // One was removed by the client, one while work was open in it.
    fs::remove_dir_all(home.list("S0")).unwrap();
    home.ask("reopen 2 --list S1");
    fs::remove_dir_all(home.list("S1")).unwrap();
    let done = ask_at(&home, YEAR + DAY, "gc --yes");
    assert_eq!(done["journals"].as_array().unwrap().len(), count, "{done}");
    assert!(done["journals"].as_array().unwrap().iter().all(|journal| journal["archived"] == json!(true)), "{done}");
    let bytes = size_of(&home.data());
    assert!(bytes < 60_000 + 3_300 * count as u64, "{bytes} bytes for {count} lists");
    // What was open can be brought back, and every list goes on above what it was.
    let back = home.ask("restore --all --list S1");
    assert_eq!(back["tasks"][0]["id"], json!("2"), "{back}");
    assert_eq!(home.ask("create New --list S0")["task"]["id"], json!("6"));
    let history = home.ask("history --list S0");
    assert!(history["entries"][0]["revision"].as_u64().unwrap() > 6, "{history}");
    assert_eq!(home.ask("create New --list S2")["task"]["id"], json!("6"));
    assert_eq!(home.ask("list --list S2")["tasks"].as_array().unwrap().len(), 6);
    for list in ["S0", "S2"] {
        let findings = ask_at(&home, YEAR + DAY, &format!("doctor --list {list}"))["findings"].clone();
        assert_eq!(findings, json!([]), "{list}");
    }
}

#[test]
fn token_is_above_earlier_ones_also_when_list_was_archived() {
    let home = home();
    let mut last = 0;
    for task in ["1", "2"] {
        home.ask("create Task");
        last = home.ask(&format!("claim {task} --as ana"))["token"].as_u64().unwrap();
        home.ask(&format!("done {task} --as ana"));
    }
    let done = ask_at(&home, YEAR + DAY, "gc --yes");
    assert_eq!(done["journals"][0]["archived"], json!(true), "{done}");
    assert!(!home.sidecar("L").exists());
    home.ask("create Later");
    let won = home.ask("claim 3 --as ben");
    assert!(won["token"].as_u64().unwrap() > last, "{won} after {last}");
    // An agent that comes with a token of the time before is refused.
    let refused = home.run(&format!("update 3 --subject Mine --token {last} --as ana --json"));
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(3), &json!("stale_token")), "{refused:?}");
}

#[test]
fn a_journal_that_is_too_large_is_thinned_before_its_time() {
    let home = home();
    configure(&home, "[gc]\nauto = false\n[journal]\nmax_size = \"64KB\"\n");
    home.ask("create A");
    home.ask("create B");
    home.ask("delete 2");
    for number in 0..120 {
        let text: String =
            (0..400).map(|place| char::from(b'a' + ((number * 31 + place * place) % 26) as u8)).collect();
        home.ask(&format!("update 1 -d {number}{text}"));
    }
    let done = ask_at(&home, 60_000, "gc");
    assert!(done["journals"][0]["entries"].as_u64().unwrap() > 20, "{done}");
    let history = home.ask("history");
    is_consistent_journal(&history, &home.present()).unwrap();
    assert!(told(&history).len() >= 32, "the newest stay");
    let deleted = home.ask("restore --deleted");
    assert!(deleted.to_string().contains("\"B\""), "its time has not passed: {deleted}");
    home.ask("undo");
}

/// The home that `gc` is killed in: something of every kind is to be done.
fn old_home() -> Home {
    let home = home();
    for command in
        ["create A", "update 1 --subject B", "update 1 --subject C", "create Gone", "create Open", "delete 2"]
    {
        home.ask(command);
    }
    fs::remove_file(home.task_file("3")).unwrap();
    // History waits until what happened this instant can be recorded.
    home.ask("history");
    for command in ["create X --list M", "update 1 --subject Y --list M", "create Z --list M", "done 1 --list M"] {
        home.ask(command);
    }
    fs::remove_dir_all(home.list("M")).unwrap();
    // So that the list itself is not idle.
    ask_at(&home, YEAR, "update 1 --subject D");
    home
}

#[test]
fn a_gc_that_is_killed_anywhere_loses_nothing() {
    let plan = format!("any=wall:{}", YEAR + DAY);
    let steps = {
        let home = old_home();
        let steps = home.steps_with(&plan, "gc --yes --json");
        check(&home, "not killed");
        steps
    };
    for wanted in ["gc: thinned", "gc: copied the log", "gc: archived", "gc: about to put away", "gc: put away"] {
        assert!(steps.iter().any(|step| step.name == wanted), "{wanted} is not among {steps:?}");
    }
    for step in Step::each_name(&steps, Scale::from_environment(0.1)) {
        let home = old_home();
        let ran = home.run_with(&format!("{plan};{}", step.killing()), "gc --yes --json");
        let place = format!("killed at {step}");
        assert!(ran.was_killed(), "{place}: {ran:?}");
        let before_the_next = told(&home.ask("history"));
        assert!(before_the_next.len() >= 4, "{place}: {before_the_next:?}");
        ask_at(&home, YEAR + DAY, "gc --yes");
        check(&home, &place);
        assert!(
            !fs::read_dir(home.data().join("lists"))
                .unwrap()
                .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with(".leaving") }),
            "{place}"
        );
    }
}

/// Everything that is promised is there.
fn check(home: &Home, place: &str) {
    let history = home.ask("history");
    is_consistent_journal(&history, &home.present()).unwrap_or_else(|why| panic!("{place}: {why}"));
    let last = history["entries"].as_array().unwrap().last().unwrap()["after"]["subject"].clone();
    assert_eq!(last, json!("D"), "{place}");
    let old: Vec<&Value> =
        history["entries"].as_array().unwrap().iter().filter(|entry| entry["task"] == json!("1")).collect();
    assert!(old.iter().any(|entry| entry["after"]["subject"] == json!("C")), "{place}: {old:?}");
    let restored = home.ask("restore 3");
    assert_eq!(restored["tasks"][0]["subject"], json!("Open"), "{place}: {restored}");
    let restored = home.ask("restore --all --list M");
    assert_eq!(restored["tasks"][0]["subject"], json!("Z"), "{place}: {restored}");
    assert_eq!(home.ask("create N")["task"]["id"], json!("4"), "{place}");
    assert_eq!(home.ask("create N --list M")["task"]["id"], json!("3"), "{place}");
    for list in ["L", "M"] {
        let findings = ask_at(home, YEAR + DAY, &format!("doctor --list {list}"))["findings"].clone();
        assert_eq!(findings, json!([]), "{place}");
    }
}

#[test]
fn writing_command_tidies_once_a_day_after_its_answer() {
    let home = home();
    configure(&home, "");
    for list in ["O0", "O1"] {
        for command in ["create A", "update 1 --subject B", "update 1 --subject C", "update 1 --subject D"] {
            home.ask(&format!("{command} --list {list}"));
        }
    }
    let entries = || ["O0", "O1"].map(|list| told(&home.ask(&format!("history --list {list}"))).len());
    let steps = |later: i64, words: &str| -> Vec<String> {
        let steps = home.steps_with(&format!("any=wall:{later}"), words);
        steps.into_iter().map(|step| step.name).collect()
    };
    let tidies = |steps: Vec<String>| steps.iter().any(|step| step.starts_with("gc:"));
    assert_eq!(entries(), [4, 4]);
    // Time passes: the machine is on once a month.
    for month in 0..=12 {
        steps(month * 29 * DAY + DAY, "create Later --list O1");
    }
    // A command that only reads tidies nothing, and no command does where that is switched off.
    assert!(!tidies(steps(YEAR + DAY, "list --list O0")));
    configure(&home, "[gc]\nauto = false\n");
    assert!(!tidies(steps(YEAR + DAY, "update 1 --subject E --list O0")));
    assert_eq!(entries()[0], 5);
    configure(&home, "");
    let reached = steps(YEAR + DAY, "update 1 --subject F --list O0");
    let last = |name: &str| reached.iter().rposition(|step| step == name).unwrap();
    let first = |name: &str| reached.iter().position(|step| step == name).unwrap();
    assert!(last("turn: given back") < first("gc: thinned"), "{reached:?}");
    assert_eq!(entries()[0], 4, "the making, the state at the end, and what is young");
    // Not a second time on the same day.
    assert!(!tidies(steps(YEAR + DAY + 3_600_000, "update 1 --subject G --list O0")));
}

/// The places of lists: Claude Code's files, a document, a teaching folder.
const STORES: [&str; 3] = ["", " --store document:tasks.json", " --store teaching:folder"];

/// Makes two tasks at a moment, and deletes the second; returns their ids.
fn two_tasks_of_which_one_is_deleted(home: &Home, later: i64, store: &str) -> [String; 2] {
    let ids = ["A", "B"].map(|subject| {
        let made = ask_at(home, later, &format!("create {subject}{store}"));
        made["task"]["id"].as_str().unwrap().to_owned()
    });
    ask_at(home, later, &format!("delete {}{store}", ids[1]));
    ids
}

#[test]
fn a_command_two_years_ahead_thins_nothing() {
    for store in STORES {
        let home = home();
        configure(&home, "");
        let [one, two] = two_tasks_of_which_one_is_deleted(&home, 0, store);
        let ahead = |by: i64, words: &str| run_at(&home, 2 * YEAR + by, &format!("{words}{store}")).stderr;
        let told = ahead(0, "create C");
        assert!(told.contains("more than a month after") && told.contains("taskyard gc"), "{store}: {told}");
        assert_eq!(ahead(2 * DAY, &format!("update {one} --subject D")), "", "{store}: it is said once");
        let findings = ask_at(&home, 2 * YEAR, &format!("doctor{store}"))["findings"].clone();
        assert_eq!(findings[0]["code"], json!("clock_in_doubt"), "{store}: {findings}");
        // The clock is set right.
        assert_eq!(run_at(&home, 2 * DAY, &format!("update {one} --subject E{store}")).stderr, "", "{store}");
        assert_eq!(ask_at(&home, 2 * DAY, &format!("doctor{store}"))["findings"], json!([]), "{store}");
        let restored = home.ask(&format!("restore {two} --deleted{store}"));
        assert_eq!(restored["tasks"][0]["subject"], json!("B"), "{store}: {restored}");
    }
}

#[test]
fn work_under_a_clock_of_years_ago_keeps_its_history() {
    for store in STORES {
        let home = home();
        configure(&home, "");
        let [one, two] = two_tasks_of_which_one_is_deleted(&home, -6 * YEAR, store);
        // The clock is set right.
        let told = home.run(&format!("update {one} --subject C{store}")).stderr;
        assert!(told.contains("more than a month after"), "{store}: {told}");
        let done = home.ask(&format!("gc{store}"));
        assert!(done["clockDoubt"]["now"].as_str() > done["clockDoubt"]["last"].as_str(), "{store}: {done}");
        // It has been right for more than a month, and is believed; the years are not.
        for month in 0..=3 {
            ask_at(&home, month * 29 * DAY, &format!("update {one} --subject {month}{store}"));
        }
        let done = ask_at(&home, 88 * DAY, &format!("gc{store}"));
        assert_eq!(done["clockDoubt"], Value::Null, "{store}: {done}");
        let restored = home.ask(&format!("restore {two} --deleted{store}"));
        assert_eq!(restored["tasks"][0]["subject"], json!("B"), "{store}: {restored}");
    }
}

#[test]
fn a_list_of_an_hour_with_a_wrong_clock_keeps_its_history() {
    let home = home();
    configure(&home, "");
    home.ask("create A");
    for command in ["create B", "delete 1"] {
        ask_at(&home, -6 * YEAR, &format!("{command} --list M"));
    }
    ask_at(&home, 2 * DAY, "create C");
    ask_at(&home, 3 * DAY, "gc");
    let restored = home.ask("restore 1 --deleted --list M");
    assert_eq!(restored["tasks"][0]["subject"], json!("B"), "{restored}");
}

#[test]
fn gc_asks_before_it_believes_a_jump() {
    let home = home();
    for command in ["create A", "update 1 --subject B", "update 1 --subject C", "update 1 --subject D"] {
        home.ask(command);
    }
    for (later, said) in [(2 * YEAR, "more than a month after"), (-2 * YEAR, "before the last time known")] {
        let refused = run_at(&home, later, "gc");
        assert!(refused.stderr.contains(said) && refused.stderr.contains("gc --yes"), "{refused:?}");
        assert_eq!(told(&home.ask("history")).len(), 4, "{refused:?}");
    }
    let done = ask_at(&home, 2 * YEAR, "gc --yes");
    assert_eq!((&done["journals"][0]["archived"], &done["clockDoubt"]), (&json!(true), &Value::Null), "{done}");
}

#[test]
fn history_ages_while_nobody_touches_the_list() {
    let home = home();
    configure(&home, "");
    for command in ["create A", "update 1 --subject B", "update 1 --subject C", "create D", "delete 2"] {
        home.ask(command);
    }
    // What has waited for a day is flushed.
    ask_at(&home, DAY, "gc");
    let left = |month: i64| {
        // As long as tidying takes on a busy machine.
        let ran = home.run_with(&format!("any=wall:{};any=step:0", month * 29 * DAY), "create Other --list M");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let list = home.sidecar("L");
        list.exists().then(|| told(&home.ask("history")).len())
    };
    assert_eq!((1..=12).map(left).collect::<Vec<_>>(), [Some(5); 12]);
    assert_eq!(left(13), None, "all of it is old, and in the archive");
    let history = told(&home.ask("history"));
    assert_eq!(history.first(), Some(&(1, "1".to_owned())), "{history:?}");
}

#[test]
fn answer_reaches_its_reader_before_tidying() {
    let home = home();
    configure(&home, "");
    for command in ["create A", "update 1 --subject B", "update 1 --subject C", "update 1 --subject D"] {
        home.ask(command);
    }
    for month in 0..=12 {
        ask_at(&home, month * 29 * DAY + DAY, "create Later --list M");
    }
    // As long as tidying takes on a busy machine.
    let plan = format!("any=wall:{};any=step:0;gc: thinned=stop", YEAR + 3 * DAY);
    let mut child = home.start_with(&plan, "update 1 --subject E");
    let mut answer = String::new();
    child.take_output().read_to_string(&mut answer).unwrap();
    child.take_complaints().read_to_string(&mut answer).unwrap();
    assert!(answer.contains('1'), "{answer}");
    wait_until("it to tidy", || child.is_stopped() || child.has_ended());
    assert!(child.is_stopped(), "it has nothing to tidy");
    child.signal(Signal::CONT);
    assert!(child.wait().success());
}

#[test]
fn expired_jobs_messages_and_todos_go_and_needed_ones_stay() {
    let home = home();
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    home.ask("send --to bob hello");
    home.ask("inbox --as bob --ack");
    home.ask("send --to bob again");
    let job = home.run("job run --wait --json -- true");
    assert_eq!(job.code, Some(0), "{job:?}");
    let todos = home.path().join(".claude/todos");
    fs::create_dir_all(&todos).unwrap();
    for name in ["s1-agent-s1.json", "notes.txt"] {
        fs::write(todos.join(name), "[]").unwrap();
    }
    let told = |done: &Value| ["jobs", "todos"].map(|key| done[key].as_array().unwrap().len());
    let young = home.ask("gc");
    assert_eq!((told(&young), &young["messages"]), ([0, 0], &json!(0)), "{young}");
    // What was measured since the machine started counts for more than a clock that was set.
    let set = ask_at(&home, 29 * DAY, "gc");
    assert_eq!((told(&set), &set["clockDoubt"]), ([0, 0], &Value::Null), "{set}");
    let after_a_restart = |words: &str| {
        let ran = home.run_with(&format!("any=wall:{};any=boot:another", 70 * DAY), &format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    };
    let doubted = after_a_restart("gc");
    assert_eq!((told(&doubted), &doubted["messages"]), ([0, 0], &json!(0)), "{doubted}");
    assert_eq!(after_a_restart("job gc")["jobs"], json!([]));
    let dry = after_a_restart("gc --dry-run --yes");
    let done = after_a_restart("gc --yes");
    for done in [&dry, &done] {
        assert_eq!((told(done), &done["messages"]), ([1, 1], &json!(1)), "{done}");
    }
    assert!(!todos.join("s1-agent-s1.json").exists() && todos.join("notes.txt").exists());
    assert_eq!(home.ask("job list")["jobs"], json!([]));
    assert_eq!(home.ask("inbox --as bob")["messages"].as_array().unwrap().len(), 1, "nobody has acknowledged it");
}

#[test]
fn writers_lose_nothing_while_their_list_is_archived_under_them() {
    let home = home();
    configure(&home, "[gc]\nauto = false\n[journal]\nkeep = \"0s\"\n");
    let is_over = AtomicBool::new(false);
    let made: Vec<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut made = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        made.push(home.ask("create A")["task"]["id"].as_str().unwrap().to_owned());
                    }
                    made
                })
            })
            .collect();
        // A minute from now everything is flushed, and as old as it may get.
        (0..20).for_each(|_| drop(ask_at(&home, 60_000, "gc")));
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let done = ask_at(&home, 60_000, "gc");
    assert_eq!(done["journals"][0]["archived"], json!(true), "{done}");
    let distinct: HashSet<&String> = made.iter().collect();
    assert_eq!((distinct.len(), home.present().len()), (made.len(), made.len()));
    let revisions: Vec<u64> = told(&home.ask("history")).into_iter().map(|(revision, _)| revision).collect();
    assert_eq!(revisions, (1..=made.len() as u64).collect::<Vec<_>>());
    assert_eq!(home.ask("doctor")["findings"], json!([]));
}

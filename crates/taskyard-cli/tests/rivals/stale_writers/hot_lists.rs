//! Clients that write all the time, beside us.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard::operations::{Patch, Update};
use taskyard::store::{HistoryQuery, StoreError};
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::{Home, Rival, Scale, Tasks, is_consistent_journal};

/// The tasks that everybody writes to.
const HOT: u64 = 4;
/// How many tasks there are to wait for besides.
const BLOCKERS: u64 = 40;
/// How far apart our changes are: 100 a second, and as many of the others.
const OUR_PACE: Duration = Duration::from_millis(10);
/// How old what the others write is at most, in milliseconds.
const WAIT: &str = "60";

#[test]
fn nothing_that_an_old_client_takes_back_goes_unnoticed() {
    let counts = write_beside("--unlocked", |yard| yard.without_putting_back());
    assert!(counts.lost > 0, "the others took nothing back: {counts:?}");
    assert_eq!(counts.put_back, 0);
}

#[test]
fn nothing_that_the_newest_client_takes_back_goes_unnoticed() {
    let counts = write_beside("--locked", |yard| yard.without_putting_back());
    assert!(counts.lost > 0, "the others took nothing back: {counts:?}");
}

#[test]
fn what_an_old_client_takes_back_is_put_back_once() {
    let counts = write_beside("--unlocked", |yard| yard);
    assert!(counts.put_back > 0, "nothing was put back: {counts:?}");
}

#[test]
fn what_the_newest_client_takes_back_is_put_back_once() {
    let counts = write_beside("--locked", |yard| yard);
    assert!(counts.put_back > 0, "nothing was put back: {counts:?}");
}

/// What came of a run.
#[derive(Debug, Default)]
struct Counts {
    /// Changes of ours that were acknowledged.
    acknowledged: usize,
    /// Those that are not in the files at the end.
    lost: usize,
    /// Those of them that no entry of the journal marks as taken back.
    unnoticed: usize,
    /// Revisions that put something back.
    put_back: usize,
    /// Changes of the others.
    theirs: u64,
    /// What `doctor` found, and what was lost after it mended that.
    found: usize,
    lost_after_mending: usize,
}

/// One acknowledged change of ours: a field of a task, as the journal names it.
type Change = (String, String);

fn write_beside(how: &'static str, made: impl Fn(Yard) -> Yard) -> Counts {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for number in 1..=HOT + BLOCKERS {
        home.ask(&format!("create Task{number} -d Work"));
    }
    // Something that shows a task whose description another program rewrites to be the same.
    for number in 1..=HOT {
        home.ask(&format!("update {number} --meta sprint=7"));
    }
    let changes = Scale::from_environment(0.1).of(2_000).max(200);
    // Two that write in place without a lock leave a mixture of both, for which no other program is to blame.
    let names: &[&str] = if how == "--unlocked" { &["x"] } else { &["x", "y"] };
    let [pace, theirs] = [10 * names.len(), changes / names.len()].map(|number| number.to_string());
    let directory = home.list("L");
    let start = |name: &&str| Rival::start("stale.js", &[directory.to_str().unwrap(), name, WAIT, &pace, &theirs, how]);
    let rivals: Vec<Rival> = names.iter().map(start).collect();
    let agent = AgentName::new("ana").unwrap();
    let yard = made(Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), agent));
    let acknowledged = thread::scope(|scope| scope.spawn(|| change(&yard, changes)).join().unwrap());
    let mut counts = Counts { acknowledged: acknowledged.len(), ..Counts::default() };
    assert!(counts.acknowledged > changes / 2, "most changes of ours did not happen: {counts:?}");
    for rival in rivals {
        let end = rival.end();
        assert_eq!(end.code, Some(0), "{end:?}");
        counts.theirs += serde_json::from_str::<Value>(&end.stdout).unwrap()["written"].as_u64().unwrap();
    }
    // The next reader records what happened last.
    yard.history(&HistoryQuery::default()).unwrap();
    let history = home.ask("history");
    let present = home.present();
    is_consistent_journal(&history, &present).unwrap();
    let marked = marked(&history);
    let lost: Vec<&Change> = acknowledged.iter().filter(|change| !is_there(&present, change)).collect();
    counts.lost = lost.len();
    let unnoticed: Vec<&&Change> = lost.iter().filter(|change| !marked.contains_key(**change)).collect();
    counts.unnoticed = unnoticed.len();
    let entries = history["entries"].as_array().unwrap();
    counts.put_back = entries.iter().filter(|entry| entry["op"] == json!("put_back")).count();
    // Whatever was not meant comes back, and only that is told of.
    let findings = home.run("doctor --json").json();
    let taken = |finding: &&Value| finding["code"] == json!("taken_back");
    counts.found = findings["findings"].as_array().unwrap().iter().filter(taken).count();
    home.run("doctor --fix --yes");
    let present = home.present();
    let still: Vec<&Change> = acknowledged.iter().filter(|change| !is_there(&present, change)).collect();
    counts.lost_after_mending = still.len();
    eprintln!("{how}: {counts:?}");
    assert_eq!(unnoticed, Vec::<&&Change>::new(), "{counts:?}");
    for change in still {
        assert_eq!(marked[change].last().map(String::as_str), Some("meant"), "{change:?} stays lost");
    }
    counts
}

/// Changes the hot tasks, a field after the other, and returns what was acknowledged.
fn change(yard: &Yard, changes: usize) -> BTreeSet<Change> {
    let mut acknowledged = BTreeSet::new();
    let mut next = Instant::now();
    for turn in 0..changes as u64 {
        let task = turn % HOT + 1;
        let blocker = HOT + 2 + turn / HOT % (BLOCKERS - 1);
        let is_edge = turn % 7 == 0;
        let (update, field) = if is_edge {
            let on = TaskId::number(blocker);
            let field = format!("blockedBy.{on}");
            (Update { add_blocked_by: vec![on], ..Update::default() }, field)
        } else {
            let metadata = json!({ format!("ours{turn}"): turn }).as_object().cloned();
            let patch = Patch { metadata, ..Patch::default() };
            (Update { patch, ..Update::default() }, format!("metadata.ours{turn}"))
        };
        match yard.update(&TaskId::number(task), update) {
            Ok(Outcome::Done(_)) => drop(acknowledged.insert((task.to_string(), field))),
            // The old client empties a file before it writes it, and others may keep writing; nothing was acknowledged then.
            Ok(Outcome::Refused(Refusal::Unreadable { .. }))
            | Err(Error::TooManyConflicts { .. } | Error::Store(StoreError::NoTask { .. })) => {}
            Ok(Outcome::Refused(refusal)) => panic!("{refusal}"),
            Err(error) => panic!("{error}"),
        }
        next += OUR_PACE;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    acknowledged
}

/// Returns the verdicts on every field of every task that a write of the others took back, in order.
fn marked(history: &Value) -> HashMap<Change, Vec<String>> {
    let mut marked: HashMap<Change, Vec<String>> = HashMap::new();
    for entry in history["entries"].as_array().unwrap() {
        for loss in entry["takenBack"].as_array().into_iter().flatten() {
            let text = |key: &str| loss[key].as_str().unwrap().to_owned();
            let change = (entry["task"].as_str().unwrap().to_owned(), text("field"));
            marked.entry(change).or_default().push(text("verdict"));
        }
    }
    marked
}

fn is_there(present: &Tasks, (task, field): &Change) -> bool {
    let task = &present[task];
    match field.split_once('.').unwrap() {
        ("metadata", key) => task["metadata"].get(key).is_some(),
        (edges, id) => task[edges].as_array().unwrap().contains(&json!(id)),
    }
}

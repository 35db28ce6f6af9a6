//! Every operation on every store of files, while one of its system calls fails: the answer agrees with what is there.
//!
//! An answer of success or `unfinished` means that the change is there, any other that it is not, now and after the next command; no
//! answer says that something does not exist which could not be looked at. A process that is killed leaves one of the two states. The
//! tests know only commands and their answers, so that they hold whatever a store keeps on disk.
//!
//! Every call of every operation, with counts:
//! `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test crashes faults:: -- --nocapture`.
#![allow(clippy::print_stderr, reason = "the counts are for the developer who asks for them")]

mod site;

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use site::{Fault, Site};
use taskyard_testkit::{Home, Ran, Random, Scale, side_by_side};

/// What is done to the list `L`. Letters stand for its tasks.
const OPERATIONS: [&str; 22] = [
    "create new",
    "create new --blocked-by A",
    "create --batch batch.jsonl",
    "update A --subject changed",
    "start A",
    "done A",
    "cancel A",
    "reopen D",
    "delete A",
    "claim A",
    "claim --next --as other",
    "release C",
    "renew C --token TOKEN --ttl 3h",
    "undo",
    "restore E --deleted",
    "note A seen",
    "depend C --on A",
    "undepend B --on A",
    "done A B --force",
    "clear --force",
    "import tasks.md --from markdown",
    "edit A",
];

/// What is done to two lists, or brings tasks from elsewhere.
const MOVES: [&str; 5] = [
    "merge M L",
    "merge L M --force",
    "adopt M --yes",
    "restore --from backup.tar --deleted",
    "import tasks.md --from markdown",
];

/// What is done to the list `M` as a whole.
const NAMES: [&str; 2] = ["lists rename M N", "lists remove M --force"];

#[test]
fn answers_agree_with_the_clients_files() {
    sweep("claude:", &OPERATIONS, &["L"], Kills::Few);
}

#[test]
fn answers_agree_with_a_document() {
    sweep("document:", &OPERATIONS, &["L"], Kills::Few);
}

#[test]
fn answers_agree_with_a_teaching_folder() {
    sweep("teaching:folder", &OPERATIONS, &["L"], Kills::Few);
}

#[test]
fn a_move_is_on_both_lists_of_files_or_on_none() {
    sweep("claude:", &MOVES, &["L", "M"], Kills::All);
}

#[test]
fn a_move_is_in_both_documents_or_in_none() {
    sweep("document:", &MOVES, &["L", "M"], Kills::All);
}

#[test]
fn a_list_has_one_name_whichever_call_fails() {
    sweep("claude:", &NAMES, &["M", "N"], Kills::All);
}

#[test]
fn a_document_has_one_name_whichever_call_fails() {
    sweep("document:", &NAMES, &["M", "N"], Kills::All);
}

#[test]
fn a_change_whose_answer_cannot_be_written_is_made() {
    let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    for words in ["create one", "create two --json", "claim 1"] {
        let ran = home.command(words).stdout(File::create("/dev/full").unwrap()).run();
        assert!(ran.code == Some(6) && ran.stderr.contains("the change is recorded"), "`{words}`: {ran:?}");
    }
    let listed = home.ask("list")["tasks"].as_array().unwrap().clone();
    assert_eq!((listed.len(), &listed[0]["owner"]), (2, &"tester".into()));
    assert_eq!(home.command("list").stdout(File::create("/dev/full").unwrap()).run().code, Some(1));
}

/// Whether the process is also killed at every call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kills {
    Few,
    All,
}

/// The share of the full scale that runs by default.
const SHARE: f64 = 0.008;
/// In so many parts operations are gone through at once.
const PARTS: usize = 4;
/// Of so many kills one is done where others are about kills.
const ONE_KILL_OF: usize = 8;

fn sweep(store: &'static str, operations: &[&str], lists: &[&str], kills: Kills) {
    let scale = Scale::from_environment(SHARE);
    let (runs, unfinished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let parts: Vec<Vec<&str>> =
        (0..PARTS).map(|part| operations.iter().skip(part).step_by(PARTS).copied().collect()).collect();
    side_by_side(parts, |part| {
        let site = Site::new(store);
        for words in part {
            let before = site.state(lists);
            site.go_back();
            let mut faults = site.trace(words);
            let after = site.state(lists);
            assert!(before != after || words.starts_with("renew"), "`{words}` changes nothing");
            if kills == Kills::Few {
                let mut random = Random::new(2);
                faults.retain(|fault| !fault.kills() || random.below(ONE_KILL_OF) == 0);
            }
            for fault in sampled(faults, scale) {
                site.go_back();
                let ran = site.run(words, &fault);
                // Each thread counts its own calls: this number was one of the loader's, too, and the command did not begin.
                if ran.stderr.contains("error while loading shared libraries") {
                    continue;
                }
                // The next command is about either of them.
                let is_turned = runs.fetch_add(1, Ordering::Relaxed) % 2 == 1;
                let order: Vec<&str> = if is_turned { lists.iter().rev().copied().collect() } else { lists.to_vec() };
                let now = site.state(&order);
                unfinished.fetch_add(usize::from(ran.code == Some(6)), Ordering::Relaxed);
                let mut mistake = judge(&fault, &ran, now == before, now == after);
                if mistake.is_none() && lists.len() > 1 {
                    let findings = site.findings(order[0]);
                    let is_gone = findings.json()["error"]["code"] == "list_not_found";
                    mistake =
                        (findings.code != Some(0) && !is_gone).then(|| format!("doctor finds {}", findings.stdout));
                }
                if let Some(mistake) = mistake {
                    let told = format!("`{words}` on {store}: {mistake}\n  {fault}\n  {ran:?}\n  now {now:?}");
                    wrong.lock().unwrap().push(told);
                }
            }
            site.go_back();
        }
    });
    let wrong = wrong.into_inner().unwrap();
    eprintln!("{store}: {runs:?} runs, {unfinished:?} unfinished, {} wrong answers", wrong.len());
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns what is wrong with an answer, given what is there.
fn judge(fault: &Fault, ran: &Ran, is_before: bool, is_after: bool) -> Option<String> {
    if !is_before && !is_after {
        return Some("half of the change is there".to_owned());
    }
    if fault.kills() {
        return (!ran.was_killed() && ran.code != Some(0)).then(|| "it was not killed".to_owned());
    }
    match ran.code {
        Some(0 | 6) if !is_after => Some("the change is not there".to_owned()),
        Some(0) => None,
        Some(6) if ran.json()["error"]["code"] != "unfinished" => Some("it is not called unfinished".to_owned()),
        Some(6) => None,
        Some(1 | 2 | 5) if !is_before => Some("the change is there".to_owned()),
        Some(1 | 2 | 5) => None,
        Some(3 | 4) => Some("what could not be looked at is said not to be there".to_owned()),
        code => Some(format!("it ended with {code:?}")),
    }
}

/// Returns a share of the faults, the same in every run.
fn sampled(mut faults: Vec<Fault>, scale: Scale) -> Vec<Fault> {
    let mut random = Random::new(faults.len() as u64);
    let wanted = scale.of(faults.len()).min(faults.len());
    let mut chosen = Vec::with_capacity(wanted);
    while chosen.len() < wanted {
        chosen.push(faults.swap_remove(random.below(faults.len())));
    }
    chosen
}

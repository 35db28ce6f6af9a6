//! Workers that make, take and finish tasks, tell what was acknowledged to them, and are held to the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use taskyard::core::{Entry, Op, Status};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::HistoryQuery;
use taskyard::{Outcome, Yard};
use taskyard_testkit::wait_until;

use crate::child::Participant;
use crate::yard;

pub(crate) const WORKERS: usize = 16;

/// `worker ADDRESS NAME`: works until its input ends, and tells what was acknowledged.
pub(crate) fn worker(address: &str, name: &str) {
    let yard = yard(address, name);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    io::stdin().read_exact(&mut [0; 3]).unwrap();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::SeqCst);
    });
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let subject = format!("{name}-{number}");
        let created = yard.create(NewTask { subject: subject.clone(), ..NewTask::default() }).unwrap().done().unwrap();
        tell(&json!({ "op": "created", "id": created.task.id.as_str(), "subject": subject }));
        let Outcome::Done(claimed) = yard.claim_next(&Claim::default()).unwrap() else { continue };
        tell(&json!({ "op": "claimed", "id": claimed.task.id.as_str(), "by": name, "token": claimed.lease.token.0 }));
        let op = match yard.proving(claimed.lease.token).done(&claimed.task.id).unwrap() {
            Outcome::Done(_) => "done",
            // The claim was lost with a state of the database.
            Outcome::Refused(_) => "refused",
        };
        tell(&json!({ "op": op, "id": claimed.task.id.as_str() }));
    }
}

fn tell(line: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// The workers of a test.
pub(crate) struct Crew(Vec<Participant>);

impl Crew {
    /// Starts workers on an address.
    pub(crate) fn start(address: &str) -> Self {
        let mut crew: Vec<Participant> =
            (0..WORKERS).map(|number| Participant::start(&["worker", address, &format!("w{number}")])).collect();
        crew.iter_mut().for_each(Participant::let_go);
        Self(crew)
    }

    /// Waits until so much more was acknowledged to every worker.
    pub(crate) fn wait_for_each(&self, more: usize) {
        let before: Vec<usize> = self.0.iter().map(Participant::count).collect();
        wait_until("the workers to go on", || {
            self.0.iter().zip(&before).all(|(worker, before)| worker.count() >= before + more)
        });
    }

    /// Returns how much was acknowledged to each worker so far.
    pub(crate) fn counts(&self) -> Vec<usize> {
        self.0.iter().map(Participant::count).collect()
    }

    /// Ends the work, and holds what was acknowledged to the journal.
    pub(crate) fn judge(self, what: &str, yard: &Yard) {
        let nothing = vec![0; WORKERS];
        self.judge_after(&nothing, what, yard);
    }

    /// Does the same, though so much of what was acknowledged to each worker may be lost.
    pub(crate) fn judge_after(mut self, lost: &[usize], what: &str, yard: &Yard) {
        self.0.iter_mut().for_each(Participant::stop);
        let told: Vec<Vec<(Instant, Value)>> = self.0.into_iter().map(Participant::ended).collect();
        let longest = told.iter().flat_map(|lines| lines.windows(2).map(|two| two[1].0 - two[0].0)).max();
        let kept = |(lines, lost): (Vec<(Instant, Value)>, &usize)| lines.into_iter().skip(*lost);
        let told: Vec<Value> = told.into_iter().zip(lost).flat_map(kept).map(|(_, line)| line).collect();
        let journal = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
        let figures = json!({
            "test": what, "acknowledged": told.len(), "revisions": journal.last().map(|entry| entry.revision.0),
            "longestPauseMs": longest.map(|pause| u64::try_from(pause.as_millis()).unwrap()),
        });
        println!("{figures}");
        hold_to(&told, &journal);
        let wrong: Vec<_> = yard.examine().unwrap().into_iter().filter(|finding| !finding.code.is_warning()).collect();
        assert_eq!(wrong, []);
    }
}

/// Fails where something acknowledged is not in the journal, or something is in it twice.
fn hold_to(told: &[Value], journal: &[Entry]) {
    let revisions: BTreeSet<u64> = journal.iter().map(|entry| entry.revision.0).collect();
    assert!(revisions.iter().copied().eq(1..=revisions.len() as u64), "the revisions have gaps");
    let subject = |entry: &Entry| entry.after.as_ref().unwrap().task(&entry.task).unwrap().subject;
    let made: Vec<String> = journal.iter().filter(|entry| entry.op == Op::Create).map(subject).collect();
    assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), made.len(), "something was made twice");
    let mut claims: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in journal {
        let state =
            |image: &Option<taskyard::core::Image>| image.as_ref().map(|image| image.task(&entry.task).unwrap().status);
        if entry.op == Op::Claim {
            claims.entry(entry.task.as_str()).or_default().push(entry.actor.as_str());
        } else if state(&entry.after) == Some(Status::Completed) && state(&entry.before) != Some(Status::Completed) {
            *ends.entry(entry.task.as_str()).or_default() += 1;
        }
    }
    assert!(claims.values().all(|by| by.len() == 1), "a task was won twice: {claims:?}");
    assert!(ends.values().all(|count| *count == 1), "a task ended twice: {ends:?}");
    for line in told {
        let id = line["id"].as_str().unwrap();
        match line["op"].as_str().unwrap() {
            "created" => assert!(made.iter().any(|made| *made == line["subject"]), "{line} is lost"),
            "claimed" => assert_eq!(claims.get(id), Some(&vec![line["by"].as_str().unwrap()]), "{line}"),
            "refused" => panic!("{line} though its claim holds"),
            _ => assert!(ends.contains_key(id), "{line} is lost"),
        }
    }
    assert!(told.len() > WORKERS, "hardly anything was done");
}

//! The verbs, each in a file of its own, on the memory store.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod creating;
mod deleting;
mod depending;
mod doctoring;
mod hooks;
mod interchanging;
mod keeping;
mod leasing;
mod looking;
mod lost_answers;
mod merging;
mod moving;
mod parts;
mod past;
mod restoring;
mod sessions;
mod telling;
mod undoing;
mod updating;

use std::sync::Arc;

use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, ClientVersion, ListId, Op, Rules, Task, TaskId};
use taskyard::store::{MemoryStore, Signature, Txn};
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::list_builder;

const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

/// Returns a yard in strict rules over a list written in one line.
fn yard(line: &str) -> Yard {
    yard_in(Rules::Strict, line)
}

fn yard_in(rules: Rules, line: &str) -> Yard {
    yard_on(MemoryStore::new(rules), rules, line)
}

fn yard_on(store: MemoryStore, rules: Rules, line: &str) -> Yard {
    let list = ListId::new("L").unwrap();
    if !line.is_empty() {
        list_builder::fill(&store, &list, line);
    }
    Yard::new(Arc::new(store), list, AgentName::new("ana").unwrap()).with_rules(rules)
}

fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(id).collect()
}

fn done<T>(outcome: Result<Outcome<T>, Error>) -> T {
    outcome.unwrap().done().unwrap()
}

fn refused<T>(outcome: Result<Outcome<T>, Error>) -> Refusal {
    match outcome.unwrap() {
        Outcome::Refused(refusal) => refusal,
        Outcome::Done(_) => panic!("this should have been refused"),
    }
}

/// Returns a task as it is in the list.
fn task(yard: &Yard, number: u64) -> Task {
    find(yard, number).unwrap_or_else(|| panic!("there is no task {number}"))
}

fn find(yard: &Yard, number: u64) -> Option<Task> {
    yard.store().read(yard.list_id()).unwrap().find(&id(number)).unwrap().task()
}

/// Changes the list as another program would, without our rules.
fn elsewhere(yard: &Yard, op: Op, change: impl FnOnce(&mut dyn Txn)) {
    let mut txn = yard.store().write(yard.list_id()).unwrap();
    change(&mut *txn);
    txn.commit(&Signature::new(AgentName::elsewhere(), op)).unwrap();
}

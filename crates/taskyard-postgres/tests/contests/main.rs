//! Many processes on one PostgreSQL: contests for tasks and messages, and servers that fail under load.
//!
//! This program is its own contestants, so it brings its own harness: `contests ROLE ADDRESS ...` is one of them, anything else are the
//! words of a test runner. Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-postgres --test contests -- --nocapture`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "contestants and the harness speak by printing")]

mod child;
mod claiming;
mod corresponding;
mod disturbing;
mod harness;
mod proxy;
mod working;

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard_postgres::{PostgresStore, Surroundings};

const TESTS: &[(&str, fn())] = &[
    ("of_16_processes_one_wins_each_task", claiming::of_16_processes_one_wins_each_task),
    (
        "of_16_processes_behind_a_pooler_one_wins_each_task",
        claiming::of_16_processes_behind_a_pooler_one_wins_each_task,
    ),
    (
        "messages_of_16_processes_arrive_once_and_in_order",
        corresponding::messages_of_16_processes_arrive_once_and_in_order,
    ),
    ("a_primary_that_is_killed_loses_nothing", disturbing::a_primary_that_is_killed_loses_nothing),
    (
        "lagging_standby_that_is_promoted_does_nothing_twice",
        disturbing::lagging_standby_that_is_promoted_does_nothing_twice,
    ),
    ("a_server_that_is_restarted_loses_nothing", disturbing::a_server_that_is_restarted_loses_nothing),
    ("connections_killed_in_the_middle_lose_nothing", disturbing::connections_killed_in_the_middle_lose_nothing),
    ("a_network_that_is_cut_loses_nothing", disturbing::a_network_that_is_cut_loses_nothing),
];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["claimer", address, number, attempts] => claiming::claimer(address, number, attempts),
        ["worker", address, name] => working::worker(address, name),
        ["sender", address, name, count, ref readers @ ..] => corresponding::sender(address, name, count, readers),
        ["reader", address, name] => corresponding::reader(address, name),
        _ => return harness::run(TESTS, &words),
    }
    ExitCode::SUCCESS
}

/// Returns the yard at an address.
fn yard(address: &str, agent: &str) -> Yard {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    Yard::new(Arc::new(store), ListId::new("L").unwrap(), AgentName::new(agent).unwrap())
}

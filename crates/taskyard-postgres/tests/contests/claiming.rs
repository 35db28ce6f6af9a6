//! Each task goes to exactly one of all agents that want it, and every loser is told the true reason.

use std::io::{self, Write};
use std::time::Instant;

use serde_json::json;
use taskyard::store::HistoryQuery;
use taskyard_testkit::contest::{Attempt, Contestant, judge, prepare};
use taskyard_testkit::{Pooler, Scale, SharedPostgres};

use crate::child::Participant;
use crate::yard;

const ATTEMPTS: usize = 100_000;
const PROCESSES: usize = 16;

/// `claimer ADDRESS NUMBER ATTEMPTS`: makes attempts once it may, and tells each.
pub(crate) fn claimer(address: &str, number: &str, attempts: &str) {
    let yard = yard(address, "contest");
    let contestant = Contestant::new(&yard, number.parse().unwrap());
    io::stdin().read_line(&mut String::new()).unwrap();
    let mut out = io::stdout().lock();
    for attempt in contestant.compete(attempts.parse().unwrap()) {
        writeln!(out, "{}", attempt.to_json()).unwrap();
    }
}

pub(crate) fn of_16_processes_one_wins_each_task() {
    let address = SharedPostgres::get().fresh_address();
    one_wins_each_task(&address, &address);
}

pub(crate) fn of_16_processes_behind_a_pooler_one_wins_each_task() {
    let address = SharedPostgres::get().fresh_address();
    let pooler = Pooler::start(SharedPostgres::get().cluster());
    one_wins_each_task(&address, &pooler.address_like(&address));
}

fn one_wins_each_task(own: &str, theirs: &str) {
    let yard = yard(own, "contest");
    prepare(&yard, PROCESSES * 3 / 4);
    let attempts = Scale::from_environment(0.02).of(ATTEMPTS).div_ceil(PROCESSES);
    let start = |number: usize| Participant::start(&["claimer", theirs, &number.to_string(), &attempts.to_string()]);
    let mut contestants: Vec<Participant> = (0..PROCESSES).map(start).collect();
    let started = Instant::now();
    contestants.iter_mut().for_each(Participant::let_go);
    let mut made: Vec<Attempt> =
        contestants.into_iter().flat_map(Participant::ended).map(|(_, line)| Attempt::from_json(&line)).collect();
    let rate = made.len() as f64 / started.elapsed().as_secs_f64();
    assert_eq!(made.len(), PROCESSES * attempts);
    made.extend(Contestant::new(&yard, PROCESSES).take_the_rest());
    let count = made.len();
    let journal = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    let verdict = judge(made, journal);
    println!("{}", json!({ "attemptsPerSecond": rate.round(), "verdict": format!("{verdict:?}") }));
    assert_eq!(verdict.attempts(), count);
    assert!(verdict.won > count / 50 && verdict.won < count / 2, "{verdict:?}");
    for reason in ["already_claimed", "already_resolved", "task_not_found", "blocked", "agent_busy", "nothing_ready"] {
        assert!(verdict.lost.contains_key(reason), "nobody was told {reason}, so nothing is known of it: {verdict:?}");
    }
}

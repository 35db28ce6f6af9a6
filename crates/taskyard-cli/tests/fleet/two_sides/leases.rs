//! What workers hold.

use std::time::{Duration, Instant};

use serde_json::json;

use taskyard_testkit::wait_until;

use crate::two_sides::side::{SILENCE, Sides, on_all_kinds, throughout_a_silence};

/// Starts a worker on the other side that has task 1 in hand, and returns its process id there.
fn worker(sides: &mut Sides) -> u32 {
    sides.ask_here("create One");
    let worker = sides.start_there("$TASKYARD work --as ana -- sleep 600");
    wait_until("the claim", || sides.ask_here("show 1")["task"]["owner"] == "ana");
    worker
}

fn is_refused(sides: &Sides) -> bool {
    let ran = sides.here("claim 1 --as ben --json");
    ran.code == Some(3) && ran.json()["reason"] == "already_claimed"
}

#[test]
fn what_a_living_worker_of_the_other_side_holds_stays_its_own() {
    on_all_kinds(|kind, mut sides| {
        worker(&mut sides);
        throughout_a_silence("that ana has it", || is_refused(&sides));
        // A command that writes something else takes nothing back either.
        sides.ask_here("create Two");
        let shown = sides.ask_here("show 1");
        assert_eq!((&shown["task"]["owner"], &shown["lease"]["state"]), (&json!("ana"), &json!("unseen")), "{kind:?}");
        assert_eq!(sides.ask_there("show 1").1["lease"]["state"], json!("live"), "{kind:?}");
    });
}

#[test]
fn what_a_dead_worker_held_comes_back_to_its_own_side_at_once() {
    on_all_kinds(|kind, mut sides| {
        let worker = worker(&mut sides);
        sides.kill_there(worker);
        let (code, answer) = sides.ask_there("claim 1 --as cyd");
        assert_eq!((code, &answer["claimed"]), (0, &json!(true)), "{kind:?} {answer}");
    });
}

#[test]
fn dead_worker_tasks_return_when_its_signs_expire() {
    on_all_kinds(|kind, mut sides| {
        let worker = worker(&mut sides);
        sides.kill_there(worker);
        let killed = Instant::now();
        assert!(is_refused(&sides), "{kind:?}: from here nobody can see that it is dead");
        let mut held = Duration::ZERO;
        wait_until("the end of the lease", || {
            let free = sides.ask_here("ready")["tasks"].as_array().is_some_and(|tasks| !tasks.is_empty());
            held = if free { held } else { killed.elapsed() };
            free
        });
        assert!(held > SILENCE / 3, "{kind:?}: {held:?}");
        assert_eq!(sides.ask_here("claim 1 --as ben")["claimed"], json!(true));
    });
}

#[test]
fn what_leaves_no_signs_lives_by_its_time_on_the_other_side() {
    on_all_kinds(|kind, mut sides| {
        sides.ask_here("create One");
        sides.ask_here("create Two");
        let sleeping = sides.start_there("sleep 600");
        assert_eq!(sides.ask_there(&format!("claim 1 --pid {sleeping} --as ana")).0, 0);
        assert_eq!(sides.ask_there(&format!("claim 2 --pid {sleeping} --ttl 10s --as ana")).0, 0);
        assert!(is_refused(&sides));
        sides.kill_there(sleeping);
        assert!(is_refused(&sides), "{kind:?}: without signs it has the time it would have had");
        wait_until("the end of its time", || sides.here("claim 2 --as ben").code == Some(0));
        assert!(is_refused(&sides), "{kind:?}: an hour is not over");
        assert_eq!(sides.ask_there("claim 1 --as cyd").0, 0, "{kind:?}: its own side sees that it is dead");
    });
}

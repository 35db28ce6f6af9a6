//! Leases and clocks that jump, in real processes: within one run of the machine the clock that only goes forward decides, across
//! runs the wall clock with a margin of 30 seconds for the holder.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Process, Program, Ran};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    home
}

/// Runs a command in a process whose wall clock is off by so much, and that may believe in another run of the machine.
fn run_at(home: &Home, wall: i64, boot: Option<&str>, words: &str) -> Ran {
    let boot = boot.map(|boot| format!(";any=boot:{boot}")).unwrap_or_default();
    home.run_with(&format!("any=wall:{wall}{boot}"), &format!("{words} --json"))
}

fn is_ana_s(ran: &Ran) {
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!((&ran.json()["reason"], &ran.json()["owner"]), (&json!("already_claimed"), &json!("ana")), "{ran:?}");
}

fn is_won(ran: &Ran) {
    assert_eq!((ran.code, &ran.json()["claimed"]), (Some(0), &json!(true)), "{ran:?}");
}

#[test]
fn a_wall_clock_that_is_set_by_a_day_does_not_end_a_lease() {
    for by in [DAY, -DAY] {
        let home = home();
        home.ask("claim 1 --ttl 1h --as ana");
        is_ana_s(&run_at(&home, by, None, "claim 1 --as ben"));
        assert_eq!(run_at(&home, by, None, "claim --next --as ben").json()["reason"], json!("nothing_ready"));
        assert_eq!(home.present()["1"]["owner"], json!("ana"));
    }
}

#[test]
fn a_lease_given_by_a_wrong_clock_lives_no_shorter() {
    for by in [DAY, -DAY] {
        let home = home();
        is_won(&run_at(&home, by, None, "claim 1 --ttl 1h --as ana"));
        is_ana_s(&home.run("claim 1 --as ben --json"));
    }
}

#[test]
fn a_lease_given_by_a_wrong_clock_lives_no_longer() {
    for by in [DAY, -DAY] {
        let home = home();
        let started = Instant::now();
        let token = run_at(&home, by, None, "claim 1 --ttl 2s --as ana").json()["token"].clone();
        // It sleeps until the lease ends.
        is_won(&home.run("claim --next --wait --timeout 5m --as ben --json"));
        assert!(started.elapsed() >= Duration::from_secs(2), "{:?}", started.elapsed());
        let late = home.run(&format!("done 1 --token {token} --as ana --json"));
        assert_eq!((late.code, &late.json()["error"]["code"]), (Some(3), &json!("stale_token")), "{late:?}");
    }
}

#[test]
fn a_sleeper_whose_wall_clock_is_wrong_wakes_all_the_same() {
    for by in [DAY, -DAY] {
        let home = home();
        home.ask("claim 1 --ttl 2s --as ana");
        is_won(&run_at(&home, by, None, "claim --next --wait --timeout 5m --as ben"));
    }
}

#[test]
fn wall_clock_with_margin_decides_after_power_off() {
    let home = home();
    home.ask("claim 1 --ttl 1h --as ana");
    // The commands of this test take far less than the five seconds it leaves on both sides.
    is_ana_s(&run_at(&home, 0, Some("another"), "claim 1 --as ben"));
    is_ana_s(&run_at(&home, HOUR + 25_000, Some("another"), "claim 1 --as ben"));
    is_won(&run_at(&home, HOUR + 35_000, Some("another"), "claim 1 --as ben"));
}

#[test]
fn after_the_machine_was_off_a_lease_of_a_process_has_ended() {
    let home = home();
    let mut process = sleeping();
    home.ask(&format!("claim 1 --pid {} --as ana", process.id()));
    is_ana_s(&home.run("claim 1 --as ben --json"));
    is_won(&run_at(&home, 0, Some("another"), "claim 1 --as ben"));
    assert_eq!(process.try_wait(), None, "the process with that number lives");
}

#[test]
fn a_run_that_is_not_proven_to_be_over_ends_no_lease() {
    let home = home();
    let process = sleeping();
    is_won(&run_at(&home, 0, Some("of another machine"), &format!("claim 1 --pid {} --as ana", process.id())));
    // What a machine of the same image leaves in a directory that both share: its process, and no run of its own.
    let file = home.data().join("machine.json");
    let mut proof: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(proof["boots"], json!(["of another machine"]));
    proof["boots"] = json!([]);
    fs::write(file, proof.to_string()).unwrap();
    is_ana_s(&home.run("claim 1 --as ben --json"));
    drop(process);
    is_ana_s(&home.run("claim 1 --as ben --json"));
}

#[test]
fn process_lease_ends_with_it_whatever_the_wall_clock_says() {
    for by in [DAY, -DAY] {
        let home = home();
        let process = sleeping();
        run_at(&home, by, None, &format!("claim 1 --pid {} --as ana", process.id()));
        is_ana_s(&home.run("claim 1 --as ben --json"));
        drop(process);
        is_won(&run_at(&home, -by, None, "claim 1 --as ben"));
    }
}

#[test]
fn by_a_clock_in_doubt_no_owner_is_stale() {
    let home = home();
    let mut task = home.present()["1"].clone();
    task["owner"] = json!("ana");
    fs::write(home.task_file("1"), task.to_string()).unwrap();
    home.ask("list");
    let found = |wall: i64| {
        let findings = run_at(&home, wall, None, "doctor").json()["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(2 * DAY), ["stale_owner"]);
    assert_eq!(found(800 * DAY), ["clock_in_doubt"]);
    let fixed = run_at(&home, 800 * DAY, None, "doctor --fix --yes");
    assert_eq!((fixed.code, &home.present()["1"]["owner"]), (Some(0), &json!("ana")), "{fixed:?}");
}

/// Starts a process that lives until it is dropped.
fn sleeping() -> Process {
    Program::new("sleep").arg("600").start()
}

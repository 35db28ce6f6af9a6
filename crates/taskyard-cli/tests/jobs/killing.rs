//! Whoever is killed at whatever moment, the next command finds the truth and leaves nothing running.

use std::thread;
use std::time::Duration;

use taskyard_testkit::{Random, Scale};

use crate::site::{Site, is_alive, kill};

#[test]
fn after_any_death_the_next_command_tells_the_truth() {
    let site = Site::new();
    let mut random = Random::new(5);
    for round in 0..Scale::from_environment(0.08).of(200) {
        let line = "(setsid sleep 600 &); sleep 0.0$(($$ % 10)); [ $(($$ % 2)) = 0 ] && exit 0; sleep 600";
        let mut starter = site.starter("", line).spawn().unwrap();
        thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        if random.below(2) == 0 {
            starter.kill().unwrap();
        }
        starter.wait().unwrap();
        thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        // Whoever runs of it by now may be killed, the supervisor first or the command.
        let jobs = site.jobs();
        for job in &jobs {
            for key in ["supervisor", "pid"] {
                if let Some(pid) = job[key].as_u64().filter(|_| random.below(3) > 0) {
                    kill(u32::try_from(pid).unwrap());
                }
            }
        }
        let living = site.jobs().into_iter().filter(|job| job["status"] == "running" || job["status"] == "pending");
        for job in living {
            let pid = job["supervisor"].as_u64().or(job["pid"].as_u64());
            let is_true = pid.is_none_or(|pid| is_alive(u32::try_from(pid).unwrap()));
            // It may have ended between our two looks; then another look says so.
            let again = site.job(job["id"].as_str().unwrap());
            assert!(is_true || again["status"] != job["status"], "round {round}: {job}");
            site.run(&format!("job stop {}", job["id"].as_str().unwrap()));
        }
        let states: Vec<String> = site.jobs().iter().map(|job| job["status"].as_str().unwrap().to_owned()).collect();
        assert!(
            states.iter().all(|state| !matches!(state.as_str(), "pending" | "running")),
            "round {round}: {states:?}"
        );
        assert_eq!(site.processes(), [0; 0], "round {round}");
    }
}

//! Whichever process is killed at whatever moment, the next command finds the truth, leaves nothing running, and forgets to tell nothing.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use taskyard_testkit::{Random, Scale};

use crate::jobs::server::Server;
use crate::jobs::site::{Site, is_alive, kill};

/// The jobs of which the agent is still to hear.
fn waiting(site: &Site, flags: &str) -> BTreeSet<String> {
    let answer = site.run(&format!("inbox --json {flags}")).json();
    let waiting = answer["notifications"].as_array().unwrap();
    waiting.iter().map(|notice| notice["job"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn after_any_death_the_next_command_tells_the_truth() {
    let site = Site::new();
    let mut random = Random::new(5);
    let mut heard: BTreeSet<String> = BTreeSet::new();
    for round in 0..Scale::from_environment(0.08).of(200) {
        let line = "(setsid sleep 600 &); sleep 0.0$(($$ % 10)); [ $(($$ % 2)) = 0 ] && exit 0; sleep 600";
        let a_moment = |random: &mut Random| thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        if random.below(3) == 0 {
            // Started by a server, which is killed.
            let mut server = Server::start(&site);
            server.send_run(line);
            a_moment(&mut random);
            drop(server);
        } else {
            let mut starter = site.starter("", line).start();
            a_moment(&mut random);
            if random.below(2) == 0 {
                starter.kill();
            }
            starter.wait();
        }
        a_moment(&mut random);
        // The processes of the job that run by now may be killed, the supervisor first or the command.
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
        let jobs = site.jobs();
        let is_over = |job: &serde_json::Value| job["status"] != "pending" && job["status"] != "running";
        assert!(jobs.iter().all(is_over), "round {round}: {jobs:?}");
        assert_eq!(site.processes(), [0; 0], "round {round}");

        // Told of all that ended by themselves, until that was acknowledged, and never after.
        let ended = jobs.iter().filter(|job| job["status"] != "killed").map(|job| job["id"].as_str().unwrap());
        let due: BTreeSet<String> = ended.filter(|id| !heard.contains(*id)).map(str::to_owned).collect();
        assert_eq!(waiting(&site, ""), due, "round {round}");
        if random.below(2) == 0 {
            assert_eq!(waiting(&site, "--ack"), due, "round {round}");
            assert_eq!(waiting(&site, ""), BTreeSet::new(), "round {round}");
            heard.extend(due);
        }
    }
}

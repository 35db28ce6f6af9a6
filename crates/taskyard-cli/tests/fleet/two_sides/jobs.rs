//! What runs in the background.

use serde_json::{Value, json};

use taskyard_testkit::wait_until;

use crate::two_sides::side::{KINDS, Sides, throughout_a_silence};

fn job_there(sides: &mut Sides) -> String {
    sides.say("$TASKYARD job run --name j --json -- sleep 600 > job.json 2> job.err; echo $?");
    let text = std::fs::read_to_string(sides.home.path().join("job.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["job"]["id"].as_str().unwrap().to_owned()
}

fn status_here(sides: &Sides) -> Value {
    sides.ask_here("job list")["jobs"][0]["status"].clone()
}

fn kill_supervisor(sides: &mut Sides, id: &str) {
    // It is no child of the shell, which therefore cannot wait for its end in another way.
    let killed = sides.say(&format!(
        "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2> /dev/null | grep -q 'job supervise .* {id} '; then \
         kill -9 ${{p#/proc/}}; while grep -q 'State:.[^ZX]' $p/status 2> /dev/null; do sleep 0.01; done; k=killed; fi; \
         done; echo $k"
    ));
    assert_eq!(killed, "killed");
}

#[test]
fn job_of_other_side_runs_until_its_signs_expire() {
    for kind in KINDS {
        let Some(mut sides) = Sides::new(kind) else { continue };
        let id = job_there(&mut sides);
        throughout_a_silence("that the job runs", || status_here(&sides) == "running");
        let refused = sides.here("job stop j --json");
        assert_eq!(refused.code, Some(3), "{kind:?} {refused:?}");
        assert_eq!(refused.json()["error"]["code"], json!("runs_elsewhere"), "{kind:?} {refused:?}");
        assert_eq!(status_here(&sides), json!("running"), "{kind:?}");
        kill_supervisor(&mut sides, &id);
        assert_eq!(status_here(&sides), json!("running"), "{kind:?}: nobody here can see that it is dead");
        wait_until("the loss", || status_here(&sides) == "lost");
    }
}

#[test]
fn a_job_whose_supervisor_died_is_lost_to_its_own_side_at_once() {
    for kind in KINDS {
        let Some(mut sides) = Sides::new(kind) else { continue };
        let id = job_there(&mut sides);
        kill_supervisor(&mut sides, &id);
        assert_eq!(sides.ask_there("job list").1["jobs"][0]["status"], json!("lost"), "{kind:?}");
    }
}

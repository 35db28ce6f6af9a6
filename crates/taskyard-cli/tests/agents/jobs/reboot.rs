//! Jobs of an earlier run of the machine.

use serde_json::{Value, json};
use taskyard_testkit::Ran;

use crate::jobs::site::Site;

#[test]
fn running_job_reads_as_lost_after_reboot_with_last_sign() {
    let site = Site::new();
    let id = site.start("", "echo $$ >> pids; exec sleep 600");
    site.await_pids(1);
    let before = site.job(&id);
    let output = site.command("job list --json").env("TASKYARD_FAILPOINTS", "any=boot:another").output();
    let jobs: Value = Ran::from(output).json();
    let job = &jobs["jobs"][0];
    assert_eq!((&job["id"], &job["status"]), (&json!(id), &json!("lost")));
    assert!(job["lastSeen"].as_str() >= before["startTime"].as_str());
    assert!(job["lastSeen"].as_str() <= job["endTime"].as_str());
    // It stays so: a command that looks in the old run finds the record of the new one.
    assert_eq!(site.job(&id)["status"], "lost");
}

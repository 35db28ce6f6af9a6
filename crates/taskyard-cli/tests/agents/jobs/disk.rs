//! A disk that takes no more.

use std::io::Write as _;

use serde_json::json;
use taskyard_testkit::{Program, finishes};

use crate::jobs::site::Site;

#[test]
fn a_job_that_may_write_no_more_goes_on_and_the_loss_is_marked() {
    let site = Site::new();
    // A limit on the size of files, 1 MB, stands for a full disk: writes beyond it fail.
    let line =
        "ulimit -f 2048; $TASKYARD job run --json -- sh -c 'head -c 3000000 /dev/zero | tr \"\\\\0\" x; echo end'";
    let mut command = site.command("").like("sh");
    command.args(["-c", line]);
    let ran = finishes(move || command.run());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let job = site.ended(ran.json()["job"]["id"].as_str().unwrap());
    assert_eq!((&job["status"], &job["outputBytes"]), (&json!("completed"), &json!(3_000_004)));
    assert!(job["lost"].as_u64().unwrap() > 0, "{job}");
    let text = String::from_utf8(site.file(&job)).unwrap();
    assert!(text.starts_with("xxxx") && text.contains("of them could not be written]"), "{}", &text[..200]);
    assert!(text.ends_with("xend\n\n[exited with code 0]\n"), "{:?}", &text[text.len() - 60..]);
}

#[test]
fn a_full_disk_never_holds_a_job_up() {
    let site = Site::new();
    let small = site.path("small");
    std::fs::create_dir(&small).unwrap();
    let mount = format!("mount -t tmpfs -o size=512k none {}", small.display());
    let Some(flags) = ["-rm", "-m"].into_iter().find(|flags| is_allowed(flags, &mount)) else {
        // Not through `eprintln`, which is heard only when a test fails.
        let _ = writeln!(
            std::io::stderr(),
            "NOT TESTED: a full disk. This system lets us mount no file system of our own."
        );
        return;
    };
    let line = format!(
        "{mount} && export CLAUDE_CODE_TMPDIR={small} && \
         $TASKYARD job run --name full -- sh -c 'head -c 3000000 /dev/zero | tr \"\\\\0\" x; echo end' && \
         $TASKYARD job wait full --timeout 5m --json && $TASKYARD job output full --tail 1",
        small = small.display()
    );
    let mut command = site.command("").like("unshare");
    command.args([flags, "sh", "-c", &line]);
    let ran = finishes(move || command.run());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("\"status\":\"completed\"") && ran.stdout.contains("\"outputBytes\":3000004"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("\"lost\":") && ran.stdout.ends_with("xend\n"), "{ran:?}");
}

/// Tells whether the system lets us mount something in a place of our own.
fn is_allowed(flags: &str, mount: &str) -> bool {
    Program::new("unshare").args([flags, "sh", "-c", mount]).output().status.success()
}

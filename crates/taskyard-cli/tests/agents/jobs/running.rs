//! How a job runs and ends by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use taskyard::core::{ClientVersion, Rules};
use taskyard_testkit::{Ran, rules_under_test, wait_until};

use crate::jobs::site::{Site, is_alive};

/// Tells whether output is written as 2.1.34 writes it: what comes from stderr is marked, and nothing follows the last line.
fn is_old_form() -> bool {
    rules_under_test() == Rules::Client(ClientVersion::V2_1_34)
}

#[test]
fn job_ends_with_exit_code_and_output_in_client_form() {
    let site = Site::new();
    let id = site.start("--name build", "echo out; echo err >&2; exit 3");
    let job = site.ended(&id);
    assert_eq!((&job["status"], &job["exitCode"], &job["signal"]), (&json!("failed"), &json!(3), &json!(null)));
    let (output, end) = match is_old_form() {
        true => ("out\n[stderr] err\n", ""),
        false => ("out\nerr\n", "\n[exited with code 3]\n"),
    };
    assert_eq!(String::from_utf8(site.file(&job)).unwrap(), format!("{output}{end}"));
    assert_eq!(job["outputBytes"], output.len());
    assert_eq!((&job["name"], &job["agent"], &job["list"]), (&json!("build"), &json!("tester"), &json!("L")));
    let mode = fs::metadata(job["outputFile"].as_str().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(site.run("job output build").stdout, output);
    assert_eq!(site.ask("job output build")["output"], output);
}

#[test]
fn old_output_form_marks_stderr_chunks() {
    let site = Site::new().configured("[jobs]\noutput_form = \"2.1.34\"\n");
    let job = site.ended(&site.start("", "printf 'e1\\ne2\\n' >&2"));
    assert_eq!(String::from_utf8(site.file(&job)).unwrap(), "[stderr] e1\ne2\n");
    assert!(job["id"].as_str().unwrap().len() == 7);
    assert!(!job["outputFile"].as_str().unwrap().contains("/L/tasks/"));
}

#[test]
fn a_signal_and_a_program_that_is_not_there_are_told_truthfully() {
    let site = Site::new();
    let job = site.ended(&site.start("", "kill -SEGV $$"));
    assert_eq!((&job["status"], &job["exitCode"], &job["signal"]), (&json!("failed"), &json!(null), &json!(11)));
    let ran = site.run("job run --json -- /no/such/program");
    let job = site.ended(ran.json()["job"]["id"].as_str().unwrap());
    assert_eq!((&job["status"], &job["exitCode"]), (&json!("failed"), &json!(127)));
    assert!(job["error"].as_str().unwrap().contains("No such file"), "{job}");
}

#[test]
fn a_job_outlives_its_starter_and_has_nothing_of_its_stdio() {
    let site = Site::new();
    // The answer is complete when the starter's pipes are closed: the job must not hold them.
    let id =
        site.start("", "readlink /proc/self/fd/0; echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done; echo end");
    let pid = *site.await_pids(1).first().unwrap();
    let job = site.job(&id);
    assert_eq!((&job["status"], &job["pid"]), (&json!("running"), &json!(pid)));
    assert_eq!(site.run("job wait --timeout 50ms --json ".to_owned().as_str().trim()).code, Some(2));
    assert_eq!(site.run(&format!("job wait {id} --timeout 50ms")).code, Some(124));
    fs::write(site.path("go"), "").unwrap();
    assert_eq!(site.ended(&id)["status"], "completed");
    assert_eq!(site.run(&format!("job output {id}")).stdout, "/dev/null\nend\n");
    assert!(!is_alive(pid));
}

#[test]
fn a_job_holds_no_file_that_its_starter_left_open() {
    let site = Site::new();
    let line = "exec 3> held 9> held 12> held; $TASKYARD job run --json --name one -- sleep 600";
    let ran = site.command("").like("bash").args(["-c", line]).run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let job = &ran.json()["job"];
    for who in ["supervisor", "pid"] {
        let files = fs::read_dir(format!("/proc/{}/fd", job[who])).unwrap().flatten();
        let held = files.filter_map(|file| fs::read_link(file.path()).ok()).any(|link| link.ends_with("held"));
        assert!(!held, "the {who} holds it");
    }
    assert_eq!(site.run("job stop one").code, Some(0));
}

#[test]
fn what_a_command_leaves_behind_is_ended_with_it() {
    let site = Site::new();
    let id = site.start("", "setsid sleep 600 & echo $! >> pids; sleep 600 & echo $! >> pids; echo done");
    let job = site.ended(&id);
    assert_eq!((&job["status"], &job["exitCode"]), (&json!("completed"), &json!(0)));
    assert!(site.await_pids(2).into_iter().all(|pid| !is_alive(pid)));
    assert_eq!(site.processes(), [0; 0]);
}

#[test]
fn what_comes_through_the_pipe_after_the_command_is_heard() {
    let site = Site::new();
    let id = site.start("", "(sleep 0.1; echo late) & echo early");
    site.ended(&id);
    assert_eq!(site.run(&format!("job output {id}")).stdout, "early\nlate\n");
}

#[test]
fn a_job_whose_time_is_up_is_killed() {
    let site = Site::new();
    let job = site.ended(&site.start("--timeout 200ms", "echo up; sleep 600"));
    assert_eq!((&job["status"], &job["timedOut"], &job["signal"]), (&json!("killed"), &json!(true), &json!(15)));
    assert_eq!(site.file(&job), if is_old_form() { "up\n" } else { "up\n\n[killed]\n" }.as_bytes());
}

#[test]
fn a_follower_sees_everything_to_the_end() {
    let site = Site::new();
    let id = site
        .start("", "for i in 1 2 3; do echo $i; sleep 0.05; done; while [ ! -e go ]; do sleep 0.02; done; echo end");
    let follower = site.command(&format!("job output {id} --follow")).start();
    fs::write(site.path("go"), "").unwrap();
    let ran = Ran::from(taskyard_testkit::finishes(move || follower.wait_with_output()));
    assert_eq!(ran.stdout, "1\n2\n3\nend\n");
}

#[test]
fn control_sequences_reach_the_terminal_only_when_asked_for() {
    let site = Site::new();
    let id = site.start("", r"printf 'a\033[31mb\007\n\tc\377\n'");
    site.ended(&id);
    assert_eq!(site.run(&format!("job output {id}")).stdout, "a\\x1b[31mb\\x07\n\tc\u{fffd}\n");
    let raw = site.command(&format!("job output {id} --raw")).output().stdout;
    assert_eq!(raw, b"a\x1b[31mb\x07\n\tc\xff\n");
}

#[test]
fn a_job_started_from_within_a_job_stands_for_itself() {
    let site = Site::new();
    let outer = site.start("", "$TASKYARD job run --name inner -- sleep 600 > /dev/null");
    assert_eq!(site.ended(&outer)["status"], "completed");
    let inner = site.jobs().into_iter().find(|job| job["name"] == "inner").unwrap();
    assert_eq!(inner["status"], "running");
    assert!(is_alive(u32::try_from(inner["pid"].as_u64().unwrap()).unwrap()));
    assert_eq!(site.run("job stop inner").code, Some(0));
    assert_eq!(site.processes(), [0; 0]);
}

#[test]
fn gc_removes_what_ended_and_never_a_foreign_file() {
    let site = Site::new();
    let (one, two) = (site.start("", "echo one"), site.start("", "echo two"));
    let running = site.start("", "sleep 600");
    let (one, two) = (site.ended(&one), site.ended(&two));
    let (first, second) = (one["outputFile"].as_str().unwrap(), two["outputFile"].as_str().unwrap());
    // Another program put another file in the place of the second.
    fs::write(site.path("other"), "precious").unwrap();
    fs::rename(site.path("other"), second).unwrap();
    assert_eq!(site.ask("job gc")["jobs"], json!([]));
    let swept = site.ask("job gc --older-than 0s");
    assert_eq!(swept["jobs"].as_array().unwrap().len(), 2);
    assert!(!fs::exists(first).unwrap());
    assert_eq!(fs::read_to_string(second).unwrap(), "precious");
    assert_eq!(site.jobs().len(), 1);
    assert_eq!(site.run(&format!("job stop {running}")).code, Some(0));
}

#[test]
fn output_is_never_put_where_others_could_reach_it() {
    let site = Site::new();
    let folder = site.path(&format!("tmp/claude-{}", rustix::process::geteuid().as_raw()));
    let refused = |why: &str| {
        let ran = site.run("job run --json -- true");
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(1), &json!("foreign_directory")), "{why}: {ran:?}");
        assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("CLAUDE_CODE_TMPDIR"), "{why}");
    };
    fs::create_dir_all(site.path("elsewhere")).unwrap();
    fs::create_dir_all(site.path("tmp")).unwrap();
    std::os::unix::fs::symlink(site.path("elsewhere"), &folder).unwrap();
    refused("a link");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    refused("a directory for everybody");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(site.ended(&site.start("", "true"))["status"], "completed");
    // What was refused has left nothing behind.
    assert_eq!(fs::read_dir(site.path("elsewhere")).unwrap().count(), 0);
    assert_eq!((site.jobs().len(), maps(&site)), (1, 1));
}

/// Returns how many maps of output there are.
fn maps(site: &Site) -> usize {
    fs::read_dir(site.home.data().join("jobs")).unwrap().count()
}

#[test]
fn a_job_that_cannot_be_started_leaves_nothing_behind() {
    let site = Site::new();
    site.ended(&site.start("", "true"));
    // So few files may be open that it fails at another place each time.
    for limit in 4..24 {
        let line = format!("ulimit -n {limit}; $TASKYARD job run --json -- true");
        let ran = site.command("").like("sh").args(["-c", &line]).run();
        assert!(matches!(ran.code, Some(0 | 1)), "{limit}: {ran:?}");
    }
    let jobs = site.jobs();
    for job in &jobs {
        site.ended(job["id"].as_str().unwrap());
        assert!(fs::exists(job["outputFile"].as_str().unwrap()).unwrap(), "{job}");
    }
    let folder = std::path::Path::new(jobs[0]["outputFile"].as_str().unwrap()).parent().unwrap().to_owned();
    assert_eq!((fs::read_dir(folder).unwrap().count(), maps(&site)), (jobs.len(), jobs.len()));
}

#[test]
fn a_character_that_is_not_there_entirely_waits_for_its_rest() {
    let site = Site::new();
    let line = r"printf 'a\303'; while [ ! -e go ]; do sleep 0.02; done; printf '\251b\377'";
    let id = site.start("", line);
    let first = || site.ask(&format!("job output {id}"));
    wait_until("two bytes", || first()["job"]["outputBytes"] == 2);
    assert_eq!((&first()["output"], &first()["nextOffset"]), (&json!("a"), &json!(1)));
    fs::write(site.path("go"), "").unwrap();
    site.ended(&id);
    let rest = site.ask(&format!("job output {id} --offset 1"));
    assert_eq!((&rest["output"], &rest["nextOffset"]), (&json!("éb\u{fffd}"), &json!(5)));
}

#[test]
fn supervisor_without_record_ends_and_recreates_nothing() {
    let site = Site::new();
    let id = site.start("", "while [ ! -e go ]; do sleep 0.02; done");
    let supervisor = u32::try_from(site.job(&id)["supervisor"].as_u64().unwrap()).unwrap();
    fs::remove_dir_all(site.home.data()).unwrap();
    fs::write(site.path("go"), "").unwrap();
    wait_until("the supervisor to end", || !is_alive(supervisor));
    assert!(!fs::exists(site.home.data()).unwrap());
}

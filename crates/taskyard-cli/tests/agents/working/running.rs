//! What is run, how often, and in which order.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use taskyard_testkit::Scale;

use crate::working::site::Site;

#[test]
fn every_graph_task_runs_once_after_its_blockers() {
    let site = Site::with(&[]);
    let count = Scale::from_environment(0.2).of(200);
    let blockers =
        |task: usize| [task / 2, task.saturating_sub(7)].into_iter().filter(|it| *it > 0).collect::<HashSet<_>>();
    for task in 1..=count {
        let ids: Vec<String> = blockers(task).iter().map(ToString::to_string).collect();
        let by = if ids.is_empty() { String::new() } else { format!("--blocked-by {}", ids.join(",")) };
        site.home.ask(&format!("create task{task} {by}"));
    }
    let ran = site
        .worked("-j 4 --as crew", "echo start $TASKYARD_TASK_ID >> log; sleep 0.01; echo end $TASKYARD_TASK_ID >> log");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with(&format!("\n{count} completed\n")), "{ran:?}");
    let log = fs::read_to_string(site.path("log")).unwrap();
    let place: HashMap<&str, usize> = log.lines().enumerate().map(|(place, line)| (line, place)).collect();
    assert_eq!((log.lines().count(), place.len()), (2 * count, 2 * count));
    for task in 1..=count {
        for blocker in blockers(task) {
            assert!(place[&*format!("end {blocker}")] < place[&*format!("start {task}")], "#{task} before #{blocker}");
        }
    }
    let tasks = site.home.present();
    let owners: HashSet<&str> = tasks.values().map(|task| task["owner"].as_str().unwrap()).collect();
    assert!(owners.len() > 1 && owners.iter().all(|owner| owner.starts_with("crew-")), "{owners:?}");
}

#[test]
fn a_command_is_told_everything_about_its_task() {
    let site = Site::with(&[]);
    let create = r#"create Parse -d Carefully --active-form Parsing --meta size=3"#;
    site.home.ask(create);
    let line = "cat > stdin; env | grep -E '^(TASKYARD_|CLAUDE_CODE_TASK_LIST)' | sort > env; pwd > pwd";
    let ran = site.worked("--as ana", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let stdin = fs::read_to_string(site.path("stdin")).unwrap();
    assert_eq!(stdin.lines().count(), 1);
    let task: Value = serde_json::from_str(&stdin).unwrap();
    let expected = json!({
        "id": "1", "subject": "Parse", "description": "Carefully", "activeForm": "Parsing", "owner": "ana",
        "status": "in_progress", "blocks": [], "blockedBy": [], "metadata": {"size": 3}
    });
    assert_eq!(task, expected);
    let home = site.path("data").display().to_string();
    let expected = [
        "CLAUDE_CODE_TASK_LIST_ID=L",
        "TASKYARD_AGENT=ana",
        &format!("TASKYARD_HOME={home}"),
        "TASKYARD_LIST=L",
        "TASKYARD_STORE=claude:",
        "TASKYARD_TASK_ACTIVE_FORM=Parsing",
        "TASKYARD_TASK_ATTEMPT=1",
        "TASKYARD_TASK_DESCRIPTION=Carefully",
        "TASKYARD_TASK_ID=1",
        "TASKYARD_TASK_METADATA={\"size\":3}",
        "TASKYARD_TASK_SUBJECT=Parse",
    ];
    let environment = fs::read_to_string(site.path("env")).unwrap();
    let (environment, token) = environment.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(environment.lines().collect::<Vec<_>>(), expected);
    assert!(token.strip_prefix("TASKYARD_TASK_TOKEN=").is_some_and(|token| token.parse::<u64>().is_ok()), "{token}");
    let directory = fs::read_to_string(site.path("pwd")).unwrap();
    assert_eq!(directory.trim_end(), site.home.path().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_store_elsewhere_is_found_again_by_the_command() {
    let site = Site::with(&[]);
    site.home.ask("create one --store file:elsewhere");
    let ran = site.worked("--store file:elsewhere", "cd /; $TASKYARD list --json > $HOME/list");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let list: Value = serde_json::from_str(&site.await_file("list")).unwrap();
    assert_eq!(list["tasks"][0]["status"], "in_progress");
}

#[test]
fn a_task_too_large_for_a_variable_is_whole_on_stdin() {
    let site = Site::with(&[]);
    let long = "x".repeat(300_000);
    let mut create = site.home.command("create long -d -");
    create.stdin(std::process::Stdio::piped());
    let mut child = create.start();
    std::io::Write::write_all(&mut child.take_input(), long.as_bytes()).unwrap();
    assert!(child.wait().success());
    let ran = site.worked("", "cat > stdin; echo ${#TASKYARD_TASK_DESCRIPTION} > length");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(site.await_file("length"), (96 * 1024).to_string());
    let task: Value = serde_json::from_str(&fs::read_to_string(site.path("stdin")).unwrap()).unwrap();
    assert_eq!(task["description"].as_str(), Some(long.as_str()));
}

#[test]
fn a_flood_of_output_is_passed_on_and_only_its_end_is_noted() {
    let site = Site::with(&["one"]);
    let line = "i=0; while [ $i -lt 20000 ]; do echo line $i of a flood that will not end; i=$((i+1)); done; exit 1";
    let ran = site.worked("--retries 0", line);
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("#1 | line ")).count(), 20_000);
    let notes = site.notes("1");
    assert!(notes[0].starts_with("exit status 1\nline 19988 of"), "{notes:?}");
    assert!(notes[0].ends_with("line 19999 of a flood that will not end"), "{notes:?}");
}

#[test]
fn failed_attempts_are_limited_then_left_alone() {
    let site = Site::with(&["good", "bad", "later --blocked-by 2"]);
    let line = "echo $TASKYARD_TASK_ID.$TASKYARD_TASK_ATTEMPT >> log; echo why; test $TASKYARD_TASK_ID != 2";
    let ran = site.worked("--retries 1 --as ana", line);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let log = || fs::read_to_string(site.path("log")).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let mut attempts = log();
    attempts.sort();
    assert_eq!(attempts, ["1.1", "2.1", "2.2"]);
    let task = site.task("2");
    assert_eq!((task["status"].as_str(), task["owner"].as_str()), (Some("pending"), None));
    assert_eq!(task["metadata"]["attempts"], 2);
    let note = &task["metadata"]["notes"][1];
    assert_eq!((note["author"].as_str(), note["text"].as_str()), (Some("ana"), Some("exit status 1\nwhy")));
    let again = site.worked("--retries 1 --as ben", line);
    assert_eq!((again.code, log().len()), (Some(0), 3), "{again:?}");
    assert_eq!(again.stdout, "nothing was ready\nskipped #2: failed too often before\n");
    // More patience is another attempt.
    let patient = site.worked("--retries 2 --as ben", "true");
    assert_eq!(patient.code, Some(0), "{patient:?}");
    assert_eq!(site.task("3")["status"], "completed");
}

#[test]
fn two_workers_of_the_same_name_never_share_a_task() {
    let site = Site::with(&["one", "two", "three", "four", "five", "six"]);
    let line = "mkdir lock-$TASKYARD_TASK_ID || exit 9; sleep 0.05";
    let workers: Vec<_> = (0..3).map(|_| site.start("--as ana", line)).collect();
    let mut completed = 0;
    for worker in workers {
        let ran = worker.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        completed += ran.stdout.lines().filter(|line| line.starts_with("done ")).count();
    }
    assert_eq!(completed, 6);
}

#[test]
fn new_work_is_waited_for_only_where_that_is_wanted() {
    let site = Site::with(&["one"]);
    site.home.ask("claim 1 --as ben");
    let ran = site.worked("--as ana", "true");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "nothing was ready\n"));
    let worker = site.start("--as ana --wait", "echo $TASKYARD_TASK_ID > took-$TASKYARD_TASK_ID");
    site.home.ask("create two");
    assert_eq!(site.await_file("took-2"), "2");
    site.home.ask("release 1 --as ben");
    assert_eq!(site.await_file("took-1"), "1");
    worker.send(rustix::process::Signal::INT);
    assert_eq!(worker.end().code, Some(130));
}

#[test]
fn parent_is_not_worked_on_before_its_parts() {
    let site = Site::with(&["whole", "part --parent 1", "other"]);
    // The first part makes another one.
    let line = "test $TASKYARD_TASK_ID != 2 || $TASKYARD create more --parent 1; echo $TASKYARD_TASK_ID >> log";
    let ran = site.worked("-j 3 --as ana", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = fs::read_to_string(site.path("log")).unwrap();
    let place = |id: &str| log.lines().position(|line| line == id).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(place("1") > place("2") && place("1") > place("4"), "{log}");
}

#[test]
fn a_budget_is_passed_to_a_client_that_keeps_it() {
    let site = Site::with(&["one"]);
    let client = site.path("claude");
    fs::write(&client, "#!/bin/sh\necho \"$@\" > words\n").unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = site.home.command("work --budget 2.50 -- ./claude -p go").run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(site.await_file("words"), "--max-budget-usd 2.50 -p go");
    for (line, why) in [
        ("work --json --budget 1 -- sh -c true", "no option for a cost limit"),
        ("work --json --budget 1 -- ./claude go", "print mode"),
        ("work --json --budget 1 -- ./claude -p go --max-budget-usd=2", "itself"),
    ] {
        let refused = site.home.command(line).run();
        let error = refused.json()["error"].clone();
        assert_eq!((refused.code, &error["code"]), (Some(2), &"no_budget".into()), "{line}");
        assert!(error["message"].as_str().unwrap().contains(why), "{line}: {error}");
    }
    for amount in ["0", "-1", "much", "inf", "1e3"] {
        assert_eq!(
            site.home.command(&format!("work --budget={amount} -- ./claude -p go")).run().code,
            Some(2),
            "{amount}"
        );
    }
}

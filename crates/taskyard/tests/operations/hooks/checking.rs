use taskyard::core::Status;
use taskyard::core::rules::refusal::Refusal;
use taskyard::machine::Machine;

use taskyard_testkit::wait_until;

use crate::hooks::hook_site::{HookSite, id, refused, status};

#[test]
fn a_check_must_pass_before_the_task_may_complete() {
    let site = HookSite::new().config("[checks]\ntests = \"echo running; echo 'one failed' >&2; test -e mended\"");
    let yard = site.yard(r#"1 in_progress (ana) {"verify":"tests"}; 2 pending"#);
    match refused(yard.done(&id(1))) {
        Refusal::CheckFailed { check, ended, output, .. } => {
            assert_eq!((check.as_str(), ended.as_str()), ("tests", "ended with exit code 1"));
            // The two streams come through two pipes; which of them is first is nobody's promise.
            assert!(output.contains("running\n") && output.contains("one failed\n"), "{output}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(status(&yard, 1), Status::InProgress);
    yard.done(&id(2)).unwrap().done().unwrap();
    std::fs::write(site.path("project/mended"), "").unwrap();
    yard.done(&id(1)).unwrap().done().unwrap();
    assert_eq!(status(&yard, 1), Status::Completed);
}

#[test]
fn all_of_several_checks_must_pass_and_first_failure_named() {
    let site =
        HookSite::new().config("[checks]\na = \"echo a >> log\"\nb = \"echo b >> log; false\"\nc = \"echo c >> log\"");
    let yard = site.yard(r#"1 pending {"verify":["a","b","c"]}"#);
    let refusal = refused(yard.done(&id(1)));
    assert!(matches!(&refusal, Refusal::CheckFailed { check, .. } if check == "b"), "{refusal}");
    assert_eq!(site.written("log"), "a\nb\n");
}

#[test]
fn undefined_check_is_refused() {
    let site = HookSite::new().config("[checks]\ntests = \"true\"");
    let yard =
        site.yard(r#"1 pending {"verify":"touch pwned"}; 2 pending {"verify":true}; 3 pending {"verify":["tests",7]}"#);
    for (number, name) in [(1, "touch pwned"), (2, "true"), (3, "7")] {
        let refusal = refused(yard.done(&id(number)));
        assert!(matches!(&refusal, Refusal::NoSuchCheck { check, .. } if check == name), "{refusal}");
    }
    assert!(!site.path("project/pwned").exists());
}

#[test]
fn check_from_untrusted_directory_does_not_run() {
    let site = HookSite::new().project_config("[checks]\ntests = \"touch ran\"");
    let yard = site.yard(r#"1 pending {"verify":"tests"}"#);
    let refusal = refused(yard.done(&id(1)));
    assert!(matches!(&refusal, Refusal::UntrustedCheck { check, .. } if check == "tests"), "{refusal}");
    assert!(!site.path("project/ran").exists());
    Machine::open(&site.path("data")).unwrap().trust(&site.path("project")).unwrap();
    yard.done(&id(1)).unwrap().done().unwrap();
    assert!(site.path("project/ran").exists());
}

#[test]
fn the_users_check_counts_where_the_projects_is_not_trusted() {
    let site =
        HookSite::new().config("[checks]\ntests = \"touch mine\"").project_config("[checks]\ntests = \"touch theirs\"");
    site.yard(r#"1 pending {"verify":"tests"}"#).done(&id(1)).unwrap().done().unwrap();
    assert!(site.path("project/mine").exists() && !site.path("project/theirs").exists());
}

#[test]
fn checks_come_before_hooks() {
    let site = HookSite::new().config("[checks]\ntests = \"false\"").hooks("TaskCompleted", &["touch asked"]);
    let yard = site.yard(r#"1 pending {"verify":"tests"}"#);
    refused(yard.done(&id(1)));
    assert!(!site.path("project/asked").exists());
}

#[test]
fn a_check_demanded_while_hooks_run_is_asked_too() {
    let site = HookSite::new()
        .config("[checks]\ntests = \"touch checked\"")
        .hooks("TaskCompleted", &["touch asked; while [ ! -e go ]; do sleep 0.01; done"]);
    let yard = site.yard("1 pending");
    let working = std::thread::spawn({
        let yard = yard.clone();
        move || yard.done(&id(1))
    });
    wait_until("the hook runs", || site.path("project/asked").exists());
    let mut txn = yard.store().write(yard.list_id()).unwrap();
    let mut task = txn.find(&id(1)).unwrap().task().unwrap();
    task.metadata = serde_json::json!({"verify": "tests"}).as_object().cloned();
    txn.put(task).unwrap();
    txn.commit(&taskyard_testkit::signature(taskyard::core::Op::Update)).unwrap();
    std::fs::write(site.path("project/go"), "").unwrap();
    working.join().unwrap().unwrap().done().unwrap();
    assert!(site.path("project/checked").exists());
}

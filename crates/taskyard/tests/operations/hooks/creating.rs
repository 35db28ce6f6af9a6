use taskyard::core::{ClientVersion, Op, Rules, Status};
use taskyard::operations::NewTask;
use taskyard::store::HistoryQuery;

use taskyard_testkit::wait_until;

use crate::hooks::hook_site::{HookSite, feedback, find, id, new};

#[test]
fn a_task_that_a_hook_forbids_is_gone_and_its_number_burnt() {
    let site = HookSite::new().hooks("TaskCreated", &["grep -q Bad && { echo 'not here' >&2; exit 2; } || true"]);
    let yard = site.yard("1 pending");
    let bad = NewTask { subject: "Bad".into(), blocks: vec![id(1)], ..NewTask::default() };
    let told = feedback(yard.create(bad));
    assert!(told.starts_with("TaskCreated hook feedback:\n[") && told.ends_with("]: not here"), "{told}");
    assert!(find(&yard, 2).is_none());
    assert_eq!(find(&yard, 1).unwrap().blocked_by, []);
    assert_eq!(yard.create(new("Good")).unwrap().done().unwrap().task.id, id(3));
    let ops: Vec<Op> = yard.history(&HistoryQuery::default()).unwrap().iter().map(|entry| entry.op).collect();
    assert!(ops.contains(&Op::Delete), "{ops:?}");
}

#[test]
fn a_hook_sees_the_new_task_in_the_list() {
    let site = HookSite::new().config("[[hooks.TaskCreated]]\ncommand = \"cat > tasks\"\nstdin = \"tasks\"");
    site.yard("1 pending").create(new("Second")).unwrap().done().unwrap();
    let tasks: serde_json::Value = serde_json::from_str(&site.written("tasks")).unwrap();
    assert_eq!(tasks[1]["subject"], "Second");
}

#[test]
fn a_task_that_was_removed_meanwhile_needs_no_removing() {
    let site = HookSite::new().hooks("TaskCreated", &["touch asked; while [ ! -e go ]; do sleep 0.01; done; exit 2"]);
    let yard = site.yard("1 pending");
    let working = std::thread::spawn({
        let yard = yard.clone();
        move || yard.create(new("x"))
    });
    wait_until("the hook runs", || site.path("project/asked").exists());
    yard.delete(&[id(2)]).unwrap().done().unwrap();
    std::fs::write(site.path("project/go"), "").unwrap();
    feedback(working.join().unwrap());
    assert!(find(&yard, 2).is_none() && find(&yard, 1).is_some());
}

#[test]
fn the_client_of_2_1_34_asks_nobody_about_new_tasks() {
    let mut site = HookSite::new().hooks("TaskCreated", &["exit 2"]);
    site.rules = Rules::Client(ClientVersion::V2_1_34);
    site.yard("").create(new("x")).unwrap().done().unwrap();
    site.rules = Rules::Client(ClientVersion::V2_1_325);
    assert_eq!(feedback(site.yard("").create(new("x"))), "TaskCreated hook feedback:\n[exit 2]: No stderr output");
}

#[test]
fn task_created_completed_is_judged_before_creation() {
    let site = HookSite::new().hooks("TaskCompleted", &["cat > event; echo no >&2; exit 2"]);
    let yard = site.yard("1 pending");
    let before = yard.store().read(yard.list_id()).unwrap().revision();
    feedback(yard.create(NewTask { status: Some(Status::Completed), ..new("Done at once") }));
    assert_eq!(yard.store().read(yard.list_id()).unwrap().revision(), before);
    let event: serde_json::Value = serde_json::from_str(&site.written("event")).unwrap();
    assert_eq!((&event["task_id"], &event["task_subject"]), (&"2".into(), &"Done at once".into()));
    yard.create(NewTask { status: Some(Status::InProgress), ..new("Begun") }).unwrap().done().unwrap();
    assert_eq!(find(&yard, 2).unwrap().status, Status::InProgress);
}

#[test]
fn number_taken_during_hooks_moves_task_and_hooks_rerun() {
    let site =
        HookSite::new().hooks("TaskCompleted", &["cat >> events; touch asked; while [ ! -e go ]; do sleep 0.01; done"]);
    let yard = site.yard("1 pending");
    let working = std::thread::spawn({
        let yard = yard.clone();
        move || yard.create(NewTask { status: Some(Status::Completed), ..new("Done at once") })
    });
    wait_until("the hook runs", || site.path("project/asked").exists());
    yard.create(new("Between")).unwrap().done().unwrap();
    std::fs::write(site.path("project/go"), "").unwrap();
    let made = working.join().unwrap().unwrap().done().unwrap().task;
    assert_eq!((made.id, made.status), (id(3), Status::Completed));
    let told: Vec<serde_json::Value> =
        site.written("events").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&told[0]["task_id"], &told[1]["task_id"], told.len()), (&"2".into(), &"3".into(), 2));
}

use taskyard::core::Status;
use taskyard::{Error, Yard};
use taskyard_testkit::{finishes, wait_until};

use crate::hooks::hook_site::{HookSite, find, id, is_alive, new, status};

const HANGING: &str = "sleep 600 & echo $! > inner; echo $$ > outer; mv outer started; wait";

/// Starts something that hangs in a hook, cancels it there, and returns what it came to.
fn cancelled<T: Send + 'static>(site: &HookSite, yard: &Yard, work: impl FnOnce(Yard) -> T + Send + 'static) -> T {
    let working = std::thread::spawn({
        let yard = yard.clone();
        move || work(yard)
    });
    wait_until("the hook runs", || site.path("project/started").exists());
    assert!(site.cancel.is_attended());
    site.cancel.cancel();
    let came_to = finishes(move || working.join().unwrap());
    assert!(!site.cancel.is_attended());
    for file in ["inner", "started"] {
        let pid = site.written(file);
        assert!(!pid.is_empty());
        wait_until("the process is gone", || !is_alive(&pid));
    }
    came_to
}

#[test]
fn a_cancelled_completion_leaves_no_process_and_writes_nothing() {
    let site = HookSite::new().hooks("TaskCompleted", &[HANGING, "true"]);
    let yard = site.yard("1 pending");
    let before = yard.store().read(yard.list_id()).unwrap().revision();
    let error = cancelled(&site, &yard, |yard| yard.done(&id(1)).unwrap_err());
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(status(&yard, 1), Status::Pending);
    assert_eq!(yard.store().read(yard.list_id()).unwrap().revision(), before);
}

#[test]
fn a_cancelled_creation_leaves_no_task() {
    let site = HookSite::new().hooks("TaskCreated", &[HANGING]);
    let yard = site.yard("1 pending");
    let error = cancelled(&site, &yard, |yard| yard.create(new("x")).unwrap_err());
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert!(find(&yard, 2).is_none() && find(&yard, 1).is_some());
}

#[test]
fn a_cancelled_check_writes_nothing() {
    let site = HookSite::new().config(&format!("[checks]\ntests = \"\"\"{HANGING}\"\"\""));
    let yard = site.yard(r#"1 pending {"verify":"tests"}"#);
    let error = cancelled(&site, &yard, |yard| yard.done(&id(1)).unwrap_err());
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(status(&yard, 1), Status::Pending);
}

#[test]
fn what_was_cancelled_before_it_began_starts_nothing() {
    let site = HookSite::new().hooks("TaskCompleted", &["touch ran"]);
    let yard = site.yard("1 pending");
    site.cancel.cancel();
    assert!(matches!(yard.done(&id(1)), Err(Error::Cancelled)));
    assert!(!site.path("project/ran").exists());
    // Without hooks there is nothing to cancel.
    let site = HookSite::new();
    site.cancel.cancel();
    site.yard("1 pending").done(&id(1)).unwrap().done().unwrap();
}

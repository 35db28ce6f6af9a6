use taskyard::core::Status;
use taskyard::{Error, Yard};
use taskyard_testkit::{finishes, wait_until};

use crate::place::{Place, find, id, is_alive, new, status};

const HANGING: &str = "sleep 600 & echo $! > inner; echo $$ > outer; mv outer started; wait";

/// Starts something that hangs in a hook, cancels it there, and returns what it came to.
fn cancelled<T: Send + 'static>(place: &Place, yard: &Yard, work: impl FnOnce(Yard) -> T + Send + 'static) -> T {
    let working = std::thread::spawn({
        let yard = yard.clone();
        move || work(yard)
    });
    wait_until("the hook runs", || place.path("project/started").exists());
    assert!(place.cancel.is_attended());
    place.cancel.cancel();
    let came_to = finishes(move || working.join().unwrap());
    assert!(!place.cancel.is_attended());
    for file in ["inner", "started"] {
        let pid = place.written(file);
        assert!(!pid.is_empty());
        wait_until("the process is gone", || !is_alive(&pid));
    }
    came_to
}

#[test]
fn a_cancelled_completion_leaves_no_process_and_writes_nothing() {
    let place = Place::new().hooks("TaskCompleted", &[HANGING, "true"]);
    let yard = place.yard("1 pending");
    let before = yard.store().read(yard.list_id()).unwrap().revision();
    let error = cancelled(&place, &yard, |yard| yard.done(&id(1)).unwrap_err());
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(status(&yard, 1), Status::Pending);
    assert_eq!(yard.store().read(yard.list_id()).unwrap().revision(), before);
}

#[test]
fn a_cancelled_creation_leaves_no_task() {
    let place = Place::new().hooks("TaskCreated", &[HANGING]);
    let yard = place.yard("1 pending");
    let error = cancelled(&place, &yard, |yard| yard.create(new("x")).unwrap_err());
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert!(find(&yard, 2).is_none() && find(&yard, 1).is_some());
}

#[test]
fn a_cancelled_check_writes_nothing() {
    let place = Place::new().config(&format!("[checks]\ntests = \"\"\"{HANGING}\"\"\""));
    let yard = place.yard(r#"1 pending {"verify":"tests"}"#);
    let error = cancelled(&place, &yard, |yard| yard.done(&id(1)).unwrap_err());
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(status(&yard, 1), Status::Pending);
}

#[test]
fn what_was_cancelled_before_it_began_starts_nothing() {
    let place = Place::new().hooks("TaskCompleted", &["touch ran"]);
    let yard = place.yard("1 pending");
    place.cancel.cancel();
    assert!(matches!(yard.done(&id(1)), Err(Error::Cancelled)));
    assert!(!place.path("project/ran").exists());
    // Without hooks there is nothing to cancel.
    let place = Place::new();
    place.cancel.cancel();
    place.yard("1 pending").done(&id(1)).unwrap().done().unwrap();
}

//! What a program hears that works a list off through the library, on the memory store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules, Status, TaskId};
use taskyard::jobs::JobSettings;
use taskyard::operations::{Query, Resuming};
use taskyard::process::Stop;
use taskyard::store::MemoryStore;
use taskyard_jobs::work::{Order, WorkError, WorkEvent, WorkListener, WorkReport, Worker};
use taskyard_jobs::{JobOptions, Jobs};
use taskyard_testkit::{finishes, list_builder};

/// Returns a yard over a list written in one line.
fn yard(line: &str) -> Yard {
    let (store, list) = (Arc::new(MemoryStore::new(Rules::Strict)), ListId::new("L").unwrap());
    list_builder::fill(&*store, &list, line);
    Yard::new(store, list, AgentName::new("ana").unwrap())
}

fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

/// Returns jobs that leave no traces: nothing is recorded of the commands of `work`.
fn jobs() -> Jobs {
    Jobs::new(JobOptions {
        data: "/nonexistent".into(),
        temporary: "/nonexistent".into(),
        program: env!("CARGO_BIN_EXE_taskyard").into(),
        environment: Vec::new(),
        settings: JobSettings::default(),
    })
}

fn order(line: &str) -> Order {
    Order {
        jobs: jobs(),
        program: "sh".into(),
        arguments: vec!["-c".into(), line.into()],
        directory: "/".into(),
        store_address: "memory:".into(),
        workers: vec![Worker { name: AgentName::new("bob").unwrap(), roles: Vec::new() }],
        limit: None,
        resuming: Resuming::All,
        query: Query::default(),
        ttl: Duration::from_secs(60),
        retries: 1,
        time_limit: None,
        waits: false,
        in_team: false,
        worktrees: None,
    }
}

/// Works, and returns what was told and what came of it.
fn work(yard: &Yard, order: Order, act: fn(&Stop, &WorkEvent)) -> (Vec<String>, Result<WorkReport, WorkError>) {
    let (told, stop) = (Arc::new(Mutex::new(Vec::new())), Stop::new());
    let listener: WorkListener = {
        let (told, stop) = (Arc::clone(&told), stop.clone());
        Arc::new(move |event| {
            act(&stop, &event);
            told.lock().unwrap().push(in_words(&event));
        })
    };
    let yard = yard.clone();
    let result = finishes(move || taskyard_jobs::work::work(&yard, order, &stop, listener));
    let told = told.lock().unwrap().clone();
    (told, result)
}

fn in_words(event: &WorkEvent) -> String {
    match event {
        WorkEvent::Started { worker, task, attempt, .. } => format!("{worker} started {} ({attempt})", task.id),
        WorkEvent::OutputLine { about, line } => format!("{about}: {line}"),
        WorkEvent::Completed(ended) => format!("completed {}", ended.task.id),
        WorkEvent::Returned(ended, failure) => format!("returned {}: {failure}", ended.task.id),
        WorkEvent::GaveUp(ended, failure) => format!("gave up {}: {failure}", ended.task.id),
        WorkEvent::Interrupted(ended) => format!("interrupted {}", ended.task.id),
        WorkEvent::Lost(ended, loss) => format!("lost {}: {loss}", ended.task.id),
        WorkEvent::Idle { worker } => format!("{worker} is idle"),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_happens_is_told_in_the_order_in_which_it_happens() {
    let yard = yard("1 pending; 2 pending <- 1");
    let (told, report) = work(&yard, order("echo at $TASKYARD_TASK_ID; exit $((TASKYARD_TASK_ID - 1))"), |_, _| {});
    let expected = [
        "bob started 1 (1)",
        "#1: at 1",
        "completed 1",
        "bob started 2 (1)",
        "#2: at 2",
        "returned 2: exit status 1",
        "bob started 2 (2)",
        "#2: at 2",
        "gave up 2: exit status 1",
        "bob is idle",
    ];
    assert_eq!(told, expected);
    let report = report.unwrap();
    assert_eq!((report.completed, report.gave_up), (vec![id(1)], vec![id(2)]));
}

#[test]
fn stopping_worker_releases_and_takes_nothing_more() {
    let yard = yard("1 pending; 2 pending");
    let stop_at_first_line = |stop: &Stop, event: &WorkEvent| {
        if matches!(event, WorkEvent::OutputLine { .. }) {
            stop.ask();
        }
    };
    let (told, report) = work(&yard, order("echo up; exec sleep 600"), stop_at_first_line);
    assert_eq!(told, ["bob started 1 (1)", "#1: up", "interrupted 1"]);
    let report = report.unwrap();
    assert!(report.was_stopped && report.interrupted == [id(1)]);
    let task = yard.show(&id(1)).unwrap().done().unwrap().task;
    assert_eq!((task.status, task.owner()), (Status::Pending, None));
}

#[test]
fn a_command_that_takes_too_long_has_failed() {
    let yard = yard("1 pending");
    let line = "echo up; sleep 600 & wait";
    let order = Order { time_limit: Some(Duration::from_secs(1)), retries: 0, ..order(line) };
    let (told, report) = work(&yard, order, |_, _| {});
    assert_eq!(told.last().unwrap(), "bob is idle");
    assert!(told.contains(&"gave up 1: timed out after 1s".to_owned()), "{told:?}");
    assert_eq!(report.unwrap().gave_up, [id(1)]);
    let task = yard.show(&id(1)).unwrap().done().unwrap().task;
    assert_eq!((task.status, task.owner()), (Status::Pending, None));
    assert_eq!(task.meta("attempts").and_then(serde_json::Value::as_u64), Some(1));
}

#[test]
fn missing_program_ends_work_and_releases_the_task() {
    let yard = yard("1 pending; 2 pending");
    let order = Order { program: "/no/such/program".into(), ..order("") };
    let (told, report) = work(&yard, order, |_, _| {});
    assert_eq!(told, [] as [&str; 0]);
    assert!(matches!(report, Err(WorkError::CannotStart { program, .. }) if program == "/no/such/program"));
    let task = yard.show(&id(1)).unwrap().done().unwrap().task;
    assert_eq!((task.status, task.owner(), task.meta("attempts")), (Status::Pending, None, None));
}

use std::fs;
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{ClientVersion, Op, Rules, Status};
use taskyard::hooks::Hooks;
use taskyard::operations::{OwnerChange, Patch, UndoRange, Update, Updated};
use taskyard::store::{FileStore, FileStoreOptions, MemoryStore, Signature, Txn};
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::{list_builder, wait_until};

use crate::hooks::hook_site::{HookSite, feedback, find, id, new, refused, status};

fn completing() -> Update {
    Update { patch: Patch { status: Some(Status::Completed), ..Patch::default() }, ..Update::default() }
}

#[test]
fn hook_exit_2_keeps_task_open_and_writes_nothing() {
    let site = HookSite::new().hooks("TaskCompleted", &["echo 'run the tests first' >&2; exit 2"]);
    let yard = site.yard("1 in_progress (ana)");
    let before = (find(&yard, 1), yard.store().read(yard.list_id()).unwrap().revision());
    let mut update = completing();
    update.patch.subject = Some("renamed".into());
    update.patch.owner = Some(OwnerChange::Clear);
    let told = "TaskCompleted hook feedback:\n[echo 'run the tests first' >&2; exit 2]: run the tests first\n";
    assert_eq!(feedback(yard.update(&id(1), update)), told);
    assert_eq!(feedback(yard.done(&id(1))), told);
    assert_eq!((find(&yard, 1), yard.store().read(yard.list_id()).unwrap().revision()), before);
}

#[test]
fn two_hooks_that_block_are_both_heard_in_their_order() {
    let site = HookSite::new().hooks(
        "TaskCompleted",
        &["sleep 0.2; echo one >&2; exit 2", "true", r#"echo '{"decision":"block","reason":"two"}'"#],
    );
    let yard = site.yard("1 pending");
    let told = feedback(yard.done(&id(1)));
    assert_eq!(told, "TaskCompleted hook feedback:\n[sleep 0.2; echo one >&2; exit 2]: one\n\ntwo");
}

#[test]
fn hooks_of_one_event_run_at_the_same_time() {
    // Each waits for the other; one that waits in vain forbids the completion.
    let meet = |own: &str, other: &str| {
        format!("touch {own}; for i in $(seq 2000); do [ -e {other} ] && exit 0; sleep 0.01; done; exit 2")
    };
    let site = HookSite::new().hooks("TaskCompleted", &[&meet("one", "two"), &meet("two", "one")]);
    site.yard("1 pending").done(&id(1)).unwrap().done().unwrap();
}

#[test]
fn a_hook_reads_the_task_as_it_was_and_knows_where_it_runs() {
    let site =
        HookSite::new().hooks("TaskCompleted", &["cat > event; echo $CLAUDE_PROJECT_DIR > root; pwd > directory"]);
    let yard = site.yard("1 pending \"Old title\"");
    let mut update = completing();
    update.patch.subject = Some("New title".into());
    yard.update(&id(1), update).unwrap().done().unwrap();
    let event = site.written("event");
    assert!(event.ends_with("}\n") && event.lines().count() == 1, "{event}");
    let event: Value = serde_json::from_str(&event).unwrap();
    let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
    let expected =
        ["session_id", "transcript_path", "cwd", "hook_event_name", "task_id", "task_subject", "task_description"];
    assert_eq!(keys, expected);
    assert_eq!(
        (&event["task_subject"], &event["task_id"], &event["session_id"]),
        (&"Old title".into(), &"1".into(), &"s-1".into())
    );
    let project = site.path("project");
    assert_eq!(event["cwd"], project.to_str().unwrap());
    assert_eq!(site.written("root").trim(), project.to_str().unwrap());
    assert_eq!(site.written("directory").trim(), project.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(find(&yard, 1).unwrap().subject, "New title");
}

#[test]
fn a_hook_may_ask_for_the_task_or_for_the_whole_list() {
    let config = "[[hooks.TaskCompleted]]\ncommand = \"cat > task\"\nstdin = \"task\"\n\
                  [[hooks.TaskCompleted]]\ncommand = \"cat > tasks\"\nstdin = \"tasks\"\n";
    let site = HookSite::new().config(config);
    let yard = site.yard("1 in_progress (ana); 2 pending <- 1");
    yard.done(&id(1)).unwrap().done().unwrap();
    let task: Value = serde_json::from_str(&site.written("task")).unwrap();
    assert_eq!((&task["id"], &task["status"], &task["blocks"][0]), (&"1".into(), &"in_progress".into(), &"2".into()));
    let tasks: Value = serde_json::from_str(&site.written("tasks")).unwrap();
    assert_eq!(tasks.as_array().unwrap().len(), 2);
    assert_eq!((&tasks[0]["metadata"]["subagent_id"], &tasks[1]["status"]), (&"ana".into(), &"pending".into()));
    assert!(tasks[0]["metadata"]["created_at"].as_str().unwrap().ends_with('Z'), "{tasks}");
}

#[test]
fn arguments_reach_a_program_without_a_shell() {
    let site = HookSite::new().settings(
        r#"{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"touch","args":["a b","$HOME"]}]}]}}"#,
    );
    let site = site.config("[[hooks.TaskCompleted]]\ncommand = \"touch\"\nargs = [\"c d\"]");
    site.yard("1 pending").done(&id(1)).unwrap().done().unwrap();
    assert!(site.path("project/c d").exists());
    assert!(site.path("project/a b").exists() && site.path("project/$HOME").exists());
}

#[test]
fn only_a_completion_is_asked_about() {
    let site = HookSite::new().hooks("TaskCompleted", &["echo asked >> log; exit 2"]);
    let yard = site.yard("1 pending; 2 completed; 3 pending");
    yard.start(&id(1)).unwrap().done().unwrap();
    yard.cancel(&id(1)).unwrap().done().unwrap();
    yard.done(&id(2)).unwrap().done().unwrap();
    yard.depend(&id(3), &[id(2)]).unwrap().done().unwrap();
    yard.reopen(&id(2)).unwrap().done().unwrap();
    assert_eq!(site.written("log"), "");
    feedback(yard.done(&id(2)));
    assert_eq!(site.written("log"), "asked\n");
}

#[test]
fn cancelling_first_is_no_way_around_a_hook() {
    let site = HookSite::new().hooks("TaskCompleted", &["exit 2"]);
    let yard = site.yard("1 pending");
    yard.cancel(&id(1)).unwrap().done().unwrap();
    let told = "TaskCompleted hook feedback:\n[exit 2]: No stderr output";
    assert_eq!(feedback(yard.done(&id(1))), told);
    assert!(find(&yard, 1).unwrap().is_cancelled());
}

#[test]
fn taking_back_a_reopening_asks_nobody() {
    let site = HookSite::new().hooks("TaskCompleted", &["exit 2"]);
    let yard = site.yard("1 completed");
    yard.reopen(&id(1)).unwrap().done().unwrap();
    yard.undo(UndoRange::Newest).unwrap().done().unwrap();
    assert_eq!(status(&yard, 1), Status::Completed);
}

#[test]
fn a_yard_without_hooks_asks_nobody() {
    let site = HookSite::new().hooks("TaskCompleted", &["exit 2"]);
    let yard = site.yard("1 pending");
    let bare = Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), yard.list_id().clone(), yard.actor().clone());
    bare.create(new("x")).unwrap().done().unwrap();
    bare.done(&id(1)).unwrap().done().unwrap();
}

/// Returns a hook that waits in the middle of its work until the file `go` is there.
const WAITING: &str = "touch asked; while [ ! -e go ]; do sleep 0.01; done";

/// Completes task 1 while its hook waits, and changes the list in the meantime.
fn done_while(site: &HookSite, line: &str, meanwhile: impl FnOnce(&Yard)) -> (Yard, Result<Outcome<Updated>, Error>) {
    let yard = site.yard(line);
    let working = thread::spawn({
        let yard = yard.clone();
        move || yard.done(&id(1))
    });
    wait_until("the hook runs", || site.path("project/asked").exists());
    // We hold no lock: whatever happens now happens at once.
    meanwhile(&yard);
    fs::write(site.path("project/go"), "").unwrap();
    (yard, working.join().unwrap())
}

fn elsewhere(yard: &Yard, op: Op, change: impl FnOnce(&mut dyn Txn)) {
    let mut txn = yard.store().write(yard.list_id()).unwrap();
    change(&mut *txn);
    txn.commit(&Signature::new(yard.actor().clone(), op)).unwrap();
}

#[test]
fn a_change_made_while_the_hook_runs_is_kept() {
    let site = HookSite::new().hooks("TaskCompleted", &[WAITING]);
    let (yard, outcome) = done_while(&site, "1 pending; 2 pending", |yard| {
        elsewhere(yard, Op::ChangedElsewhere, |txn| {
            let mut task = txn.find(&id(1)).unwrap().task().unwrap();
            task.description = "written meanwhile".into();
            txn.put(task).unwrap();
        });
    });
    assert_eq!(outcome.unwrap().done().unwrap().task.description, "written meanwhile");
    assert_eq!(status(&yard, 1), Status::Completed);
}

#[test]
fn a_task_removed_while_the_hook_runs_stays_removed() {
    let site = HookSite::new().hooks("TaskCompleted", &[WAITING]);
    let (yard, outcome) = done_while(&site, "1 pending", |yard| {
        elsewhere(yard, Op::RemovedElsewhere, |txn| txn.remove(&id(1)).unwrap());
    });
    let refusal = refused(outcome);
    assert!(matches!(refusal, Refusal::NoSuchTask { .. }), "{refusal}");
    assert!(find(&yard, 1).is_none());
}

#[test]
fn a_task_completed_while_the_hook_runs_is_not_completed_twice() {
    let site = HookSite::new().hooks("TaskCompleted", &[WAITING]);
    let (yard, outcome) = done_while(&site, "1 pending", |yard| {
        elsewhere(yard, Op::ChangedElsewhere, |txn| {
            let mut task = txn.find(&id(1)).unwrap().task().unwrap();
            task.status = Status::Completed;
            txn.put(task).unwrap();
        });
    });
    assert_eq!(outcome.unwrap().done().unwrap().revision, None);
    assert_eq!(status(&yard, 1), Status::Completed);
}

#[test]
fn a_hook_may_change_the_task_it_judges() {
    // The same through the file store, where the hook is another writer with locks of its own.
    let site = HookSite::new();
    let tasks = site.path("tasks");
    list_builder::write_files(&tasks.join("L"), "1 pending; 2 pending <- 1");
    let edit = format!(
        "sed 's/\"subject\": \"task 1\"/\"subject\": \"edited\"/' '{0}/L/1.json' > e && cp e '{0}/L/1.json'",
        tasks.display()
    );
    let site = site.hooks("TaskCompleted", &[&edit]);
    let options = FileStoreOptions { tasks, data: Some(site.path("data")), rules: Rules::Strict };
    let memory = site.yard("");
    let hooks = Hooks::new(site.setup(), site.cancel.clone());
    let store = Arc::new(FileStore::open(options));
    let yard = Yard::new(store, memory.list_id().clone(), memory.actor().clone()).with_hooks(Arc::new(hooks));
    let updated = yard.done(&id(1)).unwrap().done().unwrap();
    assert_eq!((updated.task.subject.as_str(), updated.task.status), ("edited", Status::Completed));
    assert_eq!(updated.now_ready, [id(2)]);
}

#[test]
fn the_client_of_2_1_34_asks_before_completions_too() {
    let mut site = HookSite::new().hooks("TaskCompleted", &["exit 2"]);
    site.rules = Rules::Client(ClientVersion::V2_1_34);
    feedback(site.yard("1 pending").done(&id(1)));
}

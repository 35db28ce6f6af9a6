//! What is no regular file appears among the files of a server that runs: it goes on, and says what it is.

use serde_json::json;
use taskyard_testkit::{Home, StrangeFile, finishes};

use crate::stdio::{Piped, text};

#[test]
fn among_the_tasks_and_as_the_mark_it_hinders_nobody() {
    for kind in StrangeFile::ALL {
        finishes(move || {
            let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
            home.ask("create A");
            let mut server = Piped::start(&home, "").initialized();
            server.call("TaskList", json!({}));
            let good = home.path().join("good");
            std::fs::write(&good, "700").unwrap();
            for name in ["3.json", ".highwatermark"] {
                kind.put(&home.list("L").join(name), &good);
            }
            let listed = server.call("TaskList", json!({}));
            assert!(listed.contains("#1 [pending] A"), "{kind:?}: {listed}");
            let created = server.call("TaskCreate", json!({ "subject": "B", "description": "b" }));
            assert!(created.contains("#4"), "{kind:?}: {created}");
            server.call("TaskUpdate", json!({ "taskId": "1", "subject": "A2" }));
            let listed = server.call("TaskList", json!({}));
            assert!(listed.contains("#1 [pending] A2") && listed.contains("#4 [pending] B"), "{kind:?}: {listed}");
        });
    }
}

#[test]
fn in_the_place_of_a_lock_it_is_named_and_the_call_comes_back() {
    for kind in StrangeFile::ALL.into_iter().filter(|kind| *kind != StrangeFile::Directory) {
        finishes(move || {
            let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
            home.ask("create A");
            let mut server = Piped::start(&home, "").initialized();
            server.call("TaskList", json!({}));
            let lock = home.list("L").join(".lock.lock");
            kind.put(&lock, &home.task_file("1"));
            let called = if kind == StrangeFile::Huge { "a file" } else { kind.called(&lock) };
            let arguments = json!({ "subject": "B", "description": "b" });
            let answer = server.ask("tools/call", json!({ "name": "TaskCreate", "arguments": arguments }));
            assert_eq!(answer["result"]["isError"], true, "{kind:?}: {answer}");
            let said = text(&answer);
            assert!(said.contains(".lock.lock") && said.contains(called), "{kind:?}: {said}");
            assert!(server.call("TaskList", json!({})).contains("#1 [pending] A"), "{kind:?}");
            std::fs::remove_file(&lock).unwrap();
            assert!(server.call("TaskCreate", arguments).contains("#2"), "{kind:?}");
        });
    }
}

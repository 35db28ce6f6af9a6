//! A newer Taskyard upgrades what a server has open: the server says so, shows tasks, and writes nothing more.

use serde_json::json;
use taskyard_testkit::{Home, Rows, finishes, upgrade_beyond_today};

use crate::stdio::{Piped, text};

#[test]
fn server_under_upgraded_journal_reads_and_writes_nothing() {
    finishes(|| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        home.ask("create A");
        let mut server = Piped::start(&home, "--tools all").initialized();
        server.call("TaskCreate", json!({ "subject": "B", "description": "b" }));
        server.call("TaskUpdate", json!({ "taskId": "1", "subject": "A2" }));
        server.call("TaskList", json!({}));
        let journal = home.sidecar("L").join("journal.sqlite");
        upgrade_beyond_today(&journal);
        let before = Rows::of(&journal);
        let files = home.present();
        let calls = [
            ("TaskUpdate", json!({ "taskId": "1", "subject": "A3" })),
            ("TaskCreate", json!({ "subject": "C", "description": "c" })),
            ("TaskClaim", json!({ "taskId": "2" })),
        ];
        for (tool, arguments) in calls {
            let answer = server.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
            assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
            let said = text(&answer);
            assert!(said.contains("was written by a newer taskyard (format 99)"), "{tool}: {said}");
            assert!(said.contains("has to be upgraded and restarted"), "{tool}: {said}");
        }
        let listed = server.call("TaskList", json!({}));
        assert!(listed.contains("#1 [pending] A2") && listed.contains("#2 [pending] B"), "{listed}");
        assert!(server.call("TaskGet", json!({ "taskId": "2" })).contains('B'));
        assert_eq!(Rows::of(&journal), before);
        assert_eq!(home.present(), files);
    });
}

#[test]
fn server_under_upgraded_team_memory_sends_nothing() {
    finishes(|| {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        home.ask("team create crew --as ana");
        home.ask("team join crew --as tester");
        let mut server = Piped::start(&home, "--tools all").initialized();
        let message = json!({ "type": "message", "recipient": "team-lead", "content": "Hello", "summary": "Hello" });
        server.call("SendMessage", message.clone());
        let memory = home.data().join("teams.sqlite");
        upgrade_beyond_today(&memory);
        let before = Rows::of(&memory);
        let inbox = home.path().join(".claude/teams/crew/inboxes/team-lead.json");
        let received = std::fs::read(&inbox).unwrap();
        let answer = server.ask("tools/call", json!({ "name": "SendMessage", "arguments": message }));
        assert!(text(&answer).contains("was written by a newer taskyard (format 99)"), "{answer}");
        assert_eq!(std::fs::read(&inbox).unwrap(), received, "nothing was sent");
        assert!(Rows::of(&memory) == before);
    });
}

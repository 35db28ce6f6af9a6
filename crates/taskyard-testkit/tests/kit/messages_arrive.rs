//! Every message that was acknowledged to its sender arrives, once, and in the order in which its sender wrote.
//!
//! Full scale, 20,000 messages: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-testkit --test kit messages_arrive::`.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use serde_json::Value;
use taskyard::core::{AgentName, Rules};
use taskyard::teams::{FileTeamsOptions, Letter, TeamCaller, Teams};
use taskyard_testkit::list_builder::make_team;
use taskyard_testkit::{Process, Program, Rival, Scale};
use tempfile::TempDir;

const MESSAGES: usize = 20_000;
const SENDERS: usize = 8;
const READERS: [&str; 4] = ["ana", "ben", "eve", "kim"];

struct Office {
    folder: TempDir,
}

impl Office {
    /// Makes a team with the readers and the senders in it.
    fn new() -> Self {
        let office = Self { folder: tempfile::tempdir().unwrap() };
        let teams = office.teams();
        let senders: Vec<String> = (0..SENDERS).map(sender).collect();
        make_team(&teams, "tester", READERS.into_iter().chain(senders.iter().map(String::as_str)));
        office
    }

    fn client(&self) -> PathBuf {
        self.folder.path().join("client")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn inboxes(&self) -> PathBuf {
        self.client().join("teams/alpha/inboxes")
    }

    fn teams(&self) -> Teams {
        Teams::new(
            FileTeamsOptions {
                root: self.client().join("teams"),
                tasks: self.client().join("tasks"),
                data: self.data(),
                rules: Rules::Strict,
            },
            TeamCaller::default(),
        )
    }

    fn start(&self, words: &[&str]) -> Process {
        let mut command = Program::new(env!("CARGO_BIN_EXE_correspondent"));
        command.arg(self.client()).arg(self.data()).args(words);
        command.stdin(Stdio::piped()).start()
    }
}

fn sender(number: usize) -> String {
    format!("sender-{number}")
}

/// Returns everything a process prints, read on a thread as it arrives.
fn lines(child: &mut Process) -> thread::JoinHandle<Vec<Value>> {
    let out = child.take_output();
    thread::spawn(move || out.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect())
}

fn of<'a>(lines: &'a [Value], op: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["op"] == op)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn senders_readers_and_client_lose_and_double_nothing() {
    let each = Scale::from_environment(0.02).of(MESSAGES).div_ceil(SENDERS);
    let office = Office::new();
    let mut readers: Vec<Process> = READERS.iter().map(|name| office.start(&["read", name])).collect();
    let received: Vec<_> = readers.iter_mut().map(lines).collect();
    std::fs::create_dir_all(office.inboxes()).unwrap();
    let (inboxes, count) = (office.inboxes(), each.to_string());
    let arguments = [&[inboxes.to_str().unwrap(), &count, "node"][..], &READERS].concat();
    let mut rival = Rival::start("inbox.js", &arguments);
    let mut senders: Vec<Process> =
        (0..SENDERS).map(|number| office.start(&[&["send", &sender(number), &count][..], &READERS].concat())).collect();
    let sending: Vec<_> = senders.iter_mut().map(lines).collect();
    let mut theirs = Vec::new();
    while let Some(line) = rival.json() {
        theirs.push(line);
    }
    let ended = rival.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut sent: HashSet<String> = of(&theirs, "sent").map(|line| text(&line["id"])).collect();
    for (mut child, lines) in senders.into_iter().zip(sending) {
        assert!(child.wait().success());
        let lines = lines.join().unwrap();
        assert_eq!(lines.len(), each);
        sent.extend(lines.iter().map(|line| text(&line["id"])));
    }
    assert!(sent.len() >= SENDERS * each);
    // The end of its input tells a reader that nothing more comes.
    let ours: Vec<Vec<Value>> = readers
        .into_iter()
        .zip(received)
        .map(|(mut reader, lines)| {
            reader.close_input();
            assert!(reader.wait().success());
            lines.join().unwrap()
        })
        .collect();

    let drained = of(&theirs, "drained").flat_map(|line| line["messages"].as_array().unwrap());
    let mut had: HashSet<String> = drained.map(|message| text(&message["id"])).collect();
    for lines in &ours {
        let mut once = HashSet::new();
        let mut last: HashMap<String, u64> = HashMap::new();
        for line in of(lines, "delivered") {
            assert!(once.insert(text(&line["id"])), "delivered twice: {line}");
            let number = line["text"].as_str().unwrap().parse().unwrap();
            let before = last.insert(text(&line["from"]), number);
            assert!(before.is_none_or(|before| before < number), "{before:?} came before {line}");
        }
        assert!(!once.is_empty());
        had.extend(once);
    }
    let missing: Vec<&String> = sent.difference(&had).collect();
    assert!(missing.is_empty(), "{} of {} messages did not arrive", missing.len(), sent.len());
    assert_eq!(had.difference(&sent).count(), 0, "messages nobody sent");
    assert_no_leftovers(&office.inboxes());
}

/// A process that is killed leaves nothing behind that the next one does not clear away.
fn assert_no_leftovers(inboxes: &Path) {
    let names: Vec<String> =
        std::fs::read_dir(inboxes).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| name.ends_with(".json")), "{names:?}");
}

#[test]
fn unacknowledged_messages_of_killed_reader_come_again() {
    let office = Office::new();
    let (teams, lead) = (office.teams(), AgentName::new("tester").unwrap());
    let seat = teams.seat(&lead, None).unwrap().done().unwrap();
    let count = 12;
    for number in 1..=count {
        teams.send(&seat, "ana", &Letter::new(number.to_string())).unwrap().done().unwrap();
    }
    let mut had: Vec<String> = Vec::new();
    let mut read = |words: &[&str]| {
        let mut reader = office.start(words);
        reader.close_input();
        let told = lines(&mut reader).join().unwrap();
        let was_killed = !reader.wait().success();
        let texts: Vec<String> = of(&told, "delivered").map(|line| text(&line["text"])).collect();
        had.extend(texts.clone());
        (texts, was_killed)
    };
    let all: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    assert_eq!(read(&["read", "ana", "5"]), (all[..5].to_vec(), true));
    assert_eq!(read(&["read", "ana", "7"]), (all[..7].to_vec(), true));
    assert_eq!(read(&["read", "ana"]), (all.clone(), false));
    assert_eq!(read(&["read", "ana"]), (Vec::new(), false));
    // No other member has them, and what was acknowledged is out of the inbox.
    let ben = teams.seat(&AgentName::new("ben").unwrap(), None).unwrap().done().unwrap();
    assert_eq!(teams.look_into(&ben).unwrap().deliveries, []);
    assert_eq!(std::fs::read_to_string(office.inboxes().join("ana.json")).unwrap(), "[]");
    assert_no_leftovers(&office.inboxes());
}

#[test]
fn idle_inbox_read_touches_nothing_and_wakes_nobody() {
    let office = Office::new();
    let teams = office.teams();
    let lead = teams.seat(&AgentName::new("tester").unwrap(), None).unwrap().done().unwrap();
    let ana = teams.seat(&AgentName::new("ana").unwrap(), None).unwrap().done().unwrap();
    teams.send(&lead, "ana", &Letter::new("hello")).unwrap().done().unwrap();
    let touched = || std::fs::metadata(office.inboxes()).unwrap().modified().unwrap();
    let before = touched();
    for _ in 0..3 {
        assert_eq!(teams.acknowledge(&ana, &[]).unwrap().taken, 0);
    }
    assert_eq!(touched(), before);
    let keys: Vec<_> = teams.receive(&ana).unwrap().deliveries.into_iter().flat_map(|delivery| delivery.keys).collect();
    assert_eq!(teams.acknowledge(&ana, &keys).unwrap().taken, 1);
    assert_ne!(touched(), before);
}

#[test]
fn an_inbox_of_many_messages_is_still_written_and_read() {
    let office = Office::new();
    let teams = office.teams();
    let seat = teams.seat(&AgentName::new("tester").unwrap(), None).unwrap().done().unwrap();
    teams.send(&seat, "ana", &Letter::new("first")).unwrap().done().unwrap();
    let path = office.inboxes().join("ana.json");
    let entry = std::fs::read_to_string(&path).unwrap();
    let entry = entry.trim_start_matches("[\n").trim_end_matches("\n]");
    let count = Scale::from_environment(0.05).of(100_000);
    let entries: Vec<String> = (0..count)
        .map(|number| {
            entry.replace("first", &number.to_string()).replace("\"msg_id\": \"", &format!("\"msg_id\": \"{number}-"))
        })
        .collect();
    std::fs::write(&path, format!("[\n{}\n]", entries.join(",\n"))).unwrap();
    teams.send(&seat, "ana", &Letter::new("last")).unwrap().done().unwrap();
    let ana = teams.seat(&AgentName::new("ana").unwrap(), None).unwrap().done().unwrap();
    let deliveries = teams.receive(&ana).unwrap().deliveries;
    assert_eq!(deliveries.len(), count + 1);
    assert_eq!(deliveries[count].message.text, "last");
    let keys: Vec<_> = deliveries.into_iter().flat_map(|delivery| delivery.keys).collect();
    assert_eq!(teams.acknowledge(&ana, &keys).unwrap().taken, count + 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "[]");
}

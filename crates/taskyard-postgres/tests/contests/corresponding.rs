//! Every message that was acknowledged to its sender arrives, once, and in the order in which its sender wrote.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::{io, thread};

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, MessageKey, Rules};
use taskyard::store::MemoryStore;
use taskyard::stream::{AlreadyTold, Cursor, Interest};
use taskyard::teams::{Letter, Seat, TeamCaller, Teams};
use taskyard_postgres::{PostgresOpener, Surroundings};
use taskyard_testkit::list_builder::make_team;
use taskyard_testkit::{Scale, SharedPostgres};

use crate::child::Participant;

const MESSAGES: usize = 20_000;
const SENDERS: usize = 12;
const READERS: [&str; 4] = ["ana", "ben", "eve", "kim"];

pub(crate) fn messages_of_16_processes_arrive_once_and_in_order() {
    let address = SharedPostgres::get().fresh_address();
    let teams = teams(&address);
    let senders: Vec<String> = (0..SENDERS).map(|number| format!("sender-{number}")).collect();
    make_team(&teams, "boss", READERS.into_iter().chain(senders.iter().map(String::as_str)));
    let each = Scale::from_environment(0.02).of(MESSAGES).div_ceil(SENDERS);
    let readers: Vec<Participant> =
        READERS.iter().map(|name| Participant::start(&["reader", &address, name])).collect();
    let count = each.to_string();
    let sending: Vec<Participant> = senders
        .iter()
        .map(|name| Participant::start(&[&["sender", &address, name, &count][..], &READERS].concat()))
        .collect();
    let sent: Vec<Value> = sending.into_iter().flat_map(Participant::ended).map(|(_, line)| line).collect();
    assert_eq!(sent.len(), each * SENDERS);
    let mut had: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    let mut ids = HashSet::new();
    for (name, reader) in READERS.iter().zip(readers) {
        for (_, line) in reader.ended() {
            assert!(ids.insert(line["id"].as_str().unwrap().to_owned()), "{line} arrived twice");
            let from = line["from"].as_str().unwrap().to_owned();
            had.entry((from, (*name).to_owned())).or_default().push(line["text"].as_str().unwrap().parse().unwrap());
        }
    }
    let missing: Vec<&Value> = sent.iter().filter(|line| !ids.contains(line["id"].as_str().unwrap())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(ids.len(), sent.len());
    assert!(had.values().all(|numbers| numbers.is_sorted()), "{had:?}");
}

/// `sender ADDRESS NAME COUNT READER...`: writes so many messages to the readers in turn, and tells each once it is sent.
pub(crate) fn sender(address: &str, name: &str, count: &str, readers: &[&str]) {
    let teams = teams(address);
    let seat = seat(&teams, name);
    for number in 0..count.parse().unwrap() {
        let to = readers[number % readers.len()];
        let sent = teams.send(&seat, to, &Letter::new(number.to_string())).unwrap().done().unwrap();
        tell(&json!({ "id": sent.message.msg_id, "number": number }));
    }
}

/// `reader ADDRESS NAME`: tells every message it receives and then acknowledges it, until its input ends and nothing is left.
pub(crate) fn reader(address: &str, name: &str) {
    let teams = teams(address);
    let seat = seat(&teams, name);
    let (sender, receiver) = channel();
    let moved = sender.clone();
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("none").unwrap(), agent(name)).with_teams(Arc::new(teams.lasting()));
    let since = Cursor { messages: AlreadyTold::nothing(), ..Cursor::now() };
    let stream = yard.follow_only(Interest::in_inboxes([agent(name)]), since).unwrap();
    let listening = stream.listen(move |_| moved.send(false).unwrap_or_default()).unwrap();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = sender.send(true);
    });
    let mut is_last = false;
    while let Ok(last) = receiver.recv() {
        is_last |= last;
        let received = teams.receive(&seat).unwrap();
        let keys: Vec<MessageKey> = received.deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect();
        for message in received.deliveries.iter().map(|delivery| &delivery.message) {
            tell(&json!({ "id": message.msg_id, "from": message.from, "text": message.text }));
        }
        teams.acknowledge(&seat, &keys).unwrap();
        if is_last && teams.look_into(&seat).unwrap().deliveries.is_empty() {
            break;
        }
    }
    drop(listening);
}

fn teams(address: &str) -> Teams {
    let store = PostgresOpener::new(Surroundings::default()).teams_at(address).unwrap();
    Teams::over(store, Rules::Strict, TeamCaller::default())
}

fn seat(teams: &Teams, name: &str) -> Seat {
    teams.only_seat(&agent(name)).unwrap().unwrap()
}

fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

fn tell(line: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

//! `correspondent CLIENT DATA send NAME COUNT AGENT...`: writes COUNT messages to the agents in turn, telling each once it is sent.
//! `correspondent CLIENT DATA read NAME [PLACE]`: tells every message it receives and then acknowledges it, until its input ends and
//! there is nothing left. With a place it kills itself there after a few messages: `delivered`, before it acknowledges.
//!
//! Lines: `{"op":"sent","to":..,"id":..,"number":..}`, `{"op":"delivered","id":..,"from":..,"text":..}`, `{"op":"acknowledged"}`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::HashSet;
use std::env;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, MessageKey, Rules};
use taskyard::store::MemoryStore;
use taskyard::stream::{AlreadyTold, Cursor, Interest};
use taskyard::teams::{FileTeamsOptions, Letter, Seat, TeamCaller, Teams};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [client, data, "send", name, count, ref agents @ ..] => {
            let (teams, seat) = seat(client, data, name);
            for number in 1..=count.parse().unwrap() {
                let to = agents[number % agents.len()];
                let sent = teams.send(&seat, to, &Letter::new(number.to_string())).unwrap().done().unwrap();
                tell(&json!({"op": "sent", "to": to, "id": sent.message.msg_id, "number": number}));
            }
        }
        [client, data, "read", name] => read(client, data, name, None),
        [client, data, "read", name, after] => read(client, data, name, Some(after.parse().unwrap())),
        _ => panic!("see the first lines of this program"),
    }
}

fn seat(client: &str, data: &str, name: &str) -> (Teams, Seat) {
    let client = PathBuf::from(client);
    let teams = Teams::new(
        FileTeamsOptions {
            root: client.join("teams"),
            tasks: client.join("tasks"),
            data: data.into(),
            rules: Rules::Strict,
        },
        TeamCaller::default(),
    );
    let seat = teams.only_seat(&AgentName::new(name).unwrap()).unwrap().unwrap();
    (teams, seat)
}

/// Receives until its input ends and nothing is left; with a number it dies after so many messages, before it acknowledges.
fn read(client: &str, data: &str, name: &str, dies_after: Option<usize>) {
    let (teams, seat) = seat(client, data, name);
    let (sender, receiver) = channel();
    let moved = sender.clone();
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("none").unwrap(), AgentName::new(name).unwrap());
    let interest = Interest::in_inboxes([yard.actor().clone()]);
    let since = Cursor { messages: AlreadyTold::nothing(), ..Cursor::now() };
    let stream = yard.with_teams(Arc::new(teams.lasting())).follow_only(interest, since).unwrap();
    let _listening = stream.listen(move |_| moved.send(false).unwrap_or_default()).unwrap();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = sender.send(true);
    });
    let (mut told, mut is_last) = (HashSet::new(), false);
    let mut count = 0;
    while let Ok(last) = receiver.recv() {
        is_last |= last;
        let deliveries = teams.receive(&seat).unwrap().deliveries;
        let keys: Vec<MessageKey> = deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect();
        for delivery in &deliveries {
            let message = &delivery.message;
            assert!(told.insert(delivery.keys.clone()), "delivered again although it was acknowledged: {message:?}");
            tell(&json!({"op": "delivered", "id": message.msg_id, "from": message.from, "text": message.text}));
            count += 1;
            if dies_after == Some(count) {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
        }
        teams.acknowledge(&seat, &keys).unwrap();
        tell(&json!({"op": "acknowledged"}));
        if is_last && teams.look_into(&seat).unwrap().deliveries.is_empty() {
            return;
        }
    }
}

fn tell(line: &serde_json::Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

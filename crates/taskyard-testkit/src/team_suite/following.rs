//! Being told what is written, and who comes and goes.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use taskyard::Yard;
use taskyard::core::{ListId, Rules};
use taskyard::store::MemoryStore;
use taskyard::stream::{AlreadyTold, Cursor, Happening, Stream};

use crate::team_suite::team_samples::{OpenTeams, agent, keys, make, new_member, seat, send};
use crate::{OpenedTeams, PATIENCE, Scale};

/// Follows the messages to an agent, and the members that join and leave the suite's team.
fn follow(opened: &OpenedTeams, name: &str, since: Cursor) -> Stream {
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("alpha").unwrap(), agent(name)).with_teams(Arc::new(opened.teams()));
    yard.follow(since).unwrap()
}

/// Returns the next thing in a few words.
fn next(stream: &mut Stream) -> String {
    match stream.next_before(Some(Instant::now() + PATIENCE)).unwrap() {
        Some(Happening::Message { agent, delivery, .. }) => format!("{agent}: {}", delivery.message.text),
        Some(Happening::AgentCame { team, member }) => format!("{} came to {team}", member.name),
        Some(Happening::AgentWent { team, name }) => format!("{name} went from {team}"),
        other => panic!("{other:?}"),
    }
}

fn from_the_beginning() -> Cursor {
    Cursor { messages: AlreadyTold::nothing(), ..Cursor::now() }
}

/// A follower that only reads when notified misses no message, even if it acknowledges what it has.
pub fn a_follower_misses_no_message(open: &OpenTeams) {
    let opened = open();
    make(&opened.teams(), &["ana"]);
    let count = Scale::from_environment(0.1).of(200);
    let sender = opened.clone();
    let sending = thread::spawn(move || {
        let teams = sender.teams();
        for number in 0..count {
            send(&teams, "boss", "ana", &number.to_string());
        }
    });
    let (reader, ana) = (opened.teams(), seat(&opened.teams(), "ana"));
    let mut stream = follow(&opened, "ana", from_the_beginning());
    for number in 0..count {
        assert_eq!(next(&mut stream), format!("ana: {number}"));
        if number % 10 == 9 {
            let mut received = reader.receive(&ana).unwrap();
            // What came meanwhile was not told yet.
            received.deliveries.retain(|one| one.message.text.parse::<usize>().unwrap() <= number);
            reader.acknowledge(&ana, &keys(&received)).unwrap();
        }
    }
    sending.join().unwrap();
}

/// A new follower gets the waiting messages; one that starts at the present does not; and one continues where another
/// stopped.
pub fn a_follower_begins_where_it_says(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    send(&teams, "boss", "ana", "one");
    send(&teams, "boss", "ana", "two");
    let mut from_now_on = follow(&opened, "ana", Cursor::now());
    let mut first = follow(&opened, "ana", from_the_beginning());
    assert_eq!(next(&mut first), "ana: one");
    let cursor = first.cursor();
    drop(first);
    send(&teams, "boss", "ana", "three");
    let mut second = follow(&opened, "ana", cursor);
    assert_eq!([next(&mut second), next(&mut second)], ["ana: two", "ana: three"]);
    assert_eq!(next(&mut from_now_on), "ana: three");
}

/// An agent without a team is notified when it joins one, of messages to it from then on, and when it has left.
pub fn an_agent_that_joins_later_is_told_from_then_on(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let mut stream = follow(&opened, "ana", Cursor::now());
    let team = make(&teams, &[]);
    let name = &team.name;
    assert_eq!(next(&mut stream), format!("team-lead came to {name}"));
    teams.join(&team, &new_member("ana")).unwrap().done().unwrap();
    assert_eq!(next(&mut stream), format!("ana came to {name}"));
    send(&teams, "boss", "ana", "hello");
    assert_eq!(next(&mut stream), "ana: hello");
    teams.leave(&seat(&teams, "ana")).unwrap().done().unwrap();
    assert_eq!(next(&mut stream), format!("ana went from {name}"));
}

/// A waiting follower can be notified of other agents' messages; an agent that comes back is notified again of waiting
/// messages.
pub fn others_come_to_be_followed(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana", "ben"]);
    send(&teams, "boss", "ben", "one");
    let mut stream = follow(&opened, "ana", Cursor::now());
    let control = stream.control();
    control.follow_inboxes(|| [agent("ben")].into());
    assert_eq!(next(&mut stream), "ben: one");
    control.follow_inboxes(|| [agent("ana")].into());
    send(&teams, "boss", "ana", "two");
    assert_eq!(next(&mut stream), "ana: two");
    control.follow_inboxes(|| [agent("ana"), agent("ben")].into());
    assert_eq!(next(&mut stream), "ben: one");
    control.stop();
    assert_eq!(stream.next_before(None).unwrap(), None);
}

/// A listener that is dropped is called no more.
pub fn a_dropped_listener_hears_no_more(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    let (tell, told) = channel();
    let listening = follow(&opened, "ana", Cursor::now()).listen(move |_| tell.send(()).unwrap_or_default()).unwrap();
    send(&teams, "boss", "ana", "hello");
    told.recv_timeout(PATIENCE).unwrap();
    drop(listening);
    send(&teams, "boss", "ana", "again");
    // The follower is gone, and its end of the channel with it.
    assert_eq!(told.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
}

/// A listener that panics is called again.
pub fn a_panicking_listener_is_called_again(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    let (tell, told) = channel();
    let mut is_first = true;
    let listener = move |_| {
        tell.send(()).unwrap();
        assert!(!std::mem::replace(&mut is_first, false), "as this test wants it");
    };
    let _listening = follow(&opened, "ana", Cursor::now()).listen(listener).unwrap();
    send(&teams, "boss", "ana", "hello");
    told.recv_timeout(PATIENCE).unwrap();
    send(&teams, "boss", "ana", "again");
    told.recv_timeout(PATIENCE).unwrap();
}

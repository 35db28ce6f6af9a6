//! Being told that something is new.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use taskyard::teams::Seat;

use super::samples::{OpenTeams, agent, keys, make, new_member, seat, send, texts};
use crate::{PATIENCE, Scale};

/// Whoever looks whenever it is told, and never by itself, misses no message.
pub fn who_follows_misses_no_message(open: &OpenTeams) {
    let opened = open();
    make(&opened.teams(), &["ana"]);
    let count = Scale::from_environment(0.1).of(200);
    let (had, all) = channel();
    let (reader, ana) = (opened.teams(), seat(&opened.teams(), "ana"));
    let follower = opened.teams();
    let sender = opened.clone();
    let sending = thread::spawn(move || {
        let teams = sender.teams();
        for number in 0..count {
            send(&teams, "boss", "ana", &number.to_string());
        }
    });
    let following = follower.follow(
        &ana.clone(),
        Box::new(move || {
            let received = reader.receive(&ana).unwrap();
            reader.acknowledge(&ana, &keys(&received)).unwrap();
            texts(&received).into_iter().for_each(|text| drop(had.send(text)));
        }),
    );
    let _following = following.unwrap();
    for number in 0..count {
        assert_eq!(all.recv_timeout(PATIENCE).unwrap(), number.to_string());
    }
    sending.join().unwrap();
}

/// Whoever is in no team yet is told when it has joined one, and of what is written to it then.
pub fn who_joins_later_is_told_from_then_on(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let (tell, told) = channel();
    let reader = opened.teams();
    let look = move |seat: Option<&Seat>| {
        let texts = seat.map(|seat| texts(&reader.look_into(seat).unwrap()));
        let _ = tell.send(texts);
    };
    let _following = opened.teams().follow_agent(&agent("ana"), Box::new(look)).unwrap();
    let wait_for = |wanted: Option<Vec<String>>| {
        while told.recv_timeout(PATIENCE).unwrap() != wanted {}
    };
    wait_for(None);
    let team = make(&teams, &[]);
    teams.join(&team, &new_member("ana")).unwrap().unwrap();
    wait_for(Some(Vec::new()));
    send(&teams, "boss", "ana", "hello");
    wait_for(Some(vec!["hello".into()]));
    let ana = seat(&teams, "ana");
    teams.leave(&ana).unwrap().unwrap();
    wait_for(None);
}

/// A dropped subscription calls nobody any more.
pub fn a_dropped_subscription_hears_no_more(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    let ana = seat(&teams, "ana");
    let (tell, told) = channel();
    let following = teams.follow(&ana, Box::new(move || tell.send(()).unwrap_or_default())).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    drop(following);
    while told.try_recv().is_ok() {}
    send(&teams, "boss", "ana", "hello");
    // Whoever could still be told is gone, and its end of the channel with it.
    assert!(told.recv_timeout(PATIENCE).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Disconnected));
}

/// A listener that panics is called again.
pub fn a_panicking_listener_is_called_again(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    let (tell, told) = channel();
    let is_first = Arc::new(Mutex::new(true));
    let look = move || {
        tell.send(()).unwrap();
        let was_first = std::mem::replace(&mut *is_first.lock().unwrap(), false);
        assert!(!was_first, "as this test wants it");
    };
    let _following = teams.follow(&seat(&teams, "ana"), Box::new(look)).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    send(&teams, "boss", "ana", "hello");
    told.recv_timeout(PATIENCE).unwrap();
}

//! Many at once in one team.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use taskyard::core::Holder;
use taskyard::core::rules::refusal::{Refusal, TeamRefusal};
use taskyard::liveness::own_mark;
use taskyard::teams::{Letter, NewMember, Presence, Teams};

use crate::team_suite::team_samples::{OpenTeams, agent, keys, make, new_member, new_team, seat, send};
use crate::{OpenedTeams, Scale};

const THREADS: usize = 6;

/// Runs the same on several threads, each with the place opened for itself.
fn together<T: Send>(opened: &OpenedTeams, work: impl Fn(usize, &Teams) -> T + Sync) -> Vec<T> {
    let begin = std::sync::Barrier::new(THREADS);
    thread::scope(|scope| {
        let (begin, work) = (&begin, &work);
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let teams = opened.teams();
                scope.spawn(move || {
                    begin.wait();
                    work(number, &teams)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Of several callers that make a team of one name one does, and the others are refused.
pub fn of_those_who_make_one_team_one_does(open: &OpenTeams) {
    let opened = open();
    let made = together(&opened, |number, teams| {
        teams.create(&new_team("alpha"), &agent(&format!("boss-{number}"))).unwrap().done()
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    let leads = |number: &usize| opened.teams().only_seat(&agent(&format!("boss-{number}"))).unwrap().is_some();
    assert_eq!((0..THREADS).filter(leads).count(), 1);
}

/// All agents that join are in the team, each in a colour of its own.
pub fn those_who_join_at_once_are_all_in_it_in_colours_of_their_own(open: &OpenTeams) {
    let opened = open();
    let team = make(&opened.teams(), &[]);
    together(&opened, |number, teams| {
        teams.join(&team, &new_member(&format!("mate-{number}"))).unwrap().done().unwrap()
    });
    let team = opened.teams().find("alpha").unwrap().done().unwrap();
    let colours: BTreeSet<_> = team.members.iter().map(|member| member.colour().unwrap().to_owned()).collect();
    assert_eq!((team.members.len(), colours.len()), (THREADS + 1, THREADS + 1));
}

/// Of several living agents that want one name, one gets it.
pub fn of_those_who_join_under_one_name_one_gets_the_seat(open: &OpenTeams) {
    for _ in 0..Scale::from_environment(0.1).of(100) {
        let opened = open();
        let team = make(&opened.teams(), &[]);
        let joined = together(&opened, |number, teams| {
            let grace = Duration::from_secs(number as u64);
            let presence = Presence::Held(Holder::Connection { process: own_mark(), grace });
            teams.join(&team, &NewMember { presence, ..new_member("ana") }).unwrap().done()
        });
        assert_eq!(joined.iter().filter(|joined| joined.is_ok()).count(), 1, "{joined:?}");
        let is_in_use = |refusal: &Refusal| matches!(refusal, Refusal::Team(TeamRefusal::NameInUse { .. }));
        assert!(joined.iter().filter_map(|joined| joined.as_ref().err()).all(is_in_use));
        assert_eq!(opened.teams().find("alpha").unwrap().done().unwrap().members.len(), 2);
    }
}

/// Of several callers that remove a member, one succeeds.
pub fn of_those_who_take_out_a_member_one_does(open: &OpenTeams) {
    let opened = open();
    make(&opened.teams(), &["ana"]);
    let ana = seat(&opened.teams(), "ana");
    let left = together(&opened, |_, teams| teams.leave(&ana).unwrap().done().unwrap());
    assert_eq!(left.iter().filter(|was_there| **was_there).count(), 1);
}

/// Of several readers of a mailbox that acknowledge a message, one succeeds.
pub fn a_message_is_taken_once_however_many_acknowledge_it(open: &OpenTeams) {
    let opened = open();
    make(&opened.teams(), &["ana"]);
    let count = Scale::from_environment(0.1).of(200);
    for number in 0..count {
        send(&opened.teams(), "boss", "ana", &number.to_string());
    }
    let taken = together(&opened, |_, teams| {
        let ana = seat(teams, "ana");
        let received = teams.receive(&ana).unwrap();
        teams.acknowledge(&ana, &keys(&received)).unwrap().taken
    });
    assert_eq!(taken.iter().sum::<usize>(), count);
    assert_eq!(opened.teams().receive(&seat(&opened.teams(), "ana")).unwrap().deliveries, []);
}

/// What many send at once arrives, each once, in each sender's own order, while it is read and acknowledged.
pub fn what_many_send_at_once_arrives_once_and_in_order(open: &OpenTeams) {
    let opened = open();
    let senders: Vec<String> = (0..THREADS).map(|number| format!("mate-{number}")).collect();
    let names: Vec<&str> = senders.iter().map(String::as_str).chain(["ana"]).collect();
    make(&opened.teams(), &names);
    let each = Scale::from_environment(0.1).of(200);
    let reading = {
        let opened = opened.clone();
        thread::spawn(move || {
            let teams = opened.teams();
            let ana = seat(&teams, "ana");
            let mut had: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            while had.values().map(Vec::len).sum::<usize>() < each * THREADS {
                let received = teams.receive(&ana).unwrap();
                for message in received.deliveries.iter().map(|delivery| &delivery.message) {
                    had.entry(message.from.clone()).or_default().push(message.text.parse().unwrap());
                }
                teams.acknowledge(&ana, &keys(&received)).unwrap();
            }
            assert_eq!(teams.receive(&ana).unwrap().deliveries, []);
            had
        })
    };
    together(&opened, |number, teams| {
        let from = seat(teams, &senders[number]);
        for number in 0..each {
            teams.send(&from, "ana", &Letter::new(number.to_string())).unwrap().done().unwrap();
        }
    });
    let had = crate::finishes(move || reading.join().unwrap());
    assert_eq!(had.len(), THREADS);
    assert!(had.values().all(|numbers| *numbers == (0..each).collect::<Vec<_>>()), "{had:?}");
}

/// No change of a seat is lost.
pub fn changes_of_one_seat_at_once_all_count(open: &OpenTeams) {
    let opened = open();
    let team = make(&opened.teams(), &["ana"]);
    let each = Scale::from_environment(0.1).of(100);
    together(&opened, |_, teams| {
        let ana = seat(teams, "ana");
        for _ in 0..each {
            teams.show_life(&ana, "TaskList").unwrap();
        }
    });
    let shown = opened.teams().show(&team, &[]).unwrap();
    assert_eq!(shown.members[1].tool_uses, Some((each * THREADS) as u64));
}

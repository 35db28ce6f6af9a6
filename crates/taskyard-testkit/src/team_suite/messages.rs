//! Messages that arrive: once, in order, and not at strangers.

use taskyard::core::rules::refusal::{Refusal, TeamRefusal};
use taskyard::teams::{DeliveryState, Letter, Teams};

use crate::team_suite::team_samples::{OpenTeams, agent, keys, make, seat, send, texts};

/// The order is that in which messages came.
pub fn messages_come_in_the_order_in_which_they_were_sent(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana", "ben"]);
    for (from, text) in [("ben", "1"), ("boss", "2"), ("ben", "3")] {
        send(&teams, from, "ana", text);
    }
    let other = opened.teams();
    let received = other.receive(&seat(&other, "ana")).unwrap();
    assert_eq!(texts(&received), ["1", "2", "3"]);
    assert_eq!(received.deliveries[1].message.from, "team-lead");
    assert_eq!(other.look_into(&seat(&other, "ben")).unwrap().deliveries, []);
}

/// A message to an unknown name is refused, with the members that can be written to.
pub fn an_unknown_recipient_is_refused_and_nothing_is_sent(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    let lead = seat(&teams, "boss");
    let refused = teams.send(&lead, "bob", &Letter::new("hello")).unwrap().done().unwrap_err();
    assert!(refused.to_string().contains("bob"), "{refused}");
    assert_eq!(teams.sent(&lead, 10).unwrap().messages, []);
    assert_eq!(texts(&teams.look_into(&seat(&teams, "ana")).unwrap()), [""; 0]);
}

/// A message does not bring a team back to life.
pub fn a_message_to_a_removed_team_is_refused(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &["ana"]);
    let lead = seat(&teams, "boss");
    opened.teams().delete(&team).unwrap();
    let refused = teams.send(&lead, "ana", &Letter::new("hello")).unwrap().done().unwrap_err();
    assert!(matches!(refused, Refusal::Team(TeamRefusal::NoSuchTeam { .. })), "{refused:?}");
    assert_eq!(opened.teams().list().unwrap(), []);
}

/// What was shown comes again, also to a reader that opens the place anew.
pub fn what_is_not_acknowledged_comes_again(open: &OpenTeams) {
    let opened = open();
    make(&opened.teams(), &["ana"]);
    send(&opened.teams(), "boss", "ana", "hello");
    for _ in 0..2 {
        let teams = opened.teams();
        assert_eq!(texts(&teams.receive(&seat(&teams, "ana")).unwrap()), ["hello"]);
    }
}

/// An acknowledged message is never delivered again, and an unacknowledged one stays.
pub fn what_is_acknowledged_never_comes_again(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    for text in ["1", "2", "3"] {
        send(&teams, "boss", "ana", text);
    }
    let ana = seat(&teams, "ana");
    let received = teams.receive(&ana).unwrap();
    let had = [received.deliveries[0].keys.clone(), received.deliveries[2].keys.clone()].concat();
    assert_eq!(teams.acknowledge(&ana, &had).unwrap().taken, 2);
    assert_eq!(teams.acknowledge(&ana, &had).unwrap().taken, 0);
    for teams in [teams, opened.teams()] {
        assert_eq!(texts(&teams.receive(&ana).unwrap()), ["2"]);
    }
    send(&opened.teams(), "boss", "ana", "4");
    assert_eq!(texts(&opened.teams().receive(&ana).unwrap()), ["2", "4"]);
}

/// A member that acknowledges a message that is not there, or nothing, changes nothing.
pub fn acknowledging_nothing_changes_nothing(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana", "ben"]);
    send(&teams, "boss", "ana", "hello");
    let received = teams.look_into(&seat(&teams, "ana")).unwrap();
    assert_eq!(teams.acknowledge(&seat(&teams, "ben"), &keys(&received)).unwrap().taken, 0);
    assert_eq!(teams.acknowledge(&seat(&teams, "ana"), &[]).unwrap().taken, 0);
    assert_eq!(texts(&teams.look_into(&seat(&teams, "ana")).unwrap()), ["hello"]);
}

fn state(teams: &Teams, key: usize) -> DeliveryState {
    teams.sent(&seat(teams, "boss"), 10).unwrap().messages[key].state
}

/// A sender sees how far its message came, the newest first.
pub fn a_sender_sees_how_far_its_messages_came(open: &OpenTeams) {
    let opened = open();
    let (sender, reader) = (opened.teams(), opened.teams());
    make(&sender, &["ana"]);
    send(&sender, "boss", "ana", "one");
    assert_eq!(state(&sender, 0), DeliveryState::Sent);
    let ana = seat(&reader, "ana");
    let received = reader.receive(&ana).unwrap();
    assert_eq!(state(&sender, 0), DeliveryState::Delivered);
    reader.acknowledge(&ana, &keys(&received)).unwrap();
    assert_eq!(state(&sender, 0), DeliveryState::Read);
    send(&sender, "boss", "ana", "two");
    reader.leave(&ana).unwrap().done().unwrap();
    assert_eq!([state(&sender, 0), state(&sender, 1)], [DeliveryState::Expired, DeliveryState::Read]);
    let sent = sender.sent(&seat(&sender, "boss"), 1).unwrap().messages;
    assert_eq!(sent.iter().map(|sent| (sent.to.as_str(), sent.summary.as_str())).collect::<Vec<_>>(), [("ana", "two")]);
}

/// A team that was made anew under the same name has none of the messages of the one before.
pub fn a_team_made_anew_begins_with_empty_mailboxes(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    let team = make(&teams, &["ana"]);
    send(&teams, "boss", "ana", "hello");
    teams.receive(&seat(&teams, "ana")).unwrap();
    teams.delete(&team).unwrap();
    make(&teams, &["ana"]);
    assert_eq!(teams.receive(&seat(&teams, "ana")).unwrap().deliveries, []);
    assert_eq!(opened.teams().only_seat(&agent("ana")).unwrap().unwrap().team.members.len(), 2);
}

/// A process that checks for messages to leads misses none, even if it checked a moment ago.
pub fn what_comes_for_a_lead_is_noticed_however_often_it_was_looked_at(open: &OpenTeams) {
    let opened = open();
    let teams = opened.teams();
    make(&teams, &["ana"]);
    for number in 0..20 {
        send(&teams, "ana", "team-lead", &format!("message {number}"));
        let mail = opened.teams().new_lead_mail();
        teams.lead_mail_was_read(&mail.unwrap_or_else(|| panic!("message {number} is not noticed")));
    }
}

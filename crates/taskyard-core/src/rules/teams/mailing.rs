//! Who can be written to, and which messages of an inbox are still to be had.

use std::collections::{HashMap, HashSet};

use crate::dialect::inbox::read_protocol;
use crate::rules::agents::naming::name_of;
use crate::{Member, Message, MessageKey, Protocol, Team};

/// Why a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// There is no member of that name.
    #[error("there is nobody called `{}` in team {team}", .name.escape_debug())]
    NoSuchMember {
        /// The name that was given.
        name: String,
        /// The team.
        team: String,
        /// The members that can be reached.
        reachable: Vec<String>,
    },
    /// The name is of another team.
    #[error("`{}` is in another team than {team}", .name.escape_debug())]
    AnotherTeam {
        /// The name that was given.
        name: String,
        /// The team.
        team: String,
    },
}

/// Returns the member a name means: `bob`, or `bob@alpha` in team alpha.
pub fn recipient<'a>(team: &'a Team, to: &str) -> Result<&'a Member, Unreachable> {
    // A member may have an `@` in its name; then the whole of it counts.
    if let Some(member) = team.member(to) {
        return Ok(member);
    }
    let name = name_of(to);
    match to.split_once('@') {
        Some((_, of)) if !of.is_empty() && of != team.name.as_str() => {
            Err(Unreachable::AnotherTeam { name: to.to_owned(), team: team.name.to_string() })
        }
        _ => team.member(name).ok_or_else(|| Unreachable::NoSuchMember {
            name: to.to_owned(),
            team: team.name.to_string(),
            reachable: team.members.iter().map(|member| member.name.clone()).collect(),
        }),
    }
}

/// Tells whether a member's program reads no messages yet: 2.1.325 leads a team from the start of a session, and looks into the lead's
/// inbox only once it has a teammate of its own. Members that joined with us are none.
pub fn reads_no_messages_yet(team: &Team, name: &str, joined_with_us: impl Fn(&Member) -> bool) -> bool {
    let is_such_a_lead = name == team.lead() && team.lead_process.is_some();
    is_such_a_lead && team.others(name).all(joined_with_us)
}

/// A message that is to be had, and how many it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub message: Message,
    /// The messages that are done with once this one is: itself, and older ones it makes needless.
    pub keys: Vec<MessageKey>,
}

impl Delivery {
    /// Returns the id that tools and answers give the message: its own, or its sender and time if it has none.
    pub fn id(&self) -> String {
        let Message { msg_id, from, timestamp, .. } = &self.message;
        msg_id.clone().unwrap_or_else(|| format!("{from}@{timestamp}"))
    }
}

/// Returns the messages of an inbox that are still to be had, in its order: unread, not acknowledged before, each once, and of
/// an agent's notices that it is idle and nothing more only the last.
///
/// The order is that of the inbox, which keeps each sender's; times are not looked at, because clocks jump.
pub fn to_deliver(messages: &[Message], acknowledged: impl Fn(&MessageKey) -> bool) -> Vec<Delivery> {
    let mut seen = HashSet::new();
    let mut deliveries: Vec<Delivery> = Vec::new();
    let mut idle: HashMap<&str, usize> = HashMap::new();
    for message in messages.iter().filter(|message| !message.read) {
        let key = message.key();
        if !seen.insert(key.clone()) || acknowledged(&key) {
            continue;
        }
        let mut delivery = Delivery { message: message.clone(), keys: vec![key] };
        if is_bare_idle_notice(message)
            && let Some(earlier) = idle.insert(message.from.as_str(), deliveries.len())
        {
            // The earlier one stays as a place in the order, and goes below.
            delivery.keys.append(&mut deliveries[earlier].keys);
        }
        deliveries.push(delivery);
    }
    deliveries.retain(|delivery| !delivery.keys.is_empty());
    deliveries
}

fn is_bare_idle_notice(message: &Message) -> bool {
    message.text.starts_with('{')
        && matches!(read_protocol(&message.text), Some(Protocol::IdleNotification(idle)) if idle.is_bare())
}

/// Where a message is on its way, as far as its sender can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It lies in the inbox.
    Sent,
    /// The one it is for has been shown it, and has not said that it has it.
    Delivered,
    /// The one it is for has it.
    Read,
    /// The one it is for left, or the team ended, before it was read.
    Expired,
}

impl DeliveryState {
    /// Returns the word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Read => "read",
            Self::Expired => "expired",
        }
    }
}

/// What is known of a message that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// The team is there, and the one it is for is in it.
    pub has_recipient: bool,
    /// It lies in the inbox; whether it is marked as read there.
    pub in_inbox: Option<bool>,
    /// It was shown to the one it is for.
    pub was_delivered: bool,
    /// The one it is for said that it has it.
    pub was_acknowledged: bool,
}

/// Judges how far a message came. One that is no longer in the inbox was taken by a client, which is how it reads.
pub fn judge_delivery(traces: Traces) -> DeliveryState {
    match traces {
        Traces { was_acknowledged: true, .. } | Traces { in_inbox: Some(true), .. } => DeliveryState::Read,
        Traces { has_recipient: false, .. } => DeliveryState::Expired,
        Traces { in_inbox: None, .. } => DeliveryState::Read,
        Traces { was_delivered: true, .. } => DeliveryState::Delivered,
        Traces { .. } => DeliveryState::Sent,
    }
}

#[cfg(test)]
mod tests {
    use super::{DeliveryState, Traces, Unreachable, judge_delivery, reads_no_messages_yet, recipient, to_deliver};
    use crate::rules::samples::team;
    use crate::{LeadProcess, Message, MessageKey};

    #[test]
    fn a_lead_of_the_newer_client_reads_nothing_before_it_has_a_teammate_of_its_own() {
        let mut team = team(&["team-lead", "ana", "bob"]);
        let is_ours = |member: &crate::Member| member.name == "ana";
        assert!(!reads_no_messages_yet(&team, "team-lead", |_| true), "the lead says nothing of a process");
        team.lead_process = Some(LeadProcess { pid: 1, pid_space: None, started: None });
        assert!(reads_no_messages_yet(&team, "team-lead", |_| true));
        assert!(!reads_no_messages_yet(&team, "ana", |_| true));
        assert!(!reads_no_messages_yet(&team, "team-lead", is_ours));
        team.members.pop();
        assert!(reads_no_messages_yet(&team, "team-lead", is_ours));
    }

    fn message(from: &str, text: &str, id: &str) -> Message {
        Message {
            from: from.into(),
            text: text.into(),
            summary: None,
            timestamp: "t".into(),
            color: None,
            msg_id: Some(id.into()).filter(|id: &String| !id.is_empty()),
            read: false,
        }
    }

    fn texts(messages: &[Message]) -> Vec<String> {
        to_deliver(messages, |_| false).into_iter().map(|delivery| delivery.message.text).collect()
    }

    #[test]
    fn each_message_is_had_once_and_in_the_order_of_the_inbox() {
        let mut read = message("ana", "read", "r");
        read.read = true;
        let messages = [
            message("ana", "1", "a"),
            message("ben", "2", ""),
            message("ana", "1 again", "a"),
            message("ben", "2", ""),
            read,
            message("ana", "0", "c"),
        ];
        assert_eq!(texts(&messages), ["1", "2", "0"]);
        let left = to_deliver(&messages, |key| *key == MessageKey::Id("a".into()));
        assert_eq!(left.len(), 2);
    }

    #[test]
    fn repeated_idle_notices_are_one_and_those_that_say_something_stay() {
        let idle =
            |from: &str, more: &str| format!(r#"{{"type":"idle_notification","from":"{from}","timestamp":"t"{more}}}"#);
        let messages = [
            message("bob", &idle("bob", ""), "1"),
            message("eve", &idle("eve", ""), "2"),
            message("bob", "hello", "3"),
            message("bob", &idle("bob", r#","result":"done""#), "4"),
            message("bob", &idle("bob", r#","idleReason":"available""#), "5"),
        ];
        let deliveries = to_deliver(&messages, |_| false);
        let ids: Vec<_> = deliveries.iter().map(|delivery| delivery.message.msg_id.clone().unwrap()).collect();
        assert_eq!(ids, ["2", "3", "4", "5"]);
        assert_eq!(deliveries[3].keys, [MessageKey::Id("5".into()), MessageKey::Id("1".into())]);
    }

    #[test]
    fn a_name_means_a_member_with_or_without_the_team_and_others_are_told_who_there_is() {
        let team = team(&["team-lead", "bob", "a@b"]);
        for name in ["bob", "bob@alpha", "bob@"] {
            assert_eq!(recipient(&team, name).unwrap().name, "bob");
        }
        assert_eq!(recipient(&team, "a@b").unwrap().name, "a@b");
        assert!(matches!(recipient(&team, "bob@beta"), Err(Unreachable::AnotherTeam { .. })));
        let Err(Unreachable::NoSuchMember { reachable, .. }) = recipient(&team, "bobby") else {
            panic!("there is none")
        };
        assert_eq!(reachable, ["team-lead", "bob", "a@b"]);
    }

    #[test]
    fn a_sender_learns_how_far_a_message_came() {
        let there = Traces { has_recipient: true, in_inbox: Some(false), ..Traces::default() };
        for (traces, state) in [
            (there, DeliveryState::Sent),
            (Traces { was_delivered: true, ..there }, DeliveryState::Delivered),
            (Traces { was_delivered: true, was_acknowledged: true, ..there }, DeliveryState::Read),
            (Traces { in_inbox: Some(true), ..there }, DeliveryState::Read),
            (Traces { in_inbox: None, ..there }, DeliveryState::Read),
            (Traces { has_recipient: false, ..there }, DeliveryState::Expired),
            (Traces { has_recipient: false, in_inbox: None, ..there }, DeliveryState::Expired),
            (Traces { has_recipient: false, was_acknowledged: true, ..there }, DeliveryState::Read),
        ] {
            assert_eq!(judge_delivery(traces), state, "{traces:?}");
        }
    }
}

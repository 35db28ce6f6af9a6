//! Team messages: who can receive one, which are unread, their delivery state, and which job notifications are due.

use std::collections::{HashMap, HashSet};

use crate::dialect::inbox::read_protocol;
use crate::rules::agents::name_of;
use crate::{JobEnding, JobFate, JobId, Member, Message, MessageKey, Protocol, Team};

/// Why a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The team has no member with that name.
    #[error("team {team} has no member named `{}`", .name.escape_debug())]
    NoSuchMember {
        /// The given name.
        name: String,
        /// The team.
        team: String,
        /// The members who can be reached.
        reachable: Vec<String>,
    },
    /// The name belongs to another team.
    #[error("`{}` is in a different team, not in {team}", .name.escape_debug())]
    AnotherTeam {
        /// The given name.
        name: String,
        /// The team.
        team: String,
    },
}

/// Returns the member with the given name: `bob`, or `bob@alpha` in team alpha.
pub fn recipient<'a>(team: &'a Team, to: &str) -> Result<&'a Member, Unreachable> {
    // A member's own name may contain an `@`, so try the whole name first.
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

/// Returns whether a member's program does not read messages yet. Client 2.1.325 leads a team from the start of each
/// session, but reads the lead's inbox only once it has a teammate of its own. Members who joined through Taskyard do
/// not count as such.
pub fn reads_no_messages_yet(team: &Team, name: &str, joined_with_us: impl Fn(&Member) -> bool) -> bool {
    let is_such_a_lead = name == team.lead() && team.lead_process.is_some();
    is_such_a_lead && team.others(name).all(joined_with_us)
}

/// A message to deliver, and the messages that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message to deliver.
    pub message: Message,
    /// The messages to acknowledge together with this one: itself and the older ones that it replaces.
    pub keys: Vec<MessageKey>,
}

impl Delivery {
    /// Returns the message id used by tools and in output: its own id, or its sender and time if it has none.
    pub fn id(&self) -> String {
        let Message { msg_id, from, timestamp, .. } = &self.message;
        msg_id.clone().unwrap_or_else(|| format!("{from}@{timestamp}"))
    }
}

/// Returns the messages of an inbox that are still to be delivered, in inbox order. Messages that are read,
/// acknowledged or duplicates are left out. Of an agent's bare idle notices only the last is returned.
///
/// Inbox order preserves the order of each sender's messages. Timestamps are ignored because clocks can jump.
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
            // The earlier delivery keeps its place with no keys, so that indices stay valid; it is removed below.
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

/// The delivery state of a message, as far as its sender can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is in the inbox.
    Sent,
    /// It was shown to the recipient but is not acknowledged.
    Delivered,
    /// The recipient has read it.
    Read,
    /// The recipient left, or the team ended, before it was read.
    Expired,
}

impl DeliveryState {
    /// Returns the name used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Read => "read",
            Self::Expired => "expired",
        }
    }
}

/// What is known about a sent message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Whether the team exists and the recipient is a member.
    pub has_recipient: bool,
    /// Whether the message is marked as read in the inbox, or `None` if it is not in the inbox.
    pub in_inbox: Option<bool>,
    /// Whether it was shown to the recipient.
    pub was_delivered: bool,
    /// Whether the recipient acknowledged it.
    pub was_acknowledged: bool,
}

/// Determines the delivery state of a message. A message that is no longer in the inbox counts as read, because clients
/// remove the messages they read.
pub fn judge_delivery(traces: Traces) -> DeliveryState {
    match traces {
        Traces { was_acknowledged: true, .. } | Traces { in_inbox: Some(true), .. } => DeliveryState::Read,
        Traces { has_recipient: false, .. } => DeliveryState::Expired,
        Traces { in_inbox: None, .. } => DeliveryState::Read,
        Traces { was_delivered: true, .. } => DeliveryState::Delivered,
        Traces { .. } => DeliveryState::Sent,
    }
}

/// Returns whether a job's state is worth a notification: the job has ended or was lost. If an agent stopped it, that
/// agent already knows.
pub fn is_told_of(fate: &JobFate) -> bool {
    match fate {
        JobFate::Pending | JobFate::Running { .. } | JobFate::Ended { how: JobEnding::Stopped(_), .. } => false,
        JobFate::Ended { .. } | JobFate::Lost { .. } => true,
    }
}

/// The job notifications that one server has sent to one agent and that are not yet recorded as acknowledged. The state
/// is lost when the server ends; the next server then repeats them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnheardJobs {
    /// Notifications sent with an answer that are not acknowledged yet, each with the id of the call that was answered.
    unheard: Vec<(JobId, Option<String>)>,
    /// Notifications that are acknowledged, but not yet recorded as such.
    heard: Vec<JobId>,
}

impl UnheardJobs {
    /// Registers the start of a call, and returns the notifications that the agent has thereby acknowledged.
    ///
    /// A call repeated under the same id does not acknowledge the notifications sent with its answer: that answer was
    /// lost, so they must be sent again.
    pub fn call_begins(&mut self, call: Option<&str>) -> &[JobId] {
        for (job, with) in self.unheard.drain(..) {
            if with.is_none() || with.as_deref() != call {
                self.heard.push(job);
            }
        }
        &self.heard
    }

    /// Forgets these notifications after they were recorded as acknowledged.
    pub fn acknowledged(&mut self, jobs: &[JobId]) {
        self.heard.retain(|job| !jobs.contains(job));
    }

    /// Returns whether a notification is to be sent: it is neither in flight nor acknowledged.
    pub fn is_new(&self, job: &JobId) -> bool {
        !self.heard.contains(job) && self.unheard.iter().all(|(unheard, _)| unheard != job)
    }

    /// Registers that a notification is sent with the answer to a call.
    pub fn goes_out(&mut self, job: JobId, call: Option<&str>) {
        self.unheard.push((job, call.map(str::to_owned)));
    }

    /// Returns whether nothing is in flight or left to record.
    pub fn is_empty(&self) -> bool {
        self.unheard.is_empty() && self.heard.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{DeliveryState, Traces, Unreachable, judge_delivery, reads_no_messages_yet, recipient, to_deliver};
    use crate::rules::samples::team;
    use crate::{LeadProcess, Message, MessageKey};

    #[test]
    fn newer_client_lead_reads_nothing_before_first_teammate() {
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
    fn repeated_idle_notices_collapse_and_others_stay() {
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
    fn unknown_recipient_error_lists_the_members() {
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

#[cfg(test)]
mod notifying_tests {
    use super::{UnheardJobs, is_told_of};
    use crate::{CommandEnd, JobEnding, JobFate, JobId, JobUsage, Timestamp};

    fn job(id: &str) -> JobId {
        id.parse().unwrap()
    }

    fn ended(how: JobEnding) -> JobFate {
        JobFate::Ended { how, at: Timestamp(0), usage: JobUsage::default() }
    }

    #[test]
    fn every_end_is_told_of_but_one_that_somebody_wished() {
        for how in [
            JobEnding::Exited(0),
            JobEnding::Exited(3),
            JobEnding::Signalled(9),
            JobEnding::TimedOut(CommandEnd::Unseen),
            JobEnding::NotStarted { code: 127, why: "no such file".into() },
        ] {
            assert!(is_told_of(&ended(how.clone())), "{how:?}");
        }
        assert!(is_told_of(&JobFate::Lost { at: Timestamp(0) }));
        assert!(!is_told_of(&ended(JobEnding::Stopped(CommandEnd::Signalled(15)))));
        assert!(!is_told_of(&JobFate::Pending));
    }

    #[test]
    fn the_next_call_acknowledges_what_went_out_before_it_began() {
        let mut told = UnheardJobs::default();
        assert!(told.call_begins(Some("1")).is_empty());
        told.goes_out(job("b000001"), Some("1"));
        assert!(!told.is_new(&job("b000001")) && told.is_new(&job("b000002")));
        assert_eq!(told.call_begins(Some("2")), [job("b000001")]);
        // Until the acknowledgement is recorded, the notification is neither sent again nor forgotten.
        assert!(!told.is_new(&job("b000001")) && !told.is_empty());
        assert_eq!(told.call_begins(Some("3")), [job("b000001")]);
        told.acknowledged(&[job("b000001")]);
        assert!(told.is_empty());
    }

    #[test]
    fn repeated_call_acknowledges_nothing_of_its_first_answer() {
        let mut told = UnheardJobs::default();
        told.goes_out(job("b000001"), Some("1"));
        told.goes_out(job("b000002"), Some("2"));
        assert_eq!(told.call_begins(Some("1")), [job("b000002")]);
        assert!(told.is_new(&job("b000001")));
    }

    #[test]
    fn calls_without_an_id_follow_each_other() {
        let mut told = UnheardJobs::default();
        told.goes_out(job("b000001"), None);
        assert_eq!(told.call_begins(None), [job("b000001")]);
    }
}

//! Sending messages to members of a team, and reading inboxes.

use std::collections::{HashMap, HashSet};

use taskyard_core::dialect::inbox::write_protocol;
use taskyard_core::render::said_in_words;
use taskyard_core::rules::refusal::TeamRefusal;
use taskyard_core::rules::teams::mailing::{Delivery, DeliveryState, Traces, judge_delivery, recipient, to_deliver};
use taskyard_core::view::SentText;
use taskyard_core::{ClientVersion, Idle, Message, MessageKey, Protocol, Task, TeamName, Timestamp};

use super::TeamError;
use super::register::Teams;
use crate::Outcome;
use crate::system::{hexadecimal, random_bytes, random_number};
use crate::teams::team_store::{Acknowledged, Mailbox, Posted, Seat, SentFound, SentLetter, Trace};

/// A message to a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// The text for the recipient's model.
    pub text: String,
    /// A summary of a few words.
    pub summary: Option<String>,
}

/// A message that has been delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The recipient.
    pub to: String,
    /// The message, as it was written.
    pub message: Message,
    /// The id by which a protocol request is answered.
    pub request: Option<String>,
}

/// The maximum length of a summary derived from the text, in characters.
const SUMMARY: usize = 80;

impl Letter {
    /// Returns a letter without a summary.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), summary: None }
    }
}

impl Teams {
    /// Sends a letter to one member.
    pub fn send(&self, from: &Seat, to: &str, letter: &Letter) -> Result<Outcome<Sent>, TeamError> {
        let name = match recipient(&from.team, to) {
            Ok(member) => member.name.clone(),
            Err(unreachable) => return Ok(Outcome::refused(TeamRefusal::from(unreachable))),
        };
        self.deliver_to(from, &name, letter)
    }

    /// Sends a letter to every other member of the team; the second list has the members it did not reach, with the
    /// reason.
    #[expect(clippy::type_complexity, reason = "whom it reached, and whom it did not")]
    pub fn broadcast(
        &self,
        from: &Seat,
        letter: &Letter,
    ) -> Result<Outcome<(Vec<Sent>, Vec<(String, TeamError)>)>, TeamError> {
        let (mut sent, mut failed) = (Vec::new(), Vec::new());
        for member in from.team.others(&from.name) {
            match self.deliver_to(from, &member.name, letter) {
                Ok(Outcome::Done(one)) => sent.push(one),
                Ok(Outcome::Refused(refusal)) => return Ok(Outcome::Refused(refusal)),
                Err(TeamError::Unsent { to, source }) => failed.push((to, *source)),
                Err(error) => failed.push((member.name.clone(), error)),
            }
        }
        Ok(Outcome::Done((sent, failed)))
    }

    /// Asks a member to shut down.
    pub fn ask_to_end(&self, from: &Seat, to: &str, reason: Option<&str>) -> Result<Outcome<Sent>, TeamError> {
        let name = match recipient(&from.team, to) {
            Ok(member) => member.name.clone(),
            Err(unreachable) => return Ok(Outcome::refused(TeamRefusal::from(unreachable))),
        };
        let now = self.now();
        let request = format!("shutdown-{}@{name}", now.0);
        let said = Protocol::ShutdownRequest {
            request: request.clone(),
            from: from.name.clone(),
            reason: reason.map(str::to_owned),
            timestamp: now.to_string(),
        };
        let sent = self.deliver_to(from, &name, &Letter::new(write_protocol(&said)))?;
        if matches!(sent, Outcome::Done(_)) {
            self.store.change_seat(&from.team, &name, &mut |seat| {
                seat.note(&name, now);
                seat.stop_request = Some(request.clone());
            })?;
        }
        Ok(sent.map(|sent| Sent { request: Some(request), ..sent }))
    }

    /// Tells the lead that the member agrees to shut down, or rejects that and why.
    pub fn answer_shutdown(
        &self,
        from: &Seat,
        request: &str,
        rejection: Option<&str>,
    ) -> Result<Outcome<Sent>, TeamError> {
        let now = self.now();
        let backend = from.member().and_then(|member| member.backend_type.clone());
        let pane = from.member().and_then(|member| member.pane.clone()).filter(|_| backend.is_some());
        let said = match rejection {
            None => Protocol::ShutdownApproved {
                request: request.to_owned(),
                from: from.name.clone(),
                timestamp: now.to_string(),
                pane,
                backend,
            },
            Some(reason) => Protocol::ShutdownRejected {
                request: request.to_owned(),
                from: from.name.clone(),
                reason: reason.to_owned(),
                timestamp: now.to_string(),
            },
        };
        let sent = self.deliver_to(from, from.team.lead(), &Letter::new(write_protocol(&said)))?;
        if matches!(sent, Outcome::Done(_)) {
            self.store.change_seat(&from.team, &from.name, &mut |seat| {
                seat.note(&from.name, now);
                seat.stop_request = None;
            })?;
        }
        Ok(sent)
    }

    /// Notifies a member that it has been assigned a task. Under the client's rules, an agent that is not in a team file
    /// is notified as well, as the client does.
    pub(crate) fn assign(&self, from: &Seat, to: &str, task: &Task) -> Result<Outcome<Sent>, TeamError> {
        let now = self.now().to_string();
        let said = Protocol::TaskAssignment {
            task: task.id.as_str().to_owned(),
            subject: task.subject.clone(),
            description: task.description.clone(),
            assigned_by: from.name.clone(),
            timestamp: now,
        };
        let letter = Letter::new(write_protocol(&said));
        if self.rules().is_client() {
            // The client uses the list's lower-cased name for this directory, but the team's name for other inboxes.
            let team = TeamName::new(from.team.name.directory()).unwrap_or_else(|_| from.team.name.clone());
            return self.post(from, &team, to, &letter);
        }
        match recipient(&from.team, to) {
            Ok(member) => self.deliver_to(from, &member.name.clone(), &letter),
            Err(unreachable) => Ok(Outcome::refused(TeamRefusal::from(unreachable))),
        }
    }

    /// Tells the lead the result of a task.
    pub fn report(&self, from: &Seat, to: &str, task: &Task, result: &str) -> Result<Outcome<Sent>, TeamError> {
        let idle = Idle {
            from: from.name.clone(),
            timestamp: self.now().to_string(),
            reason: Some("available".to_owned()),
            summary: None,
            task: Some(task.id.as_str().to_owned()),
            status: Some(if task.status.is_open() { "failed" } else { "resolved" }.to_owned()),
            failure: None,
            result: Some(result.to_owned()),
        };
        let summary = format!("#{} {}", task.id, task.subject);
        let letter = Letter { text: write_protocol(&Protocol::IdleNotification(idle)), summary: Some(summary) };
        self.send(from, to, &letter)
    }

    /// Sends a letter as the client does without a team: to any name, in the mailboxes of a team of that name.
    pub fn send_as_the_client(
        &self,
        sender: &str,
        team: &TeamName,
        to: &str,
        letter: &Letter,
    ) -> Result<Outcome<Sent>, TeamError> {
        let message = self.message(sender, None, letter);
        if !self.store.deliver(&Posted { team, to, message: &message, trace: None })? {
            return Ok(Outcome::refused(self.no_such_team(team.as_str())?));
        }
        Ok(Outcome::Done(Sent { to: to.to_owned(), message, request: None }))
    }

    /// Sends a letter to any agent, in the team or not, as the older client does.
    pub fn send_to_anybody(&self, from: &Seat, to: &str, letter: &Letter) -> Result<Outcome<Sent>, TeamError> {
        self.deliver_to(from, to, letter)
    }

    /// Sends a letter to a known member of the team.
    pub(super) fn deliver_to(&self, from: &Seat, to: &str, letter: &Letter) -> Result<Outcome<Sent>, TeamError> {
        let unsent = |source| TeamError::Unsent { to: to.to_owned(), source: Box::new(source) };
        self.post(from, &from.team.name, to, letter).map_err(unsent)
    }

    fn post(&self, from: &Seat, team: &TeamName, to: &str, letter: &Letter) -> Result<Outcome<Sent>, TeamError> {
        let mut message = self.message(&from.name, from.message_colour(), letter);
        let summary = letter.summary.clone().filter(|summary| !summary.trim().is_empty());
        let summary = summary.unwrap_or_else(|| in_short(&message));
        if !self.rules().is_client() && !summary.is_empty() {
            // Release 2.1.34 shows the summary of a message, and an empty line if it has none.
            message.summary = Some(summary.clone());
        }
        let trace = Trace { team: &from.team, at: self.now(), summary: &summary };
        if !self.store.deliver(&Posted { team, to, message: &message, trace: Some(trace) })? {
            return Ok(Outcome::refused(self.no_such_team(from.team.name.as_str())?));
        }
        Ok(Outcome::Done(Sent { to: to.to_owned(), message, request: None }))
    }

    fn message(&self, sender: &str, color: Option<String>, letter: &Letter) -> Message {
        Message {
            from: sender.to_owned(),
            text: letter.text.clone(),
            summary: letter.summary.clone(),
            timestamp: self.now().to_string(),
            color,
            msg_id: (self.rules().client_version() >= ClientVersion::V2_1_325).then(random_id),
            read: false,
        }
    }
}

/// Derives a summary from the text of a message.
fn in_short(message: &Message) -> String {
    let said = said_in_words(message);
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match first.char_indices().nth(SUMMARY) {
        None => first.to_owned(),
        Some((end, _)) => {
            let words = first[..end].rsplit_once(' ').map_or(&first[..end], |(words, _)| words);
            format!("{words}…")
        }
    }
}

/// The unacknowledged contents of an inbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// The unacknowledged messages, oldest first.
    pub deliveries: Vec<Delivery>,
    /// The number of entries that are not valid messages.
    pub malformed: usize,
}

impl Teams {
    /// Returns the unacknowledged messages, and records that they were shown. They are returned again until they are
    /// acknowledged.
    pub fn receive(&self, seat: &Seat) -> Result<Received, TeamError> {
        let received = self.look_into(seat)?;
        if !received.deliveries.is_empty() {
            let keys: Vec<MessageKey> =
                received.deliveries.iter().flat_map(|delivery| delivery.keys.iter().cloned()).collect();
            let noted = self
                .store
                .note_shown(&seat.team, &seat.name, &keys, self.now())
                .and_then(|()| self.note_answers(seat, received.deliveries.iter().map(|delivery| &delivery.message)));
            // A failure to record this must not keep the reader from its messages.
            if let Err(error) = noted {
                tracing::warn!(%error, "its sender is not told that it was delivered");
            }
        }
        Ok(received)
    }

    /// Returns the unacknowledged messages without recording anything.
    pub fn look_into(&self, seat: &Seat) -> Result<Received, TeamError> {
        let mailbox = self.store.mailbox(&seat.team, &seat.name)?;
        Ok(Received { deliveries: waiting_in(&mailbox), malformed: mailbox.malformed })
    }

    /// Acknowledges messages, so that they are not shown again. If this fails half way, what was acknowledged stays
    /// acknowledged.
    pub fn acknowledge(&self, seat: &Seat, keys: &[MessageKey]) -> Result<Acknowledged, TeamError> {
        self.store.acknowledge(&seat.team, &seat.name, keys, self.now())
    }
}

/// Returns the unacknowledged messages of a mailbox.
pub(super) fn waiting_in(mailbox: &Mailbox) -> Vec<Delivery> {
    to_deliver(&mailbox.messages, |key| mailbox.acknowledged.contains(key))
}

/// A sent message and its delivery state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// Its identity.
    pub(crate) key: String,
    /// The recipient.
    pub to: String,
    /// When it was sent.
    pub at: Timestamp,
    /// A summary of a few words.
    pub summary: String,
    /// Its delivery state.
    pub state: DeliveryState,
}

/// The messages that a member sent, with their delivery states.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The messages, newest first.
    pub messages: Vec<SentMessage>,
    /// The members whose inboxes cannot be read, and why. The states of messages to them are the last known ones.
    pub unreadable: Vec<(String, TeamError)>,
}

impl Teams {
    /// Returns the newest messages sent from a seat, at most `most`, newest first.
    pub fn sent(&self, seat: &Seat, most: usize) -> Result<Outbox, TeamError> {
        let SentFound { letters, unreadable } = self.store.sent(&seat.team, &seat.name, most)?;
        let judged = |letter: SentLetter| {
            let has_recipient = seat.team.member(&letter.to).is_some();
            let state = judge_delivery(Traces { has_recipient, ..letter.traces });
            SentMessage { key: letter.key, to: letter.to, at: letter.at, summary: letter.summary, state }
        };
        Ok(Outbox { messages: letters.into_iter().map(judged).collect(), unreadable })
    }
}

/// The messages that a member sent and received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correspondence {
    /// Unacknowledged messages, oldest first.
    pub waiting: Vec<Delivery>,
    /// Acknowledged messages that are still in the inbox, oldest first.
    pub had: Vec<Message>,
    /// Sent messages, newest first.
    pub sent: Vec<SentText>,
}

impl Teams {
    /// Returns the messages that a member received, and at most `most` that it sent. The text of a sent message is
    /// complete while it is in the recipient's inbox, and its summary otherwise.
    pub fn correspondence(&self, seat: &Seat, most: usize) -> Result<Correspondence, TeamError> {
        let mailbox = self.store.mailbox(&seat.team, &seat.name)?;
        let waiting = waiting_in(&mailbox);
        let is_waiting: HashSet<MessageKey> =
            waiting.iter().flat_map(|delivery| delivery.keys.iter().cloned()).collect();
        let mut seen = HashSet::new();
        let mut had = mailbox.messages;
        had.retain(|message| {
            let key = message.key();
            !is_waiting.contains(&key) && seen.insert(key)
        });
        let sent = self.sent(seat, most)?.messages;
        let mut texts: HashMap<String, HashMap<String, String>> = HashMap::new();
        for letter in &sent {
            if !texts.contains_key(&letter.to) {
                // If the inbox cannot be read, the summaries are used.
                let theirs = self.store.mailbox(&seat.team, &letter.to).unwrap_or_default();
                let ours = theirs.messages.into_iter().filter(|message| message.from == seat.name);
                let by_key = ours.map(|message| (message.key().as_text(), message.text)).collect();
                texts.insert(letter.to.clone(), by_key);
            }
        }
        let whole = |to: &str, key: &str| texts.get(to)?.get(key).cloned();
        let sent = sent.into_iter().map(|letter| SentText {
            text: whole(&letter.to, &letter.key).unwrap_or(letter.summary),
            to: letter.to,
            at: letter.at,
            state: letter.state,
        });
        Ok(Correspondence { waiting, had, sent: sent.collect() })
    }
}

/// Returns a random UUID, the client's format of message ids.
pub(super) fn random_id() -> String {
    let mut bytes: [u8; 16] = random_bytes().unwrap_or_else(|_| {
        // Uniqueness is enough; the id need not be unpredictable.
        (u128::from(random_number()) << 64 | u128::from(random_number())).to_le_bytes()
    });
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hexadecimal(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::random_id;

    #[test]
    fn an_id_has_the_form_of_a_uuid_and_no_two_are_alike() {
        let (one, two) = (random_id(), random_id());
        assert_ne!(one, two);
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
    }
}

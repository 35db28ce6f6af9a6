//! Writing to members of a team.

use taskyard_core::dialect::inbox::write_protocol;
use taskyard_core::render::said_in_words;
use taskyard_core::rules::teams::mailing::recipient;
use taskyard_core::{ClientVersion, Idle, Message, Protocol, Task, TeamName};

use super::contract::{Posted, Trace};
use super::random_id::random_id;
use super::register::Teams;
use super::seat::Seat;
use super::{Judged, TeamError};

/// What is written to a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// The text for the recipient's model.
    pub text: String,
    /// The same in a few words.
    pub summary: Option<String>,
}

/// A message that lies in an inbox now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The recipient.
    pub to: String,
    /// The message, as it was written.
    pub message: Message,
    /// What a request among programs is answered by.
    pub request: Option<String>,
}

/// So many characters of a text stand for it where it has no summary.
const SUMMARY: usize = 80;

impl Letter {
    /// Returns a letter of words alone.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), summary: None }
    }
}

impl Teams {
    /// Writes to one member.
    pub fn send(&self, from: &Seat, to: &str, letter: &Letter) -> Judged<Sent> {
        let name = match recipient(&from.team, to) {
            Ok(member) => member.name.clone(),
            Err(unreachable) => return Ok(Err(unreachable.into())),
        };
        self.deliver_to(from, &name, letter)
    }

    /// Writes to every other member of the team; the answer names those whom it did not reach, with the reason.
    #[expect(clippy::type_complexity, reason = "whom it reached, and whom it did not")]
    pub fn broadcast(&self, from: &Seat, letter: &Letter) -> Judged<(Vec<Sent>, Vec<(String, TeamError)>)> {
        let (mut sent, mut failed) = (Vec::new(), Vec::new());
        for member in from.team.others(&from.name) {
            match self.deliver_to(from, &member.name, letter) {
                Ok(Ok(one)) => sent.push(one),
                Ok(Err(refusal)) => return Ok(Err(refusal)),
                Err(TeamError::Unsent { to, source }) => failed.push((to, *source)),
                Err(error) => failed.push((member.name.clone(), error)),
            }
        }
        Ok(Ok((sent, failed)))
    }

    /// Asks a member to end.
    pub fn ask_to_end(&self, from: &Seat, to: &str, reason: Option<&str>) -> Judged<Sent> {
        let name = match recipient(&from.team, to) {
            Ok(member) => member.name.clone(),
            Err(unreachable) => return Ok(Err(unreachable.into())),
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
        if sent.is_ok() {
            self.store.change_seat(&from.team, &name, &mut |seat| {
                seat.note(&name, now);
                seat.stop_request = Some(request.clone());
            })?;
        }
        Ok(sent.map(|sent| Sent { request: Some(request), ..sent }))
    }

    /// Tells the lead that one ends, or goes on and why.
    pub fn answer_shutdown(&self, from: &Seat, request: &str, rejection: Option<&str>) -> Judged<Sent> {
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
        if sent.is_ok() {
            self.store.change_seat(&from.team, &from.name, &mut |seat| {
                seat.note(&from.name, now);
                seat.stop_request = None;
            })?;
        }
        Ok(sent)
    }

    /// Tells a member that a task is its own now. An agent in no team's file gets it all the same, as the client does
    /// it.
    pub(crate) fn assign(&self, from: &Seat, to: &str, task: &Task) -> Judged<Sent> {
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
            // The client names this directory after the list, which is the lower-cased one, and other inboxes after the team.
            let team = TeamName::new(from.team.name.directory()).unwrap_or_else(|_| from.team.name.clone());
            return self.post(from, &team, to, &letter);
        }
        match recipient(&from.team, to) {
            Ok(member) => self.deliver_to(from, &member.name.clone(), &letter),
            Err(unreachable) => Ok(Err(unreachable.into())),
        }
    }

    /// Tells the lead what came of a task.
    pub fn report(&self, from: &Seat, to: &str, task: &Task, result: &str) -> Judged<Sent> {
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

    /// Writes as the client does where it knows of no team: to any name, in the mailboxes of a team of that name.
    pub fn send_as_the_client(&self, sender: &str, team: &TeamName, to: &str, letter: &Letter) -> Judged<Sent> {
        let message = self.message(sender, None, letter);
        if !self.store.deliver(&Posted { team, to, message: &message, trace: None })? {
            return Ok(Err(self.no_such_team(team.as_str())?));
        }
        Ok(Ok(Sent { to: to.to_owned(), message, request: None }))
    }

    /// Writes to the named agent, in the team or not, as the older client does.
    pub fn send_to_anybody(&self, from: &Seat, to: &str, letter: &Letter) -> Judged<Sent> {
        self.deliver_to(from, to, letter)
    }

    /// Writes to a member that is known to be in the team.
    pub(super) fn deliver_to(&self, from: &Seat, to: &str, letter: &Letter) -> Judged<Sent> {
        let unsent = |source| TeamError::Unsent { to: to.to_owned(), source: Box::new(source) };
        self.post(from, &from.team.name, to, letter).map_err(unsent)
    }

    fn post(&self, from: &Seat, team: &TeamName, to: &str, letter: &Letter) -> Judged<Sent> {
        let mut message = self.message(&from.name, from.message_colour(), letter);
        let summary = letter.summary.clone().filter(|summary| !summary.trim().is_empty());
        let summary = summary.unwrap_or_else(|| in_short(&message));
        if !self.rules().is_client() && !summary.is_empty() {
            // 2.1.34 shows a message by its summary, and an empty line where it has none.
            message.summary = Some(summary.clone());
        }
        let trace = Trace { team: &from.team, at: self.now(), summary: &summary };
        if !self.store.deliver(&Posted { team, to, message: &message, trace: Some(trace) })? {
            return Ok(Err(self.no_such_team(from.team.name.as_str())?));
        }
        Ok(Ok(Sent { to: to.to_owned(), message, request: None }))
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

/// Returns what a message says, in a few words.
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

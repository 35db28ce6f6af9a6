//! Inboxes in files, and what our memory knows of the messages in them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;

use taskyard_core::dialect::inbox::manner;
use taskyard_core::rules::teams::mailing::Traces;
use taskyard_core::{Message, MessageKey, Team, Timestamp};

use super::memory::SentRow;
use super::store::FileTeams;
use super::watching::FileWatch;
use crate::failpoint::reach;
use crate::store::Moved;
use crate::teams::{Acknowledged, LeadMail, Mailbox, Mailboxes, Posted, SentFound, SentLetter, TeamError, TeamWatch};

impl Mailboxes for FileTeams {
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError> {
        let is_client = self.options.rules.is_client();
        // What is sent and then refused would be sent again.
        if let Err(error) = self.remembered(|_| Ok(()))
            && error.newer_database().is_some()
        {
            return Err(error);
        }
        let path = match is_client {
            true => self.paths.inbox_in(posted.team.inbox_directory(), posted.to),
            false => self.paths.inbox_to_write(posted.team, posted.to),
        };
        if is_client && let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(TeamError::io("cannot create", folder))?;
        }
        match self.inbox(path).append(posted.message, self.version()) {
            Ok(()) => {}
            // The team was deleted while we wrote: it must not come to life again by a message.
            Err(_) if !is_client && !self.paths.file(posted.team).exists() => return Ok(false),
            Err(error) => return Err(error),
        }
        reach("message: sent");
        let Some(trace) = posted.trace else { return Ok(true) };
        let row = SentRow {
            key: posted.message.key().as_text(),
            recipient: posted.to.to_owned(),
            at: trace.at,
            summary: trace.summary.to_owned(),
        };
        // The message is there. That its way cannot be followed is worth a word, and no failure.
        let key = self.key(trace.team);
        if let Err(error) = self.remember(|memory| memory.add_sent(&key, &posted.message.from, &row)) {
            tracing::warn!(%error, "sent, but its delivery cannot be followed");
        }
        Ok(true)
    }

    fn mailbox(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError> {
        let mut mailbox = self.contents(team, member)?;
        if !mailbox.messages.is_empty() {
            let inbox = self.inbox_key(team, member);
            let keys = mailbox.messages.iter().map(Message::key).collect();
            mailbox.acknowledged = self.remembered(|memory| memory.acknowledged_among(&inbox, keys))?;
        }
        Ok(mailbox)
    }

    fn note_shown(&self, team: &Team, member: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError> {
        let inbox = self.inbox_key(team, member);
        self.remember(|memory| memory.deliver(&inbox, keys, now))
    }

    /// The moment counts in which our memory has it. Then they are taken out of the file as the client takes them out.
    fn acknowledge(
        &self,
        team: &Team,
        member: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<Acknowledged, TeamError> {
        let inbox = self.inbox_key(team, member);
        let is_client = self.options.rules.is_client();
        if keys.is_empty() {
            // The lock of an inbox, which wakes its followers, is not taken for nothing.
            let mailbox = self.mailbox(team, member)?;
            let is_left = |message: &Message| !message.read && mailbox.acknowledged.contains(&message.key());
            if !mailbox.messages.iter().any(is_left) && (mailbox.malformed == 0 || is_client) {
                return Ok(Acknowledged::default());
            }
        } else {
            self.remember(|memory| memory.acknowledge(&inbox, keys, now))?;
            reach("messages: acknowledged");
        }
        // Those of before, too: the process that acknowledged them may have died before it took them out.
        let asked: HashSet<&MessageKey> = keys.iter().collect();
        let is_acknowledged = |key: &MessageKey| {
            let known = || self.remembered(|memory| memory.is_acknowledged(&inbox, key));
            asked.contains(key) || known().unwrap_or_default()
        };
        let folder = self.set_aside_folder();
        let aside = (!is_client).then_some(folder.as_path());
        let mut acknowledged = Acknowledged::default();
        for path in self.paths.inboxes(&team.name, member) {
            let consumed = self.inbox(path).consume(is_acknowledged, manner(self.options.rules), aside);
            let (taken, set_aside) = consumed.map_err(|error| match keys.is_empty() {
                true => error,
                false => TeamError::StillInInbox { source: Box::new(error) },
            })?;
            acknowledged.taken += taken.len();
            acknowledged.set_aside.extend(set_aside);
        }
        Ok(acknowledged)
    }

    fn sent(&self, team: &Team, sender: &str, most: usize) -> Result<SentFound, TeamError> {
        let key = self.key(team);
        let rows = self.remembered(|memory| memory.sent(&key, sender, most))?;
        let mut recipients: HashMap<String, Known> = HashMap::new();
        let mut found = SentFound::default();
        for SentRow { key, recipient, at, summary } in rows {
            let known = match recipients.entry(recipient.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let (known, error) = self.known(team, &recipient)?;
                    found.unreadable.extend(error.map(|error| (recipient.clone(), error)));
                    unknown.insert(known)
                }
            };
            let traces = known.of(&key);
            found.letters.push(SentLetter { key, to: recipient, at, summary, traces });
        }
        Ok(found)
    }

    fn new_lead_mail(&self) -> Option<LeadMail> {
        self.look_at_lead_mail()
    }

    fn lead_mail_was_read(&self, mail: &LeadMail) {
        self.remember_lead_mail(mail);
    }

    fn watch(&self, moved: Moved) -> Box<dyn TeamWatch> {
        Box::new(FileWatch::new(self.paths.clone(), moved))
    }
}

/// What is known of the messages to a member.
struct Known {
    /// Those that lie in the inbox, and whether they are marked as read; none where that cannot be told.
    in_inbox: Option<HashMap<String, bool>>,
    /// Those that were shown, and whether they are acknowledged.
    deliveries: HashMap<String, bool>,
}

impl Known {
    fn of(&self, key: &str) -> Traces {
        let acknowledged = self.deliveries.get(key);
        Traces {
            has_recipient: false,
            in_inbox: self.in_inbox.as_ref().map_or(Some(false), |messages| messages.get(key).copied()),
            was_delivered: acknowledged.is_some(),
            was_acknowledged: acknowledged == Some(&true),
        }
    }
}

impl FileTeams {
    /// Returns everything in a member's inboxes; what is acknowledged is not looked up.
    fn contents(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError> {
        let mut mailbox = Mailbox::default();
        for path in self.paths.inboxes(&team.name, member) {
            if let Some(contents) = self.inbox(path).read()? {
                mailbox.messages.extend(contents.messages);
                mailbox.malformed += contents.malformed.len();
            }
        }
        Ok(mailbox)
    }

    /// Returns what is known of the messages to a member, and why its inbox cannot be read where it cannot.
    fn known(&self, team: &Team, recipient: &str) -> Result<(Known, Option<TeamError>), TeamError> {
        let (in_inbox, error) = match self.contents(team, recipient) {
            Ok(mailbox) => (Some(mailbox.messages), None),
            Err(error) => (None, Some(error)),
        };
        let inbox = self.inbox_key(team, recipient);
        let read = |message: &Message| (message.key().as_text(), message.read);
        let known = Known {
            in_inbox: in_inbox.map(|messages| messages.iter().map(read).collect()),
            deliveries: self.remembered(|memory| memory.deliveries(&inbox))?,
        };
        Ok((known, error))
    }
}

//! Inboxes in files, and the delivery records of their messages.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use taskyard_core::dialect::inbox::manner;
use taskyard_core::rules::teams::mailing::Traces;
use taskyard_core::{LEAD, Message, MessageKey, Team, Timestamp};

use crate::failpoint::reach;
use crate::store::Moved;
use crate::teams::files::file_teams::{FileTeams, FileWatch};
use crate::teams::files::team_memory::{Memory, SentRow};
use crate::teams::{Acknowledged, LeadMail, Mailbox, Mailboxes, Posted, SentFound, SentLetter, TeamError, TeamWatch};
use crate::{private, system};

impl Mailboxes for FileTeams {
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError> {
        let is_client = self.options.rules.is_client();
        // Fail before sending: a message that is sent and then refused would be sent again.
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
            // The team was deleted while we wrote; a message must not recreate it.
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
        // The message has been delivered. Failing to record it is worth a warning, but is not an error.
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

    /// Recording it in our database is what acknowledges a message. It is then removed from the file as the client
    /// does.
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
            // Locking an inbox wakes its followers, so do not lock it without need.
            let mailbox = self.mailbox(team, member)?;
            let is_left = |message: &Message| !message.read && mailbox.acknowledged.contains(&message.key());
            if !mailbox.messages.iter().any(is_left) && (mailbox.malformed == 0 || is_client) {
                return Ok(Acknowledged::default());
            }
        } else {
            self.remember(|memory| memory.acknowledge(&inbox, keys, now))?;
            reach("messages: acknowledged");
        }
        // Earlier acknowledgements as well: the process that made them may have died before it removed the messages.
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
    /// The messages in the inbox, and whether each is marked as read; `None` if the inbox cannot be read.
    in_inbox: Option<HashMap<String, bool>>,
    /// The messages that were shown, and whether each is acknowledged.
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
    /// Returns the contents of a member's inboxes, without looking up acknowledgements.
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

    /// Returns what is known of the messages to a member, and the error if its inbox cannot be read.
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

/// Deletes old acknowledgements, and messages sent before a moment; returns how many rows were deleted.
pub fn forget_old_letters(data: &Path, sent_before: Timestamp) -> Result<usize, TeamError> {
    let memory = Memory::look(data)?;
    memory.map_or(Ok(0), |memory| memory.forget_letters(system::now(), sent_before))
}

/// Returns how many rows [`forget_old_letters`] would delete.
pub fn count_old_letters(data: &Path, sent_before: Timestamp) -> Result<usize, TeamError> {
    Memory::look(data)?.map_or(Ok(0), |memory| memory.old_letters(system::now(), sent_before))
}

/// An inbox that was modified this shortly before it was examined may have changed since without a visible difference.
const GRAIN: Duration = Duration::from_millis(50);

impl FileTeams {
    /// Returns the state of all leads' inboxes if it differs from the one last recorded.
    pub(super) fn look_at_lead_mail(&self) -> Option<LeadMail> {
        let mail = self.lead_inboxes();
        if mail.0.is_empty() {
            return None;
        }
        let mut read = String::new();
        let found = private::open_to_read(&self.seen_lead_mail()).and_then(|mut file| file.read_to_string(&mut read));
        (found.is_err() || read != mail.0).then_some(mail)
    }

    /// Records the state of the inboxes; if that fails, they are read again.
    pub(super) fn remember_lead_mail(&self, mail: &LeadMail) {
        if mail.0.is_empty() || mail.0.contains(UNSURE) {
            return;
        }
        if let Err(error) = self.write_lead_mail(mail) {
            tracing::debug!(%error, "the inboxes of leads are looked at again");
        }
    }

    fn write_lead_mail(&self, mail: &LeadMail) -> io::Result<()> {
        let path = self.seen_lead_mail();
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let written = private::create(&new).and_then(|mut file| file.write_all(mail.0.as_bytes()));
        let renamed = written.and_then(|()| fs::rename(&new, &path));
        if renamed.is_err() {
            let _ = fs::remove_file(&new);
        }
        renamed
    }

    fn seen_lead_mail(&self) -> PathBuf {
        self.options.data.join("lead-mail.seen")
    }

    fn lead_inboxes(&self) -> LeadMail {
        let mut teams: Vec<PathBuf> =
            fs::read_dir(&self.options.root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        teams.sort();
        let mut looks = String::new();
        for team in teams {
            let inbox = team.join("inboxes").join(format!("{LEAD}.json"));
            let Ok(found) = inbox.metadata() else { continue };
            let changed = found.modified().unwrap_or(UNIX_EPOCH);
            let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let is_sure = SystemTime::now().duration_since(changed).is_ok_and(|age| age > GRAIN);
            let _ = write!(looks, "{}\t{}\t{since}\t{}", team.display(), found.len(), file_number(&found));
            looks.push_str(if is_sure { "\n" } else { UNSURE });
        }
        LeadMail(looks)
    }
}

/// Marks an inbox that may have changed since it was examined.
const UNSURE: &str = "\t?\n";

#[cfg(unix)]
fn file_number(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn file_number(_found: &fs::Metadata) -> u64 {
    0
}

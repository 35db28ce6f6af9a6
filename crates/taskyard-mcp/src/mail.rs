//! Messages that come for the agents of connections.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use taskyard::core::AgentName;
use taskyard::core::render::{escaping, said_in_words};
use taskyard::stream::{Cursor, Happening, Interest, Listening};
use taskyard::teams::Delivery;
use taskyard::{Error, Yard};

use super::mailed_agents::{MailedAgents, NewMail};
use super::news::News;

/// So many characters of a message are told with the news of it.
const EXCERPT: usize = 120;

/// Follows the inboxes of all agents of a server for the news: one stream, however many they are, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct FollowingInboxes(OnceLock<Option<Listening>>);

impl FollowingInboxes {
    /// Follows the inboxes of those that are told by now, whether they are in a team already or join one later, and of no others.
    /// A message is told once.
    pub(crate) fn keep_up(&self, yard: &Yard, agents: &MailedAgents, news: &News) {
        let followed = self.0.get_or_init(|| {
            let followed = follow(yard, news.clone());
            followed.inspect_err(|error| tracing::warn!(%error, "messages will not be told")).ok()
        });
        if let Some(followed) = followed {
            followed.control().follow_inboxes(|| agents.all());
        }
    }
}

/// Begins to follow inboxes, of no agent for now.
fn follow(yard: &Yard, news: News) -> Result<Listening, Error> {
    let stream = yard.follow_only(Interest::in_inboxes([]), Cursor::now())?;
    stream.listen_to_bursts(move |happenings| {
        let mut new: BTreeMap<AgentName, Vec<Delivery>> = BTreeMap::new();
        for happening in happenings {
            if let Happening::Message { agent, delivery, .. } = happening {
                new.entry(agent).or_default().push(*delivery);
            }
        }
        for (agent, deliveries) in new {
            news.tell_of_mail(NewMail { agent, summary: summary(&deliveries) });
        }
    })
}

fn summary(new: &[Delivery]) -> String {
    match new {
        [one] => {
            let message = &one.message;
            let words = message.summary.clone().unwrap_or_else(|| said_in_words(message));
            let words: String = escaping::one_line(&words).chars().take(EXCERPT).collect();
            format!("New message from {}: {words}", escaping::one_line(&message.from))
        }
        several => format!("{} new messages; read them with InboxRead", several.len()),
    }
}

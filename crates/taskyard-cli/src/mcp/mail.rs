//! Messages that come for the agents of connections.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use taskyard::core::AgentName;
use taskyard::core::render::{escaping, said_in_words};
use taskyard::stream::{Cursor, Happening, Interest, Listening};
use taskyard::teams::Delivery;
use taskyard::{Error, Yard};

use super::news::News;

/// So many agents of one connection are told of their messages.
const AGENTS_OF_CONNECTION: usize = 256;
/// So many agents of one server are.
const AGENTS: usize = 1_024;
/// So many characters of a message are told with the news of it.
const EXCERPT: usize = 120;

/// Messages that have come for one agent.
#[derive(Debug)]
pub(super) struct NewMail {
    /// Who they are for.
    pub(super) agent: AgentName,
    /// What they are, in one line.
    pub(super) told: String,
}

/// The agents of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Agents(Arc<Mutex<HashSet<AgentName>>>);

/// The agents of all connections of one server that tell them of messages, each with how many do.
#[derive(Debug, Default)]
pub(super) struct AgentsTold(Mutex<HashMap<AgentName, usize>>);

/// Follows the inboxes of all agents of a server for the news: one stream, however many they are, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct FollowingInboxes(OnceLock<Option<Listening>>);

impl Agents {
    /// Adds an agent; returns whether it is new. Beyond a number none is added.
    pub(super) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len() < AGENTS_OF_CONNECTION && agents.insert(agent.clone())
    }

    /// Tells whether an agent is among them.
    pub(super) fn contains(&self, agent: &AgentName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> Vec<AgentName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl AgentsTold {
    /// Counts one more connection that tells an agent; returns whether it is the first. Beyond a number of agents none is added.
    pub(super) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = agents.get_mut(agent) {
            *connections += 1;
            return false;
        }
        agents.len() < AGENTS && agents.insert(agent.clone(), 1).is_none()
    }

    /// Counts one connection less; returns whether it was the last.
    pub(super) fn remove(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connections) = agents.get_mut(agent) else { return false };
        *connections -= 1;
        *connections == 0 && agents.remove(agent).is_some()
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> BTreeSet<AgentName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

impl FollowingInboxes {
    /// Follows the inboxes of those that are told by now, whether they are in a team already or join one later, and of no others.
    /// A message is told once.
    pub(super) fn keep_up(&self, yard: &Yard, agents: &AgentsTold, news: &News) {
        let followed = self.0.get_or_init(|| {
            let followed = follow(yard, news.clone());
            followed.inspect_err(|error| tracing::warn!(%error, "messages will not be told")).ok()
        });
        if let Some(followed) = followed {
            followed.control().follow_inboxes(|| agents.all());
        }
    }
}

/// Begins to follow inboxes, of nobody for now.
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
            news.tell_of_mail(NewMail { agent, told: told(&deliveries) });
        }
    })
}

fn told(new: &[Delivery]) -> String {
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

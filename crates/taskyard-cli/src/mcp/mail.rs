//! Messages that come for the agents of connections.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::render::{escaping, said_in_words};
use taskyard::core::{AgentName, MessageKey};
use taskyard::store::Subscription;
use taskyard::teams::{Delivery, Seat, Teams};

use super::news::News;

/// So many agents of one server are told of their messages.
const AGENTS: usize = 256;
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

/// The agents of one connection, or of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Agents(Arc<Mutex<HashSet<AgentName>>>);

/// Follows the inboxes of agents for the news, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct FollowingInboxes(Mutex<HashMap<AgentName, Subscription>>);

impl Agents {
    /// Adds an agent; returns whether it is new. Beyond a number none is added.
    pub(super) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len() < AGENTS && agents.insert(agent.clone())
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

impl FollowingInboxes {
    /// Begins to follow the inbox of an agent, where that has not begun: whether it is in a team already or joins one later.
    /// A message is told once.
    pub(super) fn begin(&self, teams: &Arc<Teams>, agent: &AgentName, news: &News) {
        let mut following = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if following.contains_key(agent) {
            return;
        }
        let (news, looking, own) = (news.clone(), Arc::clone(teams), agent.clone());
        let known: Mutex<HashSet<MessageKey>> = Mutex::default();
        let look = move |seat: Option<&Seat>| {
            let received = seat.and_then(|seat| looking.look_into(seat).ok()).unwrap_or_default();
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = |delivery: &&Delivery| !delivery.keys.iter().all(|key| known.contains(key));
            let new: Vec<&Delivery> = received.deliveries.iter().filter(is_new).collect();
            if !new.is_empty() {
                news.tell_of_mail(NewMail { agent: own.clone(), told: told(&new) });
            }
            *known = received.deliveries.into_iter().flat_map(|delivery| delivery.keys).collect();
        };
        match teams.follow_agent(agent, Box::new(look)) {
            Ok(subscription) => drop(following.insert(agent.clone(), subscription)),
            Err(error) => tracing::warn!(%error, "messages will not be told"),
        }
    }
}

fn told(new: &[&Delivery]) -> String {
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

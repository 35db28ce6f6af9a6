//! Changes of the list and new messages, for subscribed connections.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use taskyard::core::render::{escaping, said_in_words};
use taskyard::core::{AgentName, Event, TaskId};
use taskyard::stream::{Cursor, Happening, Interest, Listening};
use taskyard::teams::Delivery;
use taskyard::{Error, Yard};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::resources_and_prompts::{GRAPH, INBOX, LIST, NOTIFICATIONS, task_uri};

/// The number of changes that a slow connection may fall behind; beyond that, it is told that everything changed.
const WAITING: usize = 1_024;

/// Broadcasts changes to connections.
#[derive(Clone, Debug)]
pub(crate) struct News(broadcast::Sender<NewsItem>);

/// Follows one list and broadcasts its changes, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Following(Mutex<Option<Listening>>);

/// Receives changes.
#[derive(Debug)]
pub(crate) struct Hearing(broadcast::Receiver<NewsItem>);

#[derive(Clone, Debug)]
enum NewsItem {
    /// A commit to the list, ours or another program's.
    Commit(Arc<Event>),
    /// New messages for an agent.
    Mail(Arc<NewMail>),
    /// A job of an agent on the list has ended.
    Notice,
    /// Another list is served now.
    AnotherList,
}

/// The changes since the last ones were received.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Whether tasks were created or deleted.
    pub(crate) resources_came_or_went: bool,
    /// Whether notifications were queued.
    notifications: bool,
    /// Whether anything may have changed.
    is_everything: bool,
    mail: Vec<Arc<NewMail>>,
    tasks: BTreeSet<TaskId>,
}

impl Default for News {
    fn default() -> Self {
        Self(broadcast::Sender::new(WAITING))
    }
}

impl News {
    /// Starts receiving changes.
    pub(crate) fn hear(&self) -> Hearing {
        Hearing(self.0.subscribe())
    }

    /// Broadcasts that messages have arrived.
    pub(crate) fn tell_of_mail(&self, mail: NewMail) {
        // Fails if there are no connections.
        let _ = self.0.send(NewsItem::Mail(Arc::new(mail)));
    }

    /// Broadcasts that another list is served now.
    pub(crate) fn tell_of_another_list(&self) {
        // Fails if there are no connections.
        let _ = self.0.send(NewsItem::AnotherList);
    }
}

impl Following {
    /// Starts following a yard's list, unless that is already done.
    pub(crate) fn begin(&self, yard: &Yard, news: &News) -> Result<(), Error> {
        let mut following = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if following.is_some() {
            return Ok(());
        }
        let commits = Interest::in_list(yard.list_id());
        let stream = yard.follow_only(Interest { jobs: true, ..commits.clone() }, Cursor::now());
        // If notices cannot be followed, the list still can.
        let stream = stream.or_else(|error| {
            tracing::warn!(%error, "notifications will not be told at once");
            yard.follow_only(commits, Cursor::now())
        })?;
        let sender = news.0.clone();
        // Sending fails if there are no connections.
        *following = Some(stream.listen(move |happening| match happening {
            Happening::Commit(event) => drop(sender.send(NewsItem::Commit(Arc::new(event)))),
            Happening::JobEnded(_) => drop(sender.send(NewsItem::Notice)),
            // Any task may have changed.
            Happening::WentBack { .. } => drop(sender.send(NewsItem::AnotherList)),
            _ => {}
        })?);
        Ok(())
    }
}

impl Hearing {
    /// Waits for a change, and returns all pending changes; `None` if there will be no more.
    pub(crate) async fn changes(&mut self) -> Option<Changes> {
        let mut changes = Changes::default();
        match self.0.recv().await {
            Ok(item) => changes.add(&item),
            Err(RecvError::Lagged(_)) => changes.add(&NewsItem::AnotherList),
            Err(RecvError::Closed) => return None,
        }
        loop {
            match self.0.try_recv() {
                Ok(item) => changes.add(&item),
                Err(TryRecvError::Lagged(_)) => changes.add(&NewsItem::AnotherList),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(changes),
            }
        }
    }
}

impl Changes {
    fn add(&mut self, item: &NewsItem) {
        match item {
            NewsItem::AnotherList => {
                self.resources_came_or_went = true;
                self.is_everything = true;
            }
            NewsItem::Mail(mail) => self.mail.push(Arc::clone(mail)),
            NewsItem::Notice => self.notifications = true,
            NewsItem::Commit(event) => {
                for entry in &event.entries {
                    self.resources_came_or_went |= entry.before.is_none() || entry.after.is_none();
                    self.tasks.insert(entry.task.clone());
                }
            }
        }
    }

    /// Returns the new messages for these agents.
    pub(crate) fn mail_for(&self, agents: &Agents) -> impl Iterator<Item = &NewMail> {
        self.mail.iter().map(Arc::as_ref).filter(|mail| agents.contains(&mail.agent))
    }

    /// Returns whether the contents of a resource may have changed for these agents.
    pub(crate) fn concern(&self, uri: &str, agents: &Agents) -> bool {
        match uri {
            _ if self.is_everything => true,
            INBOX => self.mail_for(agents).next().is_some(),
            NOTIFICATIONS => self.notifications,
            LIST | GRAPH => !self.tasks.is_empty(),
            uri => self.tasks.iter().any(|task| task_uri(task) == uri),
        }
    }
}

/// How many characters of a message are included when it is reported.
const EXCERPT: usize = 120;

/// Follows the inboxes of all agents of a server with a single stream, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct FollowingInboxes(OnceLock<Option<Listening>>);

impl FollowingInboxes {
    /// Follows the inboxes of the current agents, whether they are in a team already or join one later, and of no
    /// others. Each message is reported once.
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

/// Starts following, initially the inboxes of no agent.
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

/// The maximum number of agents per connection whose messages are reported.
const AGENTS_OF_CONNECTION: usize = 256;
/// The maximum number of agents per server whose messages are reported.
const AGENTS: usize = 1_024;

/// New messages for one agent.
#[derive(Debug)]
pub(crate) struct NewMail {
    pub(crate) agent: AgentName,
    /// A description in one line.
    pub(crate) summary: String,
}

/// The agents of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents(Arc<Mutex<HashSet<AgentName>>>);

/// The agents whose messages are reported, each with the number of connections that do so.
#[derive(Debug, Default)]
pub(crate) struct MailedAgents(Mutex<HashMap<AgentName, usize>>);

impl Agents {
    /// Adds an agent; returns whether it is new. Returns `false` if the limit is reached.
    pub(crate) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len() < AGENTS_OF_CONNECTION && agents.insert(agent.clone())
    }

    pub(crate) fn contains(&self, agent: &AgentName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    pub(crate) fn all(&self) -> Vec<AgentName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl MailedAgents {
    /// Counts another connection for an agent; returns whether it is the first. Beyond the limit, no agent is added.
    pub(crate) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = agents.get_mut(agent) {
            *connections += 1;
            return false;
        }
        agents.len() < AGENTS && agents.insert(agent.clone(), 1).is_none()
    }

    /// Removes a connection for an agent; returns whether it was the last.
    pub(crate) fn remove(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connections) = agents.get_mut(agent) else { return false };
        *connections -= 1;
        *connections == 0 && agents.remove(agent).is_some()
    }

    pub(crate) fn all(&self) -> BTreeSet<AgentName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

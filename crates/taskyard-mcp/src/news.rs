//! What changed in the list, for the connections that want to know.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::{Event, TaskId};
use taskyard::stream::{Cursor, Happening, Interest, Listening};
use taskyard::{Error, Yard};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::mailed_agents::{Agents, NewMail};
use super::resources::{GRAPH, INBOX, LIST, NOTIFICATIONS, task_uri};

/// So many changes wait for a connection that is slow to hear of them; it is told that everything changed after that.
const WAITING: usize = 1_024;

/// Tells connections what changed.
#[derive(Clone, Debug)]
pub(crate) struct News(broadcast::Sender<NewsItem>);

/// Follows one list for the news, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Following(Mutex<Option<Listening>>);

/// Hears what changed.
#[derive(Debug)]
pub(crate) struct Hearing(broadcast::Receiver<NewsItem>);

/// Something that happened.
#[derive(Clone, Debug)]
enum NewsItem {
    /// A commit, ours or another program's.
    Commit(Arc<Event>),
    /// Messages have come for an agent.
    Mail(Arc<NewMail>),
    /// A job of an agent on the list has ended.
    Notice,
    /// Another list has taken the place of the one that was served.
    AnotherList,
}

/// What has changed since it was last asked for.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Whether tasks came or went.
    pub(crate) resources_came_or_went: bool,
    /// Whether notifications were queued.
    notifications: bool,
    /// Whether more may have changed than is named here.
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
    /// Begins to hear what changes from now on.
    pub(crate) fn hear(&self) -> Hearing {
        Hearing(self.0.subscribe())
    }

    /// Says that messages have come.
    pub(crate) fn tell_of_mail(&self, mail: NewMail) {
        // Without connections there is no client to tell.
        let _ = self.0.send(NewsItem::Mail(Arc::new(mail)));
    }

    /// Says that another list is served now.
    pub(crate) fn tell_of_another_list(&self) {
        // Without connections there is no client to tell.
        let _ = self.0.send(NewsItem::AnotherList);
    }
}

impl Following {
    /// Begins to follow a yard's list, where that has not begun.
    pub(crate) fn begin(&self, yard: &Yard, news: &News) -> Result<(), Error> {
        let mut following = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if following.is_some() {
            return Ok(());
        }
        let commits = Interest::in_list(yard.list_id());
        let stream = yard.follow_only(Interest { jobs: true, ..commits.clone() }, Cursor::now());
        // Without notifications the list is still worth following.
        let stream = stream.or_else(|error| {
            tracing::warn!(%error, "notifications will not be told at once");
            yard.follow_only(commits, Cursor::now())
        })?;
        let sender = news.0.clone();
        // Without connections there is no client to tell.
        *following = Some(stream.listen(move |happening| match happening {
            Happening::Commit(event) => drop(sender.send(NewsItem::Commit(Arc::new(event)))),
            Happening::JobEnded(_) => drop(sender.send(NewsItem::Notice)),
            // Any task may be another than it was.
            Happening::WentBack { .. } => drop(sender.send(NewsItem::AnotherList)),
            _ => {}
        })?);
        Ok(())
    }
}

impl Hearing {
    /// Waits until something has changed, and returns everything that has; none when nothing will any more.
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

    /// Returns what has come for these agents.
    pub(crate) fn mail_for(&self, agents: &Agents) -> impl Iterator<Item = &NewMail> {
        self.mail.iter().map(Arc::as_ref).filter(|mail| agents.contains(&mail.agent))
    }

    /// Tells whether what a resource shows these agents may have changed.
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

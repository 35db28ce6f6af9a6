//! The event readers of a server: one for each list that a client follows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use taskyard::Yard;
use tokio::sync::OnceCell;

use super::feed::{Feed, Topic};
use crate::web::tally::Tally;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard_mcp::serving::spawn;

/// Maximum number of lists followed at once.
const MOST: usize = 256;
/// How long a list is followed after its last stream closed. A reloaded page comes back immediately.
const GRACE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Feeds(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoch: String,
    /// The number of readers started so far.
    begun: AtomicU64,
    tally: Arc<Tally>,
    feeds: Mutex<HashMap<Topic, Arc<OnceCell<Arc<Feed>>>>>,
    /// The topic that is followed even without streams.
    kept: OnceLock<Topic>,
}

/// A client's subscription to a feed, until dropped.
#[derive(Debug)]
pub(super) struct FeedSubscription {
    feed: Option<Arc<Feed>>,
    topic: Topic,
    feeds: Feeds,
}

impl Feeds {
    /// Returns the readers of a server process, which `epoch` identifies.
    pub(crate) fn new(epoch: String, tally: Arc<Tally>) -> Self {
        Self(Arc::new(Shared {
            epoch,
            begun: AtomicU64::new(0),
            tally,
            feeds: Mutex::default(),
            kept: OnceLock::new(),
        }))
    }

    /// Returns the reader of a topic, starting it if there is none yet.
    pub(super) async fn of(
        &self,
        topic: Topic,
        yard: impl FnOnce() -> Result<Yard, Problem> + Send + 'static,
    ) -> Result<FeedSubscription, Problem> {
        let cell = {
            let mut feeds = self.feeds();
            if feeds.len() >= MOST && !feeds.contains_key(&topic) {
                return Err(Problem::new(ProblemKind::GaveUp, "too_many_lists", "too many lists are followed already"));
            }
            Arc::clone(feeds.entry(topic.clone()).or_default())
        };
        let begin = || {
            // Each reader numbers its events from one. The epoch keeps an id of an earlier, forgotten reader from
            // being taken for its own.
            let epoch = format!("{}{:x}", self.0.epoch, self.0.begun.fetch_add(1, Ordering::Relaxed));
            let (tally, topic) = (Arc::clone(&self.0.tally), topic.clone());
            spawn(move || Feed::follow(yard()?, topic, &epoch, &tally))
        };
        let stopped = |_| Problem::new(ProblemKind::Stopped, "cancelled", "the server ends");
        let feed = cell.get_or_try_init(|| async { begin().await.map_err(stopped)? }).await;
        match feed {
            Ok(feed) => {
                feed.streams.fetch_add(1, Ordering::SeqCst);
                Ok(FeedSubscription { feed: Some(Arc::clone(feed)), topic, feeds: self.clone() })
            }
            Err(problem) => {
                self.forget_idle(&topic);
                Err(problem)
            }
        }
    }

    /// Follows a topic from now on, even without streams, so that its events are counted.
    pub(crate) async fn keep(&self, topic: Topic, yard: impl FnOnce() -> Result<Yard, Problem> + Send + 'static) {
        if self.0.kept.set(topic.clone()).is_ok()
            && let Err(problem) = self.of(topic, yard).await
        {
            tracing::warn!(why = problem.report().message, "what happens is not counted");
        }
    }

    /// Returns the number of lists followed and of streams.
    pub(crate) fn count(&self) -> (usize, usize) {
        let feeds = self.feeds();
        let streams = feeds.values().filter_map(|cell| cell.get()).map(|feed| feed.streams()).sum();
        (feeds.len(), streams)
    }

    /// Removes a reader without streams.
    fn forget_idle(&self, topic: &Topic) {
        if self.0.kept.get() == Some(topic) {
            return;
        }
        let mut feeds = self.feeds();
        let is_idle = feeds.get(topic).is_some_and(|cell| cell.get().is_none_or(|feed| feed.streams() == 0));
        let idle = if is_idle { feeds.remove(topic) } else { None };
        drop(feeds);
        if idle.is_some() && tokio::runtime::Handle::try_current().is_ok() {
            // Dropping it waits for its thread.
            spawn(move || drop(idle));
        }
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<Topic, Arc<OnceCell<Arc<Feed>>>>> {
        self.0.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FeedSubscription {
    pub(super) fn feed(&self) -> Option<&Arc<Feed>> {
        self.feed.as_ref()
    }
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        let Some(feed) = self.feed.take() else { return };
        let was_last = feed.streams.fetch_sub(1, Ordering::SeqCst) == 1;
        drop(feed);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if was_last {
            let (feeds, topic) = (self.feeds.clone(), self.topic.clone());
            runtime.spawn(async move {
                tokio::time::sleep(GRACE).await;
                feeds.forget_idle(&topic);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taskyard::Yard;
    use taskyard::core::{AgentName, ListId, Rules};
    use taskyard::operations::NewTask;
    use taskyard::store::{MemoryStore, Store};

    use super::{Feeds, Topic};
    use crate::web::tally::Tally;

    #[test]
    fn event_of_forgotten_reader_is_not_given_to_the_next() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Rules::Strict));
        let list = ListId::new("L").unwrap();
        let yard = || Yard::new(Arc::clone(&store), list.clone(), AgentName::new("ana").unwrap());
        let feeds = Feeds::new("a1b2c3d4".to_owned(), Arc::new(Tally::default()));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let subscribed = || {
            let (yard, topic) = (yard(), Topic::List(list.clone()));
            runtime.block_on(feeds.of(topic, move || Ok(yard))).unwrap()
        };
        let first = subscribed();
        let id = first.feed().unwrap().newest_id();
        let _entered = runtime.enter();
        drop(first);
        feeds.forget_idle(&Topic::List(list.clone()));
        yard().create(NewTask { subject: "Meanwhile".to_owned(), ..NewTask::default() }).unwrap();
        let second = subscribed();
        let start = second.feed().unwrap().start(Some(&id), None).unwrap();
        let told = String::from_utf8(start.first.concat()).unwrap();
        assert!(told.contains("event: commit") && told.contains("Meanwhile"), "{told}");
    }
}

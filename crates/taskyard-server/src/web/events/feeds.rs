//! The readers of a server: one for each list that a client follows.

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

/// So many lists are followed at once.
const MOST: usize = 256;
/// So long a list is followed on after the last who listened to it left: a page that is loaded anew comes back at once.
const GRACE: Duration = Duration::from_secs(30);

/// The readers of a server.
#[derive(Clone, Debug)]
pub(crate) struct Feeds(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoch: String,
    /// How many readers there have been.
    begun: AtomicU64,
    tally: Arc<Tally>,
    feeds: Mutex<HashMap<Topic, Arc<OnceCell<Arc<Feed>>>>>,
    /// What is followed whether or not a client listens to it.
    kept: OnceLock<Topic>,
}

/// A feed that a client listens to, until this is dropped.
#[derive(Debug)]
pub(super) struct FeedSubscription {
    feed: Option<Arc<Feed>>,
    topic: Topic,
    feeds: Feeds,
}

impl Feeds {
    /// Returns the readers of a server process, which is told from all others by its epoch.
    pub(crate) fn new(epoch: String, tally: Arc<Tally>) -> Self {
        Self(Arc::new(Shared {
            epoch,
            begun: AtomicU64::new(0),
            tally,
            feeds: Mutex::default(),
            kept: OnceLock::new(),
        }))
    }

    /// Returns the reader of a list, which begins now where no client follows that yet.
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
            // A reader counts its events from one: an id of the one before it, which was forgotten, must not be taken for its own.
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

    /// Follows something from now on, whether or not a client listens to it: what happens there is counted.
    pub(crate) async fn keep(&self, topic: Topic, yard: impl FnOnce() -> Result<Yard, Problem> + Send + 'static) {
        if self.0.kept.set(topic.clone()).is_ok()
            && let Err(problem) = self.of(topic, yard).await
        {
            tracing::warn!(why = problem.report().message, "what happens is not counted");
        }
    }

    /// Returns how many lists are followed, and by how many streams.
    pub(crate) fn count(&self) -> (usize, usize) {
        let feeds = self.feeds();
        let streams = feeds.values().filter_map(|cell| cell.get()).map(|feed| feed.streams()).sum();
        (feeds.len(), streams)
    }

    /// Forgets a reader to which no client listens.
    fn forget_idle(&self, topic: &Topic) {
        if self.0.kept.get() == Some(topic) {
            return;
        }
        let mut feeds = self.feeds();
        let is_idle = feeds.get(topic).is_some_and(|cell| cell.get().is_none_or(|feed| feed.streams() == 0));
        let idle = if is_idle { feeds.remove(topic) } else { None };
        drop(feeds);
        if idle.is_some() && tokio::runtime::Handle::try_current().is_ok() {
            // Its thread is waited for.
            spawn(move || drop(idle));
        }
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<Topic, Arc<OnceCell<Arc<Feed>>>>> {
        self.0.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FeedSubscription {
    /// Returns the reader.
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
    fn an_event_of_a_reader_that_was_forgotten_is_none_of_the_next_one() {
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

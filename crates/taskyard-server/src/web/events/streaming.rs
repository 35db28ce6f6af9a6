//! Streaming events to one browser.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use taskyard::Yard;
use taskyard::core::AgentName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::event_id::EventId;
use super::feed::{Feed, Topic};
use super::feeds::FeedSubscription;
use super::ring::After;
use crate::web::api::problem_response;
use crate::web::call::Requested;
use crate::web::site::Site;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard_mcp::serving::Work;

/// Interval of keep-alive comments on a quiet stream.
const HEARTBEAT: Duration = Duration::from_secs(25);
/// A comment, which browsers ignore.
const ALIVE: Bytes = Bytes::from_static(b":\n\n");
/// How long a browser waits before it reconnects.
const RETRY: Bytes = Bytes::from_static(b"retry: 1000\n\n");

/// Streams the events after `last` to a client.
pub(crate) async fn stream(site: Arc<Site>, topic: Topic, last: Option<EventId>, agent: Option<AgentName>) -> Response {
    match begin(&site, topic, last, agent).await {
        Ok(state) => {
            let stream = unfold(state, |mut state| async move {
                let bytes = state.next().await?;
                Some((Ok::<_, Infallible>(bytes), state))
            });
            let headers = [
                (CONTENT_TYPE, "text/event-stream"),
                (CACHE_CONTROL, "no-store, no-transform"),
                // Otherwise nginx buffers events.
                (HeaderName::from_static("x-accel-buffering"), "no"),
            ];
            (headers, Body::from_stream(stream)).into_response()
        }
        Err(problem) => problem_response(&problem),
    }
}

/// Returns the id of the newest event of all lists, from which a page rendered afterwards can follow. Returns `None`
/// if following fails.
pub(crate) async fn newest_event(site: &Arc<Site>, agent: Option<&AgentName>) -> Option<String> {
    let yard = yard_of(site, &Topic::All);
    // The feed stays alive for a while after this subscription is dropped; the page connects soon.
    let subscription = site.feeds().of(Topic::All, yard).await.ok()?;
    let feed = subscription.feed()?;
    agent.iter().for_each(|agent| feed.tell_messages_of(agent));
    Some(feed.newest_id().to_string())
}

/// The state of one stream.
struct ListenerStream {
    subscription: FeedSubscription,
    newest: watch::Receiver<u64>,
    first: VecDeque<Bytes>,
    after: u64,
    told: u64,
    /// The agent whose messages are included.
    agent: AgentName,
    stop: CancellationToken,
}

async fn begin(
    site: &Arc<Site>,
    topic: Topic,
    last: Option<EventId>,
    agent: Option<AgentName>,
) -> Result<ListenerStream, Problem> {
    let yard = yard_of(site, &topic);
    let subscription = site.feeds().of(topic, yard).await?;
    let feed = subscription.feed().map(Arc::clone);
    let whose = agent.clone();
    let start = site.workers().run(Work::Looks, move || feed.map(|feed| feed.start(last.as_ref(), whose.as_ref())));
    let busy = || Problem::new(ProblemKind::GaveUp, "too_busy", "too many requests are waiting");
    let start = start.await.map_err(|_| busy())?.ok_or_else(busy)??;
    let newest = subscription.feed().map(|feed| feed.newest()).ok_or_else(busy)?;
    let agent = agent.unwrap_or_else(|| site.actor().clone());
    let first = std::iter::once(RETRY).chain(start.first).collect();
    Ok(ListenerStream {
        subscription,
        newest,
        first,
        after: start.after,
        told: start.told,
        agent,
        stop: site.stop().clone(),
    })
}

/// Returns a function that opens the yard for a topic. It may access the disk.
fn yard_of(site: &Arc<Site>, topic: &Topic) -> impl FnOnce() -> Result<Yard, Problem> + Send + 'static {
    let site = Arc::clone(site);
    let list = match topic {
        Topic::List(list) => Some(list.clone()),
        Topic::All => None,
    };
    move || {
        let requested = Requested { list, ..Requested::default() };
        Ok(site.call(requested, site.cancel().clone())?.yard.lasting())
    }
}

/// Follows the served list from now on, even without streams, for the metrics.
pub(crate) async fn keep_following(site: &Arc<Site>) {
    let topic = Topic::List(site.list().clone());
    let yard = yard_of(site, &topic);
    site.feeds().keep(topic, yard).await;
}

impl ListenerStream {
    /// Returns what to send next, or `None` if the server ends or the client was so slow that events were dropped.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.first.pop_front() {
                return Some(bytes);
            }
            let feed: Arc<Feed> = Arc::clone(self.subscription.feed()?);
            // Reset the receiver before reading the events, so that an event in between wakes us.
            self.newest.borrow_and_update();
            match feed.after(self.after) {
                After::Behind => return None,
                After::Frames(frames) => {
                    let mut bytes = Vec::new();
                    for frame in frames {
                        self.after = frame.number;
                        if frame.is_reset {
                            self.told = frame.revision;
                        }
                        let is_for_us = frame.audience.as_ref().is_none_or(|audience| *audience == self.agent);
                        if is_for_us && !(frame.is_commit && frame.revision <= self.told) {
                            bytes.push(frame.bytes);
                        }
                    }
                    self.first.extend(bytes);
                }
                After::Nothing => {
                    drop(feed);
                    tokio::select! {
                        changed = self.newest.changed() => changed.ok()?,
                        () = self.stop.cancelled() => return None,
                        () = tokio::time::sleep(HEARTBEAT) => return Some(ALIVE),
                    }
                }
            }
        }
    }
}

//! Server-sent events: one reader per list and any number of streams. Begin with `streaming.rs`. Writers never wait
//! for a browser; one that is too slow is disconnected and resumes by the id of its last event.

mod event_id;
mod feed;
mod feeds;
mod frame;
mod ring;
mod streaming;

pub(crate) use event_id::EventId;
pub(crate) use feed::Topic;
pub(crate) use feeds::Feeds;
pub(crate) use streaming::{keep_following, newest_event, stream};

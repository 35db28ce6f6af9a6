//! What happens, as server-sent events: one reader per list and server, and any number of browsers that listen to it. No writer ever
//! waits for a browser, and one that is too slow is cut off and resumes by the id of the last event it has.

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

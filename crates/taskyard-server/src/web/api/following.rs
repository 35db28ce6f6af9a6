//! The streams of events, as operations. What they send is found in `events/`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::operation::Operation;

/// The operation that follows one list.
pub(crate) const FOLLOW_LIST: &str = "followList";
/// The operation that follows everything.
pub(crate) const FOLLOW_ALL: &str = "followAll";

/// From where on events are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Since {
    /// After this revision, where no `Last-Event-ID` says so
    since: Option<u64>,
}

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::events(FOLLOW_LIST, "/lists/{list}/events", "What happens on a list, as server-sent events")
            .takes::<Since>(),
        Operation::events(FOLLOW_ALL, "/events", "What happens on all lists, as server-sent events"),
    ]
}

//! The event streams as operations. `events/` produces them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::operation::Operation;

pub(crate) const FOLLOW_LIST: &str = "followList";
pub(crate) const FOLLOW_ALL: &str = "followAll";

/// From where on events are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Since {
    /// After this revision, where no `Last-Event-ID` says so
    since: Option<u64>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::events(FOLLOW_LIST, "/lists/{list}/events", "The events of a list, as server-sent events")
            .takes::<Since>(),
        Operation::events(FOLLOW_ALL, "/events", "The events of all lists, as server-sent events"),
    ]
}

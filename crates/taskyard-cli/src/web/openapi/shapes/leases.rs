//! Leases.

use schemars::JsonSchema;

/// The right somebody has to a task.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Lease {
    task: String,
    agent: String,
    token: u64,
    taken_at: String,
    expires_at: Option<String>,
    state: String,
    pid: Option<u64>,
}

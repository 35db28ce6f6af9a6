//! Background commands.

use schemars::JsonSchema;
use serde_json::Value;

use super::access::Schema;

/// A background command.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Job {
    id: String,
    #[schemars(rename = "type")]
    type_word: String,
    status: String,
    description: String,
    start_time: String,
    end_time: Option<String>,
    exit_code: Option<i64>,
    signal: Option<i64>,
    output_file: String,
    output_offset: u64,
    notified: bool,
    task: Option<String>,
    name: Option<String>,
    command: Vec<String>,
    cwd: String,
    agent: String,
    list: String,
    last_seen: String,
    output_bytes: u64,
    max_output: u64,
    /// The host name of the machine it runs on, if that is another one
    machine: Option<String>,
}

/// Jobs.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Jobs {
    schema: Schema,
    jobs: Vec<Job>,
}

/// A job that was started.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct JobStarted {
    schema: Schema,
    job: Job,
}

/// A job that was stopped.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct JobStopped {
    schema: Schema,
    job: Job,
    stopped: bool,
}

/// A job and what it wrote.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct JobOutput {
    schema: Schema,
    job: Job,
    output: String,
    offset: u64,
    next_offset: u64,
    gap: Option<Value>,
    timed_out: Option<bool>,
}

/// Jobs that were forgotten.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct JobsTidied {
    schema: Schema,
    jobs: Vec<Job>,
    bytes: u64,
    dry_run: bool,
}

//! Background commands.

use schemars::JsonSchema;
use serde::Serialize;

use super::values::{Gap, Job};

/// Jobs.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Jobs<'a> {
    pub jobs: Vec<Job<'a>>,
}

/// A job that was started, or waited for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStarted<'a> {
    /// The job
    pub job: Job<'a>,
    /// If it was waited for, whether the waiting time ran out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// A job that was stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobStopped<'a> {
    /// The job
    pub job: Job<'a>,
    /// True
    pub stopped: bool,
}

/// A job and what it wrote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOutput<'a> {
    /// The job
    pub job: Job<'a>,
    /// Text; bytes that are not UTF-8 are replaced, but an unfinished character at the end waits while the job runs
    pub output: String,
    /// Where the text begins, in bytes
    pub offset: u64,
    /// Where the next part begins
    pub next_offset: u64,
    /// The part of the wanted output that was left out, or is only on the machine of a job that has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// If it was waited for, whether the waiting time ran out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// Jobs that were forgotten.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobsTidied<'a> {
    /// The jobs
    pub jobs: Vec<Job<'a>>,
    /// How many bytes were freed
    pub bytes: u64,
    /// Whether they are still there
    pub dry_run: bool,
}

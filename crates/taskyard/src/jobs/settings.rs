//! What is configured for jobs.

use std::time::Duration;

use taskyard_core::ClientVersion;

/// What the configuration says of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// How many bytes of output one job may keep.
    pub max_output: u64,
    /// How many bytes of output all jobs together may keep.
    pub quota: u64,
    /// How long a job is kept after it has ended.
    pub keep: Duration,
    /// The client whose form the output has.
    pub output_form: ClientVersion,
    /// How long a job that is asked to end has before it is killed.
    pub grace: Duration,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            max_output: 64 << 20,
            quota: 4 << 30,
            keep: Duration::from_secs(7 * 24 * 3600),
            output_form: ClientVersion::default(),
            grace: Duration::from_secs(5),
        }
    }
}

impl JobSettings {
    /// The smallest limit for the output of a job, in bytes: room for a beginning, a mark and an end.
    pub const SMALLEST_OUTPUT: u64 = 16 << 10;
}

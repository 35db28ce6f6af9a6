//! What the tools for jobs work with.

use std::path::PathBuf;
use std::sync::Arc;

use taskyard::notices::Notices;
use taskyard::opening::Address;
use taskyard::process::{Cancel, Workplace, wait_aside};
use taskyard_jobs::Jobs;

/// What the tools for jobs work with, for one call.
#[derive(Clone, Debug)]
pub struct JobDesk {
    /// The jobs of this machine.
    pub jobs: Jobs,
    /// What agents are told of them.
    pub notices: Arc<dyn Notices>,
    /// Whether the agent may run commands.
    pub runs_commands: bool,
    /// So many characters of output are shown at once, counted as JavaScript counts them.
    pub longest_output: usize,
    /// Where commands run.
    pub directory: PathBuf,
    /// The address of the list's store.
    pub store: Address,
    /// The client's session.
    pub session: Option<String>,
    /// The id of the call, as the client gave it.
    pub tool_use: Option<String>,
    /// Ends the wait when the call is no longer wanted.
    pub cancel: Cancel,
    /// Where the call is made, which it leaves while it waits.
    pub workplace: Option<Arc<dyn Workplace>>,
}

impl JobDesk {
    /// Waits for a job, with the place among workers free for other calls.
    pub(super) fn aside<T>(&self, wait: impl FnOnce(&Jobs) -> T) -> T {
        wait_aside(self.workplace.as_ref(), || wait(&self.jobs))
    }
}

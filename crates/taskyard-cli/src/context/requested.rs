//! What a request to a server says.

use std::fmt;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Task, TaskId};
use taskyard::machine::Recording;

/// What a request says that a command would be told by flags.
#[derive(Debug)]
pub(crate) struct Requested {
    /// The list; none where it is the server's.
    pub(crate) list: Option<ListId>,
    /// The agent that acts; none where it is the user who runs the server.
    pub(crate) agent: Option<AgentName>,
    /// Whether a person acts, in a browser.
    pub(crate) is_browser: bool,
    /// What `-` stands for; none where it is a text like any other.
    pub(crate) input: Option<Vec<u8>>,
    /// Whether the list's name keeps the directory that it gets. What only looks must not fill the machine's database with names.
    pub(crate) recording: Recording,
}

impl Default for Requested {
    fn default() -> Self {
        Self { list: None, agent: None, is_browser: false, input: None, recording: Recording::Nothing }
    }
}

/// How a task has to be for a request to change something.
#[derive(Clone)]
pub(crate) struct ExpectedTask {
    pub(crate) task: TaskId,
    pub(crate) is_met: Arc<dyn Fn(&Task) -> bool + Send + Sync>,
}

impl ExpectedTask {
    /// Returns the yard whose changes are made only if it is so.
    pub(crate) fn on(&self, yard: &Yard) -> Yard {
        let is_met = Arc::clone(&self.is_met);
        yard.expecting(self.task.clone(), move |task| is_met(task))
    }
}

impl fmt::Debug for ExpectedTask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ExpectedTask").field("task", &self.task).finish_non_exhaustive()
    }
}

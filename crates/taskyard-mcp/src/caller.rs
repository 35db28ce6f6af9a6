//! Who makes a call.

use taskyard::core::AgentName;
use taskyard::operations::Resuming;

/// Who makes a call.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The agent.
    pub(crate) agent: AgentName,
    /// Whose todo list is meant: in a session of the client a caller without a name is the session itself.
    pub(crate) todos_of: String,
    /// The id the call carries.
    pub(crate) call: Option<String>,
    /// The same, where the client gave it and the call does not say which agent makes it: its transcripts tell which of its agents has made
    /// the call.
    pub(crate) clients_call: Option<String>,
    /// Whether the agent is named after a session over HTTP, and no agent can call under its name when that has ended.
    pub(crate) is_of_session: bool,
    /// Which tasks of its own the agent is given again when it asks for the next one.
    pub(crate) resuming: Resuming,
}

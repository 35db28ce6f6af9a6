//! What a request to a server says.

use taskyard::core::{AgentName, ListId};

/// What a request says that a command would be told by flags.
#[derive(Debug, Default)]
pub(crate) struct Requested {
    /// The list; none where it is the server's.
    pub(crate) list: Option<ListId>,
    /// The agent that acts; none where it is the user who runs the server.
    pub(crate) agent: Option<AgentName>,
    /// What `-` stands for; none where it is a text like any other.
    pub(crate) input: Option<Vec<u8>>,
}

//! Where things are on this machine.

use std::path::PathBuf;

use taskyard_core::{AgentName, Rules};

/// Where things are on this machine, and the rules in force there. The program that reads flags and the environment
/// fills it in.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The client's directory, `~/.claude` say.
    pub client: Option<PathBuf>,
    /// Our own data directory.
    pub data: Option<PathBuf>,
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// The client's session, where we are in one.
    pub session: Option<String>,
    /// The agent that the client's own team environment says acts.
    pub client_teammate: Option<AgentName>,
    /// The rules in force.
    pub rules: Rules,
}

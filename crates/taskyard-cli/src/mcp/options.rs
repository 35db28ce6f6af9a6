//! What a server offers, and how.

use taskyard::core::rules::hooks::gate::System;
use taskyard::core::tools::ToolSet;

/// What a server offers, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Which tools are listed.
    pub(crate) tools: ToolSet,
    /// Which of the client's two systems is on.
    pub(crate) system: System,
    /// Whether answers carry their structure besides their text.
    pub(crate) structured: bool,
    /// What the leases of claims live by.
    pub(crate) leases: Leases,
    /// Whether tools may run commands.
    pub(crate) runs_commands: bool,
}

/// What the leases of claims live by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leases {
    /// As long as this process, and a grace: the connection is its standard input and output.
    Connection,
    /// For a time, begun anew by every call of the agent.
    Time,
}

//! What a server offers, and how.

use taskyard::core::rules::hooks::gate::System;
use taskyard::core::tools::ToolSet;

/// What a server offers, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which tools are listed.
    pub tools: ToolSet,
    /// Which of the client's two systems is on.
    pub system: System,
    /// Whether answers carry their structure besides their text.
    pub structured: bool,
    /// What the leases of claims live by.
    pub leases: Leases,
    /// Whether tools may run commands.
    pub runs_commands: bool,
}

impl Default for Options {
    /// Offers the tools that every agent needs, for tasks, to one client over a pipe, and runs no commands.
    fn default() -> Self {
        Self {
            tools: ToolSet::Core,
            system: System::Tasks,
            structured: false,
            leases: Leases::Connection,
            runs_commands: false,
        }
    }
}

/// What the leases of claims live by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leases {
    /// As long as this process, and a grace: the connection is its standard input and output.
    Connection,
    /// For a time, begun anew by every call of the agent.
    Time,
}

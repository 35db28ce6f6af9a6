//! Agents and the processes they run in.

use std::fmt;

/// The name of an agent or person, as used in `owner` and in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(String);

/// Why text is not a valid agent name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAgentName {
    /// The text is blank.
    #[error("an agent name cannot be blank")]
    Blank,
}

impl AgentName {
    /// Creates a name. Fails if the text is blank.
    pub fn new(name: impl Into<String>) -> Result<Self, BadAgentName> {
        let name = name.into();
        if name.trim().is_empty() {
            return Err(BadAgentName::Blank);
        }
        Ok(Self(name))
    }

    /// Returns the actor that the journal uses for changes made by other programs.
    pub fn elsewhere() -> Self {
        Self("elsewhere".to_owned())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Identifies a process uniquely: process ids are reused, and machines and containers number their processes
/// independently.
///
/// Older releases recorded neither machine nor PID namespace; both are empty then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessMark {
    /// The machine: its machine id, followed by a slash and the id of its data directory, if it has one. Machines
    /// cloned from one image share the machine id. Empty if neither is known.
    pub machine: String,
    /// The PID namespace of `pid`, as the system names it; empty if the system has only one or does not report it.
    pub pid_space: String,
    /// The boot during which the process runs; [`UNKNOWN_BOOT`] if the system does not report it.
    pub boot: String,
    /// The process id within its PID namespace.
    pub pid: u32,
    /// When it started, in the system's own unit since boot; 0 if the system does not report it.
    pub started: u64,
}

/// The placeholder for an unknown boot.
pub const UNKNOWN_BOOT: &str = "unknown";

impl ProcessMark {
    /// Returns whether the boot is known.
    pub fn has_boot(&self) -> bool {
        is_known_boot(&self.boot)
    }
}

/// Returns whether two names denote different machines. A part that one of them lacks, as in older releases, does not
/// count.
pub(crate) fn is_other_machine(one: &str, other: &str) -> bool {
    let differ = |one: &str, other: &str| !one.is_empty() && !other.is_empty() && one != other;
    let ((one_id, one_data), (other_id, other_data)) = (parts(one), parts(other));
    differ(one_id, other_id) || differ(one_data, other_data)
}

/// Returns whether the name of a machine includes the id of its data directory.
pub(crate) fn names_data_directory(machine: &str) -> bool {
    !parts(machine).1.is_empty()
}

/// Splits a machine name into its two parts; the second is empty if there is none.
fn parts(machine: &str) -> (&str, &str) {
    machine.split_once('/').unwrap_or((machine, ""))
}

/// Returns whether a text identifies a boot.
pub(crate) fn is_known_boot(boot: &str) -> bool {
    !boot.is_empty() && boot != UNKNOWN_BOOT
}

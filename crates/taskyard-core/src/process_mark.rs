//! One process, told from all others there are or were.

/// One process of one run of one machine. Process ids are used again, and machines and containers number their processes apart;
/// with all of this a process is told from every other.
///
/// Older versions wrote down neither machine nor pid space; there both are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessMark {
    /// The machine it runs on: its machine id, followed by a slash and the id of its data directory, if it has one. Machines made from one
    /// image share the first. Empty where neither is known.
    pub machine: String,
    /// The pid namespace its id belongs to, as the system names it; empty where the system has one only, or does not tell.
    pub pid_space: String,
    /// The run of the machine it belongs to; [`UNKNOWN_BOOT`] where the system does not tell.
    pub boot: String,
    /// Its process id, as its pid namespace numbers it.
    pub pid: u32,
    /// When it started, in the system's own unit since boot; 0 where the system does not tell.
    pub started: u64,
}

/// What stands for the run of a machine that does not name its runs.
pub const UNKNOWN_BOOT: &str = "unknown";

impl ProcessMark {
    /// Tells whether the run of the machine is known.
    pub fn has_boot(&self) -> bool {
        is_known_boot(&self.boot)
    }
}

/// Tells whether two names of machines are those of two. What one of them leaves open, as older releases did, tells nothing.
pub(crate) fn is_other_machine(one: &str, other: &str) -> bool {
    let differ = |one: &str, other: &str| !one.is_empty() && !other.is_empty() && one != other;
    let ((one_id, one_data), (other_id, other_data)) = (parts(one), parts(other));
    differ(one_id, other_id) || differ(one_data, other_data)
}

/// Tells whether the name of a machine holds the id of its data directory.
pub(crate) fn names_data_directory(machine: &str) -> bool {
    !parts(machine).1.is_empty()
}

/// Returns the two parts of a machine's name; the second is empty if there is none.
fn parts(machine: &str) -> (&str, &str) {
    machine.split_once('/').unwrap_or((machine, ""))
}

/// Tells whether something is the name of a run of a machine.
pub(crate) fn is_known_boot(boot: &str) -> bool {
    !boot.is_empty() && boot != UNKNOWN_BOOT
}

//! One process, told from all others there are or were.

/// One process of one run of one machine. Process ids are used again, and machines and containers number their processes apart;
/// with all of this a process is told from every other.
///
/// Older versions wrote down neither machine nor pid space; there both are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessMark {
    /// The machine it runs on, by its machine id; empty where that is not known.
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

/// Tells whether something is the name of a run of a machine.
pub(crate) fn is_known_boot(boot: &str) -> bool {
    !boot.is_empty() && boot != UNKNOWN_BOOT
}

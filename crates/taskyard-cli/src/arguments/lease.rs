//! What a write brings against leases.

use clap::Args;
use taskyard::Yard;
use taskyard::core::Token;

/// The flags of writes on a task that another agent may be working on.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LeaseFlags {
    /// The token of the lease on the task; an old one is refused
    #[arg(long, value_name = "N")]
    pub(crate) token: Option<u64>,

    /// Overrule the lease of the agent that works on it
    #[arg(long)]
    pub(crate) force: bool,
}

impl LeaseFlags {
    /// Returns the yard whose writes bring what was given.
    pub(crate) fn on(self, yard: Yard) -> Yard {
        match (self.force, self.token) {
            (true, _) => yard.overruling(),
            (false, Some(token)) => yard.proving(Token(token)),
            (false, None) => yard,
        }
    }
}

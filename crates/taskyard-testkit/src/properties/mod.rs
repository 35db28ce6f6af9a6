//! Random sequences of operations, and what must hold after each of them on every store.

mod invariants;
mod lease_acting;
mod lease_steps;
mod leasing;
mod playing;
mod steps;

pub use leasing::{Outside, leases_keep_their_promises};
pub use playing::random_operations_keep_the_invariants;

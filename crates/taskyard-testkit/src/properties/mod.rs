//! Random sequences of operations, and what must hold after each of them on every store.

mod grounds;
mod invariants;
mod lease_acting;
mod lease_player;
mod lease_standing;
mod lease_steps;
mod leasing;
mod missing;
mod overwriting;
mod playing;
mod steps;

pub use lease_player::Outside;
pub use leasing::leases_keep_their_promises;
pub use missing::{Removable, Removal, RemoveOutside, what_is_missing_is_named};
pub use overwriting::{Terrain, nothing_new_replaces_what_is_there};
pub use playing::random_operations_keep_the_invariants;

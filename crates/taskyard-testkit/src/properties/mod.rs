//! Random sequences of operations, and what must hold after each of them on every store. Begin with `playing.rs`.

mod grounds;
mod lease_model;
mod lease_properties;
mod never_lost;
mod playing;

pub use lease_model::Outside;
pub use lease_properties::leases_keep_their_promises;
pub use never_lost::{
    Removable, Removal, RemoveOutside, Terrain, nothing_new_replaces_what_is_there, what_is_missing_is_named,
};
pub use playing::random_operations_keep_the_invariants;

//! Random sequences of operations, and what must hold after each of them on every store.

mod invariants;
mod playing;
mod steps;

pub use playing::random_operations_keep_the_invariants;

//! Which tasks can start, and which agent may take which. Begin with `claiming.rs`; `readiness.rs` ranks the tasks.

pub mod claiming;
pub mod readiness;

//! What hooks may forbid, and which of the client's systems is on.

pub mod gate;
pub mod hooking;

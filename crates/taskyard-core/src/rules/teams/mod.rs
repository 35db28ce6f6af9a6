//! Teams: which seat a caller has, and when a message or notice is acknowledged. Begin with `membership.rs`.

pub mod mailing;
pub mod membership;

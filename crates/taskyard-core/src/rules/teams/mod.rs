//! Teams: membership and messages. Begin with `membership.rs`.

pub mod mailing;
pub mod membership;

//! Who gets which task next.

pub mod assignment;
pub mod attempts;
pub mod briefing;
pub mod claiming;
pub mod readiness;

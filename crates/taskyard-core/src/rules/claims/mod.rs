//! Which agent gets which task next. Begin with `claiming.rs`.

pub mod claiming;
pub mod readiness;

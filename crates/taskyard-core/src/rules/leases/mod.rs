//! Leases on tasks and jobs, and whether their holder is alive. Begin with `leasing.rs`.

pub mod leasing;
pub mod liveness;

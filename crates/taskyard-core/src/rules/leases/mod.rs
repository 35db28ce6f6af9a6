//! For how long somebody has something, and whether the holder lives.

pub mod expiry;
pub mod fate;
pub mod job_fate;
pub mod leasing;
pub mod liveness;

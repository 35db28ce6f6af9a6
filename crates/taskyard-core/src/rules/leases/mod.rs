//! For how long an agent holds a task or a job, and whether the holder lives.

pub mod expiry;
pub mod fate;
pub mod job_fate;
pub mod leasing;
pub mod liveness;

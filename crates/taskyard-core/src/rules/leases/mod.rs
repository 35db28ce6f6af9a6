//! When a lease ends, and whether the process that holds it is alive. Begin with `leasing.rs`. The clocks and the process
//! table are passed in.

pub mod leasing;
pub mod liveness;

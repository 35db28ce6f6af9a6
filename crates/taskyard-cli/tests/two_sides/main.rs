//! Two sides that share a data directory and cannot see each other's processes: two containers, two machines. No agent takes what a living
//! one of the other side holds; what a dead one held comes back, on its own side at once, on the other when its signs of life or its time
//! run out. And servers that are killed or suspended on one side.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod jobs;
mod leases;
mod seats;
mod servers;
mod side;

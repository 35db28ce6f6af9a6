//! Two sides that share a data directory or a database and cannot see each other's processes: two containers, two machines, two machines
//! made from one image. No agent takes what a living one of the other side holds; what a dead one held comes back, on its own side at once,
//! on the other when its signs of life or its time run out. And servers that are killed or suspended on one side.

mod fleet;
mod fleet_jobs;
mod jobs;
mod leases;
mod seats;
mod servers;
mod side;

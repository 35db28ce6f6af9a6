//! Real PostgreSQL servers for tests, from the packages of the system, and a pooler in front of them. Begin with
//! `cluster.rs`.

mod cluster;
mod pooler;

pub use cluster::{Cluster, SharedPostgres, postgres_program};
pub use pooler::{CountingProxy, Pooler};

//! Real PostgreSQL servers for tests, from the packages of the system.

mod cluster;
mod pooler;

pub use cluster::{Cluster, SharedPostgres, postgres_program};
pub use pooler::{CountingProxy, Pooler};

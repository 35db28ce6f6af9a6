//! Real PostgreSQL servers for tests, from the packages of the system.

mod cluster;
mod counting;
mod pooler;
mod programs;
mod shared;

pub use cluster::Cluster;
pub use counting::CountingProxy;
pub use pooler::Pooler;
pub use programs::postgres_program;
pub use shared::SharedPostgres;

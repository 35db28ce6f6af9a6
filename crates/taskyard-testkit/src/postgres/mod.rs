//! Real PostgreSQL servers for tests, from the packages of the system.

mod cluster;
mod programs;
mod shared;

pub use cluster::Cluster;
pub use programs::postgres_program;
pub use shared::SharedPostgres;

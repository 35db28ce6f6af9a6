//! Taskyard on PostgreSQL: lists, teams, messages, jobs, notices and todo lists for agents on many machines.
//!
//! [`PostgresOpener`] opens `postgres://` addresses for [`taskyard::open`]; everything else implements traits of
//! `taskyard`. A list is a row, and a writer locks that row; the list's journal is in the table `changes`.
//! Transactions use no session state, so connections may go through a pooler. `docs/design/postgres.md` explains the
//! design.

mod administration;
mod connecting;
mod database;
mod heartbeats;
mod jobs_and_notices;
mod listening;
mod one_call;
mod opener;
mod schema;
mod seldom;
mod server_clock;
mod settings;
mod shared_world;
mod store;
mod teams;
mod versions;

pub use administration::{
    Administration, AdministrationError, BlockedSession, ConnectionCount, DatabaseProblem, DatabaseStatus, ListRight,
    Replica, ReplicaLag, RoleLists, TableVersions, TablesStatus,
};
pub use opener::PostgresOpener;
pub use settings::{BadAddress, Surroundings};
pub use store::PostgresStore;

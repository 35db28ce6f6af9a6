//! Taskyard on PostgreSQL: lists, teams, messages, jobs, notices and todo lists for agents on many machines.
//!
//! [`PostgresOpener`] opens `postgres://` addresses for [`taskyard::open`]; the rest of this crate is behind the traits of `taskyard`. A
//! list is a row, and a writer locks that row; its journal is the table `changes`. Everything that is asked is sent in transactions without
//! any state of the session, so that a pooler may stand in between. Why it is done so: `docs/design/postgres.md`.

mod administration;
mod connecting;
mod database;
mod epoch;
mod heartbeats;
mod jobs;
mod listening;
mod notices;
mod notification;
mod one_call;
mod opener;
mod schema;
mod seldom;
mod server_clock;
mod settings;
mod shared_world;
mod store;
mod teams;
mod todos;
mod versions;

pub use administration::{
    Administration, AdministrationError, BlockedSession, ConnectionCount, DatabaseProblem, DatabaseStatus, ListRight,
    Replica, ReplicaLag, RoleLists, TableVersions, TablesStatus,
};
pub use opener::PostgresOpener;
pub use settings::{BadAddress, Surroundings};
pub use store::PostgresStore;

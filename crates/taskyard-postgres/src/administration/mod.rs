//! Administration of a database: creating and upgrading the tables, granting roles access, and examining the
//! database's state. Begin with [`Administration`] in `roles.rs`.

mod database_status;
mod roles;

pub use database_status::{
    BlockedSession, ConnectionCount, DatabaseProblem, DatabaseStatus, Replica, ReplicaLag, TablesStatus,
};
pub use roles::{Administration, AdministrationError, ListRight, RoleLists, TableVersions};

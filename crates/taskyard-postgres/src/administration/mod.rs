//! What the administrator of a database does: makes and upgrades the tables, lets roles in, and looks how the database is.
//!
//! Begin with `administering.rs`. What a role gets is `roles.rs`; what `status.rs` finds is judged in `problems.rs`.

mod administering;
mod problems;
mod roles;
mod status;

pub use administering::{Administration, AdministrationError, TableVersions};
pub use problems::DatabaseProblem;
pub use roles::{ListRight, RoleLists};
pub use status::{BlockedSession, ConnectionCount, DatabaseStatus, Replica, ReplicaLag, TablesStatus};

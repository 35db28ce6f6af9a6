//! The store of lists on PostgreSQL. Begin with `postgres_store.rs`; `writer.rs` locks a list, `committing.rs`
//! commits to it and `watching.rs` reads and follows it.

mod catching_up;
mod change_rows;
mod commit_notice;
mod committing;
mod history;
mod known_list;
mod lease_rows;
mod list_copies;
mod new_commits;
mod on_demand;
mod postgres_store;
mod watching;
mod writer;

pub(crate) use change_rows::storable;
pub(crate) use lease_rows::{holder_from_json, holder_to_json};
pub use postgres_store::PostgresStore;
pub(crate) use writer::{Waiting, making};

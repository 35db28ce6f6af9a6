//! Lists on PostgreSQL.

mod call;
mod catching_up;
mod changes;
mod commit_notice;
mod committing;
mod copying;
mod examining;
mod history;
mod images;
mod known_list;
mod lease_rows;
mod moving;
mod on_demand;
mod postgres_store;
mod reading;
mod recent_commits;
mod thinning;
mod ties;
mod turn;
mod unconfirmed;
mod watching;
mod writer;
mod writer_contract;
mod writers_queue;

pub(crate) use changes::storable;
pub(crate) use lease_rows::{holder_from_json, holder_to_json};
pub use postgres_store::PostgresStore;
pub(crate) use writer::{Waiting, making};

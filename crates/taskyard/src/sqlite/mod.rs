//! Opens our SQLite databases: private, with a write-ahead log, upgraded to the current format, and waiting for other
//! processes. It does not define tables or repair damage; both are up to the owner of each database. Begin reading with
//! `connection.rs`.

mod at_rest;
mod connection;
mod copying;
mod database_error;
mod formats;

pub(crate) use at_rest::{AtRest, LARGEST};
pub(crate) use connection::{Alone, Database, Schema, Table, beside};
pub use database_error::DatabaseError;

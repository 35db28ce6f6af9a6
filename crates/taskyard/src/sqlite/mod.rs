//! The one way to open a SQLite database of ours: private, with a write-ahead log, in the format of today, and waiting for other processes.
//!
//! What tables there are is the business of the owner of the database, and so is what is wrong with one that is
//! damaged.

mod alone;
mod copying;
mod database;
mod error;
mod formats;
mod in_memory;
mod schema;
mod unchanging;

pub(crate) use alone::Alone;
pub(crate) use database::{Database, beside};
pub use error::DatabaseError;
pub(crate) use schema::{Schema, Table};

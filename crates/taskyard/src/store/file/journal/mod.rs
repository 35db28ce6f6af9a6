//! Our memory of one list: a SQLite database with its journal, and the last known state of every file.
//!
//! The database says what happened; it never decides what may. It is specified in `docs/formats/journal.md`.

mod database;
mod entries;
mod known;
mod leases;
mod moves;
mod stuck;

pub(super) use database::Journal;
pub(super) use entries::{NewEntry, Standing, StoredEntry};
pub(super) use known::{Known, KnownTask};
pub(super) use moves::Move;

//! The tables of a yard: making them, and bringing them to the newest version.

mod migrating;
mod name;

pub(crate) use migrating::{VERSION, migrate};
pub(crate) use name::SchemaName;

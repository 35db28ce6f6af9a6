//! What the client's files do not remember of teams, in `<data>/teams.sqlite`.

mod database;
mod files;
mod letters;
mod schema;
mod seats;

pub(super) use database::Memory;
pub(super) use letters::SentRow;

//! What the client's files do not remember of teams, in `<data>/teams.sqlite`.

mod copying;
mod database;
mod files;
mod letters;
mod schema;
mod seats;

pub(crate) use copying::{MovedTeam, copy_team_memory, take_team_memory};
pub(super) use database::Memory;
pub(super) use letters::SentRow;

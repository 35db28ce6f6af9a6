//! Teams in the client's files: a file per team, and an inbox per member; begin at `file_teams.rs`. Seats, deliveries,
//! acknowledgements and plans, which the client does not keep, are in a database of ours (`team_memory.rs`). The files
//! are described in `docs/formats/teams.md`.

mod file_teams;
mod inboxes;
mod mending_teams;
mod team_file;
mod team_files;
mod team_memory;

pub use file_teams::{FileTeams, FileTeamsOptions};
pub use inboxes::{count_old_letters, forget_old_letters};
pub(crate) use team_memory::{MovedTeam, copy_team_memory, take_team_memory};

//! Teams in the client's own files: a file for each team, and an inbox for each member.
//!
//! What the client would forget lives in a database of ours (`memory/`): who has which seat and what it lives with, which
//! messages were shown and acknowledged, and how far plans came. The files are described in `docs/formats/teams.md`.

mod emptied;
mod inbox;
mod known_whole;
mod lead_mail;
mod mailboxes;
mod memory;
mod mending;
mod old_letters;
mod roster;
mod seats;
mod store;
mod team_file;
mod team_paths;
mod watching;

pub(crate) use memory::{MovedTeam, copy_team_memory, take_team_memory};
pub use old_letters::{count_old_letters, forget_old_letters};
pub use store::{FileTeams, FileTeamsOptions};

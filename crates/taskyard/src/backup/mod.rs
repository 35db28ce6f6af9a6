//! Everything of a store in one place, and back: lists with their journals, teams, and what this machine remembers.
//!
//! [`back_up`] writes a folder or an archive, whole or not at all; [`BackupSource`] reads one that is whole, and [`bring_back`] returns what
//! is in it without taking the place of anything. [`move_list`] carries one list to another store in the same form. What is in a backup is `docs/formats/backup.md`, why it is done so
//! `docs/design/backup.md`. Nothing here decides what a task means.

mod archive;
mod error;
mod keeper;
mod manifest;
mod merging;
mod moving;
mod placing;
mod returning;
mod source;
mod sums;
mod taking;
mod team_folders;
mod writer;

pub use error::BackupError;
pub(crate) use manifest::Dialect;
pub use manifest::{BackedUpList, BackedUpTeam, Manifest};
pub use moving::{MoveEnd, MoveList, MovedList, look_at_move, move_list};
pub use returning::{BringBack, BroughtBack, ListBroughtBack, Wish, bring_back, look_at_backup};
pub use source::BackupSource;
pub use taking::{BackUp, BackedUp, back_up};
pub use writer::Overwriting;

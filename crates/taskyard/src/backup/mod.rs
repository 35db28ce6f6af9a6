//! Backups of a store with its lists, journals, teams and this machine's records. Begin with `taking_backup.rs`.
//!
//! [`back_up`] writes a folder or an archive, [`BackupSource`] verifies and reads one, and [`bring_back`] restores from
//! it without overwriting anything. [`move_list`] moves a list to another store in the same form. See
//! `docs/formats/backup.md` and `docs/design/backup.md`.

mod backup_contents;
#[cfg(feature = "teams")]
pub(crate) mod backup_error;
mod manifest;
mod moving_stores;
mod restoring_backup;
mod taking_backup;

pub use backup_contents::BackupSource;
pub use backup_error::BackupError;
pub(crate) use manifest::Dialect;
pub use manifest::{BackedUpList, BackedUpTeam, Manifest};
pub use moving_stores::{MoveEnd, MoveList, MovedList, look_at_move, move_list};
pub use restoring_backup::{BringBack, BroughtBack, ListBroughtBack, Wish, bring_back, look_at_backup};
pub use taking_backup::{BackUp, BackedUp, Overwriting, back_up};

//! What is closed to other users: everything under the data directory, from its first moment, whatever the umask.
//!
//! Directories are 0700 and files 0600. What an older version left open is tightened when it is met. This is the only
//! module that makes files and directories of ours; the client's own files are not made here and have the modes the client
//! gives them. What is decided and why: `docs/design/privacy.md`.

mod data_directory;
mod database;
mod directory;
mod error;
mod file;
mod owner;
mod tightening;

pub use data_directory::{make_data_directory, secure_data_directory};
pub(crate) use database::{has_database, prepare_database};
pub use directory::make_directory;
pub use error::NotPrivate;
pub(crate) use file::open;
pub use file::{create, create_new, open_existing, open_to_read};
pub use owner::is_ours_or_roots;

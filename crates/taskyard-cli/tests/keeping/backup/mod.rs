//! Backups made while others write, killed, damaged, on a full disk, and brought back: through the binary.
//!
//! Every step is killed at, and more backups are made while others write, with
//! `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test keeping backup::`.

mod copying;
mod damage;
mod dialects;
mod disk;
mod killing;
mod moving;
mod one_moment;
mod returning;
mod vault;

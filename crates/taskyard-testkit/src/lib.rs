//! What the tests of every crate share.

mod home;
mod listing;
mod random;
mod rivals;
mod scale;

pub use home::{Home, Ran};
pub use listing::{Tasks, is_consistent_journal, leftovers, read_tasks, rewrite_in_place, write_in_place};
pub use random::Random;
pub use rivals::{Rival, install_rivals};
pub use scale::Scale;

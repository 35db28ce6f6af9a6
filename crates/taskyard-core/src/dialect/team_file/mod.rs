//! The client's file of a team, `config.json`, specified in `docs/formats/teams.md`.
//!
//! Reading and writing are pure functions over bytes. A change keeps every key it does not know, and the order of all.

mod changing;
mod creating;
mod reading;
mod salvaging;

pub use changing::{with_member, without_member};
pub use creating::create;
pub use reading::{BadTeamFile, LARGEST, read};
pub use salvaging::salvage;

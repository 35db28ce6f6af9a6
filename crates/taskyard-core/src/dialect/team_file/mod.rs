//! The client's file of a team, `config.json`, specified in `docs/formats/teams.md`.
//!
//! Reading and writing are pure functions over bytes. A change keeps every key it does not know, and the order of all.

mod changing;
mod creating;
mod reading;
mod salvaging;

pub use changing::{with_member, without_member};
pub use creating::create;
pub use reading::{BadTeamFile, read};
pub use salvaging::salvage;

/// What the client writes for a member that has no window of its own; it is what it was seen to accept.
const IN_PROCESS: &str = "in-process";

/// The largest file of a team we read or write.
pub const LARGEST: u64 = 16 * 1024 * 1024;

//! What a server needs that answers by calling operations, which block: threads for a limited number of calls, and the answers to calls
//! that come twice. The tools and the JSON API of `taskyard serve` are both served with it.

mod repeats;
mod workers;

pub use repeats::{Begun, Recorder, Repeats, Repetition};
pub use workers::{CallError, MANY_FILES, Seat, Work, Workers, open_files, spawn};

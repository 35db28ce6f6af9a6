//! Tool calls: parses the input, performs one operation and turns its result into the tool's answer. Every interface
//! that offers tools uses this module, which knows nothing of transports. Begin with `toolbox.rs`.

mod dialect_calls;
mod job_calls;
mod shared_connection;
mod task_calls;
mod team_calls;
mod toolbox;
mod transcripts;

pub use toolbox::{ClaimedFor, JobDesk, LastListing, Rights, Toolbox, failed};
pub use transcripts::{SharedConnection, Transcripts, names_given_in};

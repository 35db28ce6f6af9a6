//! Calls of tools: an input is read, one operation is called, and what came of it becomes the tool's answer. Every door that
//! offers tools comes through here; how calls travel is not known here.

mod claimed_for;
mod claims;
mod dialects;
mod failing;
mod job_desk;
mod jobs;
mod last_listing;
mod messages;
mod shared_call;
mod shared_connection;
mod tasks;
mod teams;
mod toolbox;
mod transcripts;

pub use claimed_for::ClaimedFor;
pub use failing::failed;
pub use job_desk::JobDesk;
pub use last_listing::LastListing;
pub use shared_call::SharedConnection;
pub use toolbox::{Rights, Toolbox};
pub use transcripts::{Transcripts, names_given_in};

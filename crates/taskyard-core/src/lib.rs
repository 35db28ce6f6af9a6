//! The nouns and rules of Taskyard.
//!
//! Everything here is pure: a function's answer depends on its arguments alone. There are no files, no clock, no
//! environment and no threads in this crate (its `clippy.toml` refuses them). What was read comes in, a decision goes
//! out; the `taskyard` crate does the reading and the writing.
//!
//! ```
//! use taskyard_core::dialect::native;
//! use taskyard_core::{Rules, Status, TaskId};
//!
//! let text = br#"{"id":"7","subject":"Write the parser","description":"","status":"pending","blocks":[],"blockedBy":[]}"#;
//! let task = native::read(&TaskId::number(7), text)?;
//! assert_eq!(task.status, Status::Pending);
//! # Ok::<(), native::Unreadable>(())
//! ```

pub mod answers;
pub mod dialect;
pub mod forms;
pub mod json_text;
pub mod live;
pub mod packing;
pub mod problem;
pub mod render;
pub mod rules;
pub mod timing;
pub mod tools;
pub mod view;

mod agent;
mod job;
#[cfg(test)]
mod job_samples;
mod journal_entry;
mod lease;
mod list;
pub mod near_words;
mod task;
mod team;

pub use agent::{AgentName, BadAgentName, ProcessMark, UNKNOWN_BOOT};
pub use job::{
    BadJobId, CommandEnd, Gap, Job, JobEnding, JobFate, JobId, JobKind, JobOutput, JobState, JobUsage, UnknownJobKind,
};
pub use journal_entry::{
    AttemptId, Entry, Event, Image, Loss, Op, Remark, Revision, SignedRevision, TaskField, Verdict,
};
pub use lease::{Holder, Lease, Moment, Proof, Token};
pub use list::{BadListName, ClientVersion, ListId, Rules, SpecialFile, UnknownClientVersion};
pub use task::{Assignee, BadTaskId, DUE, Metadata, Priority, Status, Task, TaskId, UnknownPriority, UnknownStatus};
pub(crate) use task::{DEFER, ESTIMATE};
pub use team::{
    COLOURS, Idle, LEAD, LeadProcess, Member, Message, MessageKey, Protocol, Team, TeamName, Todo, inbox_name,
};
pub use timing::timestamp::Timestamp;

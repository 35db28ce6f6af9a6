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
pub mod near_miss;
pub mod packing;
pub mod problem;
pub mod render;
pub mod rules;
pub mod timing;
pub mod tools;
pub mod view;

mod agent;
mod assignee;
mod attempt;
mod entry;
mod image;
mod job;
mod job_id;
mod job_kind;
#[cfg(test)]
mod job_samples;
mod lease;
mod list;
mod loss;
mod message;
mod note;
mod process_mark;
mod revision;
mod ruleset;
mod special_file;
mod status;
mod task;
mod task_id;
mod task_times;
mod team;
mod timestamp;
mod todo;

pub use agent::{AgentName, BadAgentName};
pub use assignee::Assignee;
pub use attempt::AttemptId;
pub use entry::{Entry, Event, Op, Remark, SignedRevision};
pub use image::Image;
pub use job::{CommandEnd, Gap, Job, JobEnding, JobFate, JobOutput, JobState, JobUsage};
pub use job_id::{BadJobId, JobId};
pub use job_kind::{JobKind, UnknownJobKind};
pub use lease::{Holder, Lease, Moment, Proof, Token};
pub use list::{BadListName, ListId};
pub use loss::{Loss, TaskField, Verdict};
pub use message::{Idle, Message, MessageKey, Protocol};
pub use process_mark::{ProcessMark, UNKNOWN_BOOT};
pub use revision::Revision;
pub use ruleset::{ClientVersion, Rules, UnknownClientVersion};
pub use special_file::SpecialFile;
pub use status::{Status, UnknownStatus};
pub use task::{Metadata, Priority, Task, UnknownPriority};
pub use task_id::{BadTaskId, TaskId};
pub use task_times::{DEFER, DUE, ESTIMATE};
pub use team::{COLOURS, LEAD, LeadProcess, Member, Team, TeamName, inbox_name};
pub use timestamp::Timestamp;
pub use todo::Todo;

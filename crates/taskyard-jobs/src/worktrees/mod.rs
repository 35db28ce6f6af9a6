//! Git worktrees for tasks: creating, listing and removing them, and merging their branches one at a time. Begin at
//! `repository.rs`. Uncommitted changes are never touched, and no branch is deleted before its commits are in the base.
//! The design, and the effects of a kill at each step, are in `docs/design/worktrees.md`.

mod checkouts;
mod cleaning;
mod committing;
mod creating;
mod explaining;
mod git;
mod listing;
mod merging;
mod moving_base;
mod provisions;
mod queue;
mod repository;
mod taking;

pub use cleaning::{Cleaned, Kept};
pub use committing::{Message, TRAILER};
pub use explaining::Explanation;
pub use git::{CommandRunner, GitError};
pub use listing::{Listed, WorktreeCondition};
pub use merging::Method;
pub use provisions::Provisions;
pub use queue::{MergeNews, MergeOutcome, Merger, QueueError};
pub use repository::{Made, OURS, Repository};
pub use taking::WorktreeMaker;

//! Worktrees of tasks: the record kept in the task, branch names, and the merge queue. Begin with `record.rs`. Git is run
//! by `taskyard-jobs`.

pub mod briefing;
pub mod naming;
pub mod queue;
pub mod record;

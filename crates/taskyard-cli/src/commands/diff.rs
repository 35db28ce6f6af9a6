//! `taskyard diff`

use std::path::Path;

use clap::Args;
use taskyard::core::TaskId;
use taskyard::core::answers::worktrees::BranchDiff;

use super::worktrees::tree_of;
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;
use crate::repository::git_failed;

/// Show the changes on a task's branch against its base
///
/// From the commit where the branch left its base; with what is uncommitted in its worktree, if that is on this machine.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The task
    #[arg(value_name = "ID")]
    id: TaskId,

    /// Leave out uncommitted changes
    #[arg(long)]
    committed: bool,
}

impl Diff {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let task = context.task(&context.yard()?, &self.id)?;
        let tree = tree_of(&task)?;
        let repository = context.repository()?.with_base(tree.base.clone());
        let path = Path::new(&tree.path);
        let is_there = !self.committed && repository.obstacle(path, &tree.branch).map_err(git_failed)?.is_none();
        let is_colored = output.has_color() && !output.is_json();
        let diff = repository.diff(&tree.branch, is_there.then_some(path), is_colored).map_err(git_failed)?;
        if output.is_json() {
            let (branch, base) = (tree.branch.as_str(), tree.base.as_str());
            output.document(BranchDiff { task: self.id.as_str(), branch, base, path: &tree.path, diff: &diff })?;
        } else if !diff.is_empty() {
            output.bytes(diff.as_bytes())?;
            output.bytes(b"\n")?;
        }
        Ok(Exit::Done)
    }
}

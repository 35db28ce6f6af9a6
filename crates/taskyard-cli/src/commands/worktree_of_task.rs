//! Worktrees for `start` and `claim`, outside of `work`.

use std::path::Path;

use taskyard::Yard;
use taskyard::core::Task;
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard_jobs::worktrees::{QueueError, WorktreeMaker};

use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;
use crate::repository::queue_failed;

/// Gives the actor's task a worktree: its former one if that is usable, otherwise a new one. If that fails, releases
/// the task.
pub(super) fn give_worktree(yard: &Yard, task: &Task, context: &Context) -> Result<TaskWorktree, Problem> {
    let (repository, provisions) = (context.repository()?, context.provisions()?);
    let run = |line: &str, place: &Path| context.run_line(line, place);
    let maker = WorktreeMaker { repository: &repository, provisions: &provisions, run: &run, merges: false };
    let given: Result<_, QueueError> = maker.go_on_or_make(yard, task);
    match given {
        Ok(Ok(tree)) => Ok(tree),
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(error) => {
            if let Err(error) = yard.release(&task.id) {
                tracing::warn!(%error, "a task without its worktree is not released");
            }
            Err(queue_failed(error))
        }
    }
}

/// Shows the path of a worktree below its task. The task's JSON has it in the metadata.
pub(super) fn show_worktree(tree: &TaskWorktree, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() || output.is_quiet() {
        return Ok(Exit::Done);
    }
    output.line(&Line::new().with(Tone::Dim, "  worktree ").with(Tone::Plain, &tree.path))?;
    output.line(&Line::new().with(Tone::Dim, "  branch   ").with(Tone::Plain, &tree.branch))?;
    Ok(Exit::Done)
}

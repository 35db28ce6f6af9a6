//! `taskyard worktrees`

use std::path::Path;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use taskyard::core::answers::answer_values::Shape;
use taskyard::core::answers::worktrees::{
    BranchMerged, KeptWorktree, TaskInWorktree, Worktree, Worktrees, WorktreesCleaned,
};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::worktrees::record::{TaskWorktree, WorktreeState, worktree_of};
use taskyard::core::{Holder, Status, Task, TaskId};
use taskyard::liveness::own_mark;
use taskyard::operations::Claim;
use taskyard::{Outcome, Yard};
use taskyard_jobs::worktrees::{Listed, MergeNews, MergeOutcome, Merger, Message, Method, Repository};

use crate::arguments::LeaseFlags;
use crate::commands::gc;
use crate::context::Context;
use crate::displays::did;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::Output;
use crate::repository::{git_failed, queue_failed};

/// List the worktrees of tasks, merge their branches, and remove merged ones
///
/// Shows every worktree of the repository with its task, branch, age and size, how many commits it is ahead of its base and behind, and how
/// many files in it are uncommitted. How worktrees are made and merged is in docs/worktrees.md.
#[derive(Debug, Args)]
pub(crate) struct WorktreesCommand {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Remove worktrees whose branches are merged, and abandoned worktrees without changes
    ///
    /// A worktree with uncommitted files is never removed, nor is a locked one. A branch is deleted if the base
    /// contains it.
    Clean {
        /// Show what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Merge the branch of a task as it is now, without completing the task
    Merge(MergeOne),
    /// Approve a branch that is waiting for a review
    Approve {
        /// The task
        #[arg(value_name = "ID")]
        id: TaskId,
    },
    /// Return a task to the same worktree with the requested changes
    RequestChanges {
        /// The task
        #[arg(value_name = "ID")]
        id: TaskId,
        /// The requested changes, each with its location first: `src/main.rs:12: ...`
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Remove a branch from the queue; it then waits for a review
    Unqueue {
        /// The task
        #[arg(value_name = "ID")]
        id: TaskId,
    },
    /// Print the path of a task's worktree
    Path {
        /// The task
        #[arg(value_name = "ID")]
        id: TaskId,
    },
}

#[derive(Debug, Args)]
struct MergeOne {
    /// The task
    #[arg(value_name = "ID")]
    id: TaskId,

    /// Also complete the task
    #[arg(long)]
    done: bool,

    /// A shell command that must exit with 0 on the merged state
    #[arg(long, value_name = "CMD")]
    check: Option<String>,

    /// Merge it as one commit
    #[arg(long, conflicts_with = "rebase")]
    squash: bool,

    /// Replay its commits on the base
    #[arg(long)]
    rebase: bool,

    /// Merge into the branch of this remote, by pushing
    #[arg(long, value_name = "REMOTE")]
    push: Option<String>,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl WorktreesCommand {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self.action {
            None => list(context, output),
            Some(Action::Clean { dry_run }) => clean(dry_run, context, output),
            Some(Action::Merge(merge)) => merge.run(context, output),
            Some(Action::Approve { id }) => approve(&id, context, output),
            Some(Action::RequestChanges { id, text }) => request_changes(&id, &text, context, output),
            Some(Action::Unqueue { id }) => unqueue(&id, context, output),
            Some(Action::Path { id }) => {
                let tree = tree_of(&context.task(&context.yard()?, &id)?)?;
                match output.is_json() {
                    true => output.document(TaskInWorktree { task: id.as_str(), worktree: &tree })?,
                    false => output.line(&Line::plain(&tree.path))?,
                }
                Ok(Exit::Done)
            }
        }
    }
}

fn list(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let (yard, repository) = (context.yard()?, context.repository()?);
    let listed = repository.list(yard.list_id(), &tasks_of(&yard)?).map_err(git_failed)?;
    if output.is_json() {
        let worktrees = listed.iter().map(as_answer).collect();
        output.document(Worktrees { base: repository.base(), worktrees })?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        output.say(&Line::new().with(Tone::Dim, "No worktrees."))?;
        output.advise("make one with `taskyard start ID --worktree` or `taskyard work --worktree -- CMD`")?;
    }
    for one in &listed {
        let mut line = match &one.task {
            Some(task) => Line::new().with(Tone::Id, &format!("#{task} ")),
            None => Line::new().with(Tone::Dim, &format!("({}) ", one.maker)),
        };
        line.push(Tone::Plain, one.branch.as_deref().unwrap_or("(no branch)"));
        if let Some(tree) = &one.tree {
            line.push(Tone::Dim, &format!("  {}", tree.state.as_str()));
        }
        if !matches!(one.condition.as_str(), "fine" | "no_task") {
            line.push(Tone::Warning, &format!("  {}", one.condition.as_str()));
        }
        if let Some((ahead, behind)) = one.ahead_behind {
            line.push(Tone::Dim, &format!("  +{ahead} -{behind}"));
        }
        if one.uncommitted > 0 {
            line.push(Tone::Warning, &format!("  {} uncommitted", one.uncommitted));
        }
        if let Some(why) = &one.locked {
            line.push(Tone::Warning, format!("  locked {why}").trim_end());
        }
        let age = one.made.and_then(|made| SystemTime::now().duration_since(made).ok());
        let age = age.map(|age| format!("  {}", taskyard::core::timing::span_in_words(age))).unwrap_or_default();
        line.push(Tone::Dim, &format!("  {}{age}", gc::size(one.size)));
        output.line(&line)?;
        output.line(&Line::new().with(Tone::Dim, &format!("    {}", one.path.display())))?;
    }
    Ok(Exit::Done)
}

fn as_answer(listed: &Listed) -> Worktree {
    let made = listed.made.and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
    let made = made.and_then(|made| i64::try_from(made.as_millis()).ok()).map(taskyard::core::Timestamp);
    Worktree {
        path: listed.path.display().to_string(),
        branch: listed.branch.clone(),
        task: listed.task.as_ref().map(ToString::to_string),
        state: listed.tree.as_ref().map(|tree| tree.state),
        condition: listed.condition.as_str(),
        maker: listed.maker,
        made: made.map(|made| made.to_string()),
        size: listed.size,
        ahead: listed.ahead_behind.map(|(ahead, _)| ahead),
        behind: listed.ahead_behind.map(|(_, behind)| behind),
        uncommitted: listed.uncommitted as u64,
        locked: listed.locked.clone(),
    }
}

fn clean(is_dry: bool, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let (yard, repository) = (context.yard()?, context.repository()?);
    let cleaned = repository.clean(yard.list_id(), &tasks_of(&yard)?, is_dry).map_err(git_failed)?;
    let shown = |paths: &[std::path::PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    if output.is_json() {
        let kept = cleaned.kept.iter().map(|kept| (kept.path.display().to_string(), kept.why.clone()));
        output.document(WorktreesCleaned {
            removed: shown(&cleaned.removed),
            branches: cleaned.branches.clone(),
            kept: kept.map(|(path, why)| KeptWorktree { path, why }).collect(),
            dry_run: is_dry.then_some(true),
        })?;
        return Ok(Exit::Done);
    }
    let verb = if is_dry { "Would remove" } else { "Removed" };
    for path in shown(&cleaned.removed) {
        output.say(&Line::plain(&format!("{verb} {path}")))?;
    }
    for kept in &cleaned.kept {
        output.warn(&format!("`{}` stays: {}", kept.path.display(), kept.why))?;
    }
    if cleaned.removed.is_empty() && cleaned.kept.is_empty() {
        output.say(&Line::new().with(Tone::Dim, "Nothing to remove."))?;
    }
    Ok(Exit::Done)
}

impl MergeOne {
    fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let task = context.task(&yard, &self.id)?;
        let tree = tree_of(&task)?;
        let repository = context.repository()?.with_base(tree.base.clone()).with_remote(self.push.clone());
        let yard = holding(&yard, &task)?;
        let path = Path::new(&tree.path);
        if let Some(obstacle) = repository.obstacle(path, &tree.branch).map_err(git_failed)? {
            return Err(Problem::new(ProblemKind::Refused, "not_possible", obstacle));
        }
        let message = message(&yard, &task);
        let tip = self.clean_tip(&repository, &tree, &message)?;
        let method = match (self.squash, self.rebase) {
            (true, _) => Method::Squash,
            (_, true) => Method::Rebase,
            _ => Method::Merge,
        };
        let now = yard.store().now().map_err(taskyard::Error::from)?.wall;
        let (provisions, cancel) = (context.provisions()?, context.cancel());
        let run = |line: &str, place: &Path| context.run_line(line, place);
        let tell = |news: MergeNews<'_>| {
            if let MergeNews::Waiting(reason) = news {
                tracing::warn!(reason, "the merge waits");
            }
        };
        let merger = Merger {
            repository: &repository,
            method,
            provisions: &provisions,
            run: &run,
            check: self.check.as_deref(),
            tell: &tell,
            cancel,
        };
        match merger.bring(&yard, &task, tree.queued_with(&tip, now), &message).map_err(queue_failed)? {
            MergeOutcome::Merged(merged) => self.merged(&repository, &yard, &task, merged, output),
            MergeOutcome::Failed(failed, reason) => {
                yard.set_worktree(&task.id, &failed, None)?.done()?;
                let code = failed.state.as_str();
                Err(Problem::new(ProblemKind::Refused, "not_merged", reason)
                    .detail("state", code)
                    .detail("task", task.id.as_str()))
            }
            MergeOutcome::Blocked(by) => {
                yard.set_worktree(&task.id, &tree, None)?.done()?;
                let refusal =
                    taskyard::core::rules::refusal::Refusal::Blocked { task: task.id.clone(), by, through: None };
                Err(refusal.into())
            }
            MergeOutcome::Gone => {
                Err(Problem::new(ProblemKind::Refused, "not_merged", "the task now belongs to another agent"))
            }
            MergeOutcome::Stopped => Err(taskyard::Error::Cancelled.into()),
        }
    }

    fn clean_tip(&self, repository: &Repository, tree: &TaskWorktree, message: &Message) -> Result<String, Problem> {
        let path = Path::new(&tree.path);
        if !repository.is_clean(path).map_err(git_failed)? {
            let why = format!("`{}` has uncommitted changes", path.display());
            return Err(
                Problem::new(ProblemKind::Refused, "uncommitted", why).hint("commit them there, and merge again")
            );
        }
        repository.commit_leftovers(path, message).map_err(git_failed)
    }

    fn merged(
        &self,
        repository: &Repository,
        yard: &Yard,
        task: &Task,
        merged: TaskWorktree,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        if self.done {
            yard.complete_merged(&task.id, &merged, None)?.done()?;
            repository.remove_merged(&merged).map_err(git_failed)?;
        } else {
            let working = TaskWorktree { merged: merged.merged.clone(), ..merged.in_state(WorktreeState::Working) };
            yard.set_worktree(&task.id, &working, None)?.done()?;
            if let Some(commit) = &merged.merged {
                repository.catch_up(Path::new(&merged.path), commit).map_err(git_failed)?;
            }
        }
        let task = task_now(yard, &task.id)?.unwrap_or_else(|| task.clone());
        if output.is_json() {
            output.document(BranchMerged {
                task: Shape(&task),
                commit: merged.merged.as_deref(),
                base: &merged.base,
            })?;
            return Ok(Exit::Done);
        }
        let verb = if self.done { "Merged and completed" } else { "Merged" };
        let mut line = did(verb, &task);
        let commit = merged.merged.as_deref().map_or("no changes", |commit| &commit[..commit.len().min(12)]);
        line.push(Tone::Dim, &format!(" ({commit} in {})", merged.base));
        output.say(&line)?;
        Ok(Exit::Done)
    }
}

/// Returns a yard that holds the task, under its existing lease or one that lives with this process.
fn holding(yard: &Yard, task: &Task) -> Result<Yard, Problem> {
    if task.status != Status::Pending {
        return Ok(yard.clone());
    }
    let terms =
        Claim { holder: Some(Holder::Process(own_mark())), roles: vec!["reviewer".to_owned()], ..Claim::default() };
    match yard.claim(&task.id, &terms)? {
        Outcome::Done(claimed) => Ok(yard.proving(claimed.lease.token)),
        Outcome::Refused(refusal) => Err(Problem::new(ProblemKind::Refused, "not_claimed", refusal.to_string())),
    }
}

fn approve(id: &TaskId, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let yard = context.yard()?;
    let task = context.task(&yard, id)?;
    let tree = tree_of(&task)?;
    if tree.state != WorktreeState::Review {
        return Err(not_in(&task, &tree, "is not waiting for a review"));
    }
    let repository = context.repository()?.with_base(tree.base.clone());
    let path = Path::new(&tree.path);
    if let Some(obstacle) = repository.obstacle(path, &tree.branch).map_err(git_failed)? {
        return Err(Problem::new(ProblemKind::Refused, "not_possible", obstacle));
    }
    if !repository.is_clean(path).map_err(git_failed)? {
        let why = format!("`{}` has uncommitted changes", path.display());
        return Err(
            Problem::new(ProblemKind::Refused, "uncommitted", why).hint("commit them there, and approve it again")
        );
    }
    let tip = repository.commit_leftovers(path, &message(&yard, &task)).map_err(git_failed)?;
    let now = yard.store().now().map_err(taskyard::Error::from)?.wall;
    let queued = TaskWorktree { approved: true, ..tree.queued_with(&tip, now) };
    let note = format!("approved {} at {}", tree.branch, &tip[..tip.len().min(12)]);
    set(&yard, &task, &queued, Some(&note), "Approved", output)?;
    output.advise(&format!(
        "the next `taskyard work --worktree --merge` merges it; now: `taskyard worktrees merge {id} --done`"
    ))?;
    Ok(Exit::Done)
}

fn request_changes(id: &TaskId, text: &str, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let yard = context.yard()?;
    let task = context.task(&yard, id)?;
    let tree = tree_of(&task)?;
    if !matches!(tree.state, WorktreeState::Review | WorktreeState::Queued | WorktreeState::Finished) {
        return Err(not_in(&task, &tree, "is not finished"));
    }
    let again = TaskWorktree { is_continued: true, approved: false, ..tree.in_state(WorktreeState::Working) };
    if task.status == Status::Completed {
        yard.reopen(id)?.done()?;
    }
    set(&yard, &task, &again, Some(text), "Sent back", output)?;
    Ok(Exit::Done)
}

fn unqueue(id: &TaskId, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let yard = context.yard()?.overruling();
    let task = context.task(&yard, id)?;
    let tree = tree_of(&task)?;
    if !tree.state.is_in_queue() {
        return Err(not_in(&task, &tree, "is not in the queue"));
    }
    if tree.state == WorktreeState::Merging {
        return Err(not_in(&task, &tree, "is being merged right now"));
    }
    let reason = Some("removed from the queue".to_owned());
    let review = TaskWorktree { reason, approved: false, ..tree.in_state(WorktreeState::Review) };
    set(&yard, &task, &review, None, "Removed from the queue:", output)?;
    Ok(Exit::Done)
}

fn set(
    yard: &Yard,
    task: &Task,
    tree: &TaskWorktree,
    note: Option<&str>,
    verb: &str,
    output: &mut Output,
) -> Result<(), Problem> {
    let updated = match yard.set_worktree(&task.id, tree, note)? {
        Outcome::Done(updated) => updated,
        Outcome::Refused(refusal) => return Err(refusal.into()),
    };
    if output.is_json() {
        output.document(taskyard::core::answers::task_answers::Updated::from(&updated))?;
        return Ok(());
    }
    Ok(output.say(&did(verb, &updated.task))?)
}

fn not_in(task: &Task, tree: &TaskWorktree, why: &str) -> Problem {
    let message = format!("task {} {why}: its worktree is {}", task.id, tree.state.as_str());
    Problem::new(ProblemKind::Refused, "worktree_state", message).detail("state", tree.state.as_str())
}

/// Returns the worktree of a task, or the problem that it has none.
pub(super) fn tree_of(task: &Task) -> Result<TaskWorktree, Problem> {
    worktree_of(task).ok_or_else(|| {
        let message = format!("task {} has no worktree", task.id);
        Problem::new(ProblemKind::NotFound, "no_worktree", message)
            .hint(format!("make one with `taskyard start {} --worktree`", task.id))
    })
}

fn message(yard: &Yard, task: &Task) -> Message {
    Message {
        subject: task.shown_subject().into_owned(),
        list: yard.list_id().clone(),
        task: task.id.clone(),
        author: yard.actor().as_str().to_owned(),
    }
}

fn tasks_of(yard: &Yard) -> Result<Vec<Task>, Problem> {
    Ok(yard.store().read(yard.list_id()).and_then(|list| list.tasks()).map_err(taskyard::Error::from)?)
}

fn task_now(yard: &Yard, id: &TaskId) -> Result<Option<Task>, Problem> {
    let list = yard.store().read(yard.list_id()).map_err(taskyard::Error::from)?;
    Ok(list.find(id).map_err(taskyard::Error::from)?.task())
}

//! `taskyard start`, `done`, `cancel`, `reopen` and `retry`

use clap::Args;
use serde_json::Value;
use taskyard::core::Metadata;
use taskyard::core::rules::claims::claiming::ATTEMPTS;
use taskyard::core::rules::worktrees::record::TaskWorktree;
use taskyard::operations::{DEFAULT_LEASE, Move, Patch, Update};

use super::several::{is_agreed, make_move, move_these};
use super::worktree_of_task::{give_worktree, show_worktree};
use super::worktrees::tree_of;
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::displays;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Start tasks: put them in progress and become their owner
///
/// All of them in one revision, or none. You become their owner; an agent also gets a lease, as with `claim`, a person
/// at a terminal does not. A task that another agent owns is refused, unless you take it over with --force; so is a
/// task with open blockers.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Create a git worktree and a branch for the task, and print the path
    #[arg(long, conflicts_with_all = ["query", "keep_going", "dry_run"])]
    pub(crate) worktree: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Start {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        if self.worktree {
            let id = self.which.only_one().ok_or_else(|| Problem::usage("one_task", "--worktree is for one task"))?;
            // Fail before starting if there is no repository.
            context.repository()?;
            let mut updated = yard.start(id)?.done()?;
            let yard = updated.lease.as_ref().map_or_else(|| yard.clone(), |lease| yard.proving(lease.token));
            let tree = give_worktree(&yard, &updated.task, context)?;
            updated.task = context.task(&yard, id)?;
            displays::updated("Started", &updated, &yard, output)?;
            return show_worktree(&tree, output);
        }
        make_move(("Started", "Would start"), &Move::Start, &self.which, (context, &yard), output)
    }
}

/// Complete tasks, and show what can start now
///
/// All of them in one revision, or none. A task with open parts cannot be completed on its own; name its parts with it
/// to complete all in one go.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Done {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Do not ask for confirmation, however many tasks `--where` chooses
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Done {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let ids = context.ids_of(&self.which, &yard)?;
        if !self.yes && !is_agreed("Complete", (&self.which, &ids), &yard, output)? {
            return Ok(Exit::Refused);
        }
        move_these(("Done", "Would complete"), &Move::Done, (&self.which, &ids), &yard, output)
    }
}

/// Cancel tasks, so that nothing waits for them any longer
///
/// All of them in one revision, or none. A task with open parts is cancelled together with them (--with-parts). It is
/// kept as completed with `metadata.cancelled`; `taskyard reopen` reopens it.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Also cancel their open parts
    #[arg(long)]
    pub(crate) with_parts: bool,

    /// Do not ask for confirmation, however many tasks `--where` chooses
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Cancel {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let mut ids = context.ids_of(&self.which, &yard)?;
        if self.with_parts {
            ids = yard.with_open_parts(&ids)?;
        }
        if !self.yes && !is_agreed("Cancel", (&self.which, &ids), &yard, output)? {
            return Ok(Exit::Refused);
        }
        move_these(("Cancelled", "Would cancel"), &Move::Cancel, (&self.which, &ids), &yard, output)
    }
}

/// Reopen completed or cancelled tasks
///
/// All of them in one revision, or none. They lose their owners, so that anyone can claim them; with --keep-owner the
/// owner stays, under a new lease.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Reopen {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Keep the owner, who gets a new lease
    #[arg(long)]
    pub(crate) keep_owner: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Reopen {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let wanted = match self.keep_owner {
            true => Move::ReopenForOwner(context.config()?.lease().unwrap_or(DEFAULT_LEASE)),
            false => Move::Reopen,
        };
        make_move(("Reopened", "Would reopen"), &wanted, &self.which, (context, &yard), output)
    }
}

/// Let `work` retry tasks that it gave up
///
/// A task is given up when its command has failed as often as `work --retries` allows. This forgets the failed attempts.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Let the next attempt continue in the worktree of the last one
    #[arg(long = "continue")]
    pub(crate) continues: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Retry {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let mut metadata = Metadata::from_iter([(ATTEMPTS.to_owned(), Value::Null)]);
        if self.continues {
            let id = self.which.only_one().ok_or_else(|| Problem::usage("one_task", "--continue is for one task"))?;
            let tree = tree_of(&context.task(&yard, id)?)?;
            metadata.extend(TaskWorktree { is_continued: true, ..tree }.as_patch());
        }
        let update = Update { patch: Patch { metadata: Some(metadata), ..Patch::default() }, ..Update::default() };
        let verbs = ("Will be tried again:", "Would be tried again:");
        make_move(verbs, &Move::Update(Box::new(update)), &self.which, (context, &yard), output)
    }
}

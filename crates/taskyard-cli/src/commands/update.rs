//! `taskyard update`

use clap::Args;
use taskyard::core::dialect::macf::Kind;
use taskyard::core::{Status, TaskId};
use taskyard::operations::{self, Move, OwnerChange, Patch, TagChange};

use super::create::description;
use super::several::make_move;
use crate::arguments::{LeaseFlags, MetadataFlags, WhichTasks, parse_id, parse_status};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Change any field of tasks
///
/// All of them in one revision, or none. Fields you do not give stay as they are; the answer says what changed, from
/// what to what. `--tag` adds, `--untag` takes away, `--tags` sets; `--meta KEY=null` takes a key away (`--meta
/// parent=null`).
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Update {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// The title
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) subject: Option<String>,

    /// The description of the work; `-` reads it from stdin
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,

    /// The phrase shown while it is in progress
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,

    /// The state: pending, in_progress or completed
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub(crate) status: Option<Status>,

    /// Who has it
    #[arg(long, value_name = "AGENT", conflicts_with = "no_owner")]
    pub(crate) owner: Option<String>,

    /// Nobody has it any more
    #[arg(long)]
    pub(crate) no_owner: bool,

    /// Make these tasks wait for this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) add_blocks: Vec<TaskId>,

    /// Make this task wait for these
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) add_blocked_by: Vec<TaskId>,

    /// Let these tasks no longer wait for this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) remove_blocks: Vec<TaskId>,

    /// Let this task no longer wait for these
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) remove_blocked_by: Vec<TaskId>,

    /// A tag to remove; may be given several times
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub(crate) untag: Vec<String>,

    /// Replace all tags by these; an empty text removes all
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) tags: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) metadata: MetadataFlags,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Update {
    /// Returns the tasks that are to be changed, if they were given and are few, and those that the change names.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        let mut ids = self.which.named()?;
        for others in [&self.add_blocks, &self.add_blocked_by, &self.remove_blocks, &self.remove_blocked_by] {
            ids.extend(others.iter().cloned());
        }
        ids.extend(self.metadata.parent.clone());
        Some(ids)
    }

    pub(crate) fn run(mut self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let owner = if self.no_owner { Some(OwnerChange::Clear) } else { self.owner.map(OwnerChange::Set) };
        let tags = TagChange {
            set: self.tags.map(|tags| tags.into_iter().filter(|tag| !tag.is_empty()).collect()),
            add: std::mem::take(&mut self.metadata.tags),
            remove: self.untag,
        };
        let kind = self.metadata.kind.as_deref().and_then(|word| word.parse::<Kind>().ok());
        let update = operations::Update {
            patch: Patch {
                subject: self.subject,
                description: self.description.map(description).transpose()?,
                active_form: self.active_form,
                status: self.status,
                owner,
                metadata: context.metadata_of(self.metadata)?,
            },
            add_blocks: self.add_blocks,
            add_blocked_by: self.add_blocked_by,
            remove_blocks: self.remove_blocks,
            remove_blocked_by: self.remove_blocked_by,
            kind,
            tags,
            lease_for_owner: None,
        };
        if update == operations::Update::default() {
            let what = self.which.only_one().map_or_else(|| "the tasks".to_owned(), |id| format!("task {id}"));
            return Err(Problem::usage("nothing_given", format!("nothing was given to change in {what}"))
                .hint("`taskyard update --help` shows what can be changed"));
        }
        let yard = self.lease.on(context.yard()?);
        make_move(("Updated", "Would update"), &Move::Update(Box::new(update)), &self.which, (context, &yard), output)
    }
}

//! `taskyard update`

use clap::Args;
use taskyard::core::dialect::macf::Kind;
use taskyard::core::{Status, TaskId};
use taskyard::operations::{self, OwnerChange, Patch};

use super::answers;
use super::create::description;
use crate::arguments::{LeaseFlags, MetadataFlags, parse_id, parse_status};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Change any field of a task
///
/// What is not given stays as it is. `--tag` replaces all tags; `--meta KEY=null` takes a key away (`--meta tags=null`,
/// `--meta parent=null`).
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,

    /// The title
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    subject: Option<String>,

    /// What there is to do; `-` reads it from stdin
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    /// What is being done while it is in progress
    #[arg(long, value_name = "TEXT")]
    active_form: Option<String>,

    /// The state: pending, in_progress or completed
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    status: Option<Status>,

    /// Who has it
    #[arg(long, value_name = "AGENT", conflicts_with = "no_owner")]
    owner: Option<String>,

    /// Nobody has it any more
    #[arg(long)]
    no_owner: bool,

    /// Tasks that shall wait for this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    add_blocks: Vec<TaskId>,

    /// Tasks this one shall wait for
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    add_blocked_by: Vec<TaskId>,

    /// Tasks that shall no longer wait for this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    remove_blocks: Vec<TaskId>,

    /// Tasks this one shall no longer wait for
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    remove_blocked_by: Vec<TaskId>,

    #[command(flatten)]
    metadata: MetadataFlags,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Update {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let owner = if self.no_owner { Some(OwnerChange::Clear) } else { self.owner.map(OwnerChange::Set) };
        let kind = self.metadata.kind.as_deref().and_then(|word| word.parse::<Kind>().ok());
        let update = operations::Update {
            patch: Patch {
                subject: self.subject,
                description: self.description.map(description).transpose()?,
                active_form: self.active_form,
                status: self.status,
                owner,
                metadata: self.metadata.metadata(),
            },
            add_blocks: self.add_blocks,
            add_blocked_by: self.add_blocked_by,
            remove_blocks: self.remove_blocks,
            remove_blocked_by: self.remove_blocked_by,
            kind,
            lease_for_owner: None,
        };
        if update == operations::Update::default() {
            return Err(Problem::usage("nothing_given", format!("nothing was given to change in task {}", self.id))
                .hint("`taskyard update --help` shows what can be changed"));
        }
        let yard = self.lease.on(context.yard()?);
        let updated = yard.update(&self.id, update)?.done()?;
        answers::updated("Updated", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}

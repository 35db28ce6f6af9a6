//! `taskyard delete`

use clap::Args;
use serde::Serialize;
use taskyard::core::TaskId;
use taskyard::core::render::{Line, Tone, numbered};

use super::answers::{did, way_back};
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Ids, Output, Shapes};
use crate::problem::Problem;

/// Remove tasks, and the edges that lead to them
///
/// All of them in one revision; `taskyard undo` or `taskyard restore --deleted` brings them back, edges and numbers included. A task that is
/// missing, because another program removed it, counts as deleted on purpose from then on.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The tasks
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',', required = true)]
    ids: Vec<TaskId>,

    /// Their parts with them; otherwise those become parts of whatever the deleted task was a part of
    #[arg(long)]
    with_parts: bool,

    #[command(flatten)]
    lease: LeaseFlags,
}

#[derive(Serialize)]
struct Answer<'a> {
    tasks: Shapes<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifted: Option<Ids<'a>>,
    revision: u64,
}

impl Delete {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let outcome = match self.with_parts {
            true => yard.delete_with_parts(&self.ids)?,
            false => yard.delete(&self.ids)?,
        };
        let deleted = outcome.done()?;
        if output.is_json() {
            output.document(Answer {
                tasks: Shapes(&deleted.tasks),
                missing: (!deleted.missing.is_empty()).then_some(Ids(&deleted.missing)),
                lifted: (!deleted.lifted.is_empty()).then_some(Ids(&deleted.lifted)),
                revision: deleted.revision.0,
            })?;
            return Ok(Exit::Done);
        }
        for task in &deleted.tasks {
            let mut line = did("Deleted", task);
            if deleted.missing.contains(&task.id) {
                line.push(Tone::Dim, ", which was missing and no longer counts as that");
            }
            output.say(&line)?;
        }
        if !deleted.lifted.is_empty() {
            let parts = numbered(&deleted.lifted);
            output.say(&Line::new().with(Tone::Dim, &format!("  its parts now stand where it stood: {parts}")))?;
        }
        way_back(deleted.revision, output)?;
        Ok(Exit::Done)
    }
}

//! `taskyard delete`

use clap::Args;
use serde::Serialize;
use taskyard::core::TaskId;

use super::answers::{did, way_back};
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, Shapes};
use crate::problem::Problem;

/// Remove tasks, and the edges that lead to them
///
/// All of them in one revision; `taskyard undo` or `taskyard restore` brings them back, edges and numbers included.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The tasks
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',', required = true)]
    ids: Vec<TaskId>,

    #[command(flatten)]
    lease: LeaseFlags,
}

#[derive(Serialize)]
struct Answer<'a> {
    tasks: Shapes<'a>,
    revision: u64,
}

impl Delete {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let deleted = self.lease.on(context.yard()?).delete(&self.ids)?.done()?;
        if output.is_json() {
            output.document(Answer { tasks: Shapes(&deleted.tasks), revision: deleted.revision.0 })?;
            return Ok(Exit::Done);
        }
        for task in &deleted.tasks {
            output.say(&did("Deleted", task))?;
        }
        way_back(deleted.revision, output)?;
        Ok(Exit::Done)
    }
}

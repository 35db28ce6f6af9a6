//! `taskyard grant`

use clap::{Args, ValueEnum};
use taskyard::core::answers::maintenance::Granted;
use taskyard::core::answers::words;
use taskyard::core::render::{Line, Tone};
use taskyard_postgres::ListRight;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Say what a role of the database may do on a list
///
/// A role sees the lists it was granted or has created, with their tasks, history, teams and messages, and no
/// others. Only the owner of the tables grants rights. The store is a database: `--store postgres://HOST/DATABASE`.
#[derive(Debug, Args)]
pub(crate) struct Grant {
    /// The list
    #[arg(value_name = "LIST")]
    granted: String,

    /// The role; a login role, or a group that login roles are members of
    role: String,

    /// `read`: look and follow; `work`: everything that agents do
    #[arg(required_unless_present = "remove")]
    right: Option<Right>,

    /// Take the right away
    #[arg(long, conflicts_with = "right")]
    remove: bool,
}

/// What a role may do on a list.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Right {
    /// Look and follow
    Read,
    /// Everything that agents do
    Work,
}

impl Grant {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let administration = context.administration()?;
        let list = context.list_named(&self.granted)?;
        let right = self.right.filter(|_| !self.remove);
        let granted = right.map(|right| match right {
            Right::Read => ListRight::Read,
            Right::Work => ListRight::Work,
        });
        administration.grant(&list, &self.role, granted)?;
        output.consider_list_named();
        if output.is_json() {
            let right = right.map(|right| match right {
                Right::Read => words::ListRight::Read,
                Right::Work => words::ListRight::Work,
            });
            output.document(Granted { list: list.as_str(), role: &self.role, right })?;
            return Ok(Exit::Done);
        }
        let may = match right {
            Some(Right::Read) => " may read ",
            Some(Right::Work) => " may work on ",
            None => " may no longer use ",
        };
        let line = Line::plain("Role ").with(Tone::Strong, &self.role).with(Tone::Plain, may);
        output.say(&line.with(Tone::Strong, list.as_str()))?;
        Ok(Exit::Done)
    }
}

//! `taskyard use`

use std::path::Path;

use clap::Args;
use taskyard::core::answers::lists::ListUsed;
use taskyard::core::render::{Line, Tone};
use taskyard::machine::{Binding, Machine};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::{Problem, ProblemKind};

/// Bind this directory and everything below it to a list
#[derive(Debug, Args)]
pub(crate) struct Use {
    /// The list
    #[arg(value_name = "LIST", required_unless_present = "remove")]
    bound: Option<String>,

    /// Take the binding of this directory away
    #[arg(long, conflicts_with = "bound")]
    remove: bool,
}

impl Use {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let directory = context.directory()?;
        let data = places::data(context.environment())?;
        match self.bound {
            Some(name) => {
                let list = context.list_to_be(&name)?;
                Machine::open(&data)?.bind(directory, list.as_str())?;
                context.in_directory(directory.to_owned()).claim_list(output)?;
                if output.is_json() {
                    output
                        .document(ListUsed { list: Some(list.as_str()), directory: directory.display().to_string() })?;
                } else {
                    let mut line = Line::plain(&format!("{} now uses ", directory.display()));
                    line.push(Tone::Strong, list.as_str());
                    output.say(&line)?;
                    // A variable or a team may still have the last word.
                    let choice = context.choice()?;
                    if choice.list != list {
                        output.warn(&format!("here `{}` is used all the same: {}", choice.list, choice.reason))?;
                    }
                }
            }
            None => {
                let machine = Machine::look(&data)?.map(|_| Machine::open(&data)).transpose()?;
                let was_bound = machine.as_ref().map(|machine| machine.unbind(directory)).transpose()?;
                if was_bound != Some(true) {
                    let above = machine.map(|machine| machine.binding(directory)).transpose()?.flatten();
                    return Err(not_bound(directory, above));
                }
                if output.is_json() {
                    output.document(ListUsed { list: None, directory: directory.display().to_string() })?;
                } else {
                    output.say(&Line::plain(&format!("{} is bound to no list any more", directory.display())))?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn not_bound(directory: &Path, above: Option<Binding>) -> Problem {
    let problem =
        Problem::new(ProblemKind::NotFound, "not_bound", format!("`{}` is bound to no list", directory.display()));
    problem.hint(match above {
        Some(binding) => {
            format!(
                "the binding to `{}` was made in `{}`: take it away there",
                binding.list,
                binding.directory.display()
            )
        }
        None => "`taskyard where` tells which list is used, and why".to_owned(),
    })
}

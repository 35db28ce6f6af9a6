//! `taskyard use`

use clap::Args;
use serde_json::json;
use taskyard::core::ListId;
use taskyard::core::render::{Line, Tone};
use taskyard::machine::Machine;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::Problem;

/// Bind this directory, and everything below it, to a list
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
                let list = ListId::new(name)?;
                Machine::open(&data)?.bind(directory, list.as_str())?;
                if output.is_json() {
                    output.document(json!({"list": list.as_str(), "directory": directory.display().to_string()}))?;
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
                let was_bound = match Machine::look(&data)? {
                    Some(_) => Machine::open(&data)?.unbind(directory)?,
                    None => false,
                };
                if !was_bound {
                    let message = format!("`{}` is bound to no list", directory.display());
                    return Err(Problem::new(Exit::NotFound, "not_bound", message)
                        .hint("`taskyard where` tells which list is used, and why"));
                }
                if output.is_json() {
                    output.document(json!({"list": null, "directory": directory.display().to_string()}))?;
                } else {
                    output.say(&Line::plain(&format!("{} is bound to no list any more", directory.display())))?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

//! `taskyard note`

use clap::Args;
use taskyard::core::TaskId;
use taskyard::core::answers::tasks::Noted;
use taskyard::core::render::{Line, Tone};
use taskyard::operations::TaskMessage;

use super::create::description;
use crate::arguments::parse_id;
use crate::context::Context;
use crate::displays::answers::did;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Add a dated, signed remark to a task
///
/// Notes are kept in the order in which they were made and never overwritten; `taskyard show` shows them. A note needs
/// no claim and disturbs nobody. Members of the list's team who own the task, made it or noted something on it get the
/// note as a message.
#[derive(Debug, Args)]
pub(crate) struct Note {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// What you note; `-` reads it from stdin
    #[arg(value_name = "TEXT", required = true, num_args = 1..)]
    pub(crate) text: Vec<String>,
}

impl Note {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let text = match &self.text[..] {
            [one] => description(one.clone())?,
            words => words.join(" "),
        };
        if text.trim().is_empty() {
            return Err(Problem::usage("nothing_given", format!("nothing was given to note on task {}", self.id)));
        }
        let yard = context.yard()?;
        let noted = yard.note(&self.id, &text)?.done()?;
        let told: Vec<&str> = noted.messages.iter().filter_map(TaskMessage::sent_to).collect();
        for message in &noted.messages {
            if let TaskMessage::Failed { to, why } = message {
                output.warn(&format!("{to} could not be told of it: {why}"))?;
            }
        }
        if output.is_json() {
            output.document(Noted::from(&noted))?;
            return Ok(Exit::Done);
        }
        output.say(&did("Noted on", &noted.task))?;
        if !told.is_empty() {
            output.say(&Line::new().with(Tone::Dim, "  told ").with(Tone::Owner, &told.join(", ")))?;
        }
        Ok(Exit::Done)
    }
}

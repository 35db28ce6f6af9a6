//! `taskyard ready`

use clap::Args;
use taskyard::core::render::{Line, Tone, client_line, numbered, task_line};
use taskyard::core::{TaskId, answers};
use taskyard::operations;

use crate::context::Context;
use crate::displays::tell_of_loss;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Show the ready tasks, best first, and why
///
/// Shows pending tasks without an owner or open blockers, sorted by priority and then by the length of the chain that
/// depends on them.
#[derive(Debug, Args)]
pub(crate) struct Ready {
    /// The maximum number of tasks
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) number: Option<usize>,
}

impl Ready {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let ready = yard.ready(self.number)?;
        if output.is_json() {
            output.document(answers::task_answers::Ready::from(&ready))?;
            return Ok(Exit::Done);
        }
        let operations::Ready { ranked, stale, gone } = ready;
        let stale_ids: Vec<TaskId> = stale.iter().map(|task| task.id.clone()).collect();
        if tell_of_loss(gone.as_ref(), &yard, output)? {
            return Ok(Exit::Done);
        }
        if ranked.is_empty() {
            output.say(&Line::plain("Nothing is ready"))?;
            output.advise("see the blocked tasks with `taskyard list --blocked`")?;
        }
        if !stale.is_empty() {
            output.warn(&format!("stale_owner: {} in progress for a session that has ended", numbered(&stale_ids)))?;
            output.advise(&format!("take it over with `taskyard claim {}`", stale_ids[0]))?;
        }
        if !output.is_terminal() {
            for ranked in &ranked {
                let line = client_line(ranked.task.id.as_str(), &ranked.task, &[]);
                let why = if output.is_quiet() { String::new() } else { format!(" - {}", ranked.why) };
                output.line(&Line::plain(&format!("{line}{why}")))?;
            }
            return Ok(Exit::Done);
        }
        let look = output.look();
        let width = ranked.iter().map(|ranked| ranked.task.id.as_str().len() + 1).max().unwrap_or(0);
        for ranked in &ranked {
            output.line(&task_line("  ", width, &ranked.task, &[], &look))?;
            if !ranked.why.is_empty() && !output.is_quiet() {
                let why = Line::new().with(Tone::Dim, &format!("    {:width$} {}", "", ranked.why));
                match look.width {
                    Some(columns) => output.lines(&why.wrapped(columns, width + 5))?,
                    None => output.line(&why)?,
                }
            }
        }
        Ok(Exit::Done)
    }
}

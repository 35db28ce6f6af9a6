//! `taskyard search`

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{Line, Tone, client_line, cut_text, escaping, task_line};
use taskyard::operations::{Field, Hit};

use super::losses::{loss_as_json, tell_of_loss};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Find tasks by words in any of their fields
///
/// Every word must occur somewhere in the task, in any field and any case. The best answers come first.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,

    /// Internal tasks too
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    tasks: Vec<Shape<'a>>,
    hits: Vec<HitShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<Value>,
}

#[derive(Serialize)]
struct HitShape<'a> {
    task: &'a str,
    field: &'static str,
    excerpt: &'a str,
}

impl Search {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let words = self.words.join(" ");
        if words.trim().is_empty() {
            return Err(Problem::usage("no_words", "there are no words to search for"));
        }
        let yard = context.yard()?;
        let hits = yard.search(&words, self.all)?;
        let gone = if hits.is_empty() { yard.gone()? } else { None };
        if output.is_json() {
            output.document(Answer {
                tasks: hits.iter().map(|hit| Shape(&hit.task)).collect(),
                hits: hits.iter().map(shape).collect(),
                gone: loss_as_json(gone.as_ref()),
            })?;
            return Ok(Exit::Done);
        }
        if tell_of_loss(gone.as_ref(), &yard, output)? {
            return Ok(Exit::Done);
        }
        if hits.is_empty() {
            output.say(&Line::plain("No tasks found"))?;
        }
        if !output.is_terminal() {
            let lines: Vec<Line> =
                hits.iter().map(|hit| Line::plain(&client_line(hit.task.id.as_str(), &hit.task, &[]))).collect();
            output.lines(&lines)?;
            return Ok(Exit::Done);
        }
        let look = output.look();
        let width = hits.iter().map(|hit| hit.task.id.as_str().len() + 1).max().unwrap_or(0);
        for hit in &hits {
            output.line(&task_line("  ", width, &hit.task, &[], &look))?;
            if hit.field != Field::Subject {
                let room = look.width.map_or(120, |columns| columns.saturating_sub(20).max(20));
                let excerpt = cut_text(&escaping::one_line(&hit.excerpt), room, look.ellipsis());
                output.line(&Line::new().with(Tone::Dim, &format!("      {}: {excerpt}", hit.field)))?;
            }
        }
        Ok(Exit::Done)
    }
}

fn shape(hit: &Hit) -> HitShape<'_> {
    HitShape { task: hit.task.id.as_str(), field: hit.field.as_str(), excerpt: &hit.excerpt }
}

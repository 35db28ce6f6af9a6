//! `taskyard search`

use clap::Args;
use taskyard::core::ListId;
use taskyard::core::render::{Line, Tone, client_line, cut_text, escaping, task_line};
use taskyard::operations::{Field, Hit};

use crate::context::Context;
use crate::displays::lost_tasks::tell_of_loss;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Find tasks by words in any of their fields
///
/// Every word must occur somewhere in the task, in any field and any case; a word that occurs in no task counts as
/// mistyped, and finds what is spelt nearly so. Words in quotes of their own are an exact text, and the rest of the
/// query language narrows the answer: `taskyard search parser tag:db not status:completed`. The best answers come
/// first.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words, and conditions that the tasks must meet
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,

    /// In all lists of the store
    #[arg(long)]
    pub(crate) everywhere: bool,

    /// Internal tasks too
    #[arg(long)]
    pub(crate) all: bool,
}

impl Search {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let query = context.query_of_words(&self.query)?;
        if query.is_empty() {
            return Err(Problem::usage("no_words", "there are no words to search for"));
        }
        let yard = context.yard()?;
        let hits: Vec<(Option<ListId>, Hit)> = match self.everywhere {
            true => {
                yard.search_everywhere(&query, self.all)?.into_iter().map(|(list, hit)| (Some(list), hit)).collect()
            }
            false => yard.search(&query, self.all)?.into_iter().map(|hit| (None, hit)).collect(),
        };
        let gone = if hits.is_empty() && !self.everywhere { yard.gone()? } else { None };
        if output.is_json() {
            output.document(taskyard::answers::found(&hits, gone.as_ref()))?;
            return Ok(Exit::Done);
        }
        if tell_of_loss(gone.as_ref(), &yard, output)? {
            return Ok(Exit::Done);
        }
        if hits.is_empty() {
            output.say(&Line::plain("No tasks found"))?;
        }
        if !output.is_terminal() {
            for (list, hit) in &hits {
                let list = list.as_ref().map(|list| format!("{list}: ")).unwrap_or_default();
                output.line(&Line::plain(&format!("{list}{}", client_line(hit.task.id.as_str(), &hit.task, &[]))))?;
            }
            return Ok(Exit::Done);
        }
        let look = output.look();
        let width = hits.iter().map(|(_, hit)| hit.task.id.as_str().len() + 1).max().unwrap_or(0);
        for (list, hit) in &hits {
            output.line(&task_line("  ", width, &hit.task, &[], &look))?;
            if let Some(list) = list {
                output.line(&Line::new().with(Tone::Dim, &format!("      in {list}")))?;
            }
            if hit.field != Field::Subject {
                let room = look.width.map_or(120, |columns| columns.saturating_sub(20).max(20));
                let excerpt = cut_text(&escaping::one_line(&hit.excerpt), room, look.ellipsis());
                output.line(&Line::new().with(Tone::Dim, &format!("      {}: {excerpt}", hit.field)))?;
            }
        }
        Ok(Exit::Done)
    }
}

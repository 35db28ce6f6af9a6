//! `taskyard lists`

use clap::Args;
use serde_json::{Value, json};
use taskyard::core::render::{Line, Tone, counts_in_words};

use super::answers::counts_as_json;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Show every list of the store, and which one is ours
#[derive(Debug, Args)]
pub(crate) struct Lists {}

impl Lists {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let lists = yard.lists()?;
        if output.is_json() {
            let shapes: Vec<Value> = lists
                .iter()
                .map(|info| {
                    json!({
                        "list": info.list.as_str(),
                        "path": info.path.as_ref().map(|path| path.display().to_string()),
                        "counts": counts_as_json(info.counts),
                        "changed": info.changed.map(|changed| changed.to_string()),
                        "current": &info.list == yard.list_id(),
                    })
                })
                .collect();
            output.document(json!({ "lists": shapes }))?;
            return Ok(Exit::Done);
        }
        if lists.is_empty() {
            output.say(&Line::plain("No lists found"))?;
            output.advise("the first `taskyard create` makes one")?;
        }
        let look = output.look();
        let widest = lists.iter().map(|info| Line::plain(info.list.as_str()).width()).max().unwrap_or(0).min(48);
        for info in &lists {
            let ours = &info.list == yard.list_id();
            let name = if ours { Tone::Strong } else { Tone::Plain };
            let mut line = Line::new().with(Tone::Done, if ours { look.either("▸ ", "> ") } else { "  " });
            line.append(Line::new().with(name, info.list.as_str()).padded(widest));
            line.push(Tone::Plain, "  ");
            line.append(counts_in_words(info.counts, &look));
            if let Some(changed) = info.changed {
                line.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(changed)));
            }
            output.line(&match look.width {
                Some(width) => line.cut(width, look.ellipsis()),
                None => line,
            })?;
        }
        Ok(Exit::Done)
    }
}

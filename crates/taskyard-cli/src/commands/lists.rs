//! `taskyard lists`

use clap::Args;
use taskyard::answers::list_summary;
use taskyard::core::answers;
use taskyard::core::render::{Line, Tone, counts_in_words};
use taskyard::operations::{Gone, KeptIn, KnownList};

use super::lists_action::ListsAction;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Show every list of the store, and which one is ours; rename and remove lists
///
/// A list that lost its open tasks is shown as gone, also where its directory went with them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Lists {
    #[command(subcommand)]
    pub(crate) action: Option<ListsAction>,

    /// Show so many at most, by name
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
}

impl Lists {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(action) = self.action {
            return action.run(context, output);
        }
        let yard = context.yard()?;
        let limit = self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (lists, has_more) = yard.some_lists(None, limit)?;
        let names = context.list_names()?;
        if output.is_json() {
            let name = |known: &KnownList| names.get(known.info.list.directory()).map(String::as_str);
            output.document(answers::lists::Lists {
                lists: lists.iter().map(|known| list_summary(known, yard.list_id(), name(known))).collect(),
                more: self.limit.is_some().then_some(has_more),
            })?;
            return Ok(Exit::Done);
        }
        if lists.is_empty() {
            output.say(&Line::plain("No lists found"))?;
            output.advise("the first `taskyard create` makes one")?;
        }
        let look = output.look();
        let widest = lists.iter().map(|known| Line::plain(known.info.list.as_str()).width()).max().unwrap_or(0).min(48);
        for KnownList { info, gone } in &lists {
            let ours = &info.list == yard.list_id();
            let name = if ours { Tone::Strong } else { Tone::Plain };
            let mut line = Line::new().with(Tone::Done, if ours { look.either("▸ ", "> ") } else { "  " });
            line.append(Line::new().with(name, info.list.as_str()).padded(widest));
            line.push(Tone::Plain, "  ");
            match gone {
                Some(gone) => line.append(loss(gone)),
                None => line.append(counts_in_words(info.counts, &look)),
            }
            if let Some(changed) = info.changed {
                line.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(changed)));
            }
            if let Some(name) = names.get(info.list.directory()).filter(|name| *name != info.list.as_str()) {
                line.push(Tone::Dim, &format!("{}{name}", look.dot()));
            }
            output.line(&look.fitted(line))?;
        }
        if has_more {
            output.advise("there are more; leave `--limit` out to see them all")?;
        }
        if lists.iter().any(|known| known.gone.is_some()) {
            output.advise("bring them back with `taskyard restore --all --list LIST`")?;
        }
        Ok(Exit::Done)
    }
}

fn loss(gone: &Gone) -> Line {
    let with = match gone.with {
        Some(KeptIn::Directory) => ", with its directory",
        Some(KeptIn::File) => ", with its file",
        None => "",
    };
    let tasks = if gone.open == 1 { "1 open task".to_owned() } else { format!("{} open tasks", gone.open) };
    Line::new().with(Tone::Warning, &format!("gone: {tasks}{with}"))
}

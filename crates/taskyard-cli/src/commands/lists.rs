//! `taskyard lists`

use clap::Args;
use taskyard::Yard;
use taskyard::core::answers::lists::ListSummary;
use taskyard::core::render::{Line, Tone, counts_in_words};
use taskyard::core::{ListId, answers};
use taskyard::operations::{Gone, GoneList, KeptIn};
use taskyard::store::ListInfo;

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

    /// Only lists whose name comes after this one; only callers over HTTP say so
    #[arg(skip)]
    pub(crate) after: Option<ListId>,
}

impl Lists {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(action) = self.action {
            return action.run(context, output);
        }
        let yard = context.yard()?;
        let (lists, has_more) = self.lists(&yard)?;
        let names = context.list_names()?;
        if output.is_json() {
            output.document(answers::lists::Lists {
                lists: lists
                    .iter()
                    .map(|(info, gone)| ListSummary {
                        list: info.list.as_str(),
                        path: info.path.as_ref().map(|path| path.display().to_string()),
                        counts: info.counts.into(),
                        changed: info.changed.map(|changed| changed.to_string()),
                        current: &info.list == yard.list_id(),
                        name: names.get(info.list.directory()).map(String::as_str),
                        gone: gone.as_ref().map(Into::into),
                    })
                    .collect(),
                more: (self.limit.is_some() || self.after.is_some()).then_some(has_more),
            })?;
            return Ok(Exit::Done);
        }
        if lists.is_empty() {
            output.say(&Line::plain("No lists found"))?;
            output.advise("the first `taskyard create` makes one")?;
        }
        let look = output.look();
        let widest = lists.iter().map(|(info, _)| Line::plain(info.list.as_str()).width()).max().unwrap_or(0).min(48);
        for (info, gone) in &lists {
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
        if lists.iter().any(|(_, gone)| gone.is_some()) {
            output.advise("bring them back with `taskyard restore --all --list LIST`")?;
        }
        Ok(Exit::Done)
    }

    /// Returns what is shown, and whether there is more.
    fn lists(&self, yard: &Yard) -> Result<(Vec<ListOrLoss>, bool), Problem> {
        let limit = self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let after = self.after.as_ref();
        let mut lists = with_those_that_are_gone(yard, yard.some_lists(after, limit.saturating_add(1))?)?;
        lists.retain(|(info, _)| after.is_none_or(|after| info.list > *after));
        let has_more = lists.len() > limit;
        lists.truncate(limit);
        Ok((lists, has_more))
    }
}

/// A list, and what it has lost.
type ListOrLoss = (ListInfo, Option<Gone>);

/// Returns lists, by name, those included of which nothing is left but our memory, and what each has lost.
fn with_those_that_are_gone(yard: &Yard, lists: Vec<ListInfo>) -> Result<Vec<ListOrLoss>, Problem> {
    let gone = yard.gone_among(&lists)?;
    let mut lists: Vec<ListOrLoss> = lists.into_iter().map(|info| (info, None)).collect();
    for GoneList { list, path, gone } in gone {
        match lists.iter_mut().find(|(info, _)| info.list == list) {
            Some((_, lost)) => *lost = Some(gone),
            None => lists.push((ListInfo { list, path, counts: [0; 3], changed: None }, Some(gone))),
        }
    }
    lists.sort_by(|(one, _), (two, _)| one.list.cmp(&two.list));
    Ok(lists)
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

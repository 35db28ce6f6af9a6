//! `taskyard gc`

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use taskyard::core::ListId;
use taskyard::core::render::{Line, Tone};
use taskyard::store::Litter;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Tidy every list of the store: abandoned locks, temporary files, broken marks
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

impl Gc {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let store = context.store()?;
        let mut removed: Vec<(ListId, Litter)> = Vec::new();
        // Only where lists are files does anything lie about.
        for (info, care) in store.lists()?.into_iter().filter_map(|info| Some((info, store.care()?))) {
            let mut litter = care.litter(&info.list)?;
            // What serves somebody, and is only wrong, is left to `doctor`.
            litter.retain(|litter| described(litter).is_some());
            let swept = if self.dry_run { litter } else { care.sweep(&info.list, &litter)? };
            removed.extend(swept.into_iter().map(|litter| (info.list.clone(), litter)));
        }
        if output.is_json() {
            let shapes: Vec<Value> = removed.iter().filter_map(|(list, litter)| shape(list, litter)).collect();
            output.document(json!({"removed": shapes, "dryRun": self.dry_run}))?;
            return Ok(Exit::Done);
        }
        let verb = if self.dry_run { "Would remove" } else { "Removed" };
        for (list, litter) in &removed {
            let Some((_, kind, path)) = described(litter) else { continue };
            let mut line = Line::plain(&format!("{verb} {kind} "));
            line.push(Tone::Dim, &format!("{} in {list}", path.display()));
            output.say(&line)?;
        }
        if removed.is_empty() {
            output.say(&Line::plain("Nothing to tidy"))?;
        }
        Ok(Exit::Done)
    }
}

fn shape(list: &ListId, litter: &Litter) -> Option<Value> {
    let (kind, _, path) = described(litter)?;
    Some(json!({"list": list.as_str(), "kind": kind, "path": path.display().to_string()}))
}

/// Returns the word for litter in JSON, what it is, and where; none where it is not tidied.
fn described(litter: &Litter) -> Option<(&'static str, String, &Path)> {
    match litter {
        Litter::StaleLock { path, age } => {
            Some(("stale_lock", format!("a lock nobody has refreshed for {} s,", age.as_secs()), path))
        }
        Litter::Leftover { path } => Some(("leftover", "a temporary file,".to_owned(), path)),
        Litter::BadMark { path, found } => {
            Some(("bad_mark", format!("a mark that says `{}`,", found.escape_debug()), path))
        }
        Litter::UnreadableMark { path, .. } => Some(("bad_mark", "a mark that cannot be read,".to_owned(), path)),
        Litter::LockInTheWay { .. }
        | Litter::SpecialFile { .. }
        | Litter::LowMark { .. }
        | Litter::Shadowed { .. }
        | Litter::TornFile { .. }
        | Litter::HiddenTwice { .. }
        | Litter::HiddenWork { .. } => None,
    }
}

//! `taskyard gc`

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
        for info in store.lists()? {
            let mut litter = store.litter(&info.list)?;
            // A mark that is too low is no litter: `doctor` tells of it.
            litter.retain(|litter| !matches!(litter, Litter::LowMark { .. }));
            let swept = if self.dry_run { litter } else { store.sweep(&info.list, &litter)? };
            removed.extend(swept.into_iter().map(|litter| (info.list.clone(), litter)));
        }
        if output.is_json() {
            let shapes: Vec<Value> = removed.iter().map(|(list, litter)| shape(list, litter)).collect();
            output.document(json!({"removed": shapes, "dryRun": self.dry_run}))?;
            return Ok(Exit::Done);
        }
        let verb = if self.dry_run { "Would remove" } else { "Removed" };
        for (list, litter) in &removed {
            let (kind, path) = described(litter);
            let mut line = Line::plain(&format!("{verb} {kind} "));
            line.push(Tone::Dim, &format!("{path} in {list}"));
            output.say(&line)?;
        }
        if removed.is_empty() {
            output.say(&Line::plain("Nothing to tidy"))?;
        }
        Ok(Exit::Done)
    }
}

fn shape(list: &ListId, litter: &Litter) -> Value {
    let (_, path) = described(litter);
    let kind = match litter {
        Litter::StaleLock { .. } => "stale_lock",
        Litter::Leftover { .. } => "leftover",
        Litter::BadMark { .. } => "bad_mark",
        Litter::LowMark { .. } => "mark_too_low",
    };
    json!({"list": list.as_str(), "kind": kind, "path": path})
}

fn described(litter: &Litter) -> (String, String) {
    match litter {
        Litter::StaleLock { path, age } => {
            (format!("a lock nobody has refreshed for {} s,", age.as_secs()), path.display().to_string())
        }
        Litter::Leftover { path } => ("a temporary file,".into(), path.display().to_string()),
        Litter::BadMark { path, found } => (format!("a mark that says `{found}`,"), path.display().to_string()),
        Litter::LowMark { path, mark, .. } => (format!("a mark of {mark},"), path.display().to_string()),
    }
}

//! What lies about in the places of lists.

use std::path::Path;

use taskyard::core::ListId;
use taskyard::core::answers::maintenance::TidiedFile;
use taskyard::core::answers::words::LitterKind;
use taskyard::core::render::{Line, Tone};
use taskyard::store::Litter;

use crate::context::Context;
use crate::problem::Problem;

/// Removes the litter of every list of the store, or only finds it.
pub(super) fn sweep(context: &Context, is_dry: bool) -> Result<Vec<(ListId, Litter)>, Problem> {
    let store = context.store()?;
    let mut removed: Vec<(ListId, Litter)> = Vec::new();
    // Only where lists are files does anything lie about.
    for (info, care) in store.lists()?.into_iter().filter_map(|info| Some((info, store.care()?))) {
        let mut litter = care.litter(&info.list)?;
        // What serves a program, and is only wrong, is left to `doctor`.
        litter.retain(|litter| described(litter).is_some());
        let swept = if is_dry { litter } else { care.sweep(&info.list, &litter)? };
        removed.extend(swept.into_iter().map(|litter| (info.list.clone(), litter)));
        if !is_dry {
            care.flush(&info.list);
        }
    }
    Ok(removed)
}

/// Returns the line that tells of it.
pub(super) fn line(list: &ListId, litter: &Litter, verb: &str) -> Option<Line> {
    let (_, kind, path) = described(litter)?;
    let mut line = Line::plain(&format!("{verb} {kind} "));
    line.push(Tone::Dim, &format!("{} in {list}", path.display()));
    Some(line)
}

/// Returns it for programs.
pub(super) fn answer<'a>(list: &'a ListId, litter: &Litter) -> Option<TidiedFile<'a>> {
    let (kind, _, path) = described(litter)?;
    Some(TidiedFile { list: list.as_str(), kind, path: path.display().to_string() })
}

/// Returns the word for litter in JSON, what it is, and where; none where it is not tidied.
fn described(litter: &Litter) -> Option<(LitterKind, String, &Path)> {
    match litter {
        Litter::StaleLock { path, age } => {
            Some((LitterKind::StaleLock, format!("a lock nobody has refreshed for {} s,", age.as_secs()), path))
        }
        Litter::Leftover { path } => Some((LitterKind::Leftover, "a temporary file,".to_owned(), path)),
        Litter::BadMark { path, found } => {
            Some((LitterKind::BadMark, format!("a mark that says `{}`,", found.escape_debug()), path))
        }
        Litter::UnreadableMark { path, .. } => {
            Some((LitterKind::BadMark, "a mark that cannot be read,".to_owned(), path))
        }
        Litter::LockInTheWay { .. }
        | Litter::SpecialFile { .. }
        | Litter::LowMark { .. }
        | Litter::Shadowed { .. }
        | Litter::TornFile { .. }
        | Litter::HiddenTwice { .. }
        | Litter::HiddenWork { .. } => None,
    }
}

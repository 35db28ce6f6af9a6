//! Telling what was tidied.

use std::collections::HashSet;
use std::path::Path;

use taskyard::core::TaskId;
use taskyard::core::answers::maintenance as answers;
use taskyard::core::render::{Line, Tone};
use taskyard::store::{ThinnedList, ThinnedOut, TidiedJournal};
use taskyard::tidying::TidiedList;

/// Journals that got smaller by less than this, and lost nothing, are not told of.
const LITTLE: u64 = 64 * 1024;

/// Returns what was done to a journal, where that is worth telling.
pub(crate) fn told(tidied: &TidiedList) -> Option<&TidiedJournal> {
    let done = tidied.done.as_ref().ok()?.as_ref()?;
    let is_told = done.entries > 0 || done.is_put_away || !done.forgotten.is_empty() || freed(done) >= LITTLE;
    is_told.then_some(done)
}

/// Returns how many bytes went.
pub(crate) fn freed(done: &TidiedJournal) -> u64 {
    done.bytes.0.saturating_sub(done.bytes.1)
}

/// Returns the line that tells of a journal.
pub(crate) fn line(tidied: &TidiedList, done: &TidiedJournal, is_dry: bool) -> Line {
    let words = ["Archived", "Thinned out", "Made smaller"];
    let would = ["Would archive", "Would thin out", "Would make smaller"];
    let [archived, thinned, smaller] = if is_dry { would } else { words };
    let what = match done.entries {
        _ if done.is_put_away => format!("{archived} the journal of "),
        0 => format!("{smaller} the journal of "),
        entries => format!("{thinned} {} of ", counted(entries, "entry", "entries")),
    };
    let mut line = Line::plain(&what);
    line.push(Tone::Plain, &name(tidied));
    line.push(Tone::Dim, &format!(" ({} less)", size(freed(done))));
    line
}

/// Returns the line that tells of a journal in a store that many machines share.
pub(crate) fn shared_line(thinned: &ThinnedList, is_dry: bool) -> Line {
    let verb = if is_dry { "Would thin out" } else { "Thinned out" };
    Line::plain(&format!("{verb} {} of {}", counted(thinned.entries, "entry", "entries"), thinned.list))
}

/// Returns such a journal for programs. How many bytes that gives is the server's business.
pub(crate) fn shared_answer<'a>(store: &str, thinned: &'a ThinnedList) -> answers::TidiedJournal<'a> {
    answers::TidiedJournal {
        list: Some(thinned.list.as_str().to_owned()),
        path: store.to_owned(),
        entries: thinned.entries,
        bytes: 0,
        archived: false,
        forgotten: thinned.forgotten.iter().map(TaskId::as_str).collect(),
    }
}

/// Returns a journal for programs.
pub(crate) fn answer<'a>(tidied: &TidiedList, done: &'a TidiedJournal) -> answers::TidiedJournal<'a> {
    answers::TidiedJournal {
        list: tidied.memory.list.as_ref().map(|path| path.display().to_string()),
        path: tidied.memory.sidecar.display().to_string(),
        entries: done.entries,
        bytes: freed(done),
        archived: done.is_put_away,
        forgotten: done.forgotten.iter().map(TaskId::as_str).collect(),
    }
}

/// Returns the tasks that were named and did not go.
pub(crate) fn still_kept<'a>(named: &'a [TaskId], tidied: &[TidiedList], shared: &ThinnedOut) -> Vec<&'a TaskId> {
    let done = tidied.iter().filter_map(|tidied| tidied.done.as_ref().ok()?.as_ref());
    let shared = shared.lists.iter().flat_map(|thinned| &thinned.forgotten);
    let gone: HashSet<&TaskId> = done.flat_map(|done| &done.forgotten).chain(shared).collect();
    named.iter().filter(|task| !gone.contains(task)).collect()
}

/// Returns a number with its noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns a size for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

/// Returns what a list is called: its directory, or the one that its document is in.
fn name(tidied: &TidiedList) -> String {
    let path = tidied.memory.list.as_deref().unwrap_or(&tidied.memory.sidecar);
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    named(path).unwrap_or_else(|| path.display().to_string())
}

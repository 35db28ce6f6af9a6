//! What happened on a list, step by step.

use crate::render::{Line, Look, Tone, entry_line, is_summed_up, revision_line};
use crate::{Entry, Revision};

/// One revision: what was done at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The revision.
    pub revision: Revision,
    /// What it did to each task.
    pub entries: Vec<Entry>,
}

/// Puts entries, oldest first, together as steps, newest first.
pub fn steps(entries: Vec<Entry>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for entry in entries {
        match steps.last_mut().filter(|step| step.revision == entry.revision) {
            Some(step) => step.entries.push(entry),
            None => steps.push(Step { revision: entry.revision, entries: vec![entry] }),
        }
    }
    steps.reverse();
    steps
}

/// Returns a step on one line: what it did to a task and to how many more, or in sum what it did to many.
pub fn step_line(step: &Step, look: &Look) -> Line {
    if is_summed_up(step.entries.len()) {
        return look.fitted(revision_line(&step.entries, look).unwrap_or_default());
    }
    let Some(first) = step.entries.first() else { return Line::new() };
    let line = entry_line(first, look);
    let more = step.entries.len() - 1;
    if more == 0 {
        return look.fitted(line);
    }
    let words = format!("  and {more} more");
    let width = look.width.unwrap_or(usize::MAX);
    line.cut(width.saturating_sub(words.len()), look.ellipsis()).with(Tone::Dim, &words)
}

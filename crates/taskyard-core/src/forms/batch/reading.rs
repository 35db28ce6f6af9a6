//! Which of the two forms a batch has.

use super::entry::{BatchEntry, BatchMistake};
use super::{lines, markdown};
use crate::timing::Clock;

/// Reads a batch: JSON lines where the first thing in it is an object, and Markdown otherwise.
pub fn read(text: &str, clock: &Clock) -> Result<Vec<BatchEntry>, BatchMistake> {
    // Some editors begin a file with this mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let entries = match text.trim_start().starts_with('{') {
        true => lines::read(text, clock)?,
        false => markdown::read(text, clock)?,
    };
    if entries.is_empty() {
        return Err(BatchMistake::at(1, "there is no task in it; write `- Title`, or {\"subject\": \"Title\"}"));
    }
    Ok(entries)
}

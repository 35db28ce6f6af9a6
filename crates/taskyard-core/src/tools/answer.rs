//! What a tool answers.

use serde_json::Value;

use super::input_error::InputError;

/// The most characters an answer holds, counted as JavaScript counts them.
pub(crate) const LONGEST: usize = 100_000;

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What the model reads.
    pub text: String,
    /// The same for programs. The client has a text here where an input was wrong, else an object.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl Answer {
    /// Returns the answer to a call that did what it should.
    pub(crate) fn new(text: impl Into<String>, structured: Value) -> Self {
        Self { text: limited(text.into()), structured: Some(structured), is_error: false }
    }

    /// Returns the answer to a call that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: limited(text.into()), structured: None, is_error: true }
    }

    /// Says it for programs, too.
    #[must_use]
    pub(crate) fn with(self, structured: Value) -> Self {
        Self { structured: Some(structured), ..self }
    }
}

impl From<InputError> for Answer {
    fn from(error: InputError) -> Self {
        Self::error(error.to_string()).with(error.details().into())
    }
}

/// Leaves the middle of a text out that is too long for an answer, between whole lines where it has lines, and says so there.
fn limited(text: String) -> String {
    // Every character has at least one byte, so a text of few bytes is certainly short enough.
    if text.len() <= LONGEST {
        return text;
    }
    let length = units(&text);
    if length <= LONGEST {
        return text;
    }
    // The numbers in the notice have at most as many digits as the length.
    let room = LONGEST - notice(length, length).len();
    let (begins, ends) = (room - room / 4, room / 4);
    let beginning = &text[..prefix(&text, begins)];
    let beginning = match beginning.rfind('\n') {
        Some(line) if beginning.len() - line <= LONGEST_BREAK => &beginning[..line],
        _ => beginning,
    };
    let end = &text[suffix(&text, ends)..];
    let end = match end.find('\n') {
        Some(line) if line <= LONGEST_BREAK => &end[line + 1..],
        _ => end,
    };
    let middle = text[beginning.len()..text.len() - end.len()].trim_matches('\n');
    format!("{beginning}{}{end}", notice(middle.lines().count(), units(middle)))
}

/// So many bytes are given up for a cut between two lines.
const LONGEST_BREAK: usize = 4_000;

fn notice(lines: usize, characters: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!(
        "\n[{lines} line{plural} ({characters} characters) left out here: an answer has at most {LONGEST} characters]\n"
    )
}

/// Returns where a text has to end so that it has no more than so many characters.
fn prefix(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let first_too_many = text.char_indices().find(|(_, character)| {
        taken += character.len_utf16();
        taken > room
    });
    first_too_many.map_or(text.len(), |(position, _)| position)
}

/// Returns where the end of a text begins that has no more than so many characters.
pub(super) fn suffix(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let last_too_many = text.char_indices().rev().find(|(_, character)| {
        taken += character.len_utf16();
        taken > room
    });
    last_too_many.map_or(0, |(position, character)| position + character.len_utf8())
}

/// Counts characters as JavaScript counts them.
pub(super) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Answer, LONGEST, units};

    fn shown(text: &str) -> String {
        Answer::new(text, Value::Null).text
    }

    #[test]
    fn a_text_of_the_greatest_length_is_left_alone() {
        for text in ["x".repeat(LONGEST), "é".repeat(LONGEST), "😀".repeat(LONGEST / 2)] {
            assert_eq!(shown(&text), text);
        }
    }

    #[test]
    fn of_a_longer_text_the_middle_lines_are_left_out_and_counted() {
        let text = vec!["0123456789"; 10_000].join("\n");
        let cut = shown(&text);
        assert!(units(&cut) <= LONGEST && units(&cut) > LONGEST - 1_000, "{}", units(&cut));
        let notices: Vec<&str> = cut.lines().filter(|line| *line != "0123456789").collect();
        let kept = cut.lines().count() - 1;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with(&format!("[{} lines (", 10_000 - kept)), "{notices:?}");
        assert!(cut.starts_with("0123456789\n") && cut.ends_with("\n0123456789"));
    }

    #[test]
    fn of_a_single_line_the_beginning_and_the_end_are_kept() {
        let text = format!("first {} last", "😀".repeat(LONGEST));
        let cut = shown(&text);
        assert!(units(&cut) <= LONGEST && units(&cut) > LONGEST - 1_000, "{}", units(&cut));
        assert!(cut.starts_with("first 😀") && cut.ends_with("😀 last"));
        assert!(cut.contains("\n[1 line ("), "no notice");
    }

    #[test]
    fn a_line_break_near_the_beginning_costs_nothing_of_a_long_line() {
        let cut = shown(&format!("Title\nText: {}\nBlocks: #4", "x".repeat(150_000)));
        assert!(cut.starts_with("Title\nText: xxx") && cut.ends_with("xxx\nBlocks: #4"));
        assert!(units(&cut) > LONGEST - 1_000, "{}", units(&cut));
    }
}

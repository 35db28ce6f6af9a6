//! What a tool answers.

use serde_json::Value;

use super::input_error::InputError;

/// The most characters an answer holds, counted as JavaScript counts them.
pub const LONGEST: usize = 100_000;

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
    pub fn new(text: impl Into<String>, structured: Value) -> Self {
        Self { text: limited(text.into()), structured: Some(structured), is_error: false }
    }

    /// Returns the answer to a call that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: limited(text.into()), structured: None, is_error: true }
    }

    /// Says it for programs, too.
    #[must_use]
    pub fn with(self, structured: Value) -> Self {
        Self { structured: Some(structured), ..self }
    }
}

impl From<InputError> for Answer {
    fn from(error: InputError) -> Self {
        Self::error(error.to_string()).with(error.details().into())
    }
}

/// Cuts a text that is too long for an answer, after a whole line where it has lines, and says so.
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
    let mut taken = 0;
    let end = text
        .char_indices()
        .find(|(_, character)| {
            taken += character.len_utf16();
            taken > room
        })
        .map_or(text.len(), |(position, _)| position);
    let end = text[..end].rfind('\n').filter(|end| *end > 0).unwrap_or(end);
    let (kept, rest) = text.split_at(end);
    let lines = rest.trim_start_matches('\n').lines().count();
    format!("{kept}{}", notice(lines, units(rest)))
}

fn notice(lines: usize, characters: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!(
        "\n[{lines} more line{plural} ({characters} characters) left out: an answer has at most {LONGEST} characters]"
    )
}

fn units(text: &str) -> usize {
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
    fn a_longer_text_is_cut_after_a_line_and_says_how_much_is_missing() {
        let text = vec!["0123456789"; 10_000].join("\n");
        let cut = shown(&text);
        assert!(units(&cut) <= LONGEST);
        let (kept, notice) = cut.rsplit_once('\n').unwrap();
        assert!(text.starts_with(kept) && kept.ends_with("0123456789"));
        let missing = 10_000 - kept.lines().count();
        assert!(notice.starts_with(&format!("[{missing} more lines (")), "{notice}");
    }

    #[test]
    fn a_single_line_is_cut_between_characters() {
        let cut = shown(&"😀".repeat(LONGEST));
        assert!(units(&cut) <= LONGEST);
        assert!(cut.contains("\n[1 more line ("), "{}", &cut[cut.len() - 100..]);
    }
}

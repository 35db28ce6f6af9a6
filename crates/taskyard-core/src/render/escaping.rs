//! Making text of unknown origin safe to show.

use std::borrow::Cow;

/// Returns the text on one line, with everything escaped that could steer a terminal or disguise what is shown.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// Returns the text with its line ends kept and everything else escaped that could steer a terminal.
pub fn many_lines(text: &str) -> Cow<'_, str> {
    escape(text, |character| character == '\n')
}

/// Returns what a program wrote with its line ends and tabs kept and everything else escaped that could steer a terminal.
pub fn program_output(text: &str) -> Cow<'_, str> {
    escape(text, |character| matches!(character, '\n' | '\t'))
}

/// Tells whether a character can move the cursor, start an escape sequence, hide, or turn the text around it.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{2028}' | '\u{2029}'                    // line and paragraph separators
            | '\u{200e}' | '\u{200f}' | '\u{61c}'      // direction marks
            | '\u{202a}'..='\u{202e}'                  // embeddings and overrides
            | '\u{2066}'..='\u{2069}'                  // isolates
            | '\u{feff}' | '\u{200b}' | '\u{2060}'     // characters nobody sees
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

fn escape(text: &str, kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let must_go = |character: char| is_unsafe(character) && !kept(character);
    if !text.contains(must_go) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            character if !must_go(character) => safe.push(character),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            character if u32::from(character) < 0x100 => safe.push_str(&format!("\\x{:02x}", u32::from(character))),
            character => safe.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{many_lines, one_line};

    #[test]
    fn escape_sequences_are_shown_and_not_sent() {
        assert_eq!(one_line("a\x1b[31mred\x07"), "a\\x1b[31mred\\x07");
        assert_eq!(one_line("c1 \u{9b}31m"), "c1 \\x9b31m");
        assert_eq!(one_line("x\u{202e}cod.exe"), "x\\u{202e}cod.exe");
    }

    #[test]
    fn line_ends_stay_only_where_there_may_be_several_lines() {
        assert_eq!(one_line("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(many_lines("a\nb\tc"), "a\nb\\tc");
    }

    #[test]
    fn plain_text_of_any_language_is_left_alone() {
        for text in ["Grüße", "日本語", "👩‍👩‍👧", "שלום", "a\\b"] {
            assert_eq!(one_line(text), text);
        }
    }
}

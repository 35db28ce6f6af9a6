//! Makes text of unknown origin safe to display, in terminals, XML and pages.

use std::borrow::Cow;
use std::ops::Range;

/// Escapes a text for display on one line, including everything that could control a terminal or disguise what is
/// shown.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// Escapes everything that could control a terminal, except line endings.
pub fn many_lines(text: &str) -> Cow<'_, str> {
    escape(text, |character| character == '\n')
}

/// Escapes everything in a program's output that could control a terminal, except line endings and tabs.
pub fn program_output(text: &str) -> Cow<'_, str> {
    escape(text, |character| matches!(character, '\n' | '\t'))
}

/// Returns whether a character can move the cursor, start an escape sequence, hide, or turn the text around it.
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

/// Escapes text for XML and replaces characters that XML cannot represent.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            character => safe.push(character),
        }
    }
    safe
}

const SCHEMES: [&str; 2] = ["https://", "http://"];

/// Returns the ranges of web addresses in a text, without punctuation that ends a sentence.
pub fn web_addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = SCHEMES.iter().filter_map(|scheme| Some(from + text[from..].find(scheme)?)).min() {
        let rest = &text[start..];
        let end =
            rest.find(|one: char| one.is_whitespace() || matches!(one, '<' | '>' | '"' | '`')).unwrap_or(rest.len());
        let address = without_end_of_sentence(&rest[..end]);
        let is_word = !text[..start].ends_with(char::is_alphanumeric);
        let has_host = address.split_once("://").is_some_and(|(_, host)| host.starts_with(char::is_alphanumeric));
        if is_word && has_host {
            found.push(start..start + address.len());
        }
        from = start + end;
    }
    found
}

/// Removes punctuation that ends a sentence, and a closing bracket that was opened before the address.
fn without_end_of_sentence(address: &str) -> &str {
    let mut left = address;
    loop {
        let shorter = left.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
        let is_left_open = |open: char, close: char| {
            shorter.ends_with(close) && shorter.matches(close).count() > shorter.matches(open).count()
        };
        match is_left_open('(', ')') || is_left_open('[', ']') {
            true => left = &shorter[..shorter.len() - 1],
            false => return shorter,
        }
    }
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

#[cfg(test)]
mod addresses_tests {
    use super::web_addresses;

    #[test]
    fn addresses_are_found_without_the_sentence_around_them() {
        let found = |text: &'static str| -> Vec<&str> { web_addresses(text).into_iter().map(|at| &text[at]).collect() };
        assert_eq!(
            found("see https://a.example/b_c?d=1&e, and http://ü.example."),
            ["https://a.example/b_c?d=1&e", "http://ü.example"]
        );
        assert_eq!(
            found("(https://a.example/wiki/X_(Y)) [https://b.example]"),
            ["https://a.example/wiki/X_(Y)", "https://b.example"]
        );
        assert_eq!(found("https:// xhttp://a.example http://."), [""; 0]);
    }
}

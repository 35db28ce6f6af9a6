//! Breaking text into lines.

use unicode_width::UnicodeWidthChar as _;
use unicode_width::UnicodeWidthStr as _;

/// Returns a paragraph in lines of at most so many columns, broken between words where it can be. Spaces it begins with stand
/// before every line.
pub fn wrapped(paragraph: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let indent = paragraph.len() - paragraph.trim_start().len();
    let lead = " ".repeat(indent.min(columns / 2));
    let mut lines = Vec::new();
    let mut current = lead.clone();
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        if !is_empty && current.width() + 1 + word.width() > columns {
            lines.push(std::mem::replace(&mut current, lead.clone()));
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        for character in word.chars() {
            if !is_empty && current.width() + character.width().unwrap_or(0) > columns {
                lines.push(std::mem::replace(&mut current, lead.clone()));
            }
            current.push(character);
            is_empty = false;
        }
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_break_between_words_and_long_words_break_anywhere() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("  - one two", 9), ["  - one", "  two"]);
        assert_eq!(wrapped("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}

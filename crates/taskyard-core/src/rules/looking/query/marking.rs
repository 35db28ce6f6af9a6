//! Marks under a part of a text.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

/// Returns a text on one line and marks under a part of it on the next.
pub(super) fn marked(text: &str, span: &Range<usize>) -> [String; 2] {
    let start = floor(text, span.start);
    let end = floor(text, span.end).max(start);
    let [before, inside, after] = [&text[..start], &text[start..end], &text[end..]].map(on_one_line);
    let marks = "^".repeat(inside.width().max(1));
    [format!("{before}{inside}{after}"), format!("{}{marks}", " ".repeat(before.width()))]
}

/// Replaces what would move the marks away from what they mark.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the nearest position before or at this one at which a character begins.
fn floor(text: &str, position: usize) -> usize {
    let position = position.min(text.len());
    (0..=position).rev().find(|position| text.is_char_boundary(*position)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn marks_stand_under_what_they_mark_however_wide_it_is() {
        assert_eq!(marked("tag:db prio:high", &(7..11)), ["tag:db prio:high", "       ^^^^"]);
        assert_eq!(marked("名前 prio:high", &(7..11)), ["名前 prio:high", "     ^^^^"]);
        assert_eq!(marked("a\tb", &(2..3)), ["a b", "  ^"]);
        assert_eq!(marked("(a", &(2..2)), ["(a", "  ^"]);
        assert_eq!(marked("é", &(1..9)), ["é", "^"]);
    }
}

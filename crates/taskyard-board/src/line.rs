//! A typed line: editing it, and splitting a command line into words.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A line being typed, with its cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypedLine {
    text: String,
    /// The cursor as a byte offset, always on a grapheme boundary.
    at: usize,
}

impl TypedLine {
    /// Returns a line with a text, and the cursor at its end.
    pub(crate) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before and after the cursor.
    pub(crate) fn around(&self) -> (&str, &str) {
        self.text.split_at(self.at)
    }

    /// Inserts text at the cursor; control characters become spaces, so that it stays on one line.
    pub(crate) fn insert(&mut self, text: &str) {
        let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        self.text.insert_str(self.at, &text);
        self.at += text.len();
    }

    /// Deletes the character before the cursor.
    pub(crate) fn backspace(&mut self) {
        let from = self.before();
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    /// Deletes the character after the cursor.
    pub(crate) fn delete(&mut self) {
        let to = self.after();
        self.text.replace_range(self.at..to, "");
    }

    /// Deletes the word before the cursor.
    pub(crate) fn delete_word(&mut self) {
        let kept = self.text[..self.at].trim_end();
        let from = kept.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    /// Deletes everything before the cursor.
    pub(crate) fn delete_to_start(&mut self) {
        self.text.replace_range(..self.at, "");
        self.at = 0;
    }

    pub(crate) fn left(&mut self) {
        self.at = self.before();
    }

    pub(crate) fn right(&mut self) {
        self.at = self.after();
    }

    pub(crate) fn home(&mut self) {
        self.at = 0;
    }

    pub(crate) fn end(&mut self) {
        self.at = self.text.len();
    }

    fn before(&self) -> usize {
        self.text[..self.at].grapheme_indices(true).next_back().map_or(0, |(place, _)| place)
    }

    fn after(&self) -> usize {
        self.text[self.at..].graphemes(true).next().map_or(self.at, |letter| self.at + letter.len())
    }

    /// Returns the part around the cursor that fits into this many columns, and the column of the cursor in it.
    pub(crate) fn window(&self, columns: usize) -> (String, usize) {
        let (before, after) = self.around();
        let mut shown: Vec<&str> = Vec::new();
        let mut used = 0;
        for letter in before.graphemes(true).rev() {
            if used + letter.width() >= columns.max(1) {
                break;
            }
            used += letter.width();
            shown.push(letter);
        }
        let cursor = used;
        let mut text: String = shown.into_iter().rev().collect();
        for letter in after.graphemes(true) {
            if used + letter.width() > columns {
                break;
            }
            used += letter.width();
            text.push_str(letter);
        }
        (text, cursor)
    }
}

/// Splits a command line as a shell does: spaces separate words, quotes keep them together. Returns `None` if a quote
/// is not closed.
pub fn command_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().push(letters.next()?),
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::TypedLine;

    #[test]
    fn grapheme_is_typed_and_deleted_as_one() {
        let mut line = TypedLine::of("a👩‍👩‍👧");
        line.backspace();
        assert_eq!(line.text(), "a");
        line.insert("e\u{301}x");
        line.left();
        line.left();
        line.delete();
        assert_eq!(line.text(), "ax");
    }

    #[test]
    fn words_and_lines_are_taken_away_and_line_ends_do_not_come_in() {
        let mut line = TypedLine::of("write the parser");
        line.delete_word();
        assert_eq!(line.text(), "write the ");
        line.insert("a\nb\tc\x1b");
        assert_eq!(line.text(), "write the a b c ");
        line.home();
        line.right();
        line.delete_to_start();
        assert_eq!(line.text(), "rite the a b c ");
    }

    #[test]
    fn the_cursor_is_always_in_view() {
        let line = TypedLine::of("日本語です");
        assert_eq!(line.window(5), ("です".into(), 4));
        assert_eq!(line.window(40), ("日本語です".into(), 10));
    }
}

#[cfg(test)]
mod command_words_tests {
    use super::command_words;

    #[test]
    fn quotes_hold_words_together() {
        let words = command_words(r#"create "Write the docs"  --tag 'a b' -d "" x\ y"#).unwrap();
        assert_eq!(words, ["create", "Write the docs", "--tag", "a b", "-d", "", "x y"]);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_no_command() {
        assert_eq!(command_words("note 3 \"not yet"), None);
        assert_eq!(command_words("note 3 x\\"), None);
        assert_eq!(command_words("  "), Some(Vec::new()));
    }
}

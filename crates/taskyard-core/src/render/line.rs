//! A line of text that knows what its parts mean.

use std::fmt;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::escaping;

/// What a piece of text means, so that each display can choose its own colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// What the eye should find first.
    Strong,
    /// What may be overlooked.
    Dim,
    /// A task's number.
    Id,
    /// An agent's or person's name.
    Owner,
    /// Work in progress.
    Active,
    /// Work that is done.
    Done,
    /// The title of work that is done.
    Struck,
    /// What stands in the way.
    Blocked,
    /// What needs attention.
    Warning,
    /// What went wrong.
    Error,
    /// What to type next.
    Hint,
    /// What is said with more weight.
    Emphasis,
    /// What leads somewhere else.
    Link,
    /// A member of a team in its own colour, by its place among [`crate::COLOURS`].
    Member(usize),
}

impl Tone {
    /// Returns the tone of a member of a team, by the name of its colour.
    pub fn member(colour: Option<&str>) -> Self {
        let place = colour.and_then(|colour| crate::COLOURS.iter().position(|known| *known == colour));
        place.map_or(Self::Owner, Self::Member)
    }
}

/// A piece of a line. Its text is safe to send to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    tone: Tone,
    text: String,
}

impl Span {
    /// Takes text of any origin; whatever could steer a terminal is escaped.
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        Self { tone, text: escaping::one_line(text).into_owned() }
    }

    /// Returns what the text means.
    pub fn tone(&self) -> Tone {
        self.tone
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// One line for people, without its line end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// Returns an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a line of ordinary text.
    pub fn plain(text: &str) -> Self {
        Self::new().with(Tone::Plain, text)
    }

    /// Adds a piece at the end.
    #[must_use]
    pub fn with(mut self, tone: Tone, text: &str) -> Self {
        self.push(tone, text);
        self
    }

    /// Adds a piece at the end, in place.
    pub fn push(&mut self, tone: Tone, text: &str) {
        if !text.is_empty() {
            self.spans.push(Span::new(tone, text));
        }
    }

    /// Adds another line's pieces at the end.
    pub fn append(&mut self, other: Self) {
        self.spans.extend(other.spans);
    }

    /// Returns the pieces.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns how many columns of a terminal the line takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns the line in at most so many columns, with `mark` at the end where something was cut off.
    #[must_use]
    pub fn cut(self, columns: usize, mark: &str) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut room = columns.saturating_sub(mark.width());
        let mut spans = Vec::new();
        for mut span in self.spans {
            let width = span.text.width();
            if width <= room {
                room -= width;
                spans.push(span);
                continue;
            }
            span.text.truncate(fitting(&span.text, room));
            span.text.push_str(if columns == 0 { "" } else { mark });
            spans.push(span);
            break;
        }
        Self { spans }
    }

    /// Returns the line as several of at most so many columns, broken between words, all but the first indented. A word longer
    /// than a line stays whole: what is to be copied must not be broken.
    pub fn wrapped(self, columns: usize, indent: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self];
        }
        let mut lines = Vec::new();
        let mut current = Self::new();
        for word in self.words() {
            let width = word.to_string().trim_end().width();
            if current.width() > indent && current.width() + width > columns {
                lines.push(std::mem::take(&mut current));
                current.push(Tone::Plain, &" ".repeat(indent));
            }
            word.spans.into_iter().for_each(|span| current.push_joined(span));
        }
        lines.push(current);
        lines
    }

    /// Returns the words, each with the spaces behind it. A word may have pieces of several tones: quotes and what they hold.
    fn words(self) -> Vec<Self> {
        let mut words = vec![Self::new()];
        for span in self.spans {
            for piece in span.text.split_inclusive(' ') {
                if let Some(word) = words.last_mut() {
                    word.push(span.tone, piece);
                }
                if piece.ends_with(' ') {
                    words.push(Self::new());
                }
            }
        }
        words
    }

    /// Adds a piece at the end, to the last one where both mean the same.
    fn push_joined(&mut self, span: Span) {
        match self.spans.last_mut().filter(|last| last.tone == span.tone) {
            Some(last) => last.text.push_str(&span.text),
            None => self.spans.push(span),
        }
    }

    /// Returns the line with spaces at its end up to so many columns.
    #[must_use]
    pub fn padded(mut self, columns: usize) -> Self {
        let missing = columns.saturating_sub(self.width());
        self.push(Tone::Plain, &" ".repeat(missing));
        self
    }
}

impl fmt::Display for Line {
    /// Writes the bare text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|span| formatter.write_str(&span.text))
    }
}

/// Returns the text in at most so many columns, with `mark` at the end where something was cut off.
pub fn cut_text(text: &str, columns: usize, mark: &str) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let kept = fitting(text, columns.saturating_sub(mark.width()));
    format!("{}{mark}", text[..kept].trim_end())
}

/// Returns how many bytes of the text fit into so many columns. What people see as one character is never taken apart.
fn fitting(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.grapheme_indices(true) {
        used += character.width();
        if used > columns {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{Line, Tone, cut_text};

    #[test]
    fn a_line_is_cut_by_columns_and_not_by_characters() {
        let line = Line::plain("ab").with(Tone::Strong, "日本語です");
        assert_eq!(line.width(), 12);
        assert_eq!(line.clone().cut(12, "…").to_string(), "ab日本語です");
        assert_eq!(line.clone().cut(8, "…").to_string(), "ab日本…");
        assert_eq!(line.cut(0, "…").to_string(), "");
    }

    #[test]
    fn a_line_is_wrapped_between_words_and_keeps_its_tones() {
        let line =
            Line::new().with(Tone::Error, "error: ").with(Tone::Plain, "one two three").with(Tone::Hint, " four");
        let wrapped = line.wrapped(14, 7);
        let texts: Vec<String> = wrapped.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        assert_eq!(texts, ["error: one two", "       three", "       four"]);
        assert_eq!(wrapped[2].spans().last().map(super::Span::tone), Some(Tone::Hint));
    }

    #[test]
    fn what_stands_in_quotes_stays_with_them() {
        let line = Line::plain("see it with `").with(Tone::Hint, "taskyard list --all").with(Tone::Plain, "`, or not");
        let texts: Vec<String> =
            line.wrapped(22, 2).iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        assert_eq!(texts, ["see it with `taskyard", "  list --all`, or not"]);
    }

    #[test]
    fn a_piece_never_carries_an_escape_sequence() {
        assert_eq!(Line::plain("\x1b[2J").to_string(), "\\x1b[2J");
    }

    #[test]
    fn what_people_see_as_one_character_is_never_taken_apart() {
        assert_eq!(cut_text("a👩‍👩‍👧b", 3, "…"), "a…");
        assert_eq!(cut_text("a👩‍👩‍👧bc", 4, "…"), "a👩‍👩‍👧…");
        assert_eq!(cut_text("e\u{301}e\u{301}e\u{301}", 2, "…"), "e\u{301}…");
    }

    #[test]
    fn text_is_cut_without_a_space_before_the_mark() {
        assert_eq!(cut_text("write the parser", 7, "…"), "write…");
        assert_eq!(cut_text("short", 7, "…"), "short");
    }
}

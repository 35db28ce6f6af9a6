//! Splits a query into tokens, and reports errors with their position.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::rules::looking::query::query_condition::Comparison;

/// Characters with a special meaning outside quotes. They cannot be part of an unquoted word.
pub(super) const SIGNS: [char; 8] = ['&', '|', '!', '<', '>', '=', '*', '"'];

/// A token of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    Or,
    And,
    Not,
    Piece(Piece),
}

/// A word, a quoted text, or a field with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The name of the field and its comparison; no comparison for `:`, `=`, `==` and `!=`.
    pub(super) field: Option<(String, Option<Comparison>)>,
    /// Whether the condition is negated, as in `tag!=ops`.
    pub(super) is_negated: bool,
    pub(super) value: String,
    /// The position of the value, without quotes.
    pub(super) value_place: Range<usize>,
    pub(super) is_quoted: bool,
}

/// A token and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) span: Range<usize>,
}

/// Splits a query into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, Mistake> {
    let mut reader = Reader { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(placed) = reader.next()? {
        tokens.push(placed);
    }
    Ok(tokens)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Option<Placed>, Mistake> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        let (start, rest) = (self.at, rest.trim_start());
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '&' => (Token::And, if rest.starts_with("&&") { 2 } else { 1 }),
            '|' => (Token::Or, if rest.starts_with("||") { 2 } else { 1 }),
            '-' if rest[1..].starts_with(|next: char| !next.is_whitespace() && next != ')') => (Token::Not, 1),
            '-' => {
                let mistake = Mistake::new(self.text, start..start + 1, "a term is missing after this `-`");
                return Err(mistake.advising(
                    "to negate a term, write it without a space; to search for the sign itself, put it in quotes",
                ));
            }
            '!' if !rest.starts_with("!=") => (Token::Not, 1),
            '"' | '\'' => {
                let (value, value_place) = self.quoted(first)?;
                (Token::Piece(Piece { field: None, is_negated: false, value, value_place, is_quoted: true }), 0)
            }
            '+' => (self.plus()?, 0),
            '~' | '^' if !rest.starts_with("~/") => return Err(self.sign_in_word(start, first)),
            _ => (self.word()?, 0),
        };
        self.at += length;
        Ok(Some(Placed { token, span: start..self.at }))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Reads a quoted text. A backslash escapes the quote and itself.
    fn quoted(&mut self, quote: char) -> Result<(String, Range<usize>), Mistake> {
        let opening = self.at;
        self.at += 1;
        let start = self.at;
        let mut value = String::new();
        let mut is_escaped = false;
        for (offset, character) in self.text[start..].char_indices() {
            match character {
                character if character == quote && !is_escaped => {
                    self.at = start + offset + 1;
                    if value.is_empty() {
                        return Err(Mistake::new(self.text, opening..self.at, "these quotes are empty"));
                    }
                    return Ok((value, start..start + offset));
                }
                '\\' if !is_escaped => is_escaped = true,
                character => {
                    if is_escaped && character != quote && character != '\\' {
                        value.push('\\');
                    }
                    value.push(character);
                    is_escaped = false;
                }
            }
        }
        Err(Mistake::new(self.text, opening..opening + 1, "this quote is never closed")
            .advising(format!("add a closing `{quote}`")))
    }

    /// Reads up to the next whitespace or parenthesis.
    fn word(&mut self) -> Result<Token, Mistake> {
        let start = self.at;
        while let Some(character) = self.peek().filter(|character| !character.is_whitespace() && *character != ')') {
            let is_compared = matches!(character, ':' | '<' | '>' | '=') || self.text[self.at..].starts_with("!=");
            match character {
                _ if is_compared && is_name(&self.text[start..self.at]) => return self.with_field(start),
                '(' if operator(&self.text[start..self.at]).is_some() => break,
                '(' => return Err(self.sign_in_word(start, character)),
                character if SIGNS.contains(&character) => return Err(self.sign_in_word(start, character)),
                character => self.at += character.len_utf8(),
            }
        }
        let word = &self.text[start..self.at];
        Ok(operator(word).unwrap_or_else(|| {
            let (value, value_place) = (word.to_owned(), start..self.at);
            Token::Piece(Piece { field: None, is_negated: false, value, value_place, is_quoted: false })
        }))
    }

    fn with_field(&mut self, start: usize) -> Result<Token, Mistake> {
        let name = self.text[start..self.at].to_ascii_lowercase();
        let rest = &self.text[self.at..];
        let (sign, comparison) = [
            ("!=", None),
            ("<=", Some(Comparison::AtMost)),
            (">=", Some(Comparison::AtLeast)),
            ("<", Some(Comparison::Less)),
            (">", Some(Comparison::More)),
            ("==", None),
            ("=", None),
            (":", None),
        ]
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .unwrap_or((":", None));
        self.at += sign.len();
        let (field, is_negated) = (Some((name, comparison)), sign == "!=");
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            let (value, value_place) = self.quoted(quote)?;
            return Ok(Token::Piece(Piece { field, is_negated, value, value_place, is_quoted: true }));
        }
        let value_start = self.at;
        while let Some(character) = self.peek().filter(|character| !character.is_whitespace() && *character != ')') {
            let is_first = self.at == value_start;
            match character {
                '<' | '>' | '=' | '!' | '-' if is_first => return Err(self.sign_after_colon(start, sign, character)),
                '(' => return Err(self.sign_in_word(start, character)),
                character if SIGNS.contains(&character) => return Err(self.sign_in_word(start, character)),
                character => self.at += character.len_utf8(),
            }
        }
        let (value, value_place) = (self.text[value_start..self.at].to_owned(), value_start..self.at);
        Ok(Token::Piece(Piece { field, is_negated, value, value_place, is_quoted: false }))
    }

    /// Returns the position of the whole word, for an error that covers it.
    fn whole_word(&self, start: usize) -> Range<usize> {
        let rest = &self.text[self.at..];
        start
            ..self.at + rest.find(|character: char| character.is_whitespace() || character == ')').unwrap_or(rest.len())
    }

    /// Returns the error for a special character inside a word.
    fn sign_in_word(&self, start: usize, sign: char) -> Mistake {
        let whole = self.whole_word(start);
        let (before, after) = (&self.text[start..self.at], &self.text[self.at..whole.end]);
        let right = after.trim_start_matches(['&', '|']);
        let sign_place = self.at..self.at + sign.len_utf8();
        match sign {
            '&' | '|' if !right.is_empty() => {
                let written = &after[..after.len() - right.len()];
                let what = format!("`{written}` needs a space before it, or quotes if it is part of the text");
                // `tag:a|b` means either of two tags.
                let is_one_field = sign == '|' && before.contains(':') && !right.contains(':');
                let meant =
                    if is_one_field { format!("{before},{right}") } else { format!("{before} {written} {right}") };
                Mistake::new(self.text, whole, what).meaning(Some(meant))
            }
            '*' => {
                Mistake::new(self.text, sign_place, "there are no wildcards: a word finds every text that contains it")
                    .advising("put it in quotes to search for the sign itself")
            }
            sign => Mistake::new(self.text, sign_place, format!("`{sign}` is not allowed inside a word or value"))
                .advising("put the text in quotes to search for the sign itself"),
        }
    }

    /// Returns the error for a second sign after a field's, as in `due:<2d` and `tag:!old`.
    fn sign_after_colon(&self, start: usize, sign: &str, second: char) -> Mistake {
        let whole = self.whole_word(start);
        let name = &self.text[start..self.at - sign.len()];
        let value = self.text[self.at..whole.end].trim_start_matches(['<', '>', '=', '!', '-']);
        let written = &self.text[self.at..whole.end - value.len()];
        let meant = match (sign, written) {
            _ if value.is_empty() => None,
            (":", "<" | "<=" | ">" | ">=" | "=") => Some(format!("{name}{written}{value}")),
            (":", "!" | "-" | "!=") => Some(format!("not {name}:{value}")),
            _ => None,
        };
        let what = format!("`{second}` is not allowed after `{name}{sign}`");
        Mistake::new(self.text, whole, what).meaning(meant).advising("put the value in quotes if it begins with a sign")
    }

    /// Reads `+tag`, a shorthand for `tag:tag`.
    fn plus(&mut self) -> Result<Token, Mistake> {
        let start = self.at;
        self.at += 1;
        let whole = self.whole_word(start);
        let tag = &self.text[self.at..whole.end];
        if !is_name(tag) {
            let mistake = Mistake::new(self.text, whole, "a tag is missing after this `+`");
            return Err(
                mistake.advising("write `+ops` for a tag; to search for the sign itself, put the text in quotes")
            );
        }
        let (value, value_place) = (tag.to_owned(), self.at..whole.end);
        self.at = whole.end;
        let field = Some(("tag".to_owned(), None));
        Ok(Token::Piece(Piece { field, is_negated: false, value, value_place, is_quoted: false }))
    }
}

/// Returns the operator `or`, `and` or `not`, or `None` for other words.
fn operator(word: &str) -> Option<Token> {
    let words = [("or", Token::Or), ("and", Token::And), ("not", Token::Not)];
    words.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, token)| token)
}

/// Returns whether a text can be the name of a field.
fn is_name(text: &str) -> bool {
    let is_inside = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    text.starts_with(char::is_alphabetic) && text.chars().all(is_inside)
}

/// A syntax error in a query: what is wrong, where, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Mistake {
    /// The whole query.
    pub text: String,
    /// The position of the error, in bytes.
    pub span: Range<usize>,
    /// A description of the error.
    pub what: String,
    /// The suggested replacement for the text at the error's position.
    pub(crate) meant: Option<String>,
    /// What to do if there is no replacement.
    pub advice: Option<String>,
}

impl Mistake {
    pub(crate) fn new(text: &str, span: Range<usize>, what: impl Into<String>) -> Self {
        Self { text: text.to_owned(), span, what: what.into(), meant: None, advice: None }
    }

    #[must_use]
    pub(crate) fn meaning(self, meant: Option<impl Into<String>>) -> Self {
        Self { meant: meant.map(Into::into), ..self }
    }

    #[must_use]
    pub(crate) fn advising(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Returns the query on one line, and on the next line marks under the error followed by the suggestion.
    pub(crate) fn marked(&self) -> [String; 2] {
        let [line, mut marks] = marked(&self.text, &self.span);
        if let Some(meant) = &self.meant {
            marks.push_str(&format!(" did you mean `{meant}`?"));
        }
        [line, marks]
    }

    /// Returns the whole query with the suggestion applied, or `None` if there is none.
    pub fn mended(&self) -> Option<String> {
        let meant = self.meant.as_deref()?;
        Some(format!("{}{meant}{}", &self.text[..self.span.start], &self.text[self.span.end..]))
    }
}

/// Returns a text on one line and marks under a part of it on the next.
pub(super) fn marked(text: &str, span: &Range<usize>) -> [String; 2] {
    let start = floor(text, span.start);
    let end = floor(text, span.end).max(start);
    let [before, inside, after] = [&text[..start], &text[start..end], &text[end..]].map(on_one_line);
    let marks = "^".repeat(inside.width().max(1));
    [format!("{before}{inside}{after}"), format!("{}{marks}", " ".repeat(before.width()))]
}

/// Replaces control characters, which would shift the marks.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the nearest character boundary at or before a position.
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

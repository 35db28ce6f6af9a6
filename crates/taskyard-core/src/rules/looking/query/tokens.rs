//! The pieces a query is made of, and where each stands.

use std::ops::Range;

use super::condition::Comparison;
use super::mistake::Mistake;

/// Signs that mean something outside quotes, and are never a part of a word.
pub(super) const SIGNS: [char; 8] = ['&', '|', '!', '<', '>', '=', '*', '"'];

/// A piece of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    Or,
    And,
    Not,
    Piece(Piece),
}

/// A word, a text in quotes, or a field with what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The field, and how it is to compare; none: `:`.
    pub(super) field: Option<(String, Option<Comparison>)>,
    /// Whether the field is not to be this: `tag!=ops`.
    pub(super) is_negated: bool,
    pub(super) value: String,
    /// Where the value stands, without its quotes.
    pub(super) value_place: Range<usize>,
    pub(super) is_quoted: bool,
}

/// A piece of a query and where it stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) span: Range<usize>,
}

/// Takes a query apart.
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
                let mistake = Mistake::new(self.text, start..start + 1, "there is nothing after this `-`");
                return Err(
                    mistake.advising("write it without a space to negate, in quotes to look for the sign itself")
                );
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

    /// Reads what stands in quotes, in which a backslash keeps the next character from meaning anything.
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
                        return Err(Mistake::new(self.text, opening..self.at, "there is nothing between these quotes"));
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
            .advising(format!("write one more `{quote}` where the words end")))
    }

    /// Reads up to the next space or bracket.
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

    /// Reads the rest of the word, for a mistake that covers all of it.
    fn whole_word(&self, start: usize) -> Range<usize> {
        let rest = &self.text[self.at..];
        start
            ..self.at + rest.find(|character: char| character.is_whitespace() || character == ')').unwrap_or(rest.len())
    }

    /// Says that a sign stands inside a word.
    fn sign_in_word(&self, start: usize, sign: char) -> Mistake {
        let whole = self.whole_word(start);
        let (before, after) = (&self.text[start..self.at], &self.text[self.at..whole.end]);
        let right = after.trim_start_matches(['&', '|']);
        let sign_place = self.at..self.at + sign.len_utf8();
        match sign {
            '&' | '|' if !right.is_empty() => {
                let written = &after[..after.len() - right.len()];
                let what = format!("`{written}` needs a space before it, or quotes if it is a part of the text");
                // `tag:a|b` means two tags.
                let is_one_field = sign == '|' && before.contains(':') && !right.contains(':');
                let meant =
                    if is_one_field { format!("{before},{right}") } else { format!("{before} {written} {right}") };
                Mistake::new(self.text, whole, what).meaning(Some(meant))
            }
            '*' => {
                Mistake::new(self.text, sign_place, "there are no wildcards: a word finds every text that contains it")
                    .advising("put it in quotes to look for the sign itself")
            }
            sign => Mistake::new(self.text, sign_place, format!("`{sign}` does not stand inside a word or value"))
                .advising("put the text in quotes to look for the sign itself"),
        }
    }

    /// Says that a field has a colon and another sign, as in `due:<2d` and `tag:!old`.
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
        let what = format!("`{second}` does not stand behind `{name}{sign}`");
        Mistake::new(self.text, whole, what).meaning(meant).advising("put the value in quotes if it begins with a sign")
    }

    /// Reads `+tag`, which is `tag:tag`.
    fn plus(&mut self) -> Result<Token, Mistake> {
        let start = self.at;
        self.at += 1;
        let whole = self.whole_word(start);
        let tag = &self.text[self.at..whole.end];
        if !is_name(tag) {
            let mistake = Mistake::new(self.text, whole, "there is no tag after this `+`");
            return Err(mistake.advising("write `+ops` for a tag, and the text in quotes to look for the sign itself"));
        }
        let (value, value_place) = (tag.to_owned(), self.at..whole.end);
        self.at = whole.end;
        let field = Some(("tag".to_owned(), None));
        Ok(Token::Piece(Piece { field, is_negated: false, value, value_place, is_quoted: false }))
    }
}

/// Returns what `or`, `and` and `not` are.
fn operator(word: &str) -> Option<Token> {
    let words = [("or", Token::Or), ("and", Token::And), ("not", Token::Not)];
    words.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, token)| token)
}

/// Tells whether this may be the name of a field, if one of the signs stands behind it.
fn is_name(text: &str) -> bool {
    let is_inside = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    text.starts_with(char::is_alphabetic) && text.chars().all(is_inside)
}

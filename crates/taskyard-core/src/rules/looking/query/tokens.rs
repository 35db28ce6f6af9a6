//! The pieces a query is made of, and where each stands.

use std::ops::Range;

use super::condition::Comparison;
use super::mistake::Mistake;

/// Fields that can be compared: before another name, `<` and `>` are part of a word.
const COMPARED: [&str; 5] = ["age", "changed", "due", "estimate", "priority"];

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
    let mut reader = Reader { text, at: 0, depth: 0 };
    let mut tokens = Vec::new();
    while let Some(placed) = reader.next()? {
        tokens.push(placed);
    }
    Ok(tokens)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How many brackets are open.
    depth: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Option<Placed>, Mistake> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(None) };
        let token = match first {
            '(' => {
                self.at += 1;
                self.depth += 1;
                Token::Open
            }
            ')' => {
                self.at += 1;
                self.depth = self.depth.saturating_sub(1);
                Token::Close
            }
            '-' if self.text[self.at + 1..].starts_with(|next: char| !next.is_whitespace() && next != ')') => {
                self.at += 1;
                Token::Not
            }
            '"' => {
                let (value, value_place) = self.quoted()?;
                Token::Piece(Piece { field: None, value, value_place, is_quoted: true })
            }
            _ => self.word()?,
        };
        Ok(Some(Placed { token, span: start..self.at }))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Reads what stands in quotes, in which a backslash keeps the next character from meaning anything.
    fn quoted(&mut self) -> Result<(String, Range<usize>), Mistake> {
        let opening = self.at;
        self.at += 1;
        let start = self.at;
        let mut value = String::new();
        let mut is_escaped = false;
        for (offset, character) in self.text[start..].char_indices() {
            match character {
                '"' if !is_escaped => {
                    self.at = start + offset + 1;
                    return Ok((value, start..start + offset));
                }
                '\\' if !is_escaped => is_escaped = true,
                character => {
                    if is_escaped && character != '"' && character != '\\' {
                        value.push('\\');
                    }
                    value.push(character);
                    is_escaped = false;
                }
            }
        }
        Err(Mistake::new(self.text, opening..opening + 1, "this quote is never closed")
            .advising("write one more `\"` where the words end"))
    }

    /// Reads up to the next space, or up to the bracket that closes what is open.
    fn word(&mut self) -> Result<Token, Mistake> {
        let start = self.at;
        let mut inside = 0_usize;
        while let Some(character) = self.peek().filter(|character| !character.is_whitespace()) {
            match character {
                '(' => inside += 1,
                ')' if inside > 0 => inside -= 1,
                ')' if self.depth > 0 => break,
                ':' | '<' | '>' if self.field(start).is_some() => return self.with_field(start),
                _ => {}
            }
            self.at += character.len_utf8();
        }
        let word = &self.text[start..self.at];
        Ok(match word {
            "or" | "OR" => Token::Or,
            "and" | "AND" => Token::And,
            "not" | "NOT" => Token::Not,
            word => Token::Piece(Piece {
                field: None,
                value: word.to_owned(),
                value_place: start..self.at,
                is_quoted: false,
            }),
        })
    }

    /// Returns the name of the field that ends here, where what follows is a comparison of one.
    fn field(&self, start: usize) -> Option<String> {
        let name = self.text[start..self.at].to_ascii_lowercase();
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_compared = self.peek() == Some(':') || COMPARED.contains(&name.as_str());
        Some(name).filter(|_| is_name && is_compared)
    }

    fn with_field(&mut self, start: usize) -> Result<Token, Mistake> {
        let name = self.text[start..self.at].to_ascii_lowercase();
        let rest = &self.text[self.at..];
        let (sign, comparison) = [
            ("<=", Some(Comparison::AtMost)),
            (">=", Some(Comparison::AtLeast)),
            ("<", Some(Comparison::Less)),
            (">", Some(Comparison::More)),
            (":", None),
        ]
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .unwrap_or((":", None));
        self.at += sign.len();
        let field = Some((name, comparison));
        if self.peek() == Some('"') {
            let (value, value_place) = self.quoted()?;
            return Ok(Token::Piece(Piece { field, value, value_place, is_quoted: true }));
        }
        let start = self.at;
        while let Some(character) = self.peek().filter(|character| !character.is_whitespace()) {
            if character == ')' && self.depth > 0 {
                break;
            }
            self.at += character.len_utf8();
        }
        let value = self.text[start..self.at].to_owned();
        Ok(Token::Piece(Piece { field, value, value_place: start..self.at, is_quoted: false }))
    }
}

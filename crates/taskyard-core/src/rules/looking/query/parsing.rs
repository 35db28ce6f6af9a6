//! From the text of a query to what it says.
//!
//! `or` binds least, words side by side mean all of them, `not` binds most. Brackets group. `|` is `or`, `&` is `and`, `!` and `-` are `not`.

use std::ops::Range;
use std::str::FromStr;

use super::condition::{Condition, Query};
use super::mistake::Mistake;
use super::terms::{condition, is_keyword};
use super::tokens::{Placed, SIGNS, Token, tokens};

/// How deep brackets and negations go. No user means more, and the stack is finite.
const DEEPEST: usize = 64;

impl Query {
    /// Reads a query.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
        if parser.tokens.is_empty() {
            return Ok(Self::default());
        }
        let root = parser.any(0)?;
        match parser.peek() {
            Some(Placed { span, .. }) => Err(parser.mistake(span.clone(), "this bracket closes nothing")),
            None => Ok(Self { root, ..Self::default() }),
        }
    }

    /// Reads a query from the arguments of a command: side by side they mean all of them. A shell takes quotes away, so an argument of
    /// several words that are nothing but words is an exact text.
    pub fn of_arguments(arguments: &[impl AsRef<str>]) -> Result<Self, Mistake> {
        let written = |argument: &str| match is_text(argument) {
            true => format!("\"{argument}\""),
            false => argument.to_owned(),
        };
        let all: Vec<String> = arguments.iter().map(|argument| written(argument.as_ref())).collect();
        Self::parse(&all.join(" "))
    }

    /// Reads a query from the arguments of a command in which words are searched for, one by one.
    pub fn of_words(arguments: &[impl AsRef<str>]) -> Result<Self, Mistake> {
        let all: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        Self::parse(&all.join(" "))
    }
}

impl FromStr for Query {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        Self::parse(text)
    }
}

/// Tells whether an argument is several words that are nothing but words.
fn is_text(argument: &str) -> bool {
    let has_sign = argument.contains(['(', ')', ':', '\\']) || argument.contains(SIGNS);
    let is_word = |word: &str| {
        let is_operator = ["or", "and", "not"].iter().any(|operator| operator.eq_ignore_ascii_case(word));
        !is_operator && !word.starts_with(['-', '\'', '+', '~', '^']) && !is_keyword(word)
    };
    !has_sign && argument.split_whitespace().count() > 1 && argument.split_whitespace().all(is_word)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Placed> {
        self.tokens.get(self.at)
    }

    fn is_next(&self, token: &Token) -> bool {
        self.peek().is_some_and(|placed| placed.token == *token)
    }

    fn mistake(&self, span: Range<usize>, what: impl Into<String>) -> Mistake {
        Mistake::new(self.text, span, what)
    }

    /// Reads statements with `or` between them.
    fn any(&mut self, depth: usize) -> Result<Condition, Mistake> {
        let mut conditions = vec![self.all(depth)?];
        while self.is_next(&Token::Or) {
            self.at += 1;
            conditions.push(self.all(depth)?);
        }
        Ok(single(conditions, Condition::Any))
    }

    /// Reads statements side by side; there is at least one.
    fn all(&mut self, depth: usize) -> Result<Condition, Mistake> {
        let mut conditions = Vec::new();
        while let Some(placed) = self.peek() {
            match &placed.token {
                Token::Or | Token::Close => break,
                Token::And => {
                    let span = placed.span.clone();
                    let is_between = !conditions.is_empty() && self.tokens.get(self.at + 1).is_some_and(begins);
                    if !is_between {
                        let what = format!("`{}` stands between two statements", &self.text[span.clone()]);
                        return Err(self.mistake(span, what).advising("put it in quotes to look for the word itself"));
                    }
                    self.at += 1;
                }
                Token::Open | Token::Not | Token::Piece(_) => conditions.push(self.one(depth)?),
            }
        }
        if conditions.is_empty() {
            return Err(self.nothing_here());
        }
        Ok(single(conditions, Condition::All))
    }

    /// Says that a statement is missing where the parser stands.
    fn nothing_here(&self) -> Mistake {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        match (before, self.peek()) {
            (Some(Placed { token: Token::Open, span }), Some(Placed { token: Token::Close, span: end })) => {
                self.mistake(span.start..end.end, "there is nothing between these brackets")
            }
            (Some(Placed { token: Token::Or, span }), _) => {
                self.mistake(span.clone(), format!("there is nothing after this `{}`", &self.text[span.clone()]))
            }
            (_, Some(Placed { token: Token::Or, span })) => {
                self.mistake(span.clone(), format!("there is nothing before this `{}`", &self.text[span.clone()]))
            }
            (_, Some(Placed { span, .. })) => self.mistake(span.clone(), "this bracket closes nothing"),
            (_, None) => self.mistake(self.text.len()..self.text.len(), "the query ends too early"),
        }
    }

    fn one(&mut self, depth: usize) -> Result<Condition, Mistake> {
        let Some(Placed { token, span }) = self.peek().cloned() else { return Err(self.nothing_here()) };
        if depth >= DEEPEST {
            return Err(self.mistake(span, format!("this is more than {DEEPEST} brackets and negations deep")));
        }
        self.at += 1;
        match token {
            Token::Piece(piece) => condition(self.text, &span, &piece),
            Token::Not => {
                if !self.peek().is_some_and(begins) {
                    let what = format!("there is nothing after this `{}`", &self.text[span.clone()]);
                    return Err(self.mistake(span, what).advising("put it in quotes to look for the word itself"));
                }
                Ok(Condition::Not(Box::new(self.one(depth + 1)?)))
            }
            Token::Open => {
                if self.peek().is_none() {
                    return Err(self.mistake(span, "this bracket is never closed"));
                }
                let inside = self.any(depth + 1)?;
                if !self.is_next(&Token::Close) {
                    return Err(self.mistake(span, "this bracket is never closed"));
                }
                self.at += 1;
                Ok(inside)
            }
            Token::Close | Token::Or | Token::And => Err(self.mistake(span, "there is nothing before this")),
        }
    }
}

/// Tells whether a statement begins with this.
fn begins(placed: &Placed) -> bool {
    matches!(placed.token, Token::Open | Token::Not | Token::Piece(_))
}

fn single(mut conditions: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    if conditions.len() == 1 { conditions.remove(0) } else { many(conditions) }
}

//! Parses a query: operators, fields and values.

use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use crate::near_words::nearest;
use crate::rules::looking::query::query_condition::{Comparison, Condition, Needle, Property, Query, StateTerm, Term};
use crate::rules::looking::query::query_tokens::{Mistake, Piece, Placed, SIGNS, Token, tokens};
use crate::timing::{BadSpan, When, WorkSpan, parse_span};
use crate::{Priority, Status, TaskId};

/// Maximum nesting of parentheses and negations. Limits recursion; no real query needs more.
const DEEPEST: usize = 64;

impl Query {
    /// Parses a query.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
        if parser.tokens.is_empty() {
            return Ok(Self::default());
        }
        let root = parser.any(0)?;
        match parser.peek() {
            Some(Placed { span, .. }) => Err(parser.mistake(span.clone(), "this closing bracket has no match")),
            None => Ok(Self { root, ..Self::default() }),
        }
    }

    /// Parses a query from command-line arguments. A task must match all of them. Because the shell removes quotes, an
    /// argument that consists of several plain words is an exact text.
    pub fn of_arguments(arguments: &[impl AsRef<str>]) -> Result<Self, Mistake> {
        let written = |argument: &str| match is_text(argument) {
            true => format!("\"{argument}\""),
            false => argument.to_owned(),
        };
        let all: Vec<String> = arguments.iter().map(|argument| written(argument.as_ref())).collect();
        Self::parse(&all.join(" "))
    }

    /// Parses a query from command-line arguments whose words are searched for one by one.
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

/// Returns whether an argument consists of several plain words.
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

    /// Parses conditions separated by `or`.
    fn any(&mut self, depth: usize) -> Result<Condition, Mistake> {
        let mut conditions = vec![self.all(depth)?];
        while self.is_next(&Token::Or) {
            self.at += 1;
            conditions.push(self.all(depth)?);
        }
        Ok(single(conditions, Condition::Any))
    }

    /// Parses adjacent conditions, of which there must be at least one.
    fn all(&mut self, depth: usize) -> Result<Condition, Mistake> {
        let mut conditions = Vec::new();
        while let Some(placed) = self.peek() {
            match &placed.token {
                Token::Or | Token::Close => break,
                Token::And => {
                    let span = placed.span.clone();
                    let is_between = !conditions.is_empty() && self.tokens.get(self.at + 1).is_some_and(begins);
                    if !is_between {
                        let what = format!("`{}` needs a term on each side", &self.text[span.clone()]);
                        return Err(self
                            .mistake(span, what)
                            .advising("put it in quotes to search for the word itself"));
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

    /// Returns the error for a missing condition at the current position.
    fn nothing_here(&self) -> Mistake {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        match (before, self.peek()) {
            (Some(Placed { token: Token::Open, span }), Some(Placed { token: Token::Close, span: end })) => {
                self.mistake(span.start..end.end, "these brackets are empty")
            }
            (Some(Placed { token: Token::Or, span }), _) => {
                self.mistake(span.clone(), format!("a term is missing after this `{}`", &self.text[span.clone()]))
            }
            (_, Some(Placed { token: Token::Or, span })) => {
                self.mistake(span.clone(), format!("a term is missing before this `{}`", &self.text[span.clone()]))
            }
            (_, Some(Placed { span, .. })) => self.mistake(span.clone(), "this closing bracket has no match"),
            (_, None) => self.mistake(self.text.len()..self.text.len(), "the query is incomplete"),
        }
    }

    fn one(&mut self, depth: usize) -> Result<Condition, Mistake> {
        let Some(Placed { token, span }) = self.peek().cloned() else { return Err(self.nothing_here()) };
        if depth >= DEEPEST {
            return Err(self.mistake(span, format!("brackets and negations are nested more than {DEEPEST} deep")));
        }
        self.at += 1;
        match token {
            Token::Piece(piece) => condition(self.text, &span, &piece),
            Token::Not => {
                if !self.peek().is_some_and(begins) {
                    let what = format!("a term is missing after this `{}`", &self.text[span.clone()]);
                    return Err(self.mistake(span, what).advising("put it in quotes to search for the word itself"));
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
            Token::Close | Token::Or | Token::And => Err(self.mistake(span, "a term is missing before this")),
        }
    }
}

/// Returns whether a condition can start with this token.
fn begins(placed: &Placed) -> bool {
    matches!(placed.token, Token::Open | Token::Not | Token::Piece(_))
}

fn single(mut conditions: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    if conditions.len() == 1 { conditions.remove(0) } else { many(conditions) }
}

/// The fields that a query can name.
pub const FIELDS: [&str; 17] = [
    "status", "priority", "tag", "owner", "parent", "id", "kind", "project", "older", "newer", "changed", "due",
    "defer", "estimate", "age", "has", "no",
];

/// The states that can be asked for, with or without `status:`.
const STATES: [&str; 8] = ["pending", "in_progress", "completed", "open", "blocked", "cancelled", "done", "closed"];

/// Names that other programs use for our fields.
const OTHER_NAMES: [(&str, &str); 15] = [
    ("state", "status"),
    ("is", "status"),
    ("prio", "priority"),
    ("label", "tag"),
    ("tags", "tag"),
    ("assignee", "owner"),
    ("agent", "owner"),
    ("part", "parent"),
    ("updated", "changed"),
    ("deadline", "due"),
    ("wait", "defer"),
    ("without", "no"),
    ("issue_type", "kind"),
    ("type", "kind"),
    ("proj", "project"),
];

/// Converts a piece of a query to a condition.
pub(super) fn condition(text: &str, span: &Range<usize>, piece: &Piece) -> Result<Condition, Mistake> {
    let Some((name, comparison)) = &piece.field else {
        let term = keyword(&piece.value).filter(|_| !piece.is_quoted);
        return Ok(Condition::Is(term.unwrap_or_else(|| Term::Text(Needle::new(&piece.value)))));
    };
    let field = Field { text, span, name, comparison: *comparison, piece };
    if !FIELDS.contains(&name.as_str()) {
        return Err(field.unknown());
    }
    if piece.value.is_empty() {
        return Err(field.empty());
    }
    let mut terms = Vec::new();
    for (value, at) in field.values() {
        terms.push(Condition::Is(field.term(value, at)?));
    }
    let condition = if terms.len() == 1 { terms.remove(0) } else { Condition::Any(terms) };
    let is_negated = piece.is_negated != (name == "no");
    Ok(if is_negated { Condition::Not(Box::new(condition)) } else { condition })
}

/// Returns whether an unquoted word is a condition by itself, such as `ready`, `overdue` or `done`. In quotes it is a
/// text.
pub fn is_keyword(word: &str) -> bool {
    keyword(word).is_some()
}

fn keyword(word: &str) -> Option<Term> {
    flag(word).or_else(|| state(word).map(Term::State))
}

fn state(word: &str) -> Option<StateTerm> {
    Some(match word.to_ascii_lowercase().replace('-', "_").as_str() {
        "open" => StateTerm::Open,
        "blocked" => StateTerm::Blocked,
        "cancelled" | "canceled" => StateTerm::Cancelled,
        "done" | "closed" => StateTerm::Is(Status::Completed),
        word => StateTerm::Is(word.parse().ok()?),
    })
}

fn flag(word: &str) -> Option<Term> {
    Some(match word.to_ascii_lowercase().as_str() {
        "ready" => Term::Ready,
        "blocked" => Term::Blocked,
        "overdue" => Term::Overdue,
        "deferred" => Term::Deferred,
        _ => return None,
    })
}

/// A field of a query and its value.
struct Field<'a> {
    text: &'a str,
    span: &'a Range<usize>,
    name: &'a str,
    comparison: Option<Comparison>,
    piece: &'a Piece,
}

impl Field<'_> {
    fn mistake(&self, span: Range<usize>, what: impl Into<String>) -> Mistake {
        Mistake::new(self.text, span, what)
    }

    fn name_place(&self) -> Range<usize> {
        self.span.start..self.span.start + self.name.len()
    }

    fn unknown(&self) -> Mistake {
        // Other tools use `is:ready` and `status:ready`.
        if self.name == "is" && flag(&self.piece.value).is_some() {
            let what = format!("write `{}` without a field", self.piece.value);
            return self.mistake(self.span.clone(), what).meaning(Some(self.piece.value.to_ascii_lowercase()));
        }
        let known = OTHER_NAMES.iter().find(|(other, _)| *other == self.name).map(|(_, field)| *field);
        let meant = known.or_else(|| nearest(self.name, &FIELDS));
        let mistake = self.mistake(self.name_place(), format!("unknown query field `{}`", self.name)).meaning(meant);
        match meant {
            Some(_) => mistake,
            None => mistake.advising(format!("the fields are {}; put text with a sign in quotes", FIELDS.join(", "))),
        }
    }

    fn empty(&self) -> Mistake {
        let what = format!("`{}` has no value", &self.text[self.span.clone()]);
        self.mistake(self.span.clone(), what).advising(format!("write it without a space: `{}`", self.example()))
    }

    fn example(&self) -> &'static str {
        match self.name {
            "status" => "status:pending",
            "priority" => "priority:high",
            "tag" => "tag:db",
            "owner" => "owner:ana",
            "parent" => "parent:3",
            "id" => "id:3-7",
            "kind" => "kind:bug",
            "project" => "project:rocket",
            "newer" => "newer:2d",
            "changed" => "changed:1h",
            "due" => "due:today",
            "defer" => "defer:mon",
            "has" => "has:note",
            "no" => "no:due",
            "estimate" => "estimate>2h",
            "age" => "age>2d",
            _ => "older:2d",
        }
    }

    /// Returns the values separated by commas, with their positions. A quoted value is not split.
    fn values(&self) -> Vec<(&str, Range<usize>)> {
        if self.piece.is_quoted {
            return vec![(self.piece.value.as_str(), self.piece.value_place.clone())];
        }
        let mut at = self.piece.value_place.start;
        let placed = |value| {
            let start = at;
            at += str::len(value) + 1;
            (value, start..start + value.len())
        };
        self.piece.value.split(',').map(placed).collect()
    }

    fn term(&self, value: &str, at: Range<usize>) -> Result<Term, Mistake> {
        let has_order = matches!(self.name, "priority" | "age" | "changed" | "due" | "defer" | "estimate");
        if self.comparison.is_some() && !has_order {
            return Err(self.mistake(self.span.clone(), format!("`{}` cannot be compared", self.name)));
        }
        if value.is_empty() {
            return Err(self.empty());
        }
        Ok(match self.name {
            "status" => Term::State(self.state(value, at)?),
            "priority" => Term::Priority(self.comparison.unwrap_or(Comparison::Same), self.priority(value, at)?),
            "tag" => Term::Tag(value.to_owned()),
            "owner" => Term::Owner(value.to_owned()),
            "parent" => Term::Parent(self.id(value, at)?),
            "id" => self.ids(value, at)?,
            "kind" => Term::Kind(value.to_owned()),
            "project" => Term::Project(value.to_owned()),
            "older" => Term::Age(Comparison::More, self.span(value, at)?),
            "newer" => Term::Age(Comparison::Less, self.span(value, at)?),
            "changed" => Term::Changed(self.comparison.unwrap_or(Comparison::AtMost), self.span(value, at)?),
            "due" => {
                let (comparison, when) = self.when(value, at)?;
                Term::Due(comparison, when)
            }
            "defer" => {
                let (comparison, when) = self.when(value, at)?;
                Term::Defer(comparison, when)
            }
            "has" | "no" => Term::Has(self.property(value, at)?),
            "estimate" => Term::Estimate(self.comparison.unwrap_or(Comparison::Same), self.work(value, at)?),
            _ => match self.comparison {
                Some(comparison) => Term::Age(comparison, self.span(value, at)?),
                None => {
                    let what = "`age` needs a comparison";
                    return Err(self.mistake(self.span.clone(), what).meaning(Some(format!("older:{value}"))));
                }
            },
        })
    }

    fn state(&self, value: &str, at: Range<usize>) -> Result<StateTerm, Mistake> {
        if let Some(state) = state(value) {
            return Ok(state);
        }
        if flag(value).is_some() {
            let what = format!("write `{value}` without a field");
            return Err(self.mistake(self.span.clone(), what).meaning(Some(value.to_ascii_lowercase())));
        }
        let mistake = self.mistake(at, format!("invalid status `{value}`")).meaning(nearest(value, &STATES));
        Err(mistake.advising(format!("expected one of {}", STATES[..6].join(", "))))
    }

    fn property(&self, value: &str, at: Range<usize>) -> Result<Property, Mistake> {
        let word = value.to_ascii_lowercase();
        let words = Property::WORDS.map(|(word, _)| word);
        let found = Property::WORDS.iter().find(|(name, _)| *name == word || format!("{name}s") == word);
        found.map(|(_, property)| *property).ok_or_else(|| {
            let what = format!("invalid value `{value}` for `{}:`", self.name);
            self.mistake(at, what)
                .meaning(nearest(&word, &words))
                .advising(format!("expected one of {}", words.join(", ")))
        })
    }

    /// Parses a date or a span. After a colon, a span means within it, and a date means on that day.
    fn when(&self, value: &str, at: Range<usize>) -> Result<(Comparison, When), Mistake> {
        let of_words = || When::parse(&value.replace(['-', '_'], " "));
        let when = When::parse(value).or_else(|error| of_words().map_err(|_| error)).map_err(|error| {
            // Suggest days for a number without a unit.
            let days = value.parse::<u32>().ok().map(|number| format!("{number}d"));
            match value.eq_ignore_ascii_case("none") {
                true => self.mistake(self.span.clone(), error.to_string()).meaning(Some(format!("no:{}", self.name))),
                false => self.mistake(at, error.to_string()).meaning(days),
            }
        })?;
        let by_itself = if when.is_from_now() { Comparison::AtMost } else { Comparison::Same };
        Ok((self.comparison.unwrap_or(by_itself), when))
    }

    fn priority(&self, value: &str, at: Range<usize>) -> Result<Priority, Mistake> {
        let words = Priority::ALL.map(Priority::as_str);
        value.to_ascii_lowercase().parse().map_err(|_| {
            let mistake = self.mistake(at, format!("invalid priority `{value}`")).meaning(nearest(value, &words));
            mistake.advising("expected low, medium or high")
        })
    }

    fn id(&self, value: &str, at: Range<usize>) -> Result<TaskId, Mistake> {
        value.parse().map_err(|error: crate::BadTaskId| self.mistake(at, error.to_string()))
    }

    /// Parses an id, or a range of two numbers separated by a hyphen.
    fn ids(&self, value: &str, at: Range<usize>) -> Result<Term, Mistake> {
        let number = |text: &str| text.parse::<TaskId>().ok().filter(|id| id.as_number().is_some());
        if let Some((first, last)) = value.split_once('-')
            && let (Some(first), Some(last)) = (number(first), number(last))
        {
            if first > last {
                return Err(self.mistake(at, "the range is reversed").meaning(Some(format!("{last}-{first}"))));
            }
            return Ok(Term::Id(first, last));
        }
        let id = self.id(value, at)?;
        Ok(Term::Id(id.clone(), id))
    }

    fn span(&self, value: &str, at: Range<usize>) -> Result<Duration, Mistake> {
        parse_span(value).map_err(|error| self.no_span(value, at, &error))
    }

    fn work(&self, value: &str, at: Range<usize>) -> Result<WorkSpan, Mistake> {
        WorkSpan::parse(value).map_err(|error| self.no_span(value, at, &error))
    }

    fn no_span(&self, value: &str, at: Range<usize>, error: &BadSpan) -> Mistake {
        // Suggest days for a number without a unit.
        let meant = value.parse::<u32>().ok().map(|number| format!("{number}d"));
        self.mistake(at, error.to_string()).meaning(meant)
    }
}

//! What a field of a query may be, and what it means.

use std::ops::Range;
use std::time::Duration;

use super::condition::{Comparison, Condition, Property, StateTerm, Term};
use super::mistake::Mistake;
use super::texts::Needle;
use super::tokens::Piece;
use crate::near_miss::nearest;
use crate::timing::{BadSpan, When, WorkSpan, parse_span};
use crate::{Priority, Status, TaskId};

/// The fields of a query.
pub const FIELDS: [&str; 16] = [
    "status", "priority", "tag", "owner", "parent", "id", "kind", "older", "newer", "changed", "due", "defer",
    "estimate", "age", "has", "no",
];

/// The states that can be asked for, with `status:` before them or as they are.
const STATES: [&str; 8] = ["pending", "in_progress", "completed", "open", "blocked", "cancelled", "done", "closed"];

/// What other programs call our fields.
const OTHER_NAMES: [(&str, &str); 12] = [
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
];

/// Returns what a piece of a query says.
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

/// Tells whether a word of a query says something of a task by itself: `ready`, `overdue`, `done`. In quotes it is a text.
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

/// A field of a query with what it is to be.
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
        // `is:ready` and `status:ready` of other tools.
        if self.name == "is" && flag(&self.piece.value).is_some() {
            let what = format!("`{}` needs no field before it", self.piece.value);
            return self.mistake(self.span.clone(), what).meaning(Some(self.piece.value.to_ascii_lowercase()));
        }
        let known = OTHER_NAMES.iter().find(|(other, _)| *other == self.name).map(|(_, field)| *field);
        let meant = known.or_else(|| nearest(self.name, &FIELDS));
        let mistake = self.mistake(self.name_place(), format!("`{}` is no field of a query", self.name)).meaning(meant);
        match meant {
            Some(_) => mistake,
            None => mistake.advising(format!("the fields are {}; text with a sign goes in quotes", FIELDS.join(", "))),
        }
    }

    fn empty(&self) -> Mistake {
        let what = format!("`{}` stands without what it is to be", &self.text[self.span.clone()]);
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

    /// Returns the values that stand with commas between them, and where; what is in quotes is one.
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
                    let what = "an age is compared";
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
            let what = format!("`{value}` needs no field before it");
            return Err(self.mistake(self.span.clone(), what).meaning(Some(value.to_ascii_lowercase())));
        }
        let mistake = self.mistake(at, format!("`{value}` is no status")).meaning(nearest(value, &STATES));
        Err(mistake.advising(format!("it is one of {}", STATES[..6].join(", "))))
    }

    fn property(&self, value: &str, at: Range<usize>) -> Result<Property, Mistake> {
        let word = value.to_ascii_lowercase();
        let words = Property::WORDS.map(|(word, _)| word);
        let found = Property::WORDS.iter().find(|(name, _)| *name == word || format!("{name}s") == word);
        found.map(|(_, property)| *property).ok_or_else(|| {
            let what = format!("`{}:` does not know `{value}`", self.name);
            self.mistake(at, what)
                .meaning(nearest(&word, &words))
                .advising(format!("it is one of {}", words.join(", ")))
        })
    }

    /// Reads days and spans. A colon before a span means within it, before days on one of them.
    fn when(&self, value: &str, at: Range<usize>) -> Result<(Comparison, When), Mistake> {
        let of_words = || When::parse(&value.replace(['-', '_'], " "));
        let when = When::parse(value).or_else(|error| of_words().map_err(|_| error)).map_err(|error| {
            // A number alone may be of anything; days are what people count tasks by.
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
            let mistake = self.mistake(at, format!("`{value}` is no priority")).meaning(nearest(value, &words));
            mistake.advising("it is low, medium or high")
        })
    }

    fn id(&self, value: &str, at: Range<usize>) -> Result<TaskId, Mistake> {
        value.parse().map_err(|error: crate::BadTaskId| self.mistake(at, error.to_string()))
    }

    /// Reads a number, a name, or two numbers with a hyphen between them.
    fn ids(&self, value: &str, at: Range<usize>) -> Result<Term, Mistake> {
        let number = |text: &str| text.parse::<TaskId>().ok().filter(|id| id.as_number().is_some());
        if let Some((first, last)) = value.split_once('-')
            && let (Some(first), Some(last)) = (number(first), number(last))
        {
            if first > last {
                return Err(self.mistake(at, "the range runs backwards").meaning(Some(format!("{last}-{first}"))));
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
        // A number alone may be of anything; days are what people count tasks by.
        let meant = value.parse::<u32>().ok().map(|number| format!("{number}d"));
        self.mistake(at, error.to_string()).meaning(meant)
    }
}

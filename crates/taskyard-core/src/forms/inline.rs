//! A task in one line: a title with inline attributes, such as `fix the login +ops due:fri pri:high after:4,5`.

use super::extras::{EstimateWord, Extras, parse_defer, parse_due, parse_priority};
use super::id_range::parse_id;
use crate::TaskId;
use crate::timing::Clock;

/// The attributes, by all their names.
const NAMES: [(&str, Name); 16] = [
    ("due", Name::Due),
    ("pri", Name::Priority),
    ("prio", Name::Priority),
    ("priority", Name::Priority),
    ("defer", Name::Defer),
    ("wait", Name::Defer),
    ("est", Name::Estimate),
    ("estimate", Name::Estimate),
    ("parent", Name::Parent),
    ("after", Name::After),
    ("dep", Name::After),
    ("depends", Name::After),
    ("tag", Name::Tag),
    ("tags", Name::Tag),
    ("owner", Name::Owner),
    ("kind", Name::Kind),
];

/// What an attribute sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Due,
    Priority,
    Defer,
    Estimate,
    Parent,
    After,
    Tag,
    Owner,
    Kind,
}

/// A title and the attributes among its words.
#[derive(Clone, Debug, Default)]
pub struct InlineTask {
    /// The words that are no attributes.
    pub title: String,
    /// What the attributes say that is kept in the metadata.
    pub extras: Extras,
    /// `owner:`
    pub owner: Option<String>,
    /// `after:`, the tasks it depends on.
    pub after: Vec<TaskId>,
}

/// An attribute whose value cannot be read, or that is given twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {why}", .word.escape_debug())]
pub struct BadAttribute {
    /// The attribute as it was typed.
    pub word: String,
    /// What is wrong with it.
    pub why: String,
}

/// Tells whether a word is an attribute rather than a part of the title. An argument with spaces in it is a text, unless it is the value of
/// an attribute that a shell took the quotes from (`due:next week`).
pub fn is_attribute(word: &str) -> bool {
    attribute(word).is_some()
}

fn attribute(word: &str) -> Option<(Name, &str)> {
    if let Some(tag) = word.strip_prefix('+') {
        let is_tag = tag.starts_with(char::is_alphabetic) && !tag.contains(char::is_whitespace);
        return is_tag.then_some((Name::Tag, tag));
    }
    let (name, value) = word.split_once(':')?;
    let (_, name) = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    // `std::due::x` and `due:// x` are texts.
    let is_value = value.starts_with(|first: char| !first.is_whitespace() && first != ':' && first != '/');
    let may_have_spaces = matches!(name, Name::Due | Name::Defer | Name::Estimate);
    (is_value && (may_have_spaces || !value.contains(char::is_whitespace))).then_some((*name, value))
}

impl InlineTask {
    /// Reads the arguments of a command.
    pub fn of_words(words: &[impl AsRef<str>], clock: &Clock) -> Result<Self, BadAttribute> {
        let mut task = Self::default();
        let mut title = Vec::new();
        for word in words.iter().map(AsRef::as_ref) {
            match attribute(word) {
                Some((name, value)) => {
                    task.take(name, value, clock).map_err(|why| BadAttribute { word: word.to_owned(), why })?
                }
                None => title.push(word),
            }
        }
        task.title = title.join(" ");
        Ok(task)
    }

    /// Reads one line, in which the value of an attribute may stand in quotes: `due:"next week"`. Words after ` -- ` are title.
    pub fn of_line(line: &str, clock: &Clock) -> Result<Self, BadAttribute> {
        let (before, literal) = line.split_once(" -- ").unwrap_or((line, ""));
        let mut task = Self::of_words(&words_of(before), clock)?;
        let literal = literal.split_whitespace().collect::<Vec<_>>().join(" ");
        task.title = [task.title, literal].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        Ok(task)
    }

    fn take(&mut self, name: Name, value: &str, clock: &Clock) -> Result<(), String> {
        fn once<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
            match place.replace(value) {
                Some(_) => Err("it is given twice".to_owned()),
                None => Ok(()),
            }
        }
        let several = || value.split(',').filter(|part| !part.is_empty());
        let extras = &mut self.extras;
        match name {
            Name::Due => once(&mut extras.due, parse_due(value, clock)?),
            Name::Defer => once(&mut extras.defer, parse_defer(value, clock)?),
            Name::Priority => once(&mut extras.priority, parse_priority(value)?),
            Name::Estimate => once(&mut extras.estimate, value.parse::<EstimateWord>()?),
            Name::Parent => once(&mut extras.parent, parse_id(value)?),
            Name::Kind => once(&mut extras.kind, value.to_owned()),
            Name::Owner => once(&mut self.owner, value.to_owned()),
            Name::Tag => {
                extras.tags.extend(several().map(str::to_owned));
                Ok(())
            }
            Name::After => {
                self.after.extend(several().map(parse_id).collect::<Result<Vec<_>, _>>()?);
                Ok(())
            }
        }
    }
}

/// Takes a line apart at its spaces, except those in a value in quotes.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let quoted = rest[..end].find(":\"").and_then(|at| {
            let value = &rest[at + 2..];
            let closing = value.find('"')?;
            let word = format!("{}:{}", &rest[..at], &value[..closing]);
            is_attribute(&word).then_some((word, at + 2 + closing + 1))
        });
        let (word, taken) = quoted.unwrap_or_else(|| (rest[..end].to_owned(), end));
        words.push(word);
        rest = rest[taken..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;
    use serde_json::json;

    use super::{InlineTask, is_attribute};
    use crate::timing::{Clock, WORKING_DAY};
    use crate::{TaskId, Timestamp};

    fn clock() -> Clock {
        Clock::new(Timestamp(0), TimeZone::UTC)
    }

    fn read(words: &[&str]) -> InlineTask {
        InlineTask::of_words(words, &clock()).unwrap()
    }

    #[test]
    fn attributes_are_taken_out_of_the_title() {
        let task = read(&[
            "fix",
            "the",
            "+ops",
            "login",
            "due:1970-01-02",
            "pri:H",
            "est:2h",
            "parent:#3",
            "after:4,#5",
            "owner:ana",
        ]);
        assert_eq!(task.title, "fix the login");
        assert_eq!(task.after, [TaskId::number(4), TaskId::number(5)]);
        assert_eq!(task.owner.as_deref(), Some("ana"));
        assert_eq!(
            json!(task.extras.metadata(WORKING_DAY)),
            json!({"priority": "high", "tags": ["ops"], "parent": "3", "due": "1970-01-02T23:59:59.999Z", "estimate": 7200})
        );
    }

    #[test]
    fn words_that_only_look_like_attributes_stay_in_the_title() {
        for word in
            ["+1", "+", "C++", "due:", "std::due::x", "note:x", "http://x", "+a b", "pri:a b", "due: fri", "due::x"]
        {
            assert!(!is_attribute(word), "{word}");
        }
        assert_eq!(read(&["use", "C++", "for", "x:y"]).title, "use C++ for x:y");
        assert!(is_attribute("due:next week"));
    }

    #[test]
    fn value_that_cannot_be_read_names_the_word() {
        let refused = |words: &[&str]| InlineTask::of_words(words, &clock()).unwrap_err().to_string();
        assert!(refused(&["a", "due:freitag"]).starts_with("`due:freitag`: "), "{}", refused(&["a", "due:freitag"]));
        assert_eq!(refused(&["a", "pri:x"]), "`pri:x`: `x` is no priority; use low, medium or high");
        assert_eq!(refused(&["pri:low", "pri:high"]), "`pri:high`: it is given twice");
        assert!(refused(&["after:../x"]).starts_with("`after:../x`: "));
    }

    #[test]
    fn line_may_quote_values_and_end_attributes() {
        let read = |line: &str| InlineTask::of_line(line, &clock()).unwrap();
        let task = read("  don't panic due:\"tomorrow 9:00\"  +ops -- +1 due:x");
        assert_eq!(task.title, "don't panic +1 due:x");
        assert_eq!(task.extras.tags, ["ops"]);
        assert!(task.extras.due.is_some());
        assert_eq!(read("say \"due:\"").title, "say \"due:\"");
    }

    proptest! {
        #[test]
        fn no_line_panics_and_plain_words_stay(line in "\\PC{0,60}", plain in "[a-z ]{0,40}") {
            let _ = InlineTask::of_line(&line, &clock());
            let words: Vec<&str> = plain.split_whitespace().collect();
            prop_assert_eq!(InlineTask::of_line(&plain, &clock()).unwrap().title, words.join(" "));
        }
    }
}

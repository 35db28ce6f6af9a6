//! Parses tasks and ids that people type on one line.

use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rules::changes::recurring::EVERY;
use crate::timing::{BadRecurrence, Clock, PartOfDay, Recurrence, WorkSpan, parse_moment};
use crate::{BadTaskId, DEFER, DUE, ESTIMATE, Metadata, Priority, TaskId, UnknownPriority};

/// The attributes with all their names.
const NAMES: [(&str, Name); 19] = [
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
    ("project", Name::Project),
    ("every", Name::Every),
    ("recur", Name::Every),
];

/// The field that an attribute sets.
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
    Project,
    Every,
}

/// A title and the attributes found among its words.
#[derive(Clone, Debug, Default)]
pub struct InlineTask {
    /// The words that are not attributes.
    pub title: String,
    /// The attributes that are stored in the metadata.
    pub extras: Extras,
    /// `owner:`
    pub owner: Option<String>,
    /// `after:`: its blockers.
    pub after: Vec<TaskId>,
}

/// An attribute that is invalid or given twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {why}", .word.escape_debug())]
pub struct BadAttribute {
    /// The attribute as typed.
    pub(crate) word: String,
    /// What is wrong with it.
    pub(crate) why: String,
}

/// Returns whether a word is an attribute rather than part of the title. An argument that contains spaces is text,
/// unless it is an attribute value from which the shell removed the quotes (`due:next week`).
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
    // `std::due::x` and `due:// x` are text.
    let is_value = value.starts_with(|first: char| !first.is_whitespace() && first != ':' && first != '/');
    let may_have_spaces = matches!(name, Name::Due | Name::Defer | Name::Estimate | Name::Every);
    (is_value && (may_have_spaces || !value.contains(char::is_whitespace))).then_some((*name, value))
}

impl InlineTask {
    /// Parses the arguments of a command.
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

    /// Parses one line. Attribute values may be quoted: `due:"next week"`. Words after ` -- ` belong to the title.
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
            Name::Every => once(&mut extras.every, parse_every(value, clock)?),
            Name::Project => {
                let is_given = extras.metadata.iter().any(|(key, _)| key == "project");
                extras.metadata.push(("project".to_owned(), value.into()));
                if is_given { Err("it is given twice".to_owned()) } else { Ok(()) }
            }
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

/// Splits a line at spaces, except inside a quoted value.
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

/// The value that clears a field.
const NONE: &str = "none";

/// The properties of a task that are stored in its metadata.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// The priority.
    pub priority: Option<Priority>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The parent.
    pub parent: Option<TaskId>,
    /// The kind of task.
    pub kind: Option<String>,
    /// The due date, from [`parse_due`].
    pub due: Option<Value>,
    /// The deferral, from [`parse_defer`].
    pub defer: Option<Value>,
    /// The estimate.
    pub estimate: Option<EstimateWord>,
    /// The recurrence rule, from [`parse_every`].
    pub every: Option<Value>,
    /// Other keys. They are applied last and take precedence.
    pub metadata: Vec<(String, Value)>,
}

impl Extras {
    /// Returns the metadata, or `None` if nothing is set. `working_day` is the length of a day in the estimate.
    pub fn metadata(self, working_day: Duration) -> Option<Metadata> {
        let mut metadata = Metadata::new();
        if let Some(priority) = self.priority {
            metadata.insert("priority".into(), json!(priority.as_str()));
        }
        if !self.tags.is_empty() {
            metadata.insert("tags".into(), json!(self.tags));
        }
        if let Some(parent) = self.parent {
            metadata.insert("parent".into(), json!(parent.as_str()));
        }
        if let Some(kind) = self.kind {
            metadata.insert("kind".into(), json!(kind));
        }
        let estimate = self.estimate.map(|estimate| estimate.value(working_day));
        for (key, value) in [(DUE, self.due), (DEFER, self.defer), (ESTIMATE, estimate), (EVERY, self.every)] {
            metadata.extend(value.map(|value| (key.to_owned(), value)));
        }
        metadata.extend(self.metadata);
        (!metadata.is_empty()).then_some(metadata)
    }

    /// Merges two sets of properties. Fails with the name of a property that both set; tags and metadata are
    /// combined.
    pub fn and(self, other: Self) -> Result<Self, &'static str> {
        fn one<T>(name: &'static str, one: Option<T>, other: Option<T>) -> Result<Option<T>, &'static str> {
            if one.is_some() && other.is_some() { Err(name) } else { Ok(one.or(other)) }
        }
        Ok(Self {
            priority: one("priority", self.priority, other.priority)?,
            tags: self.tags.into_iter().chain(other.tags).collect(),
            parent: one("parent", self.parent, other.parent)?,
            kind: one("kind", self.kind, other.kind)?,
            due: one(DUE, self.due, other.due)?,
            defer: one(DEFER, self.defer, other.defer)?,
            estimate: one(ESTIMATE, self.estimate, other.estimate)?,
            every: one(EVERY, self.every, other.every)?,
            metadata: self.metadata.into_iter().chain(other.metadata).collect(),
        })
    }
}

/// Removes cleared times, because a new task has none to clear.
pub fn without_taken_times(metadata: &mut Metadata) {
    metadata.retain(|key, value| !value.is_null() || ![DUE, DEFER, ESTIMATE, EVERY].contains(&key.as_str()));
}

/// Parses a priority in any case, or its first letter.
pub fn parse_priority(text: &str) -> Result<Priority, String> {
    let word = text.trim().to_lowercase();
    let by_letter = Priority::ALL.into_iter().find(|priority| word.len() == 1 && priority.as_str().starts_with(&word));
    by_letter.map_or_else(|| word.parse().map_err(|error: UnknownPriority| error.to_string()), Ok)
}

/// Parses a due date; a bare date means its end. Returns null if the due date is to be cleared.
pub fn parse_due(text: &str, clock: &Clock) -> Result<Value, String> {
    moment(text, PartOfDay::End, clock)
}

/// Parses a deferral; a bare date means its start. Returns null if the deferral is to be cleared.
pub fn parse_defer(text: &str, clock: &Clock) -> Result<Value, String> {
    moment(text, PartOfDay::Start, clock)
}

/// Parses a recurrence rule in the zone of the clock. Returns null if the rule is to be cleared.
pub fn parse_every(text: &str, clock: &Clock) -> Result<Value, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Value::Null);
    }
    let rule: Recurrence = text.parse().map_err(|error: BadRecurrence| error.to_string())?;
    Ok(Value::String(rule.written_in(&clock.zone)))
}

fn moment(text: &str, part: PartOfDay, clock: &Clock) -> Result<Value, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Value::Null);
    }
    let moment = parse_moment(text, part, clock).map_err(|error| error.to_string())?;
    Ok(Value::String(moment.to_string()))
}

/// An estimate as typed; `none` clears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EstimateWord(Option<WorkSpan>);

impl EstimateWord {
    fn value(self, working_day: Duration) -> Value {
        self.0.map_or(Value::Null, |span| span.with_days_of(working_day).as_secs().into())
    }
}

impl std::str::FromStr for EstimateWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case(NONE) {
            return Ok(Self(None));
        }
        WorkSpan::parse(text).map(|span| Self(Some(span))).map_err(|error| error.to_string())
    }
}

/// The maximum number of tasks in a range; a larger range is probably a typo.
const LONGEST_RANGE: u64 = 10_000;

/// One task, or a range of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IdRange {
    One(TaskId),
    Numbers(u64, u64),
}

impl IdRange {
    /// Returns the tasks.
    pub fn ids(&self) -> Vec<TaskId> {
        match self {
            Self::One(id) => vec![id.clone()],
            Self::Numbers(first, last) => (*first..=*last).map(TaskId::number).collect(),
        }
    }
}

/// Parses a task id, or two numbers separated by a hyphen.
impl FromStr for IdRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| parse_id(text).ok().and_then(|id| id.as_number());
        let range = text.split_once('-').and_then(|(first, last)| number(first).zip(number(last)));
        match range {
            None => parse_id(text).map(Self::One),
            Some((first, last)) if first > last => Err(format!("the range is reversed; write {last}-{first}")),
            Some((first, last)) if last - first >= LONGEST_RANGE => {
                Err(format!("a range has at most {LONGEST_RANGE} tasks; use `--where` for more"))
            }
            Some((first, last)) => Ok(Self::Numbers(first, last)),
        }
    }
}

/// Parses a task id; `#7` and ` 7` are both 7.
pub fn parse_id(text: &str) -> Result<TaskId, String> {
    text.trim().parse().map_err(|error: BadTaskId| error.to_string())
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
        assert_eq!(refused(&["a", "pri:x"]), "`pri:x`: invalid priority `x`: expected low, medium or high");
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

#[cfg(test)]
mod extras_tests {
    use serde_json::json;

    use super::Extras;
    use crate::timing::WORKING_DAY;

    #[test]
    fn nothing_said_is_no_metadata_and_the_rest_counts() {
        assert_eq!(Extras::default().metadata(WORKING_DAY), None);
        let extras = Extras { tags: vec!["a".into()], metadata: vec![("tags".into(), json!([]))], ..Extras::default() };
        assert_eq!(extras.metadata(WORKING_DAY), json!({"tags": []}).as_object().cloned());
    }
}

#[cfg(test)]
mod id_range_tests {
    use super::{IdRange, parse_id};
    use crate::TaskId;

    #[test]
    fn ids_may_carry_the_mark_that_displays_put_before_them() {
        assert_eq!(parse_id(" #7"), Ok(TaskId::number(7)));
        assert!(parse_id("../../x").is_err());
        assert!(parse_id("").is_err());
    }

    #[test]
    fn range_is_two_numbers_and_everything_else_is_a_name() {
        let read = |text: &str| text.parse::<IdRange>();
        assert_eq!(read("7"), Ok(IdRange::One(TaskId::number(7))));
        assert_eq!(read("#7-#9"), Ok(IdRange::Numbers(7, 9)));
        assert_eq!(read("7-7").unwrap().ids(), [TaskId::number(7)]);
        assert_eq!(read("a-b"), Ok(IdRange::One(TaskId::stored("a-b"))));
        assert!(read("9-7").unwrap_err().contains("7-9"));
        assert!(read("1-18446744073709551615").is_err());
    }
}

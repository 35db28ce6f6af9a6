//! The properties of a task that a board can set: suggestions for each, and the change a typed value makes.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::dialect::macf::Kind;
use crate::forms::one_line::{Extras, parse_defer, parse_due, parse_id, parse_priority};
use crate::live::LiveList;
use crate::render::Look;
use crate::rules::changes::patching::TagChange;
use crate::timing::{Clock, work_in_words};
use crate::{Metadata, Task, TaskId};

/// The word that removes a value.
const NONE: &str = "none";

/// At most this many tasks are read for the tags and kinds in use.
const READ: usize = 2000;

/// A property of a task that a board sets with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named as users know it")]
pub enum Property {
    Priority,
    Due,
    Defer,
    Tags,
    Estimate,
    Parent,
    Kind,
}

/// The change that a typed value makes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PropertyChange {
    /// The metadata to merge; null removes a key.
    pub metadata: Option<Metadata>,
    /// The change to the tags.
    pub tags: TagChange,
    /// The kind whose marks the title receives.
    pub kind: Option<Kind>,
}

impl Property {
    /// Returns the name of the property, as in `Due of #3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Priority => "Priority",
            Self::Due => "Due date",
            Self::Defer => "Start date",
            Self::Tags => "Tags",
            Self::Estimate => "Estimate",
            Self::Parent => "Parent",
            Self::Kind => "Kind",
        }
    }

    /// Returns the suggested values, most likely first. A parent is chosen from the list of tasks.
    pub fn suggestions(self, list: &LiveList) -> Vec<String> {
        let fixed = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        match self {
            Self::Priority => fixed(&["high", "medium", "low", NONE]),
            Self::Due => fixed(&["today", "tomorrow", "fri", "mon", "1w", "2w", "1mo", NONE]),
            Self::Defer => fixed(&["tomorrow", "mon", "1w", "2w", "1mo", NONE]),
            Self::Estimate => fixed(&["15m", "30m", "1h", "2h", "4h", "1d", "2d", "5d", NONE]),
            Self::Parent => fixed(&[NONE]),
            Self::Tags => in_use(list, |task| task.tags().map(str::to_owned).collect()),
            Self::Kind => {
                let mut kinds = in_use(list, |task| kind_of(task).map(str::to_owned).into_iter().collect());
                for kind in ["bug", "feature", "task"] {
                    if !kinds.iter().any(|known| known == kind) {
                        kinds.push(kind.to_owned());
                    }
                }
                kinds.push(NONE.to_owned());
                kinds
            }
        }
    }

    /// Parses a value as the command line does; `none` removes it. Tags are words: `ops`, `+ops` and `-ops`.
    pub fn change(self, text: &str, clock: &Clock) -> Result<PropertyChange, String> {
        let text = text.trim();
        let is_none = text.eq_ignore_ascii_case(NONE);
        let extras =
            |extras: Extras| PropertyChange { metadata: extras.metadata(clock.working_day), ..Default::default() };
        let key = |key: &str, value: Value| PropertyChange {
            metadata: Some(Metadata::from_iter([(key.to_owned(), value)])),
            ..PropertyChange::default()
        };
        Ok(match self {
            Self::Priority if is_none => key("priority", Value::Null),
            Self::Priority => extras(Extras { priority: Some(parse_priority(text)?), ..Extras::default() }),
            Self::Due => extras(Extras { due: Some(parse_due(text, clock)?), ..Extras::default() }),
            Self::Defer => extras(Extras { defer: Some(parse_defer(text, clock)?), ..Extras::default() }),
            Self::Estimate => extras(Extras { estimate: Some(text.parse()?), ..Extras::default() }),
            Self::Parent if is_none => key("parent", Value::Null),
            Self::Parent => key("parent", json!(parse_id(text)?.as_str())),
            Self::Kind if is_none => key("kind", Value::Null),
            Self::Kind => PropertyChange { kind: text.parse().ok(), ..key("kind", json!(text)) },
            Self::Tags if is_none => PropertyChange {
                tags: TagChange { set: Some(Vec::new()), ..TagChange::default() },
                ..Default::default()
            },
            Self::Tags => PropertyChange { tags: tags(text)?, ..PropertyChange::default() },
        })
    }
}

impl PropertyChange {
    /// Returns what the change means if the typed value does not say it, such as the date for `fri`.
    pub fn meaning(&self, look: &Look) -> Option<String> {
        let task = Task { metadata: self.metadata.clone(), ..Task::new(TaskId::number(1), "") };
        let moment = task.due().or(task.defer()).map(|moment| look.planned(moment));
        moment.or(task.estimate().map(|estimate: Duration| work_in_words(estimate)))
    }
}

fn tags(text: &str) -> Result<TagChange, String> {
    let mut change = TagChange::default();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        match (word.strip_prefix('-'), word.strip_prefix('+').unwrap_or(word)) {
            (Some(""), _) | (None, "") => return Err(format!("`{word}` is not a tag")),
            (Some(removed), _) => change.remove.push(removed.to_owned()),
            (None, added) => change.add.push(added.to_owned()),
        }
    }
    if change == TagChange::default() { Err("type a tag, or -tag to remove one".to_owned()) } else { Ok(change) }
}

fn kind_of(task: &Task) -> Option<&str> {
    task.metadata.as_ref()?.get("kind")?.as_str()
}

/// Returns the values used by tasks of the list, sorted.
fn in_use(list: &LiveList, values: impl Fn(&Task) -> Vec<String>) -> Vec<String> {
    let tasks = list.ids().take(READ).filter_map(|id| list.task(&id)).filter(|task| !task.is_internal());
    tasks.flat_map(|task| values(&task)).collect::<BTreeSet<String>>().into_iter().collect()
}

/// Returns how well a name matches what was typed to find it, less is better; `None` if it does not match. The letters of the typed text may be
/// apart, but not far.
pub fn fuzzy_rank(name: &str, typed: &str) -> Option<usize> {
    const FAR: usize = 3;
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let typed: Vec<char> = typed.trim().to_lowercase().chars().collect();
    if typed.is_empty() {
        return Some(0);
    }
    let is_start = |place: usize| place == 0 || !name[place - 1].is_alphanumeric();
    if let Some(place) =
        (0..(name.len() + 1).saturating_sub(typed.len())).find(|place| name[*place..].starts_with(&typed))
    {
        let starts = (place..(name.len() + 1).saturating_sub(typed.len()))
            .any(|at| is_start(at) && name[at..].starts_with(&typed));
        return Some(match (place, starts) {
            (0, _) if name.len() == typed.len() => 0,
            (0, _) => 1,
            (_, true) => 2,
            _ => 3,
        });
    }
    // Every word may occur anywhere, in any order.
    let words: Vec<Vec<char>> =
        typed.split(|letter| *letter == ' ').filter(|word| !word.is_empty()).map(<[char]>::to_vec).collect();
    if words.len() > 1 && words.iter().all(|word| name.windows(word.len()).any(|window| window == word)) {
        return Some(4);
    }
    let letters: Vec<char> = typed.into_iter().filter(|letter| *letter != ' ').collect();
    let spans = (0..name.len()).filter(|place| name[*place] == letters[0] && is_start(*place)).filter_map(|start| {
        let mut at = start;
        for letter in &letters[1..] {
            at += 1 + name[at + 1..].iter().position(|other| other == letter)?;
        }
        Some(at + 1 - start)
    });
    spans.min().filter(|span| *span <= letters.len() * FAR).map(|span| 5 + span)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::{Property, fuzzy_rank};
    use crate::Timestamp;
    use crate::timing::Clock;

    fn clock() -> Clock {
        Clock::new(Timestamp(0), TimeZone::UTC)
    }

    fn metadata(property: Property, text: &str) -> serde_json::Value {
        json!(property.change(text, &clock()).unwrap().metadata)
    }

    #[test]
    fn values_are_read_as_on_the_command_line() {
        assert_eq!(metadata(Property::Priority, "H"), json!({"priority": "high"}));
        assert_eq!(metadata(Property::Due, "1970-01-02"), json!({"due": "1970-01-02T23:59:59.999Z"}));
        assert_eq!(metadata(Property::Estimate, "2h"), json!({"estimate": 7200}));
        assert_eq!(metadata(Property::Parent, "#3"), json!({"parent": "3"}));
        for property in [Property::Priority, Property::Due, Property::Estimate, Property::Parent, Property::Kind] {
            let removed = property.change("none", &clock()).unwrap().metadata.unwrap();
            assert!(removed.values().all(serde_json::Value::is_null), "{property:?}");
        }
        assert!(Property::Due.change("freitag", &clock()).is_err());
        let tags = Property::Tags.change("ops, -docs +web", &clock()).unwrap().tags;
        assert_eq!((tags.add, tags.remove), (vec!["ops".to_owned(), "web".to_owned()], vec!["docs".to_owned()]));
    }

    #[test]
    fn names_are_found_by_a_few_of_their_letters() {
        let ranked = |typed: &str| {
            let names = ["refund", "Refund payments", "Write the refund page", "Ready for Fun", "parser"];
            let mut found: Vec<(usize, &str)> =
                names.into_iter().filter_map(|name| Some((fuzzy_rank(name, typed)?, name))).collect();
            found.sort_unstable();
            found.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(ranked("refund"), ["refund", "Refund payments", "Write the refund page"]);
        assert_eq!(ranked("rfnd"), ["Refund payments", "Write the refund page", "refund"]);
        assert_eq!(ranked("page write"), ["Write the refund page"]);
        assert_eq!(ranked("zzz"), Vec::<&str>::new());
    }
}

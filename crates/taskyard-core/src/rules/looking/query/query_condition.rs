//! The conditions of a query, and case-insensitive text search.

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::Value;

use crate::timing::{Clock, PartOfDay, WORKING_DAY, When, WorkSpan, parse_moment};
use crate::{Priority, Status, Task, TaskId, Timestamp};

/// A parsed query. The empty query matches every task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) root: Condition,
    /// The time zone for days.
    pub(super) zone: TimeZone,
    /// The length of a working day, for estimates.
    pub(super) working_day: Duration,
}

impl Default for Query {
    fn default() -> Self {
        Self { root: Condition::default(), zone: TimeZone::UTC, working_day: WORKING_DAY }
    }
}

/// A condition on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// All of these hold; also true if there are none.
    All(Vec<Condition>),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// This does not hold.
    Not(Box<Condition>),
    /// The term holds.
    Is(Term),
}

impl Default for Condition {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

/// An elementary condition on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// It is in this state.
    State(StateTerm),
    /// Its priority compares like this.
    Priority(Comparison, Priority),
    /// It has this tag.
    Tag(String),
    /// This agent owns it.
    Owner(String),
    /// It is a part of this task.
    Parent(TaskId),
    /// Its number is in this inclusive range, or its id equals the first one.
    Id(TaskId, TaskId),
    /// It is of this kind.
    Kind(String),
    /// It belongs to this project or a subproject of it.
    Project(String),
    /// It can start now.
    Ready,
    /// It is open and has open blockers.
    Blocked,
    /// It is open and past its due date.
    Overdue,
    /// It is open and deferred.
    Deferred,
    /// Its age compares like this.
    Age(Comparison, Duration),
    /// The time since its last change compares like this.
    Changed(Comparison, Duration),
    /// It has this property.
    Has(Property),
    /// Its due date compares like this. An overdue task counts as due within any span. Matches only open tasks unless
    /// the query asks for a status.
    Due(Comparison, When),
    /// Its start date compares like this. Matches only open tasks unless the query asks for a status.
    Defer(Comparison, When),
    /// Its estimate compares like this.
    Estimate(Comparison, WorkSpan),
    /// One of its fields contains this text, ignoring case.
    Text(Needle),
}

/// A property that a task may have or lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Property {
    Due,
    Defer,
    Estimate,
    Owner,
    Tag,
    Note,
    Parent,
    Kind,
    Project,
    Priority,
    Description,
}

impl Property {
    /// All properties with their names.
    pub(super) const WORDS: [(&'static str, Self); 11] = [
        ("due", Self::Due),
        ("defer", Self::Defer),
        ("estimate", Self::Estimate),
        ("owner", Self::Owner),
        ("tag", Self::Tag),
        ("note", Self::Note),
        ("parent", Self::Parent),
        ("kind", Self::Kind),
        ("project", Self::Project),
        ("priority", Self::Priority),
        ("description", Self::Description),
    ];
}

/// A state that a query can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateTerm {
    /// This status.
    Is(Status),
    /// Pending or in progress.
    Open,
    /// Open, with open blockers.
    Blocked,
    /// Cancelled.
    Cancelled,
}

/// A comparison of a task's value with the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    AtMost,
    Same,
    AtLeast,
    More,
}

impl Comparison {
    /// Returns whether the comparison holds.
    pub(super) fn holds<T: Ord>(self, has: &T, asked: &T) -> bool {
        match self {
            Self::Less => has < asked,
            Self::AtMost => has <= asked,
            Self::Same => has == asked,
            Self::AtLeast => has >= asked,
            Self::More => has > asked,
        }
    }
}

impl Query {
    #[cfg(test)]
    pub(crate) fn condition(&self) -> &Condition {
        &self.root
    }

    /// Returns whether the query is empty, so that it matches every task.
    pub fn is_empty(&self) -> bool {
        matches!(&self.root, Condition::All(conditions) if conditions.is_empty())
    }

    /// Returns the query with days interpreted in this time zone. The default is UTC.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// Returns the query with this length of a working day in estimates. The default is eight hours.
    #[must_use]
    pub fn with_working_day(self, working_day: Duration) -> Self {
        Self { working_day, ..self }
    }

    /// Returns whether the result depends on the length of a working day.
    pub fn asks_for_work(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::Estimate(..)))
    }

    /// Returns whether the result depends on the time zone.
    pub fn asks_for_days(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::Due(..) | Term::Defer(..)))
    }

    /// Returns when the next day begins in the query's time zone, or `None` if the result does not depend on the day.
    pub(crate) fn next_day(&self, now: Timestamp) -> Option<Timestamp> {
        let clock = Clock::new(now, self.zone.clone());
        if self.asks_for_days() { parse_moment("tomorrow", PartOfDay::Start, &clock).ok() } else { None }
    }

    /// Returns whether the query asks for a status.
    pub(super) fn asks_for_status(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::State(_)))
    }

    /// Returns the texts that must occur, without duplicates. Negated texts are left out.
    pub(crate) fn texts(&self) -> Vec<&Needle> {
        let mut found = Vec::new();
        self.root.gather_texts(&mut found);
        found
    }

    /// Returns whether the result depends on creation or change times, which only the journal knows.
    pub fn asks_for_times(&self) -> bool {
        self.root.any_term(&|term| matches!(term, Term::Age(..) | Term::Changed(..)))
    }

    /// Returns whether the result depends on other tasks of the list.
    pub fn asks_for_others(&self) -> bool {
        let asks = |term: &Term| matches!(term, Term::Ready | Term::Blocked | Term::State(StateTerm::Blocked));
        self.root.any_term(&asks)
    }
}

impl Condition {
    fn gather_texts<'a>(&'a self, found: &mut Vec<&'a Needle>) {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().for_each(|condition| condition.gather_texts(found));
            }
            Self::Is(Term::Text(needle)) if !found.contains(&needle) => found.push(needle),
            Self::Not(_) | Self::Is(_) => {}
        }
    }

    fn any_term(&self, is_wanted: &impl Fn(&Term) -> bool) -> bool {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().any(|condition| condition.any_term(is_wanted))
            }
            Self::Not(condition) => condition.any_term(is_wanted),
            Self::Is(term) => is_wanted(term),
        }
    }
}

/// A text for case-insensitive search: it is found if its [`str::to_lowercase`] form occurs in that of the searched
/// text.
///
/// The searched text is usually not converted. The search looks for two bytes of the needle at once, at many positions
/// at a time, so that it is fast even if one of them is frequent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    lowered: String,
    /// The same text in upper case. A letter without an upper-case form of equal byte length stays as it is.
    raised: String,
    /// The positions of the two bytes to search for, the rarest in ordinary text.
    rarest: [usize; 2],
    /// Other letters whose lower case occurs in the needle. A text that contains one must be converted to lower case.
    odd: Vec<char>,
}

/// Frequent characters in ordinary text, most frequent first.
const FREQUENT: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";

/// Letters whose lower case is several letters, is shared with another capital, or depends on the context.
const ODD: &str = "İǅǈǋǲΣϴẞᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼ\u{2126}\u{212a}\u{212b}";

/// Number of positions examined at once, in long and in short texts.
const BLOCK: usize = 32;
const FEW: usize = 8;

impl Needle {
    /// Creates a needle for a text.
    pub(crate) fn new(text: &str) -> Self {
        let lowered = text.to_lowercase();
        let raised: String = lowered.chars().map(|letter| even_capital(letter).unwrap_or(letter)).collect();
        let rarity = |position: &usize| rarity(lowered.as_bytes()[*position]);
        // The two bytes should be far apart, because many words have the same beginning.
        let last = (0..lowered.len()).max_by_key(rarity).unwrap_or(0);
        let first = (0..lowered.len()).rev().filter(|position| *position != last).max_by_key(rarity).unwrap_or(last);
        // A final sigma has a different lower-case form, which only the conversion of a whole text determines.
        let is_last_sigma = |letter: char| letter == 'Σ' && lowered.contains('ς');
        let is_own =
            |letter: &char| letter.to_lowercase().any(|letter| lowered.contains(letter)) || is_last_sigma(*letter);
        let uneven = lowered.chars().filter(|letter| even_capital(*letter).is_none()).filter_map(capital);
        let odd = ODD.chars().filter(is_own).chain(uneven).collect();
        Self { rarest: [first, last], lowered, raised, odd }
    }

    /// Returns the text in lower case.
    pub(crate) fn as_str(&self) -> &str {
        &self.lowered
    }

    /// Returns whether the needle occurs in a text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.is_in_bytes(text.as_bytes()) || (!self.odd.is_empty() && self.is_oddly_in(text))
    }

    fn is_oddly_in(&self, text: &str) -> bool {
        !text.is_ascii()
            && self.odd.iter().any(|letter| text.contains(*letter))
            && text.to_lowercase().contains(&self.lowered)
    }

    fn is_in_bytes(&self, text: &[u8]) -> bool {
        let Some(last) = text.len().checked_sub(self.lowered.len()).filter(|_| !self.lowered.is_empty()) else {
            return self.lowered.is_empty();
        };
        match last + 1 {
            FEW..BLOCK => self.is_in_blocks::<FEW>(text, last),
            BLOCK.. => self.is_in_blocks::<BLOCK>(text, last),
            _ => self.begins_within(text, 0..=last),
        }
    }

    /// Returns whether the needle occurs in a text with at least `SIZE` possible positions.
    fn is_in_blocks<const SIZE: usize>(&self, text: &[u8], last: usize) -> bool {
        // The possible positions, as seen from each of the two bytes.
        let [ones, twos] = self.rarest.map(|position| &text[position..=position + last]);
        let blocks = ones.as_chunks::<SIZE>().0.iter().zip(twos.as_chunks::<SIZE>().0).enumerate();
        let mut blocks = blocks.filter(|(_, (ones, twos))| self.may_begin(ones, twos)).map(|(block, _)| block * SIZE);
        let last_block = ones.last_chunk::<SIZE>().zip(twos.last_chunk::<SIZE>());
        blocks.any(|start| self.begins_within(text, start..=start + SIZE - 1))
            || last_block.is_some_and(|(ones, twos)| {
                self.may_begin(ones, twos) && self.begins_within(text, last + 1 - SIZE..=last)
            })
    }

    /// Returns whether both bytes match at one of the positions of a block.
    fn may_begin<const SIZE: usize>(&self, ones: &[u8; SIZE], twos: &[u8; SIZE]) -> bool {
        let [one, two] = self.pairs();
        let mut found = false;
        // Without branches, so that the compiler can vectorize the comparison.
        for (first, second) in ones.iter().zip(twos) {
            found |= is_one_of(*first, one) & is_one_of(*second, two);
        }
        found
    }

    fn begins_within(&self, text: &[u8], mut positions: RangeInclusive<usize>) -> bool {
        let ([one, two], [first, second]) = (self.pairs(), self.rarest);
        positions.any(|position| {
            is_one_of(text[position + first], one)
                && is_one_of(text[position + second], two)
                && self.begins(&text[position..])
        })
    }

    /// Returns the lower-case and upper-case form of each of the two bytes.
    fn pairs(&self) -> [(u8, u8); 2] {
        self.rarest.map(|position| (self.lowered.as_bytes()[position], self.raised.as_bytes()[position]))
    }

    /// Returns whether a text starts with the needle.
    fn begins(&self, text: &[u8]) -> bool {
        let (lowered, raised) = (self.lowered.as_bytes(), self.raised.as_bytes());
        self.lowered.char_indices().all(|(start, letter)| {
            let bytes = start..start + letter.len_utf8();
            let found = &text[bytes.clone()];
            found == &lowered[bytes.clone()] || found == &raised[bytes]
        })
    }

    /// Returns whether the needle occurs in one of the task's texts, is its id, or is `#` and the id of one of its
    /// blockers or dependents.
    pub(crate) fn is_in_task(&self, task: &Task) -> bool {
        let numbered = self.lowered.strip_prefix('#');
        let is_tied = |number: &str| {
            let mut ids = task.blocks.iter().chain(&task.blocked_by);
            ids.any(|id: &TaskId| id.as_str().eq_ignore_ascii_case(number))
        };
        task.id.as_str().eq_ignore_ascii_case(numbered.unwrap_or(&self.lowered))
            || any_text(task, &|text| self.is_in(text))
            || numbered.is_some_and(is_tied)
    }
}

fn is_one_of(byte: u8, (low, high): (u8, u8)) -> bool {
    (byte == low) | (byte == high)
}

/// Returns how rare a byte is in ordinary text.
fn rarity(byte: u8) -> usize {
    match byte {
        // Letters of one alphabet share their first byte and differ in the following ones.
        0xc0.. => 0,
        0x80..0xc0 => FREQUENT.len() / 2,
        byte => FREQUENT.iter().position(|other| *other == byte).unwrap_or(FREQUENT.len()),
    }
}

/// Returns the capital of a letter, if its lower case is that letter in every context.
fn capital(letter: char) -> Option<char> {
    let mut capitals = letter.to_uppercase();
    let capital = capitals.next().filter(|_| capitals.next().is_none())?;
    (capital != letter && capital != 'Σ' && capital.to_lowercase().eq([letter])).then_some(capital)
}

/// Returns the capital of a letter, if it has the same byte length.
fn even_capital(letter: char) -> Option<char> {
    capital(letter).filter(|capital| capital.len_utf8() == letter.len_utf8())
}

/// Returns whether one of a task's texts satisfies the condition. Checks the subject first.
fn any_text(task: &Task, is_wanted: &impl Fn(&str) -> bool) -> bool {
    is_wanted(&task.shown_subject())
        || is_wanted(&task.description)
        || task.active_form.as_deref().is_some_and(is_wanted)
        || task.owner().is_some_and(is_wanted)
        || is_wanted(task.status.as_str())
        || task.metadata.iter().flatten().any(|(key, value)| is_wanted(key) || any_text_in(value, is_wanted))
}

fn any_text_in(value: &Value, is_wanted: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_wanted(text),
        Value::Array(items) => items.iter().any(|item| any_text_in(item, is_wanted)),
        Value::Object(object) => object.iter().any(|(key, value)| is_wanted(key) || any_text_in(value, is_wanted)),
        Value::Number(number) => is_wanted(&number.to_string()),
        Value::Bool(_) | Value::Null => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Needle, ODD, capital};

    fn is_plainly_in(needle: &str, text: &str) -> bool {
        text.to_lowercase().contains(&needle.to_lowercase())
    }

    #[test]
    fn letters_of_any_case_and_alphabet_are_found() {
        for (needle, text, is_in) in [
            ("parser", "the PARSER", true),
            ("ÜBER", "überfällig", true),
            ("привет", "скажи ПРИВЕТ", true),
            // Р and р have different first bytes, and so does Ѡ, which is neither of them.
            ("р", "Ѡ", false),
            ("k", "\u{212a}elvin", true),
            ("i", "\u{130}", true),
            ("ⱥ", "Ⱥ", true),
            ("ς", "ΛΌΓΟΣ", true),
            ("σ", "ΛΌΓΟΣ", false),
            ("", "x", true),
            ("", "", true),
            ("x", "", false),
            ("longer than it", "short", false),
            ("aab", "aaab", true),
            ("xa", "ax", false),
            ("ex", "EX", true),
            ("box!", "a BOX!", true),
            ("[", "{", false),
        ] {
            assert_eq!(Needle::new(needle).is_in(text), is_in, "{needle} in {text}");
            assert_eq!(is_plainly_in(needle, text), is_in, "{needle} in {text}");
        }
    }

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        for length in 0..200 {
            let text = format!("{}Xy{}", "x".repeat(length), "-".repeat(199 - length));
            assert!(Needle::new("xY").is_in(&text) && !Needle::new("yx").is_in(&text), "{text}");
        }
    }

    #[test]
    fn every_letter_that_has_a_lower_case_is_looked_for() {
        for letter in '\0'..=char::MAX {
            let lowered = letter.to_lowercase();
            let is_known = ODD.contains(letter) || lowered.clone().next().and_then(capital) == Some(letter);
            assert!(is_known || lowered.eq([letter]), "{letter} ({:x})", u32::from(letter));
        }
    }

    proptest! {
        #[test]
        fn what_occurs_when_all_is_lowered_is_found(
            needle in "[aAkKiIÅåßẞsSσΣςİǅǆⱥȺпПрРѠ\u{212a}\u{212b}\u{307} ]{0,3}",
            text in "[aAkKiIÅåßẞsSσΣςİǅǆⱥȺпПрРѠ\u{212a}\u{212b}\u{307} ]{0,12}",
        ) {
            prop_assert_eq!(Needle::new(&needle).is_in(&text), is_plainly_in(&needle, &text));
        }
    }
}

//! Full-text search in tasks, with ranking.
//!
//! A word that occurs in no task is treated as misspelt: similar words match instead.

use std::cmp::Reverse;

use serde_json::Value;

use super::ordering::NumberOrder;
use super::query::{Needle, Query, Surroundings};
use crate::near_words::NearWords;
use crate::rules::changes::patching::Field;
use crate::{Task, TaskId};

/// Maximum number of characters in an excerpt.
const EXCERPT: usize = 80;

/// Maximum number of characters before the match in an excerpt.
const BEFORE: usize = 24;

/// A task that matches the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The matching task.
    pub task: Task,
    /// The field with the best match.
    pub field: Field,
    /// The part of that field around the first match.
    pub excerpt: String,
    /// The rank; higher is better.
    pub score: u32,
}

/// A running search: the query, and which of its words occur in no task and may be misspelt.
#[derive(Debug)]
pub struct Search<'a> {
    query: &'a Query,
    words: Vec<SearchedWord<'a>>,
}

/// A word of the search.
#[derive(Debug)]
struct SearchedWord<'a> {
    needle: &'a Needle,
    /// Whether it occurs in any task examined.
    occurs: bool,
    /// Finds similar words, if it may be misspelt.
    near: Option<NearWords>,
}

impl<'a> Search<'a> {
    /// Starts a search.
    pub fn new(query: &'a Query) -> Self {
        let word = |needle: &'a Needle| SearchedWord { needle, occurs: false, near: None };
        Self { query, words: query.texts().into_iter().map(word).collect() }
    }

    /// Registers which words occur in these tasks. Call it with all tasks before [`Search::hits`]: words that occur in
    /// none of them count as misspelt.
    pub fn look_at(&mut self, tasks: &[Task]) {
        for word in self.words.iter_mut().filter(|word| !word.occurs) {
            word.occurs = tasks.iter().any(|task| word.needle.is_in_task(task));
        }
    }

    /// Returns the matching tasks, best first, then by number.
    pub fn hits(&mut self, tasks: Vec<Task>, around: &impl Surroundings) -> Vec<Hit> {
        for word in self.words.iter_mut().filter(|word| !word.occurs && word.near.is_none()) {
            word.near = NearWords::to(word.needle.as_str());
        }
        let mut hits: Vec<Hit> = tasks.into_iter().filter_map(|task| self.hit(task, around)).collect();
        hits.sort_by_cached_key(|hit| (Reverse(hit.score), NumberOrder::of(&hit.task.id)));
        hits
    }

    fn hit(&mut self, task: Task, around: &impl Surroundings) -> Option<Hit> {
        let fields = texts(&task);
        let lowered: Vec<String> = fields.iter().map(|(_, text)| text.to_lowercase()).collect();
        let mut scores = vec![0; fields.len()];
        let mut found: Vec<(&Needle, String)> = Vec::new();
        let mut total = 0;
        for word in &mut self.words {
            let needle = word.needle.as_str();
            let mut best = if names(&task.id, needle) { (100 * EXACT, needle.to_owned()) } else { (0, String::new()) };
            for (place, (field, _)) in fields.iter().enumerate() {
                let (closeness, as_written) = word.closeness(&lowered[place]);
                let score = weight(*field) * closeness;
                scores[place] += score;
                if score > best.0 {
                    best = (score, as_written);
                }
            }
            if best.0 > 0 {
                found.push((word.needle, best.1));
                total += best.0;
            }
        }
        let finds = |needle: &Needle| found.iter().any(|(other, _)| *other == needle);
        // An excluded word is only matched exactly.
        let mut finds = |needle: &Needle| finds(needle) || needle.is_in_task(&task);
        if !self.query.is_true_with(&task, around, &mut finds) {
            return None;
        }
        let best = (0..fields.len()).max_by_key(|place| (scores[*place], Reverse(*place)))?;
        let (field, text) = &fields[best];
        let first = found.iter().map(|(_, word)| word.as_str()).find(|word| lowered[best].contains(word)).unwrap_or("");
        let excerpt = excerpt(text, first);
        Some(Hit { field: *field, excerpt, score: total, task })
    }
}

/// The weight of an exact match relative to a similar word.
const EXACT: u32 = 4;

impl SearchedWord<'_> {
    /// Returns the score of a lower-cased text and the word that matches.
    fn closeness(&mut self, text: &str) -> (u32, String) {
        let word = self.needle.as_str();
        match (closeness(text, word), &mut self.near) {
            (exact @ 1.., _) => (exact * EXACT, word.to_owned()),
            (0, Some(near)) => near.best_in(text).unwrap_or_default(),
            (0, None) => (0, String::new()),
        }
    }
}

/// Returns the searchable texts of a task by field, subject first.
fn texts(task: &Task) -> Vec<(Field, String)> {
    let mut fields =
        vec![(Field::Subject, task.shown_subject().into_owned()), (Field::Description, task.description.clone())];
    fields.extend(task.active_form.clone().map(|text| (Field::ActiveForm, text)));
    fields.extend(task.owner().map(|owner| (Field::Owner, owner.to_owned())));
    if let Some(metadata) = &task.metadata {
        let mut text = String::new();
        metadata.iter().for_each(|(key, value)| gather(key, value, &mut text));
        fields.push((Field::Metadata, text));
    }
    fields.push((Field::Status, task.status.as_str().to_owned()));
    fields.push((Field::Blocks, joined(&task.blocks)));
    fields.push((Field::BlockedBy, joined(&task.blocked_by)));
    fields
}

fn joined(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(" ")
}

/// Appends the words of a metadata value, preceded by its key.
fn gather(key: &str, value: &Value, text: &mut String) {
    let mut push = |word: &str| {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    };
    match value {
        Value::Object(object) => {
            push(key);
            object.iter().for_each(|(key, value)| gather(key, value, text));
        }
        Value::Array(items) => {
            push(key);
            items.iter().for_each(|item| gather("", item, text));
        }
        value => {
            if !key.is_empty() {
                push(&format!("{key}:"));
            }
            match value {
                Value::String(word) => push(word),
                value => push(&value.to_string()),
            }
        }
    }
}

/// Returns whether a word is the task's id, with or without a leading `#`.
fn names(id: &TaskId, word: &str) -> bool {
    word.strip_prefix('#').unwrap_or(word) == id.as_str().to_lowercase()
}

const fn weight(field: Field) -> u32 {
    match field {
        Field::Subject => 16,
        Field::ActiveForm | Field::Owner => 8,
        Field::Description => 6,
        Field::Metadata => 4,
        Field::Status => 2,
        Field::Blocks | Field::BlockedBy => 1,
    }
}

/// Returns 3 if the word is a whole word of the text, 2 if it is a prefix of one, 1 if it is elsewhere inside one, or 0
/// if it does not occur.
fn closeness(text: &str, word: &str) -> u32 {
    let is_inside = |c: char| c.is_alphanumeric();
    let places = text.match_indices(word).map(|(start, found)| {
        let begins = !text[..start].chars().next_back().is_some_and(is_inside);
        let ends = !text[start + found.len()..].chars().next().is_some_and(is_inside);
        match (begins, ends) {
            (true, true) => 3,
            (true, false) => 2,
            (false, _) => 1,
        }
    });
    places.max().unwrap_or(0)
}

/// Returns the part of a text around a word, on one line.
fn excerpt(text: &str, word: &str) -> String {
    let line: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    if line.len() <= EXCERPT {
        return line.into_iter().collect();
    }
    let at = find_in_any_case(&line, word).unwrap_or(0);
    let start = at.saturating_sub(BEFORE).min(line.len() - EXCERPT);
    let end = start + EXCERPT;
    let mut cut: String = line[start..end].iter().collect();
    if start > 0 {
        cut.insert(0, '…');
    }
    if end < line.len() {
        cut.push('…');
    }
    cut
}

fn find_in_any_case(line: &[char], word: &str) -> Option<usize> {
    // Lower-casing may change the number of characters, so every position is tried in the original.
    let begins = |start: &usize| {
        let mut rest = line[*start..].iter().flat_map(|c| c.to_lowercase());
        word.chars().all(|c| rest.next() == Some(c))
    };
    (0..line.len()).find(begins)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Hit, Search};
    use crate::rules::changes::patching::Field;
    use crate::rules::looking::query::ListSurroundings;
    use crate::{Rules, Task, TaskId, Timestamp};

    fn task(number: u64, subject: &str, description: &str) -> Task {
        Task { description: description.to_owned(), ..Task::new(TaskId::number(number), subject) }
    }

    fn hits(tasks: &[Task], words: &str) -> Vec<Hit> {
        let around = ListSurroundings::of(tasks, Timestamp(0), Rules::Strict);
        let query = words.parse().unwrap();
        let mut search = Search::new(&query);
        search.look_at(tasks);
        search.hits(tasks.to_vec(), &around)
    }

    fn found(tasks: &[Task], words: &str) -> Vec<String> {
        hits(tasks, words).iter().map(|hit| hit.task.id.to_string()).collect()
    }

    #[test]
    fn every_word_must_occur_somewhere() {
        let tasks = [task(1, "Write the parser", "for JSON"), task(2, "Write the docs", "")];
        assert_eq!(found(&tasks, "write json"), ["1"]);
        assert_eq!(found(&tasks, "WRITE"), ["1", "2"]);
        assert_eq!(found(&tasks, "write yaml"), [""; 0]);
        assert_eq!(found(&tasks, "write -json"), ["2"]);
        assert_eq!(found(&tasks, "yaml or docs"), ["2"]);
    }

    #[test]
    fn the_subject_counts_most_and_whole_words_more_than_parts() {
        let tasks = [task(1, "x", "a parser"), task(2, "parsers", ""), task(3, "the parser", "")];
        assert_eq!(found(&tasks, "parser"), ["3", "2", "1"]);
    }

    #[test]
    fn metadata_owner_and_number_are_searched_too() {
        let mut tasks = [task(1, "a", ""), task(2, "b", ""), task(34, "c", "")];
        tasks[0].owner = Some("Ana".into());
        tasks[1].metadata =
            json!({ "tags": ["urgent"], "deep": { "note": "Überfällig", "n": 4.5 } }).as_object().cloned();
        assert_eq!(found(&tasks, "ana"), ["1"]);
        let hits = hits(&tasks, "überfällig");
        assert_eq!(
            (hits[0].field, hits[0].excerpt.as_str()),
            (Field::Metadata, "tags urgent deep note: Überfällig n: 4.5")
        );
        assert_eq!(found(&tasks, "#34"), ["34"]);
    }

    #[test]
    fn the_excerpt_is_cut_around_the_word() {
        let long = format!("{} needle {}", "hay ".repeat(40), "straw ".repeat(40));
        let hits = hits(&[task(1, "x", &long)], "NEEDLE");
        assert!(hits[0].excerpt.starts_with('…') && hits[0].excerpt.ends_with('…'));
        assert!(hits[0].excerpt.contains("needle"));
        assert_eq!(hits[0].excerpt.chars().count(), 82);
    }

    #[test]
    fn a_word_that_nobody_wrote_finds_what_is_spelt_nearly_so() {
        let tasks = [task(1, "Deploy the website", ""), task(2, "Write", "a parser for JSON"), task(3, "Employ", "")];
        for typed in ["deplyo", "deply", "dploy", "deeploy", "deploi", "Websiet"] {
            assert_eq!(found(&tasks, typed), ["1"], "{typed}");
        }
        assert_eq!(found(&tasks, "prser jsno"), ["2"]);
        assert_eq!(hits(&tasks, "prser")[0].excerpt, "a parser for JSON");
        assert_eq!(found(&tasks, "xyzzy"), [""; 0]);
        assert_eq!(found(&tasks, "-deplyo"), ["1", "2", "3"]);
    }

    #[test]
    fn a_word_that_somebody_wrote_is_taken_for_no_other() {
        let tasks = [task(1, "Fill in the form", ""), task(2, "Read from disk", "")];
        assert_eq!(found(&tasks, "form"), ["1"]);
        assert_eq!(found(&tasks[1..], "form"), ["2"]);
    }
}

//! Which tasks answer to words, and how well.

use std::cmp::Reverse;

use serde_json::Value;

use super::ordering::Place;
use super::patching::Field;
use crate::dialect::macf::plain;
use crate::{Task, TaskId};

/// How many characters of a field an excerpt shows.
const EXCERPT: usize = 80;

/// How many of them stand before the word that was found.
const BEFORE: usize = 24;

/// A task in which every word was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The task.
    pub task: Task,
    /// The field that answers best.
    pub field: Field,
    /// The part of that field around the first word found in it.
    pub excerpt: String,
}

/// Returns the tasks in which every word occurs somewhere, in any case, best first: by where the words are, then by number.
pub fn search(tasks: Vec<Task>, words: &str) -> Vec<Hit> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let found = tasks.into_iter().filter_map(|task| {
        let (score, field, excerpt) = answer(&task, &words)?;
        Some(((Reverse(score), Place::of(&task.id)), Hit { task, field, excerpt }))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|(one, _), (two, _)| one.cmp(two));
    found.into_iter().map(|(_, hit)| hit).collect()
}

/// Weighs a task; none where a word is nowhere in it.
fn answer(task: &Task, words: &[String]) -> Option<(u32, Field, String)> {
    let fields = texts(task);
    let lowered: Vec<String> = fields.iter().map(|(_, text)| text.to_lowercase()).collect();
    let mut scores = vec![0; fields.len()];
    let mut total = 0;
    for word in words {
        let mut best = if names(&task.id, word) { 100 } else { 0 };
        for (place, (field, _)) in fields.iter().enumerate() {
            let score = weight(*field) * closeness(&lowered[place], word);
            scores[place] += score;
            best = best.max(score);
        }
        if best == 0 {
            return None;
        }
        total += best;
    }
    let best = (0..fields.len()).max_by_key(|place| (scores[*place], Reverse(*place)))?;
    let (field, text) = &fields[best];
    let first = words.iter().find(|word| lowered[best].contains(word.as_str())).map_or("", String::as_str);
    Some((total, *field, excerpt(text, first)))
}

/// Returns everything there is to find in a task, field by field, the subject first.
fn texts(task: &Task) -> Vec<(Field, String)> {
    let mut fields =
        vec![(Field::Subject, plain(&task.subject).into_owned()), (Field::Description, task.description.clone())];
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

/// Writes the words of a metadata value one after the other, with their key before them.
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

/// Tells whether a word is the task's number, with or without the mark before it.
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

/// Returns 3 where the word stands alone in the text, 2 where something begins with it, 1 where it is inside another word.
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

/// Cuts the part of a text around a word, on one line.
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
    // Lower-casing may change how many characters a text has, so each place is tried in the original.
    let begins = |start: &usize| {
        let mut rest = line[*start..].iter().flat_map(|c| c.to_lowercase());
        word.chars().all(|c| rest.next() == Some(c))
    };
    (0..line.len()).find(begins)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::search;
    use crate::rules::patching::Field;
    use crate::{Task, TaskId};

    fn task(number: u64, subject: &str, description: &str) -> Task {
        Task { description: description.to_owned(), ..Task::new(TaskId::number(number), subject) }
    }

    fn found(tasks: &[Task], words: &str) -> Vec<String> {
        search(tasks.to_vec(), words).iter().map(|hit| hit.task.id.to_string()).collect()
    }

    #[test]
    fn every_word_must_occur_somewhere() {
        let tasks = [task(1, "Write the parser", "for JSON"), task(2, "Write the docs", "")];
        assert_eq!(found(&tasks, "write json"), ["1"]);
        assert_eq!(found(&tasks, "WRITE"), ["1", "2"]);
        assert_eq!(found(&tasks, "write yaml"), [""; 0]);
        assert_eq!(found(&tasks, "  "), [""; 0]);
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
        let hits = search(tasks.to_vec(), "überfällig");
        assert_eq!(
            (hits[0].field, hits[0].excerpt.as_str()),
            (Field::Metadata, "tags urgent deep note: Überfällig n: 4.5")
        );
        assert_eq!(found(&tasks, "#34"), ["34"]);
    }

    #[test]
    fn the_excerpt_is_cut_around_the_word() {
        let long = format!("{} needle {}", "hay ".repeat(40), "straw ".repeat(40));
        let hits = search(vec![task(1, "x", &long)], "NEEDLE");
        assert!(hits[0].excerpt.starts_with('…') && hits[0].excerpt.ends_with('…'));
        assert!(hits[0].excerpt.contains("needle"));
        assert_eq!(hits[0].excerpt.chars().count(), 82);
    }
}

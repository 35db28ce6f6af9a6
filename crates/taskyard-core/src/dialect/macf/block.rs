//! The block of facts inside a description.

use std::ops::Range;

use serde_json::Value;

use crate::Metadata;

const OPEN: &str = "<macf_task_metadata";
const CLOSE: &str = "</macf_task_metadata>";
const FIRST_LINE: &str = "<macf_task_metadata version=\"1.0\">";

/// The block of facts in a description, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    description: &'a str,
    whole: Range<usize>,
    inside: Range<usize>,
}

impl<'a> Block<'a> {
    /// Finds the block of a description.
    pub fn find(description: &'a str) -> Option<Self> {
        let start = description.find(OPEN)?;
        let inside = start + description[start..].find(">\n")? + 2;
        let end = inside + description[inside..].find(CLOSE)?;
        Some(Self { description, whole: start..end + CLOSE.len(), inside: inside..end })
    }

    /// Returns what the block says, line by line: a word, a colon, a value.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.description[self.inside.clone()].lines().filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            Some((key.trim(), value.trim()))
        })
    }

    /// Returns one value.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.entries().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns the text before the block and the text after it.
    pub fn around(&self) -> (&'a str, &'a str) {
        (&self.description[..self.whole.start], &self.description[self.whole.end..])
    }

    /// Returns the description with one value set; nothing else of it changes. Without a block, one is put at its end.
    pub fn set(description: &str, key: &str, value: &str) -> String {
        let line = format!("{key}: {value}\n");
        let Some(block) = Block::find(description) else {
            return with_block(description, &line);
        };
        let mut lines = String::new();
        let mut is_set = false;
        for old in description[block.inside.clone()].split_inclusive('\n') {
            let is_it = old.split_once(':').is_some_and(|(name, _)| name.trim() == key);
            match is_it && !is_set {
                true => lines.push_str(&line),
                false => lines.push_str(old),
            }
            is_set |= is_it;
        }
        if !is_set {
            lines.push_str(&line);
        }
        format!("{}{lines}{}", &description[..block.inside.start], &description[block.inside.end..])
    }

    /// Returns the description without one fact; nothing else of it changes.
    pub fn without(description: &str, key: &str) -> String {
        let Some(block) = Block::find(description) else { return description.to_owned() };
        let is_other = |line: &&str| line.split_once(':').is_none_or(|(name, _)| name.trim() != key);
        let lines: String = description[block.inside.clone()].split_inclusive('\n').filter(is_other).collect();
        format!("{}{lines}{}", &description[..block.inside.start], &description[block.inside.end..])
    }
}

/// Takes the facts of how a task came to be out of metadata, in the order in which the block has them: the breadcrumbs, the cycle,
/// who made it. Only what fits on a line is a fact.
pub fn take_facts_of_making(metadata: &mut Metadata) -> Vec<(String, String)> {
    let place = |key: &str| match key {
        "created_cycle" => Some(1),
        "created_by" => Some(2),
        key if key.contains("breadcrumb") => Some(0),
        _ => None,
    };
    let mut facts: Vec<(i32, String, String)> = Vec::new();
    metadata.retain(|key, value| {
        let text = match value {
            Value::String(text) if !text.contains('\n') => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return true,
        };
        let Some(place) = place(key) else { return true };
        facts.push((place, key.clone(), text));
        false
    });
    facts.sort_by_key(|(place, ..)| *place);
    facts.into_iter().map(|(_, key, text)| (key, text)).collect()
}

/// Returns a text with a block of these lines at its end.
pub(super) fn with_block(text: &str, lines: &str) -> String {
    let gap = if text.is_empty() { "" } else { "\n\n" };
    format!("{text}{gap}{FIRST_LINE}\n{lines}{CLOSE}")
}

#[cfg(test)]
mod tests {
    use super::{Block, take_facts_of_making};

    const DESCRIPTION: &str = "Task description text.\n\n<macf_task_metadata version=\"1.0\">\ncreation_breadcrumb: s_.../c_.../g_.../p_.../t_...\ncreated_cycle: 42\ncreated_by: PA\n</macf_task_metadata>";

    #[test]
    fn facts_are_read() {
        let block = Block::find(DESCRIPTION).unwrap();
        let facts: Vec<_> = block.entries().collect();
        assert_eq!(facts[0], ("creation_breadcrumb", "s_.../c_.../g_.../p_.../t_..."));
        assert_eq!(
            (block.get("created_cycle"), block.get("created_by"), block.get("x")),
            (Some("42"), Some("PA"), None)
        );
        assert_eq!(block.around(), ("Task description text.\n\n", ""));
    }

    #[test]
    fn a_fact_is_changed_and_the_prose_is_not() {
        let given = format!("{DESCRIPTION}\nmore prose: yes");
        assert_eq!(Block::set(&given, "created_cycle", "43"), given.replace("42", "43"));
        let added = Block::set(&given, "updated_by", "SA");
        assert_eq!(added, given.replace("PA\n", "PA\nupdated_by: SA\n"));
    }

    #[test]
    fn how_a_task_came_to_be_stands_in_the_order_of_the_block() {
        let given = serde_json::json!({
            "created_by": "PA", "tags": ["x"], "created_cycle": 42, "creation_breadcrumb": "s_1/c_2", "odd_breadcrumb": [1],
        });
        let mut metadata = given.as_object().unwrap().clone();
        let facts = take_facts_of_making(&mut metadata);
        let facts: Vec<(&str, &str)> = facts.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        assert_eq!(facts, [("creation_breadcrumb", "s_1/c_2"), ("created_cycle", "42"), ("created_by", "PA")]);
        assert_eq!(metadata.keys().collect::<Vec<_>>(), ["tags", "odd_breadcrumb"]);
    }

    #[test]
    fn without_a_block_one_is_put_at_the_end() {
        let set = Block::set("", "created_by", "PA");
        assert_eq!(set, "<macf_task_metadata version=\"1.0\">\ncreated_by: PA\n</macf_task_metadata>");
        assert_eq!(Block::find(&Block::set("a", "b", "c")).unwrap().around().0, "a\n\n");
    }
}

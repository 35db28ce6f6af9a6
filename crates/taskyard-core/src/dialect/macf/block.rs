//! The block of facts inside a description, and where it stands.

use std::ops::Range;

use serde_json::Value;

use super::editing::{with_fact, without_fact};
use super::facts::{self, BadBlock, Fact};
use super::subject::SENTINEL;
use crate::{Metadata, TaskId};

const OPEN: &str = "<macf_task_metadata";
const CLOSE: &str = "</macf_task_metadata>";
/// The fact that names the task of which the task is a part.
pub(super) const PARENT: &str = "parent_id";
const FIRST_LINE: &str = "<macf_task_metadata version=\"1.0\">";

/// The block of facts in a description, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    description: &'a str,
    whole: Range<usize>,
    inside: Range<usize>,
}

impl<'a> Block<'a> {
    /// Finds the block of a description: the first one, as its own tools do.
    pub fn find(description: &'a str) -> Option<Self> {
        let start = description.find(OPEN)?;
        let inside = start + description[start..].find('>')? + 1;
        let end = inside + description[inside..].find(CLOSE)?;
        Some(Self { description, whole: start..end + CLOSE.len(), inside: inside..end })
    }

    /// Returns what the block says, in its order.
    pub fn facts(&self) -> Result<Vec<Fact>, BadBlock> {
        let (before, text) = self.parts();
        facts::read(text).map_err(|bad| match bad {
            BadBlock::NotYaml { line, why } => BadBlock::NotYaml { line: line + before.matches('\n').count(), why },
            bad => bad,
        })
    }

    /// Returns what one fact says; of two of one name, the last.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.facts().ok()?.into_iter().rfind(|fact| fact.key == key).map(|fact| fact.value)
    }

    /// Returns the value of a fact as it is written.
    pub(crate) fn written(&self, key: &str) -> Option<&'a str> {
        let text = self.parts().1;
        let fact = self.facts().ok()?.into_iter().rfind(|fact| fact.key == key)?;
        Some(&text[fact.value_at])
    }

    /// Returns the text before the block and the text after it.
    pub(crate) fn around(&self) -> (&'a str, &'a str) {
        (&self.description[..self.whole.start], &self.description[self.whole.end..])
    }

    /// Returns the description with one fact set; nothing else of it changes. Without a block, one is put at its end.
    pub fn set(description: &str, key: &str, value: &Value) -> Result<String, BadBlock> {
        match Block::find(description) {
            Some(block) => block.changed(|text| with_fact(text, key, value)),
            None => Ok(with_block(description, &with_fact("", key, value)?)),
        }
    }

    /// Returns the description without one fact; nothing else of it changes.
    pub(crate) fn without(description: &str, key: &str) -> Result<String, BadBlock> {
        match Block::find(description) {
            Some(block) => block.changed(|text| without_fact(text, key)),
            None => Ok(description.to_owned()),
        }
    }

    /// Returns what stands between the first line and the facts, and the facts. What begins on the first line is at their margin.
    fn parts(&self) -> (&'a str, &'a str) {
        let inside = &self.description[self.inside.clone()];
        inside.split_at(inside.len() - inside.trim_start().len())
    }

    fn changed(&self, change: impl FnOnce(&str) -> Result<String, BadBlock>) -> Result<String, BadBlock> {
        let (before, text) = self.parts();
        // An empty block has one line, which ends before what ends it.
        let before = if before.is_empty() && text.is_empty() { "\n" } else { before };
        let (start, end) = (&self.description[..self.inside.start], &self.description[self.inside.end..]);
        Ok(format!("{start}{before}{}{end}", change(text)?))
    }
}

/// Returns the task that a description's block says its task is a part of; none where it does not say.
pub fn stated_parent(description: &str) -> Option<TaskId> {
    // Most descriptions have no block, and nothing is parsed for them.
    if !description.contains(PARENT) {
        return None;
    }
    match Block::find(description)?.get(PARENT)? {
        Value::String(id) if !id.is_empty() && id != SENTINEL => Some(TaskId::stored(id)),
        Value::Number(number) => Some(TaskId::number(number.as_u64()?)),
        _ => None,
    }
}

/// Takes the facts of how a task came to be out of metadata, in the order in which the block has them: the breadcrumbs, the cycle,
/// who made it. Only what fits on a line is a fact.
pub(super) fn take_facts_of_making(metadata: &mut Metadata) -> Vec<(String, Value)> {
    let place = |key: &str| match key {
        "created_cycle" => Some(1),
        "created_by" => Some(2),
        key if key.contains("breadcrumb") => Some(0),
        _ => None,
    };
    let mut facts: Vec<(i32, String, Value)> = Vec::new();
    metadata.retain(|key, value| {
        let is_line = matches!(value, Value::String(text) if !text.contains('\n')) || value.is_number();
        let Some(place) = place(key).filter(|_| is_line) else { return true };
        facts.push((place, key.clone(), value.clone()));
        false
    });
    facts.sort_by_key(|(place, ..)| *place);
    facts.into_iter().map(|(_, key, value)| (key, value)).collect()
}

/// Returns a text with a block of these lines at its end.
pub(super) fn with_block(text: &str, lines: &str) -> String {
    let gap = if text.is_empty() { "" } else { "\n\n" };
    format!("{text}{gap}{FIRST_LINE}\n{lines}{CLOSE}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Block, stated_parent, take_facts_of_making};
    use crate::TaskId;

    const DESCRIPTION: &str = "Task description text.\n\n<macf_task_metadata version=\"1.0\">\ncreation_breadcrumb: s_.../c_.../g_.../p_.../t_...\ncreated_cycle: 42\ncreated_by: PA\n</macf_task_metadata>";

    #[test]
    fn facts_are_read() {
        let block = Block::find(DESCRIPTION).unwrap();
        let facts = block.facts().unwrap();
        assert_eq!(
            (facts[0].key.as_str(), &facts[0].value),
            ("creation_breadcrumb", &json!("s_.../c_.../g_.../p_.../t_..."))
        );
        assert_eq!(
            (block.get("created_cycle"), block.get("created_by"), block.get("x")),
            (Some(json!(42)), Some(json!("PA")), None)
        );
        assert_eq!(block.around(), ("Task description text.\n\n", ""));
    }

    #[test]
    fn scalars_lists_and_what_is_nested_are_read() {
        let text = "<macf_task_metadata version=\"1.0\">\na: 'it''s'\nb: \"\\u00e9\"\nc: 1.50\nd: |\n  one\n  two\ne: >\n  one\n  two\n\
                    f: ~\ng: [x, 1]\nh:\n- y\n- z: true\ni: {j: null}\nk: &x v\nl: *x\nm: 007\n</macf_task_metadata>";
        let facts = Block::find(text).unwrap().facts().unwrap();
        let read: serde_json::Map<String, Value> = facts.into_iter().map(|fact| (fact.key, fact.value)).collect();
        let number: Value = serde_json::from_str("1.50").unwrap();
        let expected = json!({
            "a": "it's", "b": "é", "c": number, "d": "one\ntwo\n", "e": "one two\n", "f": null, "g": ["x", 1],
            "h": ["y", {"z": true}], "i": {"j": null}, "k": "v", "l": "v", "m": "007",
        });
        assert_eq!(Value::Object(read), expected);
    }

    #[test]
    fn a_fact_is_changed_and_the_prose_is_not() {
        let given = format!("{DESCRIPTION}\nmore prose: yes");
        assert_eq!(Block::set(&given, "created_cycle", &json!(43)).unwrap(), given.replace("42", "43"));
        let added = Block::set(&given, "updated_by", &json!("SA")).unwrap();
        assert_eq!(added, given.replace("PA\n", "PA\nupdated_by: SA\n"));
        assert_eq!(Block::without(&given, "created_by").unwrap(), given.replace("created_by: PA\n", ""));
    }

    #[test]
    fn a_block_may_be_empty_or_stand_on_one_line() {
        let set = |text: &str| Block::set(text, "a", &json!(1)).unwrap();
        assert_eq!(
            set("<macf_task_metadata></macf_task_metadata>"),
            "<macf_task_metadata>\na: 1\n</macf_task_metadata>"
        );
        assert_eq!(
            set("<macf_task_metadata>\n</macf_task_metadata>"),
            "<macf_task_metadata>\na: 1\n</macf_task_metadata>"
        );
        assert_eq!(
            set("<macf_task_metadata> b: 2 </macf_task_metadata>x"),
            "<macf_task_metadata> b: 2 \na: 1\n</macf_task_metadata>x"
        );
        assert_eq!(
            set("<macf_task_metadata>\r\nb: 2\r\n  </macf_task_metadata>"),
            "<macf_task_metadata>\r\nb: 2\r\na: 1\r\n  </macf_task_metadata>"
        );
    }

    #[test]
    fn a_block_that_is_no_yaml_says_where() {
        let text = "<macf_task_metadata version=\"1.0\">\ncreated_cycle: 7\ntitle: CLI: x\n</macf_task_metadata>";
        let bad = Block::find(text).unwrap().facts().unwrap_err();
        assert!(bad.to_string().starts_with("line 3 is no YAML: "), "{bad}");
    }

    #[test]
    fn the_parent_is_what_stands_at_the_margin() {
        let parent = |facts: &str| {
            stated_parent(&format!("<macf_task_metadata version=\"1.0\">\n{facts}\n</macf_task_metadata>"))
        };
        assert_eq!(parent("parent_id: 67"), Some(TaskId::number(67)));
        assert_eq!(parent("parent_id: 'a-1'"), Some(TaskId::stored("a-1")));
        for facts in [
            "parent_id: '000'",
            "parent_id: null",
            "custom:\n  parent_id: 5",
            "report: |\n  parent_id: 5",
            "parent_id: [1]",
        ] {
            assert_eq!(parent(facts), None, "{facts}");
        }
        assert_eq!(stated_parent("parent_id: 5"), None);
    }

    #[test]
    fn how_a_task_came_to_be_stands_in_the_order_of_the_block() {
        let given = json!({
            "created_by": "PA", "tags": ["x"], "created_cycle": 42, "creation_breadcrumb": "s_1/c_2", "odd_breadcrumb": [1],
        });
        let mut metadata = given.as_object().unwrap().clone();
        let facts = take_facts_of_making(&mut metadata);
        let facts: Vec<(&str, &Value)> = facts.iter().map(|(key, value)| (key.as_str(), value)).collect();
        let expected =
            [("creation_breadcrumb", &json!("s_1/c_2")), ("created_cycle", &json!(42)), ("created_by", &json!("PA"))];
        assert_eq!(facts, expected);
        assert_eq!(metadata.keys().collect::<Vec<_>>(), ["tags", "odd_breadcrumb"]);
    }

    #[test]
    fn without_a_block_one_is_put_at_the_end() {
        let set = Block::set("", "created_by", &json!("PA")).unwrap();
        assert_eq!(set, "<macf_task_metadata version=\"1.0\">\ncreated_by: PA\n</macf_task_metadata>");
        assert_eq!(Block::find(&Block::set("a", "b", &json!("c")).unwrap()).unwrap().around().0, "a\n\n");
    }
}

//! Finds and edits the metadata block of a description, and parses the marks in front of a title.

use std::ops::Range;

use serde_json::Value;

use crate::dialect::macf::macf_facts;
use crate::dialect::macf::macf_facts::{BadBlock, Fact, with_fact, without_fact};
use crate::{AgentName, Metadata, TaskId};

const OPEN: &str = "<macf_task_metadata";
const CLOSE: &str = "</macf_task_metadata>";
/// The fact that names the parent.
pub(super) const PARENT: &str = "parent_id";
const FIRST_LINE: &str = "<macf_task_metadata version=\"1.0\">";

/// The metadata block of a description, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    description: &'a str,
    whole: Range<usize>,
    inside: Range<usize>,
}

impl<'a> Block<'a> {
    /// Finds the block of a description: the first one, as MACF tools do.
    pub fn find(description: &'a str) -> Option<Self> {
        let start = description.find(OPEN)?;
        let inside = start + description[start..].find('>')? + 1;
        let end = inside + description[inside..].find(CLOSE)?;
        Some(Self { description, whole: start..end + CLOSE.len(), inside: inside..end })
    }

    /// Returns the facts of the block in order.
    pub fn facts(&self) -> Result<Vec<Fact>, BadBlock> {
        let (before, text) = self.parts();
        macf_facts::read(text).map_err(|bad| match bad {
            BadBlock::NotYaml { line, why } => BadBlock::NotYaml { line: line + before.matches('\n').count(), why },
            bad => bad,
        })
    }

    /// Returns the value of a fact; if a key occurs twice, the last one counts.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.facts().ok()?.into_iter().rfind(|fact| fact.key == key).map(|fact| fact.value)
    }

    /// Returns the value of a fact as written.
    pub(crate) fn written(&self, key: &str) -> Option<&'a str> {
        let text = self.parts().1;
        let fact = self.facts().ok()?.into_iter().rfind(|fact| fact.key == key)?;
        Some(&text[fact.value_at])
    }

    /// Returns the texts before and after the block.
    pub(crate) fn around(&self) -> (&'a str, &'a str) {
        (&self.description[..self.whole.start], &self.description[self.whole.end..])
    }

    /// Sets one fact and leaves the rest of the description unchanged. Appends a block if there is none.
    pub fn set(description: &str, key: &str, value: &Value) -> Result<String, BadBlock> {
        match Block::find(description) {
            Some(block) => block.changed(|text| with_fact(text, key, value)),
            None => Ok(with_block(description, &with_fact("", key, value)?)),
        }
    }

    /// Removes one fact and leaves the rest of the description unchanged.
    pub(crate) fn without(description: &str, key: &str) -> Result<String, BadBlock> {
        match Block::find(description) {
            Some(block) => block.changed(|text| without_fact(text, key)),
            None => Ok(description.to_owned()),
        }
    }

    /// Splits the inside of the block into leading white space and facts, so that a fact on the first line counts as
    /// top-level.
    fn parts(&self) -> (&'a str, &'a str) {
        let inside = &self.description[self.inside.clone()];
        inside.split_at(inside.len() - inside.trim_start().len())
    }

    fn changed(&self, change: impl FnOnce(&str) -> Result<String, BadBlock>) -> Result<String, BadBlock> {
        let (before, text) = self.parts();
        // An empty block needs a line break before the facts.
        let before = if before.is_empty() && text.is_empty() { "\n" } else { before };
        let (start, end) = (&self.description[..self.inside.start], &self.description[self.inside.end..]);
        Ok(format!("{start}{before}{}{end}", change(text)?))
    }
}

/// Returns the parent named in a description's block, or `None` if there is none.
pub fn stated_parent(description: &str) -> Option<TaskId> {
    // Most descriptions have no block; do not parse those.
    if !description.contains(PARENT) {
        return None;
    }
    match Block::find(description)?.get(PARENT)? {
        Value::String(id) if !id.is_empty() && id != SENTINEL => Some(TaskId::stored(id)),
        Value::Number(number) => Some(TaskId::number(number.as_u64()?)),
        _ => None,
    }
}

/// Removes the facts about a task's creation from metadata and returns them in the order of the block: breadcrumbs,
/// cycle, author. Only values that fit on one line are moved.
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

/// Appends a block with these lines to a text.
pub(super) fn with_block(text: &str, lines: &str) -> String {
    let gap = if text.is_empty() { "" } else { "\n\n" };
    format!("{text}{gap}{FIRST_LINE}\n{lines}{CLOSE}")
}

const DIM: &str = "\x1b[2m";
/// The escape sequences that end dim text: the current one, and the one in older files.
const DIM_ENDS: [&str; 2] = ["\x1b[22m", "\x1b[0m"];
/// Ids are right-aligned in this many columns.
const COLUMNS: usize = 4;
/// A task that exists only for display; having it as parent means having none.
pub(super) const SENTINEL: &str = "000";

/// A parsed subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The task's own id, if present.
    pub(crate) id: Option<&'a str>,
    /// The parent, if present.
    pub(crate) parent: Option<&'a str>,
    /// The agent type the task is for (`[SA:type]`). It also remains in the title.
    pub(crate) agent_type: Option<&'a str>,
    /// The title.
    pub title: &'a str,
    /// The task's own id as written, with its escape sequences.
    id_mark: &'a str,
    /// The parent as written, with its escape sequences.
    parent_mark: &'a str,
}

impl<'a> Subject<'a> {
    /// Parses a subject.
    pub fn parse(text: &'a str) -> Self {
        let mut subject = Self { title: text, ..Self::default() };
        if let Some((word, mark, rest)) = dim(subject.title)
            && let Some(id) = word.trim_matches(' ').strip_prefix('#').filter(|id| is_id(id))
        {
            (subject.id, subject.id_mark, subject.title) = (Some(id), mark, rest);
        }
        let plain = |text: &'a str| text.split_once(' ').map(|(word, rest)| (word, word, rest));
        if let Some((word, mark, rest)) = dim(subject.title).or_else(|| plain(subject.title))
            && let Some(id) = parent_mark(word.trim_matches(' '))
        {
            (subject.parent, subject.parent_mark, subject.title) = (Some(id), mark, rest);
        }
        subject.agent_type = agent_type(subject.title);
        subject
    }

    /// Parses the subject of a task. If the leading id is not the task's own, it belongs to the title.
    pub(crate) fn of(id: &TaskId, text: &'a str) -> Self {
        let subject = Self::parse(text);
        match subject.id {
            Some(stated) if stated != id.as_str() => Self { title: text, ..Self::default() },
            _ => subject,
        }
    }

    /// Composes a subject: `#id [^#parent] title`, with dim marks.
    pub fn compose(id: &str, parent: Option<&str>, title: &str) -> String {
        Subject::default().composed(id, parent, title)
    }

    /// Composes a subject as older tools do: without alignment, and with dim text ended by `ESC [0m`.
    pub fn compose_compact(id: &str, parent: Option<&str>, title: &str) -> String {
        Subject { id_mark: DIM_ENDS[1], ..Subject::default() }.composed(id, parent, title)
    }

    /// Composes a subject in the style of this one: unchanged marks are kept as written, and new ones use the same
    /// escape sequence.
    pub(crate) fn composed(&self, id: &str, parent: Option<&str>, title: &str) -> String {
        let is_old = self.id_mark.ends_with(DIM_ENDS[1]);
        let end = DIM_ENDS[usize::from(is_old)];
        let id_mark = match self.id == Some(id) {
            true => self.id_mark.to_owned(),
            false if is_old => format!("{DIM}#{id}{end}"),
            false => format!("{DIM}{:>COLUMNS$}{end}", format!("#{id}")),
        };
        let parent_mark = match parent.filter(|parent| *parent != SENTINEL) {
            None => String::new(),
            Some(parent) if self.parent == Some(parent) => format!("{} ", self.parent_mark),
            Some(parent) => format!("{DIM}[^#{parent}]{end} "),
        };
        format!("{id_mark} {parent_mark}{title}")
    }
}

/// Returns the dim word that a text begins with, the same with its escape sequences, and the rest after a space.
fn dim(text: &str) -> Option<(&str, &str, &str)> {
    let inside = text.strip_prefix(DIM)?;
    let word = &inside[..inside.find('\x1b')?];
    let end = DIM_ENDS.iter().find(|end| inside[word.len()..].starts_with(**end))?;
    let (mark, rest) = text.split_at(DIM.len() + word.len() + end.len());
    Some((word, mark, rest.strip_prefix(' ')?))
}

fn parent_mark(word: &str) -> Option<&str> {
    word.strip_prefix("[^#")?.strip_suffix(']').filter(|id| is_id(id))
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(crate::list::is_safe_byte)
}

fn agent_type(title: &str) -> Option<&str> {
    let (agent, _) = title.strip_prefix("[SA:")?.split_once("] ")?;
    Some(agent).filter(|agent| !agent.is_empty())
}

/// Writes the facts of a new task into the block of its description: its origin, author, parent, and `more`. Facts in
/// the metadata are moved there. If the block cannot be changed, the facts stay in the metadata and the reason is
/// returned.
pub fn describe_making(
    description: String,
    metadata: &mut Option<Metadata>,
    author: &AgentName,
    more: Vec<(String, Value)>,
) -> (String, Option<BadBlock>) {
    let is_given = Block::find(&description).is_some();
    let mut facts = metadata.as_mut().map(take_facts_of_making).unwrap_or_default();
    // An existing block is kept, so no author is added.
    if !is_given && facts.iter().all(|(key, _)| key != "created_by") {
        facts.push(("created_by".to_owned(), author.as_str().into()));
    }
    facts.extend(parent_fact(metadata.as_ref()));
    facts.extend(more);
    let told = facts.iter().try_fold(description.clone(), |told, (key, value)| Block::set(&told, key, value));
    match told {
        Ok(told) => (told, None),
        Err(bad) => {
            facts.retain(|(key, _)| key != PARENT);
            metadata.get_or_insert_default().extend(facts);
            (description, Some(bad))
        }
    }
}

/// Returns the parent as a fact of the block.
fn parent_fact(metadata: Option<&Metadata>) -> Option<(String, Value)> {
    let parent = metadata?.get("parent")?;
    let id = TaskId::stored(parent.as_str()?);
    Some((PARENT.to_owned(), id.as_number().map_or_else(|| parent.clone(), Value::from)))
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
        assert!(bad.to_string().starts_with("line 3 is not YAML: "), "{bad}");
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

#[cfg(test)]
mod subject_tests {
    use super::Subject;
    use crate::TaskId;

    const STORED: &str = "\x1b[2m#89\x1b[0m \x1b[2m[^#67]\x1b[0m \u{1f4cb} Phase 4";

    #[test]
    fn a_stored_subject_is_taken_apart_and_put_together_again() {
        let subject = Subject::parse(STORED);
        assert_eq!((subject.id, subject.parent, subject.title), (Some("89"), Some("67"), "\u{1f4cb} Phase 4"));
        assert_eq!(subject.composed("89", Some("67"), subject.title), STORED);
    }

    #[test]
    fn both_ends_of_dim_are_read_and_stay() {
        let today = "\x1b[2m  #5\x1b[22m \x1b[2m[^#67]\x1b[22m \u{1f4cb} Phase 4";
        for (stored, moved) in [
            (today, "\x1b[2m  #5\x1b[22m \x1b[2m[^#1]\x1b[22m \u{1f4cb} Phase 4"),
            (
                "\x1b[2m#5\x1b[0m \x1b[2m[^#67]\x1b[0m \u{1f4cb} Phase 4",
                "\x1b[2m#5\x1b[0m \x1b[2m[^#1]\x1b[0m \u{1f4cb} Phase 4",
            ),
            (
                "\x1b[2m  #5 \x1b[22m \x1b[2m[^#67] \x1b[22m \u{1f4cb} Phase 4",
                "\x1b[2m  #5 \x1b[22m \x1b[2m[^#1]\x1b[22m \u{1f4cb} Phase 4",
            ),
        ] {
            let subject = Subject::parse(stored);
            assert_eq!((subject.id, subject.parent, subject.title), (Some("5"), Some("67"), "\u{1f4cb} Phase 4"));
            assert_eq!(subject.composed("5", Some("67"), subject.title), stored);
            assert_eq!(subject.composed("5", Some("1"), subject.title), moved);
        }
        assert_eq!(Subject::compose("5", Some("67"), "\u{1f4cb} Phase 4"), today);
        assert_eq!(Subject::compose_compact("89", Some("67"), "\u{1f4cb} Phase 4"), STORED);
        assert_eq!(Subject::compose("1234", Some("000"), "x"), "\x1b[2m#1234\x1b[22m x");
    }

    #[test]
    fn a_parent_is_also_understood_without_colour() {
        let subject = Subject::parse("[^#67] \u{1f4cb} Phase 1");
        assert_eq!((subject.id, subject.parent, subject.title), (None, Some("67"), "\u{1f4cb} Phase 1"));
    }

    #[test]
    fn what_only_looks_like_it_is_a_title() {
        for title in ["#12 is broken", "[^#] x", "\x1b[2mfaint\x1b[0m words", "[SA:] x", ""] {
            assert_eq!(Subject::parse(title), Subject { title, ..Subject::default() });
        }
    }

    #[test]
    fn the_type_of_an_agent_is_told() {
        assert_eq!(Subject::parse("[SA:DevOpsEng] Implement CLI command").agent_type, Some("DevOpsEng"));
    }

    #[test]
    fn number_of_another_task_is_part_of_the_title() {
        assert_eq!(Subject::of(&TaskId::number(89), STORED), Subject::parse(STORED));
        let other = Subject::of(&TaskId::number(8), STORED);
        assert_eq!(other, Subject { title: STORED, ..Subject::default() });
    }
}

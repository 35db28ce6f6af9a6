//! What becomes of a task's tags.

use serde_json::{Value, json};

use crate::Task;

/// What becomes of a task's tags: they are set, then some are added, then some are taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagChange {
    /// The tags it shall have in place of those it has.
    pub set: Option<Vec<String>>,
    /// The tags it shall have beside those.
    pub add: Vec<String>,
    /// The tags it shall not have.
    pub remove: Vec<String>,
}

impl TagChange {
    /// Returns the value of `metadata.tags` that this makes of a task's tags, null where none is left; none where they stay as they are.
    pub fn applied_to(&self, task: &Task) -> Option<Value> {
        let before: Vec<&str> = task.tags().collect();
        let given = self.set.as_ref().map(|tags| tags.iter().map(String::as_str).collect());
        let mut after: Vec<&str> = Vec::new();
        for tag in given.unwrap_or_else(|| before.clone()).into_iter().chain(self.add.iter().map(String::as_str)) {
            if !after.contains(&tag) {
                after.push(tag);
            }
        }
        after.retain(|tag| !self.remove.iter().any(|removed| removed == tag));
        let is_same = after == before;
        (!is_same).then(|| if after.is_empty() { Value::Null } else { json!(after) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::TagChange;
    use crate::{Task, TaskId};

    fn applied(tags: Value, set: Option<&[&str]>, add: &[&str], remove: &[&str]) -> Option<Value> {
        let metadata = json!({"tags": tags}).as_object().cloned();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let change = TagChange { set: set.map(words), add: words(add), remove: words(remove) };
        change.applied_to(&Task { metadata, ..Task::new(TaskId::number(1), "x") })
    }

    #[test]
    fn tags_are_added_taken_away_and_set() {
        assert_eq!(applied(json!(["a"]), None, &["b", "a"], &[]), Some(json!(["a", "b"])));
        assert_eq!(applied(json!(["a", "b"]), None, &[], &["a"]), Some(json!(["b"])));
        assert_eq!(applied(json!(["a"]), Some(&["c", "d"]), &["e"], &["d"]), Some(json!(["c", "e"])));
        assert_eq!(applied(json!(["a"]), None, &[], &["a"]), Some(Value::Null));
        assert_eq!(applied(json!(["a"]), Some(&[]), &[], &[]), Some(Value::Null));
    }

    #[test]
    fn tags_that_stay_as_they_are_are_no_change() {
        assert_eq!(applied(json!(["a"]), None, &["a"], &["z"]), None);
        assert_eq!(applied(json!([]), None, &[], &["a"]), None);
    }
}

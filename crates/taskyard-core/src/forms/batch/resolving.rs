//! From names of a batch to the ids its tasks get.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::entry::{BatchEntry, BatchMistake, BatchParent};
use crate::near_miss::nearest;
use crate::rules::graph::dependencies::Edge;
use crate::{Task, TaskId};

/// The tasks of a batch under the ids they get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The tasks, in the order of the batch, without edges.
    pub tasks: Vec<Task>,
    /// Which of them waits for what, and what waits for them.
    pub edges: Vec<Edge>,
    /// Which of them are parts of others.
    pub parts: Vec<TaskId>,
}

/// Returns what a batch names that may be ids of the list's tasks: those that are no numbers and that nothing in the batch is called.
pub fn possible_ids(entries: &[BatchEntry]) -> HashSet<TaskId> {
    let Ok(called) = Called::of(entries) else { return HashSet::new() };
    let parent = |entry: &BatchEntry| match &entry.parent {
        Some(BatchParent::Named(name)) => Some(name.clone()),
        Some(BatchParent::At(_)) | None => None,
    };
    let names = entries.iter().flat_map(|entry| entry.after.iter().chain(&entry.before).cloned().chain(parent(entry)));
    names.filter(|name| !called.has(name)).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Gives the tasks of a batch ids, as many as there are, and finds out whom they name. A name of the batch counts before a title, and that
/// before a task of the list; what is none of these is a mistake, and so is a title that several tasks have. `in_list` has those of the
/// [`possible_ids`] that the list has.
pub fn resolve(entries: &[BatchEntry], ids: &[TaskId], in_list: &HashSet<TaskId>) -> Result<Resolved, BatchMistake> {
    let called = Called::of(entries)?;
    let find = |name: &str, line: usize| called.find(name, line, in_list).map(|named| named.id(ids));
    let mut resolved = Resolved::default();
    for (entry, id) in entries.iter().zip(ids) {
        let mut task = Task { id: id.clone(), ..entry.task.clone() };
        for name in &entry.after {
            resolved.edges.push(Edge { task: id.clone(), on: find(name, entry.line)? });
        }
        for name in &entry.before {
            resolved.edges.push(Edge { task: find(name, entry.line)?, on: id.clone() });
        }
        if let Some(parent) = &entry.parent {
            let parent = match parent {
                BatchParent::Named(name) => find(name, entry.line)?,
                BatchParent::At(place) => ids[*place].clone(),
            };
            task.metadata.get_or_insert_default().insert("parent".to_owned(), Value::from(parent.as_str()));
            resolved.parts.push(id.clone());
        }
        resolved.tasks.push(task);
    }
    Ok(resolved)
}

/// What the tasks of a batch are called.
struct Called<'a> {
    entries: &'a [BatchEntry],
    names: HashMap<String, usize>,
    /// The titles of tasks without a name, with the first task and the next that has it.
    titles: HashMap<String, (usize, Option<usize>)>,
}

/// Whom a name means.
enum Named {
    At(usize),
    OfList(TaskId),
}

impl Named {
    fn id(self, ids: &[TaskId]) -> TaskId {
        match self {
            Self::At(place) => ids[place].clone(),
            Self::OfList(id) => id,
        }
    }
}

impl<'a> Called<'a> {
    /// Notes what the tasks are called; no two can have one name.
    fn of(entries: &'a [BatchEntry]) -> Result<Self, BatchMistake> {
        let (mut names, mut titles) = (HashMap::new(), HashMap::new());
        for (place, entry) in entries.iter().enumerate() {
            match &entry.name {
                Some(name) => {
                    if let Some(first) = names.insert(key(name), place) {
                        let first = entries[first].line;
                        let what = format!("`{}` is the name of line {first}, too", name.escape_debug());
                        return Err(BatchMistake::at(entry.line, what));
                    }
                }
                None => {
                    titles
                        .entry(key(&entry.task.subject))
                        .and_modify(|(_, next): &mut (usize, Option<usize>)| *next = next.or(Some(place)))
                        .or_insert((place, None));
                }
            }
        }
        Ok(Self { entries, names, titles })
    }

    /// Tells whether a task of the batch is called so.
    fn has(&self, name: &str) -> bool {
        let name = key(name);
        self.names.contains_key(&name) || self.titles.contains_key(&name)
    }

    fn find(&self, name: &str, line: usize, in_list: &HashSet<TaskId>) -> Result<Named, BatchMistake> {
        let wanted = key(name);
        match (self.names.get(&wanted), self.titles.get(&wanted)) {
            (Some(place), _) | (None, Some((place, None))) => Ok(Named::At(*place)),
            (None, Some((first, Some(next)))) => {
                let [first, next] = [first, next].map(|place| self.entries[*place].line);
                let what = format!("`{}` may be line {first} or line {next}", name.escape_debug());
                Err(BatchMistake::at(line, format!("{what}; give the one that is meant a `name`")))
            }
            (None, None) => of_list(name, in_list).map(Named::OfList).ok_or_else(|| self.unknown(name, line)),
        }
    }

    fn unknown(&self, name: &str, line: usize) -> BatchMistake {
        let names: Vec<String> = self.entries.iter().map(|entry| key(entry.called())).collect();
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = nearest(&key(name), &words).map(|meant| format!("did you mean `{meant}`?"));
        let advice = meant.unwrap_or_else(|| "tasks of the list are named by number or id".into());
        BatchMistake::at(line, format!("nothing here is called `{}`; {advice}", name.escape_debug()))
    }
}

/// Names are the same in any case and however they are spaced.
fn key(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the task of the list that a name means: a number, with or without the mark before it, any id with it, or the id of a task that is
/// there.
fn of_list(name: &str, in_list: &HashSet<TaskId>) -> Option<TaskId> {
    let id: TaskId = name.trim().parse().ok()?;
    Some(id).filter(|id| id.as_number().is_some() || name.trim().starts_with('#') || in_list.contains(id))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::{possible_ids, resolve};
    use crate::forms::batch::{BatchMistake, read};
    use crate::timing::Clock;
    use crate::{Task, TaskId, Timestamp};

    type Pairs = Vec<(String, String)>;

    fn resolved(text: &str) -> Result<(Vec<Task>, Pairs), BatchMistake> {
        let clock = Clock::new(Timestamp(0), TimeZone::UTC);
        let entries = read(text, &clock)?;
        let ids: Vec<TaskId> = (11..).map(TaskId::number).take(entries.len()).collect();
        let in_list = possible_ids(&entries).into_iter().filter(|id| id.as_str() == "0198c0de-1111").collect();
        let resolved = resolve(&entries, &ids, &in_list)?;
        let edges = resolved.edges.iter().map(|edge| (edge.task.to_string(), edge.on.to_string())).collect();
        Ok((resolved.tasks, edges))
    }

    fn pairs(edges: &[(&str, &str)]) -> Pairs {
        edges.iter().map(|(task, on)| ((*task).to_owned(), (*on).to_owned())).collect()
    }

    #[test]
    fn ids_of_the_list_are_names_unless_the_batch_has_them() {
        let text = "- a after: 0198c0de-1111\n- b after: a, 0198c0de-1111";
        assert_eq!(resolved(text).unwrap().1, pairs(&[("11", "0198c0de-1111"), ("12", "11"), ("12", "0198c0de-1111")]));
        let text = "- 0198c0de-1111\n- b after: 0198c0de-1111";
        assert_eq!(resolved(text).unwrap().1, pairs(&[("12", "11")]));
        assert!(resolved("- a after: 0198c0de-2222").is_err());
    }

    #[test]
    fn json_lines_name_each_other_and_tasks_of_the_list() {
        let (tasks, edges) = resolved(concat!(
            r#"{"name":"api","subject":"Design","priority":"high","tags":["db"],"due":"1970-01-02","estimate":"2h"}"#,
            "\n\n",
            r##"{"subject":"Build","blockedBy":["api",3],"parent":"#4","metadata":{"x":1}}"##,
            "\n",
            r#"{"subject":"Ship","blockedBy":"build","blocks":["7"],"parent":"API"}"#,
        ))
        .unwrap();
        assert_eq!(edges, pairs(&[("12", "11"), ("12", "3"), ("13", "12"), ("7", "13")]));
        let metadata: Vec<_> = tasks.iter().map(|task| json!(task.metadata)).collect();
        assert_eq!(
            metadata,
            [
                json!({"priority": "high", "tags": ["db"], "due": "1970-01-02T23:59:59.999Z", "estimate": 7200}),
                json!({"x": 1, "parent": "4"}),
                json!({"parent": "11"}),
            ]
        );
    }

    #[test]
    fn in_markdown_indentation_means_parts_and_after_means_order() {
        let (tasks, edges) = resolved(
            "# Plan\n\n- Release name: rel\n  priority: high\n  What there is\n  to do: all\n\n  - [ ] Build it\n    tags: a, b\n  - Test after: Build it\n\n1. Announce after: rel, #3 name: news\n\t- Mail after: test\n",
        )
        .unwrap();
        assert_eq!(edges, pairs(&[("13", "12"), ("14", "11"), ("14", "3"), ("15", "13")]));
        let subjects: Vec<&str> = tasks.iter().map(|task| task.subject.as_str()).collect();
        assert_eq!(subjects, ["Release", "Build it", "Test", "Announce", "Mail"]);
        assert_eq!(tasks[0].description, "What there is\nto do: all");
        assert_eq!(json!(tasks[1].metadata), json!({"tags": ["a", "b"], "parent": "11"}));
        assert_eq!(json!(tasks[4].metadata), json!({"parent": "14"}));
    }

    #[test]
    fn tasks_may_have_one_title_where_nobody_calls_one_of_them_by_it() {
        let (tasks, edges) = resolved(
            "\u{feff}- Web\n  - Test\n- Api\n  - Test\n  - Test name: last\n- Web name: site after: last, web\n",
        )
        .unwrap();
        let parents: Vec<Option<TaskId>> = tasks.iter().map(Task::parent).collect();
        let [web, api] = [11, 13].map(|number| Some(TaskId::number(number)));
        assert_eq!(parents, [None, web, None, api.clone(), api, None]);
        assert_eq!(edges, pairs(&[("16", "15"), ("16", "11")]));
    }

    #[test]
    fn every_mistake_names_its_line() {
        for (text, mistake) in [
            ("", "line 1: there is no task in it; write `- Title`, or {\"subject\": \"Title\"}"),
            ("- a\nstray", "line 2: this belongs to no item: write `- ` before a task, and indent what belongs to it"),
            ("- a\n- b after: c", "line 2: nothing here is called `c`; tasks of the list are named by number or id"),
            ("- Build\n- b after: biuld", "line 2: nothing here is called `biuld`; did you mean `build`?"),
            ("- a\n\n- A\n- b after: a", "line 4: `a` may be line 1 or line 3; give the one that is meant a `name`"),
            ("- a name: x\n- b name: X", "line 2: `X` is the name of line 1, too"),
            ("- a\n  priority: hihg", "line 1: `hihg` is no priority; use low, medium or high"),
            ("- [x] a", "line 1: a new task is pending, and this one is ticked"),
            (
                "{\"subject\":\"a\"}\n{\"sbject\":\"b\"}",
                "line 2: `sbject` is no key of a task; did you mean `subject`?",
            ),
            ("{\"subject\":\"a\",\"status\":\"completed\"}", "line 1: a new task is pending"),
            ("{\"name\":\"a\"}", "line 1: a task needs a `subject`"),
        ] {
            assert_eq!(resolved(text).unwrap_err().to_string(), mistake, "{text}");
        }
    }
}

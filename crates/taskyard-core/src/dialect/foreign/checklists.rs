//! Checklists in Markdown: reads those of other programs and people, and writes them as `docs/formats/plan.md` specifies.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::imported::Imported;
use crate::dialect::foreign::imported::{moment, set, set_priority};
use crate::dialect::plan;
use crate::dialect::plan::{Form, Item, Plan, box_status};
use crate::task::NOTES;
use crate::timing::{WORKING_DAY, WorkSpan};
use crate::{DEFER, DUE, ESTIMATE, Task, TaskId, json_text};

/// Reads every item of every checklist. An item is identified by the id before its text, or else by its text.
pub fn read(text: &str) -> Imported {
    let plan = Plan::read(text, Form::Checklist);
    let mut imported = Imported::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let own = |item: &Item| item.id.as_ref().map_or_else(|| item.whole.clone(), |id| id.as_str().to_owned());
    let ids: Vec<TaskId> =
        plan.items.iter().map(|item| TaskId::stored(numbered_apart(&own(item), &mut seen))).collect();
    let known: HashSet<&TaskId> = ids.iter().collect();
    for (item, id) in plan.items.iter().zip(&ids) {
        let mut task = task_of(item, id);
        // `(after #1)` stays in the text of an item without an id if no item is #1, so that a reader can still make sense of it; the
        // import tells that the edge is missing.
        if item.id.is_none() && task.blocked_by.iter().any(|on| !known.contains(on)) {
            task.subject.clone_from(&item.whole);
        }
        if let Some(place) = item.parent {
            set(&mut task, "parent", ids[place].as_str());
        }
        if let Some(mark) = item.mark {
            imported.map("status", &format!("[{mark}]"), task.status.as_str());
        }
        imported.tasks.push(task);
    }
    if !plan.stray.is_empty() {
        imported.lose("text", format!("{} lines outside of any item", plan.stray.len()));
    }
    imported
}

/// Writes tasks as a checklist, with parts below their parents.
pub fn write(tasks: &[Task]) -> String {
    plan::write_all(tasks)
}

fn task_of(item: &Item, id: &TaskId) -> Task {
    let mut task = Task::new(id.clone(), item.title.as_str());
    if !item.section.is_empty() {
        set(&mut task, "section", item.section.as_str());
    }
    let mark = item.mark.unwrap_or(' ');
    task.status = box_status(mark);
    if matches!(mark, '-' | '~') {
        set(&mut task, "cancelled", true);
    }
    let mut description = Vec::new();
    for field in &item.fields {
        // In a list written by people it may be plain text.
        if take_field(&mut task, field.name, &field.value).is_none() {
            description.push(format!("{}: {}", field.name, field.value));
        }
    }
    let exact = std::mem::take(&mut task.description);
    description.extend([exact, item.description.clone()].into_iter().filter(|text| !text.is_empty()));
    task.description = description.join("\n");
    if !item.notes.is_empty() {
        set(&mut task, NOTES, item.notes.clone());
    }
    task
}

/// Sets a field; returns `None` if the value is invalid.
fn take_field(task: &mut Task, name: &str, value: &str) -> Option<()> {
    let ids = || value.split(',').map(|id| id.trim().parse::<TaskId>().ok()).collect::<Option<Vec<_>>>();
    match name {
        "after" => task.blocked_by.extend(ids()?),
        "blocks" => task.blocks.extend(ids()?),
        "parent" => set(task, name, value.parse::<TaskId>().ok()?.as_str()),
        "priority" => set_priority(task, value.parse().ok()?),
        "tags" => {
            let tags: Vec<&str> = value.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
            set(task, name, tags);
        }
        "kind" | "project" | "every" => set(task, name, value),
        "owner" => task.owner = Some(value.to_owned()),
        "activeForm" => task.active_form = Some(value.to_owned()),
        DUE => set(task, name, moment(value, true)?.to_string()),
        DEFER => set(task, name, moment(value, false)?.to_string()),
        ESTIMATE => set(task, name, WorkSpan::parse(value).ok()?.with_days_of(WORKING_DAY).as_secs()),
        "description" => value.clone_into(&mut task.description),
        "meta" => match json_text::from_str(value).ok()? {
            Value::Object(metadata) => task.metadata.get_or_insert_default().extend(metadata),
            _ => return None,
        },
        _ => return None,
    }
    Some(())
}

/// Returns a unique text: repeated texts get a number.
pub(super) fn numbered_apart(text: &str, seen: &mut HashMap<String, usize>) -> String {
    loop {
        let count = seen.entry(text.to_owned()).or_default();
        *count += 1;
        let apart = if *count == 1 { text.to_owned() } else { format!("{text} ({count})") };
        if apart == text {
            return apart;
        }
        if !seen.contains_key(&apart) {
            seen.insert(apart.clone(), 1);
            return apart;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use crate::{Status, Task, TaskId};

    const LIST: &str = "# Release\n\nWhat is left.\n\n- [x] Design\n- [ ] Build\n  Both crates.\n  - [ ] Parser\n  - [/] Printer\n* [-] Old idea\n1. [ ] Build\n\n```\n- [ ] no item\n```\n";

    #[test]
    fn items_come_with_marks_parts_and_text() {
        let imported = read(LIST);
        let told: Vec<_> = imported.tasks.iter().map(|task| (task.id.as_str(), task.status)).collect();
        let expected = [
            ("Design", Status::Completed),
            ("Build", Status::Pending),
            ("Parser", Status::Pending),
            ("Printer", Status::InProgress),
            ("Old idea", Status::Completed),
            ("Build (2)", Status::Pending),
        ];
        assert_eq!(told, expected);
        assert_eq!(imported.tasks[1].description, "Both crates.");
        assert_eq!(imported.tasks[3].parent(), Some(TaskId::stored("Build")));
        assert!(imported.tasks[4].is_cancelled());
        assert_eq!(imported.tasks[0].meta("section").unwrap(), "Release");
        assert_eq!(imported.losses.len(), 1);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let one = Task {
            status: Status::Completed,
            description: "First\n\n- [ ] not a task\n    code".into(),
            metadata: serde_json::json!({"notes": [
                {"at": "2026-01-02T12:00:00.000Z", "author": "ana maria", "text": "one: two\n\nthree"},
                {"author": "ben", "text": "four"},
                {"text": "five"},
            ]})
            .as_object()
            .cloned(),
            ..Task::new(TaskId::number(1), "Design")
        };
        let two = Task { blocked_by: vec![TaskId::number(1)], ..Task::new(TaskId::number(2), "Build (soon)") };
        let mut part = Task::new(TaskId::number(3), "Parser");
        part.metadata = serde_json::json!({"parent": "2"}).as_object().cloned();
        let tasks = vec![one, two, part];
        let text = write(&tasks);
        assert_eq!(read(&text).tasks, tasks, "{text}");
        assert_eq!(read(&text).losses, []);
    }

    #[test]
    fn an_item_without_a_number_comes_after_those_that_have_one() {
        let imported = read("- [ ] #1 Design\n- [ ] Build (after #1)\n- [ ] Ship (after #9)\n");
        let [_, build, ship] = imported.tasks.as_slice() else { panic!("{imported:?}") };
        assert_eq!((build.subject.as_str(), &build.blocked_by), ("Build", &vec![TaskId::number(1)]));
        // That there is no #9 is reported when the tasks are connected.
        assert_eq!((ship.subject.as_str(), &ship.blocked_by), ("Ship (after #9)", &vec![TaskId::number(9)]));
    }

    #[test]
    fn parts_of_each_other_are_written_once() {
        let part_of = |id: u64, parent: &str| Task {
            metadata: serde_json::json!({ "parent": parent }).as_object().cloned(),
            ..Task::new(TaskId::number(id), "x")
        };
        assert_eq!(write(&[part_of(1, "2"), part_of(2, "1")]), "- [ ] #1 x\n  parent: #2\n- [ ] #2 x\n  parent: #1\n");
    }
}

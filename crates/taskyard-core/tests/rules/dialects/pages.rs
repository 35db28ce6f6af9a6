//! The examples of the format pages are read, and writing them again changes nothing.

use serde_json::Value;
use taskyard_core::dialect::{document, export, macf, native, teaching};
use taskyard_core::{Status, Task, TaskId};

/// Returns the examples of a page that are marked with these words.
fn examples(page: &str, mark: &str) -> Vec<String> {
    let fence = format!("```{mark}\n");
    let mut examples = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find(&fence) {
        rest = &rest[start + fence.len()..];
        let end = rest.find("\n```").unwrap();
        examples.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    assert!(!examples.is_empty(), "the page has no example of `{mark}`");
    examples
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const DOCUMENT: &str = include_str!("../../../../../docs/formats/document.md");

#[test]
fn the_example_of_a_document_is_read_and_written_to_the_letter() {
    let text = &examples(DOCUMENT, "json example")[0];
    let found = document::read_tasks(&document::Document::parse(text.as_bytes()).unwrap());
    assert_eq!(found.problems, []);
    let told: Vec<_> = found.tasks.iter().map(|task| (task.id.as_str(), task.status, task.owner())).collect();
    let expected = [
        ("task-001", Status::Completed, None),
        ("task-002", Status::InProgress, Some("agent-123")),
        ("task-003", Status::Pending, None),
    ];
    assert_eq!(told, expected);
    assert_eq!(found.tasks[0].blocks, [TaskId::stored("task-002")]);
    assert_eq!(document::write_tasks(&found.tasks, "2025-02-06T11:00:00Z").print(), *text);
}

#[test]
fn a_change_of_the_example_changes_nothing_else() {
    let text = &examples(DOCUMENT, "json example")[0];
    let file = document::Document::parse(text.as_bytes()).unwrap();
    let mut elements = file.elements().to_vec();
    let task = document::read(&elements[1], &[TaskId::stored("task-003")]).unwrap();
    let done = Task { status: Status::Completed, ..task };
    let times = document::Times { created: "2025-02-06T10:05:00Z".into(), updated: "2025-02-06T12:00:00Z".into() };
    let around = document::Around { is_blocked: false, blocks: vec![TaskId::stored("task-003")] };
    elements[1] = Value::Object(document::write(Some(&elements[1]), &done, &around, &times));
    let written = file.with_elements(elements, "2025-02-06T12:00:00Z").print();
    let asked = text.replace("in_progress", "completed").replace("11:00:00Z", "12:00:00Z");
    assert_eq!(written, asked);
}

#[test]
fn a_task_without_times_gets_them_and_nothing_else() {
    let text = &examples(DOCUMENT, "json example task")[0];
    let found = document::read_tasks(&document::Document::new().with_elements(vec![value(text)], "now"));
    assert_eq!(found.tasks[0].blocked_by, ["task-a", "task-c"].map(TaskId::stored));
    let mut told = document::write_tasks(&found.tasks, "now").elements()[0].clone();
    let told = told.as_object_mut().unwrap();
    assert_eq!(told.remove("assignee"), Some(Value::Null));
    assert_eq!((told.remove("created_at"), told.remove("updated_at")), (Some("now".into()), Some("now".into())));
    assert_eq!(Value::Object(told.clone()), value(text));
}

#[test]
fn older_release_task_without_times_has_none() {
    let element = serde_json::json!({"id": "1", "description": "x", "status": "pending", "created_at": "t", "updated_at": "t",
        "metadata": {"custom_fields": {"taskyard": {"untimed": true}}}});
    let found = document::read_tasks(&document::Document::new().with_elements(vec![element], "now"));
    assert_eq!(found.tasks[0].metadata, None);
}

#[test]
fn an_export_has_a_priority_for_every_task_and_none_of_it_stays() {
    let priority = |text: &str| serde_json::json!({"priority": text}).as_object().cloned();
    for (metadata, said) in
        [(None, "medium"), (priority("medium"), "medium"), (priority("high"), "high"), (priority("urgent"), "medium")]
    {
        let task = Task { metadata, ..Task::new(TaskId::number(1), "One") };
        let told = export::write_tasks(std::slice::from_ref(&task));
        assert_eq!(told[0]["priority"], said);
        assert_eq!(export::read_tasks(&told).tasks, [task]);
    }
}

#[test]
fn the_example_of_an_export_is_read_and_written_to_the_letter() {
    let text = &examples(include_str!("../../../../../docs/formats/export.md"), "json example")[0];
    let elements = export::parse(text.as_bytes()).unwrap();
    let found = export::read_tasks(&elements);
    assert_eq!(found.tasks[0].owner(), Some("worker-alpha"));
    assert_eq!(found.tasks[0].blocked_by, [TaskId::stored("task_1738949000")]);
    assert_eq!(export::write_tasks(&found.tasks)[0].to_string(), elements[0].to_string());
}

#[test]
fn teaching_examples_are_read_and_written_to_the_letter() {
    let page = include_str!("../../../../../docs/formats/teaching.md");
    let (file, carried) = (&examples(page, "json example")[0], &examples(page, "json example carried")[0]);
    let id = TaskId::stored("task_1738950000_a1b2");
    let folder = teaching::Folder {
        files: [(id.clone(), file.clone().into_bytes())].into(),
        carried: teaching::parse_carried(carried.as_bytes()).unwrap(),
    };
    let found = teaching::read_tasks(&folder);
    assert_eq!(found.tasks[0].active_form.as_deref(), Some("Creating API endpoints"));
    assert_eq!(teaching::write_tasks(&found.tasks), folder);
    assert_eq!(teaching::print_carried(&folder.carried).unwrap(), *carried);
}

#[test]
fn convention_examples_are_read_and_written_to_the_letter() {
    let page = include_str!("../../../../../docs/formats/macf.md");
    let plain = native::read(&TaskId::number(88), examples(page, "json example")[0].as_bytes()).unwrap();
    assert_eq!(plain.active_form.as_deref(), Some("Working on My Task"));
    let subject = examples(page, "text subject")[0].replace("\\e", "\x1b");
    let description = examples(page, "text block")[0].clone();
    let file = Task { id: TaskId::number(89), subject, description, ..plain };
    let found = macf::read_task(&file);
    assert_eq!((found.subject.as_str(), found.description.as_str()), ("📋 Phase 4", "Task description text."));
    let metadata = found.metadata.clone().unwrap();
    let known: Vec<_> = ["parent", "created_cycle", "created_by"].map(|key| metadata[key].to_string()).into();
    assert_eq!(known, ["\"67\"", "42", "\"PA\""]);
    assert_eq!(metadata.get(macf::CARRIED), None, "all of it is understood");
    assert_eq!(macf::write_task(&found), file);
}

#[test]
fn carried_example_is_used_only_beside_its_statement() {
    let page = include_str!("../../../../../docs/formats/carrying.md");
    let carried = value(&examples(page, "json example")[0]);
    let element = |status: &str| serde_json::json!({"id": "1", "description": "x", "status": status, "metadata": {"custom_fields": {"taskyard": carried}}});
    let waiting = document::read(&element("blocked"), &[]).unwrap();
    assert_eq!((waiting.status, waiting.active_form.as_deref()), (Status::InProgress, Some("Writing the parser")));
    assert_eq!(document::read(&element("completed"), &[]).unwrap().status, Status::Completed);
    assert_eq!(document::read(&element("pending"), &[]).unwrap().status, Status::Pending);
}

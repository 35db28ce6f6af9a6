//! The tools `TodoWrite` and `TodoRead` on a document.

use serde_json::{Map, Value, json};

use crate::dialect::document::{for_agents, parts_of};
use crate::rules::hooks::System;
use crate::tools::schema::{Field, Object, Shape, Unknown};
use crate::tools::tool_answer::{LONGEST, elements_that_fit, folded, units, unreadable_line};
use crate::tools::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::{Metadata, Rules, Status, TaskId};

const STATUSES: Shape = Shape::Choice(&["pending", "in_progress", "completed", "blocked"]);

/// Creates or changes a task.
pub(crate) const WRITE: Tool = Tool {
    name: "TodoWrite",
    description: "Create a task, or change the one whose id you give. Its first line is the title. `dependencies` are the ids of \
        tasks that must be completed first: until then it is blocked automatically and cannot be in_progress. Set a task \
        in_progress before you work on it and completed as soon as it is entirely done.",
    input: Object {
        fields: &[
            Field::optional("id", Shape::Text).saying("Id of the task to change; a new task gets one automatically"),
            Field::required("description", Shape::FilledText("Description cannot be empty")),
            Field::optional("status", STATUSES),
            Field::optional("dependencies", Shape::List(&Shape::Text)),
            Field::optional("assignee", Shape::Text),
            Field::optional("metadata", Shape::Object(METADATA)).saying("Keys to merge; null removes one"),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("task", Shape::AnyOf(&[Shape::Record, Shape::Null])),
        Field::optional("now_ready", Shape::List(&Shape::Record)),
    ]),
    annotations: Annotations::REPLACES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Document,
};

/// Creates or changes a task under client rules, which allow a blocked task to be started.
const CLIENTS_WRITE: Tool = Tool {
    description: "Create a task, or change the one whose id you give. Its first line is the title. `dependencies` are the ids of \
        tasks that should be completed first. Set a task in_progress before you work on it and completed as soon as it is \
        entirely done.",
    ..WRITE
};

/// Returns the variant of the writing tool that these rules use.
pub(crate) const fn write(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &WRITE,
        Rules::Client(_) => &CLIENTS_WRITE,
    }
}

/// The known keys of a task's metadata.
const METADATA: Object = Object {
    fields: &[
        Field::optional("priority", Shape::Choice(&["low", "medium", "high"])),
        Field::optional("tags", Shape::List(&Shape::Text)),
        Field::optional("source", Shape::Text),
        Field::optional("custom_fields", Shape::Record),
    ],
    unknown: Unknown::Kept,
};

/// Lists tasks.
pub(crate) const READ: Tool = Tool {
    name: "TodoRead",
    description: "Show the tasks of the list and how many there are in each state. Completed ones are left out unless asked for.",
    input: Object {
        fields: &[
            Field::optional("status", STATUSES),
            Field::optional("assignee", Shape::Text),
            Field::optional("include_completed", Shape::Flag),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("tasks", Shape::List(&Shape::Record)),
        Field::required("count", Shape::Integer),
        Field::required("pending_count", Shape::Integer),
        Field::required("in_progress_count", Shape::Integer),
        Field::required("completed_count", Shape::Integer),
        Field::required("blocked_count", Shape::Integer),
        Field::optional("left_out", Shape::Text),
        Field::optional("unreadable", Shape::Text),
    ]),
    annotations: Annotations::LOOKS,
    scope: Scope::Read,
    set: ToolSet::Core,
    system: System::Document,
};

/// A task to create or change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoWrite {
    /// The task; `None` for a new one.
    pub id: Option<TaskId>,
    /// The title.
    pub subject: String,
    /// The description.
    pub description: String,
    /// The status, if given. Whether the task is blocked is derived.
    pub status: Option<Status>,
    /// All blockers, if given.
    pub dependencies: Option<Vec<TaskId>>,
    /// The owner, if given; an empty name removes it.
    pub assignee: Option<String>,
    /// The metadata keys to set.
    pub metadata: Option<Metadata>,
}

/// The tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TodoRead {
    /// Only tasks with this status.
    pub(crate) status: Option<String>,
    /// Only tasks of this assignee.
    pub(crate) assignee: Option<String>,
    /// Whether to include completed tasks.
    pub(crate) include_completed: bool,
}

/// Parses the input of `TodoWrite`.
pub fn read_write(input: &Value, rules: Rules) -> Result<TodoWrite, InputError> {
    let mut input = input.clone();
    // A document contains null for no assignee, so it may be passed back.
    if let Some(assignee) = input.get_mut("assignee").filter(|assignee| assignee.is_null()) {
        *assignee = Value::String(String::new());
    }
    // Null removes a key, whatever type it must have otherwise.
    let mut removed = Map::new();
    if let Some(metadata) = input.get_mut("metadata").and_then(Value::as_object_mut) {
        removed.extend(metadata.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| (key.clone(), Value::Null)));
        metadata.retain(|_, value| !value.is_null());
    }
    let mut fields = WRITE.check(&input, None, rules)?;
    let (subject, description) = parts_of(&fields.required_text("description"));
    let dependencies = fields.take("dependencies").map(|ids| {
        let ids = ids.as_array().cloned().unwrap_or_default();
        ids.iter().filter_map(Value::as_str).map(TaskId::stored).collect()
    });
    Ok(TodoWrite {
        id: fields.text("id").filter(|id| !id.is_empty()).map(TaskId::stored),
        subject,
        description,
        status: fields.text("status").map(|word| word.parse().unwrap_or(Status::Pending)),
        dependencies,
        assignee: fields.text("assignee"),
        metadata: fields
            .record("metadata")
            .map(|metadata| native_metadata(metadata.into_iter().chain(removed).collect())),
    })
}

/// Parses the input of `TodoRead`.
pub fn read_read(input: &Value, rules: Rules) -> Result<TodoRead, InputError> {
    let mut fields = READ.check(input, None, rules)?;
    Ok(TodoRead {
        status: fields.text("status"),
        assignee: fields.text("assignee"),
        include_completed: fields.take("include_completed") == Some(Value::Bool(true)),
    })
}

/// Returns the answer: the task as an element of the document, and the tasks that can start because of the change.
pub fn written(id: &TaskId, now_ready: &[TaskId], elements: &[Value]) -> Answer {
    let find = |id: &TaskId| elements.iter().find(|element| element["id"] == id.as_str());
    let task = find(id).map_or(Value::Null, for_agents);
    if now_ready.is_empty() {
        return Answer::new(pretty(&task), json!({ "task": task }));
    }
    let brief =
        |id: &TaskId| json!({ "id": id.as_str(), "description": find(id).map(|element| &element["description"]) });
    let now_ready: Vec<Value> = now_ready.iter().map(brief).collect();
    let mut said = task.clone();
    if let Value::Object(said) = &mut said {
        said.insert("now_ready".to_owned(), now_ready.clone().into());
    }
    Answer::new(pretty(&said), json!({ "task": task, "now_ready": now_ready }))
}

/// Returns the answer: the matching tasks, their number, and the counts of the whole list. If that exceeds the limit,
/// only the open ones, with texts cut as necessary.
pub fn shown(elements: &[Value], wanted: &TodoRead, unreadable: &[String]) -> Answer {
    let status = |element: &Value| element.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
    let asked_for_completed = wanted.status.as_deref() == Some("completed");
    let is_wanted = |element: &&Value| {
        let assignee = element.get("assignee").and_then(Value::as_str);
        wanted.status.as_ref().is_none_or(|word| *word == status(element))
            && wanted.assignee.as_deref().is_none_or(|name| assignee == Some(name))
            && (wanted.include_completed || asked_for_completed || status(element) != "completed")
    };
    let tasks: Vec<Value> = elements.iter().filter(is_wanted).map(for_agents).collect();
    let count = |word: &str| elements.iter().filter(|element| status(element) == word).count();
    let answer = |shown: &[Value]| {
        let mut answer = json!({
            "tasks": shown,
            "count": tasks.len(),
            "pending_count": count("pending"),
            "in_progress_count": count("in_progress"),
            "completed_count": count("completed"),
            "blocked_count": count("blocked"),
        });
        if !unreadable.is_empty() {
            answer["unreadable"] = unreadable_line(unreadable).trim_start().into();
        }
        if shown.len() < tasks.len() {
            answer["left_out"] = folded(tasks.len() - shown.len(), COMPLETED_SEEN).trim_start().into();
        }
        answer
    };
    let whole = answer(&tasks);
    let text = pretty(&whole);
    if units(&text) <= LONGEST {
        return Answer::new(text, whole);
    }
    let is_kept = |element: &&Value| asked_for_completed || status(element) != "completed";
    let kept: Vec<Value> = tasks.iter().filter(is_kept).cloned().collect();
    Answer::new(elements_that_fit(&kept, LONGEST, |elements| pretty(&answer(elements))), whole)
}

/// How to list completed tasks that are left out.
const COMPLETED_SEEN: &str = "TodoRead with status \"completed\" shows them.";

/// Flattens `custom_fields`, in which a document keeps other keys, into the task's metadata.
fn native_metadata(given: Map<String, Value>) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, value) in given {
        match value {
            Value::Object(custom) if key == "custom_fields" => metadata.extend(custom),
            value => drop(metadata.insert(key, value)),
        }
    }
    metadata
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value always has a text form")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{TodoRead, read_write, shown};
    use crate::{Rules, Status};

    #[test]
    fn what_is_to_be_written_is_read() {
        let input = json!({"description": "Title\n\nText", "status": "blocked", "dependencies": ["a"], "metadata": {"priority": "high", "custom_fields": {"x": 1}}});
        let write = read_write(&input, Rules::Strict).unwrap();
        assert_eq!((write.subject.as_str(), write.description.as_str()), ("Title", "Text"));
        assert_eq!((write.status, write.id), (Some(Status::Pending), None));
        assert_eq!(Value::Object(write.metadata.unwrap()), json!({"priority": "high", "x": 1}));
        assert!(read_write(&json!({"id": "a"}), Rules::Strict).is_err());
        for bad in
            [json!({"priority": "urgent"}), json!({"tags": "x"}), json!({"source": 1}), json!({"custom_fields": []})]
        {
            let input = json!({"description": "x", "metadata": bad});
            assert!(read_write(&input, Rules::Strict).is_err(), "{input}");
        }
        let removed =
            read_write(&json!({"description": "x", "metadata": {"priority": null, "y": 2}}), Rules::Strict).unwrap();
        assert_eq!(Value::Object(removed.metadata.unwrap()), json!({"y": 2, "priority": null}));
        let nobody = read_write(&json!({"description": "x", "assignee": null}), Rules::Strict).unwrap();
        assert_eq!(nobody.assignee.as_deref(), Some(""));
        assert!(read_write(&json!({"description": "x", "status": "done"}), Rules::Strict).is_err());
    }

    #[test]
    fn completed_tasks_are_counted_and_not_shown_unless_asked_for() {
        let element = |status: &str, assignee: Value| json!({"status": status, "assignee": assignee});
        let elements =
            [element("completed", json!("ana")), element("blocked", json!(null)), element("pending", json!("ana"))];
        let told = |wanted: &TodoRead| shown(&elements, wanted, &[]).structured.unwrap();
        let all = told(&TodoRead::default());
        assert_eq!((&all["count"], &all["completed_count"], &all["blocked_count"]), (&json!(2), &json!(1), &json!(1)));
        assert_eq!(told(&TodoRead { include_completed: true, ..TodoRead::default() })["count"], 3);
        assert_eq!(told(&TodoRead { status: Some("completed".into()), ..TodoRead::default() })["count"], 1);
        assert_eq!(told(&TodoRead { assignee: Some("ana".into()), ..TodoRead::default() })["count"], 1);
    }

    #[test]
    fn overlong_answer_has_every_open_task_and_is_valid_json() {
        let element = |number: usize| {
            let status = if number < 400 { "completed" } else { "pending" };
            json!({"id": number.to_string(), "description": "x".repeat(400), "status": status, "assignee": null})
        };
        let elements: Vec<Value> = (0..1000).map(element).collect();
        let answer = shown(&elements, &TodoRead { include_completed: true, ..TodoRead::default() }, &[]);
        assert!(answer.text.chars().count() <= 100_000);
        let told: Value = serde_json::from_str(&answer.text).unwrap();
        let ids: Vec<&str> =
            told["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert_eq!((ids.len(), ids[0], ids[599]), (600, "400", "999"));
        assert_eq!((&told["count"], &told["completed_count"]), (&json!(1000), &json!(400)));
        assert!(told["left_out"].as_str().unwrap().starts_with("+400 completed"), "{}", told["left_out"]);
        assert_eq!(answer.structured.unwrap()["tasks"].as_array().unwrap().len(), 1000);
    }
}

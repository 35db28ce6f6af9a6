//! The `TaskCreate` tool.

use serde_json::{Map, Value, json};

use super::refusing::{Surroundings, explain};
use super::schema::{Field, Object, Shape, Unknown};
use super::tool::Fields;
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::System;
use crate::rules::refusal::Refusal;
use crate::tools::refusing::{is_filled, is_repaired, rename, task_id};
use crate::tools::tool_answer::{IDS, subject_told};
use crate::{ClientVersion, Metadata, Rules, Status, Task, TaskId};

/// The tool under strict rules.
pub const TOOL: Tool = Tool {
    name: "TaskCreate",
    description: "Add one task to the shared task list. Use it to plan work of three or more steps, for each of several \
        things asked for at once, and for work found on the way. Not for a single quick thing: just do that. One call per \
        task; give blockedBy if it has to wait for others. Check TaskList first so that nothing is listed twice.",
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text).saying("Brief title, imperative: \"Run the tests\""),
            Field::required("description", Shape::Text)
                .saying("What to do and when it is done, enough for another agent"),
            Field::optional("activeForm", Shape::Text).saying("Shown while in progress: \"Running the tests\""),
            METADATA,
            Field::optional("blockedBy", IDS).saying("Ids of tasks it waits for"),
            Field::optional("blocks", IDS).saying("Ids of tasks that wait for it"),
            OWNER,
            STATUS,
            PRIORITY,
            TAGS,
            PARENT,
            DUE,
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[Field::required(
        "task",
        Shape::Object(Object::answer(&[
            Field::required("id", Shape::Text),
            Field::required("subject", Shape::Text),
            Field::optional("description", Shape::Text),
        ])),
    )]),
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// The tool under client rules, which takes only texts and metadata.
const CLIENTS_TOOL: Tool = Tool {
    description: "Add one task to the shared task list. Use it to plan work of three or more steps, for each of several \
        things asked for at once, and for work found on the way. Not for a single quick thing: just do that. One call per \
        task; it starts pending and unowned. Set the order afterwards with TaskUpdate addBlockedBy. Check TaskList first \
        so that nothing is listed twice.",
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text).saying("A brief title for the task"),
            Field::required("description", Shape::Text).saying("A detailed description of what needs to be done"),
            Field::optional("activeForm", Shape::Text)
                .saying("Present continuous form shown in spinner when in_progress (e.g., \"Running tests\")"),
            METADATA.saying("Arbitrary metadata to attach to the task"),
        ],
        unknown: Unknown::Refused,
    },
    ..TOOL
};

/// The input accepted under strict rules: the keys of the schema plus synonyms.
const ACCEPTED: Tool = Tool {
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text),
            Field::required("description", Shape::Text),
            Field::optional("activeForm", Shape::Text),
            METADATA,
            Field::optional("blockedBy", IDS),
            Field::optional("addBlockedBy", IDS),
            Field::optional("dependencies", IDS),
            Field::optional("blocks", IDS),
            Field::optional("addBlocks", IDS),
            OWNER,
            STATUS,
            PRIORITY,
            TAGS,
            PARENT,
            DUE,
        ],
        unknown: Unknown::Refused,
    },
    ..TOOL
};

const METADATA: Field = Field::optional("metadata", Shape::Record);
const OWNER: Field = Field::optional("owner", Shape::Text);
const STATUS: Field = Field::optional("status", Shape::Choice(&["pending", "in_progress"]));
pub(super) const PRIORITY: Field = Field::optional("priority", Shape::Choice(&["low", "medium", "high"]));
pub(super) const TAGS: Field = Field::optional("tags", Shape::List(&Shape::Text));
pub(super) const PARENT: Field = Field::optional("parent", Shape::Text).saying("Id of the task it is a part of");
pub(super) const DUE: Field = Field::optional("due", Shape::Text).saying("\"fri 17:00\", \"2h\", \"2026-11-20\"");

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

/// The keys the client accepts.
const CLIENTS_KEYS: [&str; 4] = ["subject", "description", "activeForm", "metadata"];
/// The texts a task requires.
const TEXTS: [&str; 2] = ["subject", "description"];
/// Keys of calls that try to create several tasks.
const MANY_TASKS: [&str; 2] = ["tasks", "todos"];
/// Keys of calls meant for a subagent.
const FOR_AN_AGENT: [&str; 2] = ["prompt", "subagent_type"];
/// Synonyms for parameters; of two synonyms for one parameter, the preferred one comes first.
const ALIASES: [(&str, &str); 4] =
    [("title", "subject"), ("name", "subject"), ("content", "description"), ("active_form", "activeForm")];

const SEVERAL: &str = "TaskCreate creates ONE task per call and has no `tasks` or `todos` parameter. Call TaskCreate once per \
    task, passing `subject` (a brief title) and `description` (what needs to be done) as top-level string parameters.";
const AGENT: &str = "This call used Agent-tool parameters (`prompt`/`subagent_type`). TaskCreate adds an item to the task list \
    and takes `subject` and `description` string parameters. To delegate work to a subagent, use the Agent tool instead.";

/// A task to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCreate {
    /// The title.
    pub subject: String,
    /// The description.
    pub description: String,
    /// The text shown while the task is in progress.
    pub active_form: Option<String>,
    /// Additional data.
    pub metadata: Option<Metadata>,
    /// The initial status, if given.
    pub status: Option<Status>,
    /// The owner.
    pub owner: Option<String>,
    /// Its blockers.
    pub blocked_by: Vec<TaskId>,
    /// The tasks that depend on it.
    pub blocks: Vec<TaskId>,
    /// The due date as written by the caller.
    pub due: Option<String>,
}

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskCreate, InputError> {
    let (repaired, hint) = match input {
        Value::Object(given) if is_repaired(rules) => (Value::Object(repair(given, rules)), hint(given)),
        _ => (input.clone(), None),
    };
    let accepted = if rules.is_client() { &CLIENTS_TOOL } else { &ACCEPTED };
    let mut fields = accepted.check(&repaired, hint, rules)?;
    if fields.get("tags").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        fields.take("tags");
    }
    let metadata = with_stated(&mut fields, accepted, rules)?;
    Ok(TaskCreate {
        subject: fields.required_text("subject"),
        description: fields.required_text("description"),
        active_form: fields.text("activeForm"),
        metadata,
        status: fields.text("status").and_then(|word| word.parse().ok()),
        owner: fields.text("owner").filter(|owner| !owner.is_empty()),
        blocked_by: fields.task_ids(&["blockedBy", "addBlockedBy", "dependencies"], rules),
        blocks: fields.task_ids(&["blocks", "addBlocks"], rules),
        due: fields.text("due"),
    })
}

/// Removes the metadata and the parameters that are stored in it, and merges them. Rejects a parameter that
/// contradicts the metadata.
///
/// The due date is not merged: it is free text that is interpreted with the caller's clock.
pub(super) fn with_stated(fields: &mut Fields, tool: &Tool, rules: Rules) -> Result<Option<Metadata>, InputError> {
    let mut metadata = fields.record("metadata");
    let mut clashes = Vec::new();
    for name in ["priority", "tags", "parent", "due"] {
        let stated = if name == "due" { fields.get(name).cloned() } else { fields.take(name) };
        let stated = match stated {
            Some(Value::String(id)) if name == "parent" => task_id(id, rules).as_str().into(),
            Some(stated) => stated,
            None => continue,
        };
        match metadata.as_ref().and_then(|metadata| metadata.get(name)) {
            Some(kept) if *kept != stated => clashes.push(name),
            _ if name == "due" => {}
            _ => drop(metadata.get_or_insert_default().insert(name.to_owned(), stated)),
        }
    }
    tool.refuse_clash(&clashes, "metadata", rules)?;
    Ok(metadata)
}

/// Returns a hint on what to call instead, if the call or the task wrapped in it has keys of another tool.
fn hint(given: &Map<String, Value>) -> Option<&'static str> {
    let wrapped = given.get("task").and_then(Value::as_object);
    let has_any = |keys: &[&str]| holds_any(given, keys) || wrapped.is_some_and(|task| holds_any(task, keys));
    match () {
        () if has_any(&MANY_TASKS) => Some(SEVERAL),
        () if has_any(&FOR_AN_AGENT) => Some(AGENT),
        () => None,
    }
}

/// Repairs an input: renames synonyms, and fixes other mistakes if all of them can be fixed. Strict rules never drop
/// a value that has content.
fn repair(given: &Map<String, Value>, rules: Rules) -> Map<String, Value> {
    let is_kept_whole = |given: &&Map<String, Value>| rules.is_client() || !overrides(given);
    let unwrapped = Some(given).filter(|given| is_one_task(given)).filter(is_kept_whole).and_then(unwrapped);
    let Some(mut input) = unwrapped.filter(is_one_task) else { return given.clone() };
    for (alias, meant) in ALIASES {
        rename(&mut input, alias, meant);
    }
    if rules.is_client() {
        return salvaged(input.clone()).unwrap_or(input);
    }
    for (alias, meant) in ALIASES {
        if input.get(alias).is_some_and(|said| input.get(meant) == Some(said) || is_blank(said)) {
            input.shift_remove(alias);
        }
    }
    let is_optional = |key: &str| ACCEPTED.input.fields.iter().any(|field| field.name == key && !field.is_required);
    input.retain(|key, value| !(value.is_null() && is_optional(key)));
    Some(with_both_texts(input.clone())).filter(has_both_texts).unwrap_or(input)
}

/// Returns whether the wrapped task contradicts the call itself under the same key.
fn overrides(given: &Map<String, Value>) -> bool {
    let wrapped = given.get("task").and_then(Value::as_object).into_iter().flatten();
    wrapped.into_iter().any(|(key, inner)| given.get(key).is_some_and(|outer| outer != inner && !is_blank(outer)))
}

/// Returns whether a value is a blank string.
fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// Returns whether an input may describe one task. One that has keys for several tasks does not; one that has keys
/// for a subagent does only if both texts are present.
fn is_one_task(input: &Map<String, Value>) -> bool {
    !holds_any(input, &MANY_TASKS) && (!holds_any(input, &FOR_AN_AGENT) || has_both_texts(input))
}

/// Returns the task wrapped in `task` if neither text is beside it. Returns `None` if `task` is neither an object nor
/// a non-blank string; the client repairs nothing then.
fn unwrapped(given: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut input = given.clone();
    if holds_any(&input, &TEXTS) {
        return Some(input);
    }
    match input.get("task").cloned() {
        Some(Value::Object(task)) => {
            input.shift_remove("task");
            input.extend(task);
        }
        Some(text) if is_filled(Some(&text)) => rename(&mut input, "task", "description"),
        Some(_) => return None,
        None => {}
    }
    Some(input)
}

/// Drops everything invalid and fills in the missing text from the other. Returns `None` if that does not yield two
/// non-blank texts; the client then uses the input with all its mistakes.
fn salvaged(input: Map<String, Value>) -> Option<Map<String, Value>> {
    let mut input = with_both_texts(input);
    input.retain(|key, value| match key.as_str() {
        "activeForm" => value.is_string(),
        "metadata" => value.is_object(),
        key => CLIENTS_KEYS.contains(&key),
    });
    has_both_texts(&input).then_some(input)
}

/// Fills in the missing text from the other.
fn with_both_texts(mut input: Map<String, Value>) -> Map<String, Value> {
    match (input.get("subject").cloned(), input.get("description").cloned()) {
        (Some(subject), None) => drop(input.insert("description".to_owned(), subject)),
        (None, Some(Value::String(description))) => {
            input.insert("subject".to_owned(), first_line(&description).into());
        }
        _ => {}
    }
    input
}

fn has_both_texts(input: &Map<String, Value>) -> bool {
    TEXTS.iter().all(|key| is_filled(input.get(*key)))
}

fn holds_any(input: &Map<String, Value>, keys: &[&str]) -> bool {
    keys.iter().any(|key| input.contains_key(*key))
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns the answer for a created task.
pub fn created(task: &Task, rules: Rules) -> Answer {
    let mut told = json!({ "id": task.id.as_str(), "subject": subject_told(task, rules) });
    if rules.client_version() >= ClientVersion::V2_1_325 {
        told["description"] = json!(task.description);
    }
    let subject = subject_told(task, rules);
    Answer::new(format!("Task #{} created successfully: {subject}", task.id), json!({ "task": told }))
}

/// Returns the answer for a refused call.
pub fn refused(refusal: &Refusal, around: &Surroundings<'_>) -> Answer {
    match refusal {
        // The client has created the task and deleted it again at this point, so it reports an error with this text.
        Refusal::HookBlocked { feedback, .. } => Answer::error(feedback),
        refusal => Answer::error(explain(refusal, around)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{TaskCreate, read};
    use crate::{ClientVersion, Rules, Status, TaskId};

    const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);
    const NEW: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn task(subject: &str, description: &str) -> TaskCreate {
        TaskCreate {
            subject: subject.into(),
            description: description.into(),
            active_form: None,
            metadata: None,
            status: None,
            owner: None,
            blocked_by: Vec::new(),
            blocks: Vec::new(),
            due: None,
        }
    }

    fn refusal(input: Value, rules: Rules) -> String {
        read(&input, rules).unwrap_err().to_string()
    }

    #[test]
    fn strict_rules_and_newest_client_repair_input() {
        for (input, meant) in [
            (json!({ "title": "t" }), task("t", "t")),
            (json!({ "title": " ", "content": "c", "task": {"title": "t"} }), task("t", "c")),
            (json!({ "subject": "s", "content": "c" }), task("s", "c")),
            (json!({ "subject": "", "content": "c" }), task("", "c")),
            (json!({ "task": "t" }), task("t", "t")),
            (json!({ "description": "\n  one \r\ntwo" }), task("one", "\n  one \r\ntwo")),
            (json!({ "task": "one\ntwo" }), task("one", "one\ntwo")),
            (json!({ "title": "", "description": "x" }), task("x", "x")),
            (json!({ "name": "n", "description": "" }), task("n", "")),
            (json!({ "title": "", "content": "c" }), task("c", "c")),
            (json!({ "content": "", "description": "x" }), task("x", "x")),
            (json!({ "task": {"subject": "", "description": "x"} }), task("", "x")),
            (json!({ "subject": "s", "title": "s", "metadata": null, "activeForm": null }), task("s", "s")),
        ] {
            for rules in [Rules::Strict, NEW] {
                assert_eq!(read(&input, rules).as_ref(), Ok(&meant), "{input}");
            }
            assert!(read(&input, OLD).is_err(), "{input}");
        }
        let read = read(&json!({ "subject": "s", "active_form": "a", "metadata": {"k": 1} }), Rules::Strict).unwrap();
        assert_eq!((read.active_form.as_deref(), read.metadata.unwrap().len()), (Some("a"), 1));
    }

    #[test]
    fn strict_rules_refuse_by_name_what_the_client_leaves_out() {
        for (input, clients, named) in [
            (json!({ "name": "n", "content": "c", "description": "d" }), task("n", "d"), "content"),
            (json!({ "task": {"title": "t", "foo": 1} }), task("t", "t"), "foo"),
            (json!({ "task": {"title": "t", "foo": 1}, "description": "d" }), task("d", "d"), "task"),
            (json!({ "task": {"title": "t"}, "title": "u" }), task("t", "t"), "task"),
            (json!({ "task": "t", "description": "d\ne" }), task("d", "d\ne"), "task"),
            (json!({ "task": "t", "content": "c" }), task("t", "t"), "content"),
            (json!({ "content": "c", "description": "d" }), task("d", "d"), "content"),
            (json!({ "subject": "s", "title": "t" }), task("s", "s"), "title"),
            (json!({ "subject": "s", "metadata": [1] }), task("s", "s"), "metadata"),
            (json!({ "subject": "s", "activeForm": 5 }), task("s", "s"), "activeForm"),
            (json!({ "subject": "s", "description": "d", "prompt": "p" }), task("s", "d"), "prompt"),
            (json!({ "task": {"subject": "s", "description": "d", "prompt": "p"} }), task("s", "d"), "prompt"),
        ] {
            assert_eq!(read(&input, NEW), Ok(clients), "{input}");
            let text = refusal(input.clone(), Rules::Strict);
            assert!(text.contains(&format!(" parameter `{named}` ")), "{input}: {text}");
        }
        let typo = refusal(json!({ "subject": "s", "description": "d", "dependsOn": ["1"] }), Rules::Strict);
        let line = "An unexpected parameter `dependsOn` was provided; did you mean `blockedBy`?";
        assert!(typo.ends_with(line), "{typo}");
    }

    #[test]
    fn strict_rules_take_the_keys_that_create_takes() {
        let ids = |ids: &[u64]| ids.iter().copied().map(TaskId::number).collect::<Vec<_>>();
        let read = |input: Value| read(&input, Rules::Strict).unwrap();
        let waiting =
            read(json!({ "subject": "s", "blockedBy": ["#1"], "addBlockedBy": ["2"], "dependencies": ["3"] }));
        assert_eq!(waiting.blocked_by, ids(&[1, 2, 3]));
        assert_eq!(read(json!({ "subject": "s", "blocks": ["1"], "addBlocks": ["2"] })).blocks, ids(&[1, 2]));
        let begun = read(json!({ "subject": "s", "status": "in_progress", "owner": "ana", "due": "fri" }));
        assert_eq!((begun.status, begun.owner.as_deref()), (Some(Status::InProgress), Some("ana")));
        assert_eq!((begun.due.as_deref(), begun.metadata), (Some("fri"), None));
        let kept = json!({ "subject": "s", "priority": "high", "tags": ["a"], "parent": "#4", "metadata": {"x": 1} });
        let metadata = json!({ "x": 1, "priority": "high", "tags": ["a"], "parent": "4" });
        assert_eq!(read(kept).metadata.map(Value::Object), Some(metadata));
        assert_eq!(read(json!({ "subject": "s", "tags": [], "owner": "", "blockedBy": null })), task("s", "s"));
        for wrong in [json!({ "status": "completed" }), json!({ "priority": "urgent" }), json!({ "blockedBy": [1] })] {
            let mut input = json!({ "subject": "s", "description": "d" });
            input.as_object_mut().unwrap().extend(wrong.as_object().cloned().unwrap());
            assert!(super::read(&input, Rules::Strict).is_err(), "{input}");
        }
    }

    #[test]
    fn what_is_said_twice_and_differently_is_refused() {
        let input = |inner: &str| json!({ "subject": "s", "priority": "high", "metadata": {"priority": inner} });
        let text = refusal(input("low"), Rules::Strict);
        let said =
            "TaskCreate cannot take `priority` together with `metadata`. Nothing was changed. Leave one of them out.";
        assert_eq!(text, said);
        assert!(read(&input("high"), Rules::Strict).is_ok());
    }

    #[test]
    fn what_cannot_be_mended_altogether_is_checked_as_it_came() {
        let missing = |key: &str| format!("The required parameter `{key}` is missing");
        let unexpected = |key: &str| format!("An unexpected parameter `{key}` was provided");
        for (input, lines) in [
            (json!({ "subject": " " }), vec![missing("description")]),
            (json!({ "description": "" }), vec![missing("subject")]),
            (json!({ "title": "t", "description": "", "bogus": 1 }), vec![unexpected("bogus")]),
            (json!({ "title": " ", "name": "n", "description": "" }), vec![unexpected("title")]),
            (json!({ "content": "c", "description": " " }), vec![missing("subject"), unexpected("content")]),
            (json!({ "task": "t", "description": "" }), vec![missing("subject"), unexpected("task")]),
            (json!({ "subject": "s", "description": "", "active_form": " " }), vec![unexpected("active_form")]),
            (json!({ "task": {}, "bogus": 1 }), vec![missing("subject"), missing("description"), unexpected("bogus")]),
            (
                json!({ "task": 5, "title": "t" }),
                vec![missing("subject"), missing("description"), unexpected("task"), unexpected("title")],
            ),
            (
                json!({ "task": " ", "title": "t" }),
                vec![missing("subject"), missing("description"), unexpected("task"), unexpected("title")],
            ),
            (
                json!({ "task": "", "bogus": 1 }),
                [vec![missing("subject"), missing("description")], vec![unexpected("task"), unexpected("bogus")]]
                    .concat(),
            ),
        ] {
            let text = refusal(input.clone(), NEW);
            assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), lines, "{input}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_hint() {
        for (input, hint) in [
            (json!({ "todos": [] }), Some("TaskCreate creates ONE task")),
            (json!({ "subject": "a", "tasks": [1] }), Some("TaskCreate creates ONE task")),
            (json!({ "subagent_type": "x", "description": "d" }), Some("This call used Agent-tool parameters")),
            (json!({ "subject": "a", "description": "d", "todos": null }), Some("TaskCreate creates ONE task")),
            (json!({ "name": "bob", "prompt": "p" }), Some("This call used Agent-tool parameters")),
            (json!({ "subject": "s", "content": "c", "prompt": "p" }), Some("This call used Agent-tool parameters")),
            (json!({ "task": {"subject": "s", "prompt": "p"} }), Some("This call used Agent-tool parameters")),
            (
                json!({ "task": {"subject": "s", "description": "d"}, "prompt": "p" }),
                Some("This call used Agent-tool parameters"),
            ),
            (
                json!({ "task": {"prompt": "p"}, "subject": "s", "description": "" }),
                Some("This call used Agent-tool parameters"),
            ),
            (json!({ "task": {"todos": 1, "subject": "s"} }), Some("TaskCreate creates ONE task")),
            (json!({ "subject": "", "prompt": "p" }), Some("This call used Agent-tool parameters")),
            (json!({ "subject": "s", "description": "", "prompt": "p" }), Some("This call used Agent-tool parameters")),
            (json!({ "subject": 5, "foo": 1 }), None),
            (json!({ "subject": "a", "description": null }), None),
            (json!({ "title": 5 }), None),
        ] {
            let text = refusal(input.clone(), Rules::Strict);
            let told = text.strip_prefix("InputValidationError: ").unwrap();
            match hint {
                Some(hint) => assert!(told.starts_with(hint), "{input}: {text}"),
                None => assert!(told.starts_with("TaskCreate failed due to the following issue"), "{input}: {text}"),
            }
            assert!(!refusal(input, OLD).contains("ONE"));
        }
    }
}

//! `TaskCreate`

use serde_json::{Map, Value, json};

use super::refusing::{Surroundings, explain};
use super::repairing::{is_filled, is_repaired, rename};
use super::said::subject_told;
use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::gate::System;
use crate::rules::refusal::Refusal;
use crate::{ClientVersion, Metadata, Rules, Task};

/// Adds a task.
pub const TOOL: Tool = Tool {
    name: "TaskCreate",
    description: "Add one task to the shared task list. Use it to plan work of three or more steps, for each of several \
        things asked for at once, and for work found on the way. Not for a single quick thing: just do that. One call per \
        task; it starts pending and unowned. Set the order afterwards with TaskUpdate addBlockedBy. Check TaskList first \
        so that nothing is listed twice.",
    input: Object {
        fields: &[
            Field::required("subject", Shape::Text).saying("Brief title, imperative: \"Run the tests\""),
            Field::required("description", Shape::Text)
                .saying("What to do and when it is done, enough for another agent"),
            Field::optional("activeForm", Shape::Text).saying("Shown while in progress: \"Running the tests\""),
            Field::optional("metadata", Shape::Record),
        ],
        unknown: Unknown::Refused,
    },
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// The keys the tool takes.
const KNOWN: [&str; 4] = ["subject", "description", "activeForm", "metadata"];
/// The texts a task needs.
const TEXTS: [&str; 2] = ["subject", "description"];
/// What is meant for several tasks.
const MANY_TASKS: [&str; 2] = ["tasks", "todos"];
/// What is meant for a subagent.
const FOR_AN_AGENT: [&str; 2] = ["prompt", "subagent_type"];
/// Other words for what the tool takes, and what each stands for; where two stand for one, the better comes first.
const ALIASES: [(&str, &str); 4] =
    [("title", "subject"), ("name", "subject"), ("content", "description"), ("active_form", "activeForm")];

const SEVERAL: &str = "TaskCreate creates ONE task per call and has no `tasks` or `todos` parameter. Call TaskCreate once per \
    task, passing `subject` (a brief title) and `description` (what needs to be done) as top-level string parameters.";
const AGENT: &str = "This call used Agent-tool parameters (`prompt`/`subagent_type`). TaskCreate adds an item to the task list \
    and takes `subject` and `description` string parameters. To delegate work to a subagent, use the Agent tool instead.";

/// A task to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCreate {
    /// The title.
    pub subject: String,
    /// What there is to do.
    pub description: String,
    /// What is being done, while it is being done.
    pub active_form: Option<String>,
    /// What else is kept with it.
    pub metadata: Option<Metadata>,
}

/// Reads an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskCreate, InputError> {
    let (repaired, hint) = match input {
        Value::Object(given) if is_repaired(rules) => (Value::Object(repair(given)), hint(given)),
        _ => (input.clone(), None),
    };
    let mut fields = TOOL.check(&repaired, hint, rules)?;
    Ok(TaskCreate {
        subject: fields.required_text("subject"),
        description: fields.required_text("description"),
        active_form: fields.text("activeForm"),
        metadata: fields.record("metadata"),
    })
}

/// Returns what to call instead, where keys of the call or of the task wrapped in it are those of something else.
fn hint(given: &Map<String, Value>) -> Option<&'static str> {
    let wrapped = given.get("task").and_then(Value::as_object);
    let has_any = |keys: &[&str]| holds_any(given, keys) || wrapped.is_some_and(|task| holds_any(task, keys));
    match () {
        () if has_any(&MANY_TASKS) => Some(SEVERAL),
        () if has_any(&FOR_AN_AGENT) => Some(AGENT),
        () => None,
    }
}

/// Makes of an input what was probably meant: keys get their right names, and what is wrong besides is mended where all of it can be.
fn repair(given: &Map<String, Value>) -> Map<String, Value> {
    let unwrapped = Some(given).filter(|given| is_one_task(given)).and_then(unwrapped).filter(is_one_task);
    let Some(mut input) = unwrapped else { return given.clone() };
    for (alias, meant) in ALIASES {
        rename(&mut input, alias, meant);
    }
    salvaged(input.clone()).unwrap_or(input)
}

/// Tells whether an input may be meant for one task: what is meant for several is none, and what is meant for an agent only where
/// both texts are there.
fn is_one_task(input: &Map<String, Value>) -> bool {
    !holds_any(input, &MANY_TASKS) && (!holds_any(input, &FOR_AN_AGENT) || has_both_texts(input))
}

/// Returns the task where it was wrapped in a key of its own, with neither of the two texts beside it; none where that key holds
/// neither a task nor a text that says something: then the client repairs nothing.
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

/// Returns an input without anything that is wrong with it, its missing text taken from the other; none where that does not leave two
/// texts that say something. The client then takes the input as it is, with all its faults.
fn salvaged(mut input: Map<String, Value>) -> Option<Map<String, Value>> {
    match (input.get("subject").cloned(), input.get("description").cloned()) {
        (Some(subject), None) => drop(input.insert("description".to_owned(), subject)),
        (None, Some(Value::String(description))) => {
            input.insert("subject".to_owned(), first_line(&description).into());
        }
        _ => {}
    }
    input.retain(|key, value| match key.as_str() {
        "activeForm" => value.is_string(),
        "metadata" => value.is_object(),
        key => KNOWN.contains(&key),
    });
    has_both_texts(&input).then_some(input)
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

/// Returns the answer where the task was made.
pub fn created(task: &Task, rules: Rules) -> Answer {
    let mut told = json!({ "id": task.id.as_str(), "subject": subject_told(task, rules) });
    if rules.client_version() >= ClientVersion::V2_1_325 {
        told["description"] = json!(task.description);
    }
    let subject = subject_told(task, rules);
    Answer::new(format!("Task #{} created successfully: {subject}", task.id), json!({ "task": told }))
}

/// Returns the answer where it was not.
pub fn refused(refusal: &Refusal, around: &Surroundings<'_>) -> Answer {
    match refusal {
        // The client has made the task by then and taken it away again: to it that is an error, in these words.
        Refusal::HookBlocked { feedback, .. } => Answer::error(feedback),
        refusal => Answer::error(explain(refusal, around)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{TaskCreate, read};
    use crate::{ClientVersion, Rules};

    const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);

    fn task(subject: &str, description: &str) -> TaskCreate {
        TaskCreate { subject: subject.into(), description: description.into(), active_form: None, metadata: None }
    }

    fn refusal(input: Value, rules: Rules) -> String {
        read(&input, rules).unwrap_err().to_string()
    }

    #[test]
    fn what_was_meant_is_taken_in_strict_rules_and_by_the_newest_client() {
        for (input, meant) in [
            (json!({ "title": "t" }), task("t", "t")),
            (json!({ "name": "n", "content": "c", "description": "d" }), task("n", "d")),
            (json!({ "task": {"title": "t", "foo": 1} }), task("t", "t")),
            (json!({ "task": {"title": "t", "foo": 1}, "description": "d" }), task("d", "d")),
            (json!({ "task": "t", "description": "d\ne" }), task("d", "d\ne")),
            (json!({ "task": "t", "content": "c" }), task("t", "t")),
            (json!({ "title": " ", "content": "c", "task": {"title": "t"} }), task("t", "c")),
            (json!({ "subject": "s", "content": "c" }), task("s", "c")),
            (json!({ "subject": "", "content": "c" }), task("", "c")),
            (json!({ "content": "c", "description": "d" }), task("d", "d")),
            (json!({ "task": "t" }), task("t", "t")),
            (json!({ "description": "\n  one \r\ntwo" }), task("one", "\n  one \r\ntwo")),
            (json!({ "task": "one\ntwo" }), task("one", "one\ntwo")),
            (json!({ "title": "", "description": "x" }), task("x", "x")),
            (json!({ "name": "n", "description": "" }), task("n", "")),
            (json!({ "title": "", "content": "c" }), task("c", "c")),
            (json!({ "content": "", "description": "x" }), task("x", "x")),
            (json!({ "task": {"subject": "", "description": "x"} }), task("", "x")),
            (json!({ "subject": "s", "title": "t", "metadata": [1], "activeForm": null }), task("s", "s")),
            (json!({ "subject": "s", "description": "d", "prompt": "p" }), task("s", "d")),
            (json!({ "task": {"subject": "s", "description": "d", "prompt": "p"} }), task("s", "d")),
        ] {
            for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_325)] {
                assert_eq!(read(&input, rules).as_ref(), Ok(&meant), "{input}");
            }
            assert!(read(&input, OLD).is_err(), "{input}");
        }
        let read = read(&json!({ "subject": "s", "active_form": "a", "metadata": {"k": 1} }), Rules::Strict).unwrap();
        assert_eq!((read.active_form.as_deref(), read.metadata.unwrap().len()), (Some("a"), 1));
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
            for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_325)] {
                let text = refusal(input.clone(), rules);
                assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), lines, "{input}");
            }
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

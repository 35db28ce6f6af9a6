//! The `TodoWrite` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::System;
use crate::tools::refusing::is_repaired;
use crate::{Rules, Todo, json_text};

/// Replaces the todo list.
pub const TOOL: Tool = Tool {
    name: "TodoWrite",
    description: "Replace your todo list with this one; always send all items. Use it to plan and show work of three or more \
        steps; not for a single quick thing. Keep exactly one item in_progress, and mark each completed as soon as it is \
        entirely done. When all are completed, the list is cleared.",
    input: Object { fields: &[Field::required("todos", Shape::List(&Shape::Object(ITEM)))], unknown: Unknown::Refused },
    output: Object::answer(&[
        Field::required("oldTodos", TODOS).saying("The todo list before the update"),
        Field::required("newTodos", TODOS).saying("The todo list after the update"),
    ]),
    annotations: Annotations::REPLACES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Todos,
};

/// The tool with the client's parameter descriptions.
const CLIENTS_TOOL: Tool = Tool {
    input: Object {
        fields: &[Field::required("todos", Shape::List(&Shape::Object(CLIENTS_ITEM))).saying("The updated todo list")],
        unknown: Unknown::Refused,
    },
    ..TOOL
};

/// The shape of an item. Models add keys of their own, which the client drops.
const ITEM: Object = Object {
    fields: &[
        CONTENT.saying("Imperative: \"Run the tests\""),
        STATUS,
        ACTIVE_FORM.saying("Shown while in progress: \"Running the tests\""),
    ],
    unknown: Unknown::Dropped,
};
const CLIENTS_ITEM: Object = Object { fields: &[CONTENT, STATUS, ACTIVE_FORM], unknown: Unknown::Dropped };
const TODOS: Shape = Shape::List(&Shape::Object(CLIENTS_ITEM));
const CONTENT: Field = Field::required("content", Shape::FilledText("Content cannot be empty"));
const STATUS: Field = Field::required("status", Shape::Choice(&["pending", "in_progress", "completed"]));
const ACTIVE_FORM: Field = Field::required("activeForm", Shape::FilledText("Active form cannot be empty"));

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(_) => &CLIENTS_TOOL,
    }
}

const MODIFIED: &str = "Todos have been modified successfully. Ensure that you continue to use the todo list to track your \
    progress. Please proceed with the current tasks if applicable";

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<Vec<Todo>, InputError> {
    let mut input = input.clone();
    if let Some(Value::String(text)) = input.get("todos").filter(|_| is_repaired(rules))
        && let Ok(todos @ Value::Array(_)) = json_text::from_str(text)
    {
        input["todos"] = todos;
    }
    let mut fields = TOOL.check(&input, None, rules)?;
    Ok(fields.list("todos").iter().filter_map(todo).collect())
}

/// Parses a stored list. Invalid items are skipped.
pub fn read_kept(list: &Value) -> Vec<Todo> {
    list.as_array().into_iter().flatten().filter_map(todo).collect()
}

fn todo(item: &Value) -> Option<Todo> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let status = text("status")?.parse().ok()?;
    Some(Todo { content: text("content")?.to_owned(), status, active_form: text("activeForm")?.to_owned() })
}

/// Serializes a list for storage and for programs.
pub fn shape(todos: &[Todo]) -> Value {
    let item = |todo: &Todo| json!({ "content": todo.content, "status": todo.status.as_str(), "activeForm": todo.active_form });
    todos.iter().map(item).collect()
}

/// Returns the answer, given the previous list and the list in the call, whatever was stored.
pub fn replaced(before: &[Todo], given: &[Todo]) -> Answer {
    Answer::new(MODIFIED, json!({ "oldTodos": shape(before), "newTodos": shape(given) }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{read, read_kept};
    use crate::{ClientVersion, Rules};

    const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);

    fn refusal(input: Value, rules: Rules) -> String {
        read(&input, rules).unwrap_err().to_string()
    }

    #[test]
    fn keys_of_an_item_are_left_out_by_the_client_alone() {
        let input = json!({ "todos": [{"content": "a", "status": "pending", "activeForm": "b", "priority": "high"}] });
        for rules in [OLD, Rules::Client(ClientVersion::V2_1_325)] {
            assert_eq!(read(&input, rules).unwrap().len(), 1);
        }
        assert!(refusal(input, Rules::Strict).contains("An unexpected parameter `todos[0].priority` was provided;"));
    }

    #[test]
    fn a_list_in_a_text_is_read_by_the_newest_client_alone() {
        let text = r#"[{"content":"a","status":"pending","activeForm":"b"}]"#;
        assert_eq!(read(&json!({ "todos": text }), Rules::Strict).unwrap().len(), 1);
        assert!(read(&json!({ "todos": text }), OLD).is_err());
        for no_list in ["{}", "[", "5", ""] {
            assert!(refusal(json!({ "todos": no_list }), Rules::Strict).ends_with("but provided as `string`"));
        }
        assert!(refusal(json!({ "todos": r#"[{"status":"x"}]"# }), Rules::Strict).contains("`todos[0].content`"));
    }

    #[test]
    fn the_newest_client_lists_everything_that_is_wrong() {
        let input = json!({ "todos": [{"status": "pending"}, {"content": "", "status": "pending", "activeForm": "x"},
            {"content": 5, "status": "nope", "activeForm": true}] });
        let of_both = "InputValidationError: TodoWrite failed due to the following issues:\n\
             The required parameter `todos[0].content` is missing\n\
             The required parameter `todos[0].activeForm` is missing\n\
             The parameter `todos[2].content` type is expected as `string` but provided as `number`\n\
             The parameter `todos[2].activeForm` type is expected as `string` but provided as `boolean`";
        let of_newest = "\nThe parameter `todos[1].content` is invalid: Content cannot be empty\n\
             The parameter `todos[2].status` is invalid: Invalid option: expected one of \"pending\"|\"in_progress\"|\"completed\"";
        assert_eq!(refusal(input.clone(), OLD), of_both);
        assert_eq!(refusal(input, Rules::Client(ClientVersion::V2_1_325)), format!("{of_both}{of_newest}"));
        let input = json!({ "todos": [{"content": "", "status": "odd"}] });
        assert_eq!(
            refusal(input, Rules::Client(ClientVersion::V2_1_325)),
            "InputValidationError: TodoWrite failed due to the following issues:\n\
             The required parameter `todos[0].activeForm` is missing\n\
             The parameter `todos[0].content` is invalid: Content cannot be empty\n\
             The parameter `todos[0].status` is invalid: Invalid option: expected one of \"pending\"|\"in_progress\"|\"completed\""
        );
    }

    #[test]
    fn a_status_that_is_missing_is_a_wrong_value_to_the_client() {
        let input = json!({ "todos": [{"content": "a", "activeForm": "b", "status": "pending"}, {"content": "a", "activeForm": "b"}] });
        let text = refusal(input, OLD);
        assert!(text.starts_with("InputValidationError: [\n  {\n    \"code\": \"invalid_value\""), "{text}");
        let input = json!({ "todos": [{"content": 1, "status": "pending"}, {"status": "x", "activeForm": []}] });
        assert_eq!(
            refusal(input, OLD),
            "InputValidationError: TodoWrite failed due to the following issues:\n\
             The required parameter `todos[0].activeForm` is missing\n\
             The required parameter `todos[1].content` is missing\n\
             The parameter `todos[0].content` type is expected as `string` but provided as `number`\n\
             The parameter `todos[1].activeForm` type is expected as `string` but provided as `array`"
        );
    }

    #[test]
    fn what_was_kept_is_read_as_far_as_it_is_a_list() {
        let kept = json!([{"content": "a", "status": "pending", "activeForm": "b"}, {"content": "a"}, 5]);
        assert_eq!(read_kept(&kept).len(), 1);
        assert!(read_kept(&json!({})).is_empty());
    }
}

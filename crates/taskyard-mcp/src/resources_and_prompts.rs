//! Resources, prompts and the tool list, in the protocol's format.

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, JsonObject, ListResourcesResult, Prompt, PromptArgument,
    PromptMessage, Resource, ResourceContents, ResourceTemplate, Role, Tool, ToolAnnotations,
};
use serde_json::{Map, Value};
use taskyard::core::render::{escaping, graph};
use taskyard::core::tools::catalogue::Surface;
use taskyard::core::tools::{Answer, Scope, catalogue, inbox_read, task_get, task_list};
use taskyard::core::{Rules, Task, TaskId, tools};
use taskyard::operations::Filter;
use taskyard::store::UnreadableTask;
use taskyard::{Error, Outcome, Yard};

use crate::host::Options;

/// The list as text.
pub(crate) const LIST: &str = "taskyard://list";
/// The dependency graph as a Mermaid diagram.
pub(crate) const GRAPH: &str = "taskyard://graph";
/// The messages for the calling agent.
pub(crate) const INBOX: &str = "taskyard://inbox";
/// The pending notices of the caller: which of its jobs have ended.
pub(crate) const NOTIFICATIONS: &str = "taskyard://notifications";
/// One task as text; the id follows.
const TASK: &str = "taskyard://task/";
/// The maximum length of a task id in bytes, which is that of a file name.
const LONGEST_ID: usize = 255;

/// The number of tasks per page.
const PAGE: usize = 500;

/// Returns the URI of a task.
pub(crate) fn task_uri(task: &TaskId) -> String {
    format!("{TASK}{task}")
}

/// Returns whether a URI can be one of ours, whether or not such a task exists now.
pub(crate) fn is_ours(uri: &str) -> bool {
    let is_task = |task: &str| (1..=LONGEST_ID).contains(&task.len());
    [LIST, GRAPH, INBOX, NOTIFICATIONS].contains(&uri) || uri.strip_prefix(TASK).is_some_and(is_task)
}

/// Returns a page of the resources: first the list, its graph and the notices, then every task.
pub(crate) fn page(yard: &Yard, from: usize) -> Result<ListResourcesResult, Error> {
    let tasks = yard.list(&Filter::default())?.tasks;
    let mut resources = Vec::new();
    if from == 0 {
        resources.push(
            Resource::new(LIST, "list")
                .with_title(format!("Task list {}", yard.list_id()))
                .with_description("Every task: id, status, subject, owner, open blockers")
                .with_mime_type("text/plain"),
        );
        resources.push(
            Resource::new(GRAPH, "graph")
                .with_title("Task graph")
                .with_description("The dependency graph, as a Mermaid diagram")
                .with_mime_type("text/vnd.mermaid"),
        );
        resources.push(
            Resource::new(NOTIFICATIONS, "notifications")
                .with_title("Notifications")
                .with_description("Your background commands that have ended")
                .with_mime_type("text/plain"),
        );
    }
    if from == 0 && yard.teams().is_some_and(|teams| teams.only_seat(yard.actor()).is_ok_and(|seat| seat.is_some())) {
        resources.push(
            Resource::new(INBOX, "inbox")
                .with_title("Inbox")
                .with_description("The unacknowledged messages from your team")
                .with_mime_type("text/plain"),
        );
    }
    resources.extend(tasks.iter().skip(from).take(PAGE).map(resource));
    let next = from.saturating_add(PAGE);
    let next_cursor = (next < tasks.len()).then(|| next.to_string());
    Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
}

fn resource(task: &Task) -> Resource {
    Resource::new(task_uri(&task.id), format!("task {}", task.id))
        .with_title(format!("#{} {}", task.id, escaping::one_line(&task.shown_subject())))
        .with_mime_type("text/plain")
}

/// Returns the URI template for tasks.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{TASK}{{id}}"), "task")
        .with_title("A task")
        .with_description("One task in full: its text, its blockers and dependents")
        .with_mime_type("text/plain")
}

/// Reads a resource; `None` if it does not exist.
pub(crate) fn read(yard: &Yard, uri: &str) -> Result<Option<ResourceContents>, Error> {
    let (text, kind) = match uri {
        LIST => {
            let everything = Filter { internal: true, ..Filter::default() };
            let listing = yard.list(&everything)?;
            let unreadable: Vec<String> = listing.problems.iter().map(UnreadableTask::file).collect();
            let (list, gone) = (yard.list_id(), listing.gone.as_ref());
            (task_list::listed(list, listing.tasks, gone, &unreadable, yard.rules()).text, "text/plain")
        }
        INBOX => {
            let Some(teams) = yard.teams() else { return Ok(None) };
            let Some(seat) = teams.only_seat(yard.actor())? else { return Ok(None) };
            (inbox_read::shown(&teams.look_into(&seat)?.deliveries, 0).text, "text/plain")
        }
        GRAPH => (graph::mermaid(&yard.graph()?.tasks, yard.rules()), "text/vnd.mermaid"),
        uri => {
            let Some(id) = uri.strip_prefix(TASK).filter(|id| !id.is_empty()) else { return Ok(None) };
            match yard.show(&TaskId::stored(id))? {
                Outcome::Done(shown) => {
                    let last_known =
                        |problem: &UnreadableTask| task_get::last_known(&problem.file(), &problem.why.to_string());
                    let why = shown.problem.as_ref().map(last_known).unwrap_or_default();
                    (format!("{}{why}", task_get::found(&shown.task, yard.rules()).text), "text/plain")
                }
                Outcome::Refused(_) => return Ok(None),
            }
        }
    };
    Ok(Some(ResourceContents::text(text, uri).with_mime_type(kind)))
}

/// Returns the pending notices as a resource.
pub(crate) fn notifications(text: Option<String>) -> ResourceContents {
    let text = text.unwrap_or_else(|| "No notifications".to_owned());
    ResourceContents::text(text, NOTIFICATIONS).with_mime_type("text/plain")
}

const PLAN: &str = "plan";
const NEXT: &str = "next";
const GOAL: &str = "goal";

const HOW_TO_PLAN: &str = "Plan this goal as tasks on the shared task list. Do not begin to work on it yet.

1. Call TaskList first: what is already there is not added again.
2. Look at what the goal touches as far as you need to name the steps rightly.
3. Call TaskCreate once for each step that one agent can finish in one go. The subject is an imperative; the description says \
what to do, where, and how to tell that it is done, so that an agent that knows nothing of this conversation can do it.
4. Say the order with TaskUpdate addBlockedBy, and only where one step truly needs another: what is independent can then be \
done side by side. Include checking the whole as a last step.
5. Call TaskList and show the plan: what can start now, and what waits for what.

The goal:
";

const HOW_TO_GO_ON: &str = "Take up the next task of the shared task list and finish it.

Call TaskClaim without taskId: it gives you the task you already have, or the best that is ready. Do what its text says and \
nothing beyond it; put further work you find on the list with TaskCreate. When it is entirely done, call TaskUpdate with status \
completed. If you cannot finish it, call TaskRelease with the reason. If nothing is ready, say what is blocking the tasks.";

/// Why a prompt cannot be returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPrompt {
    /// There is no prompt of that name.
    Unknown,
    /// It requires the argument `goal`.
    WithoutGoal,
}

pub(crate) fn all() -> Vec<Prompt> {
    let goal = PromptArgument::new(GOAL).with_description("The goal").with_required(true);
    vec![
        Prompt::new(PLAN, Some("Turn a goal into tasks with dependencies"), Some(vec![goal])),
        Prompt::new(NEXT, Some("Take up the next task and finish it"), None),
    ]
}

pub(crate) fn prompt(name: &str, arguments: Option<&Map<String, Value>>) -> Result<GetPromptResult, NoPrompt> {
    let text = match name {
        PLAN => {
            let goal = arguments.and_then(|arguments| arguments.get(GOAL)).and_then(Value::as_str).map(str::trim);
            let goal = goal.filter(|goal| !goal.is_empty()).ok_or(NoPrompt::WithoutGoal)?;
            format!("{HOW_TO_PLAN}{goal}")
        }
        NEXT => HOW_TO_GO_ON.to_owned(),
        _ => return Err(NoPrompt::Unknown),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

/// Returns the tools that a server offers, each with the scope it needs.
pub(crate) fn offered(options: Options, rules: Rules) -> Vec<(Scope, Tool)> {
    let told = |tool: &'static tools::Tool| match options.structured {
        true => with_output_schema(shown(tool), tool),
        false => shown(tool),
    };
    catalogue::offered(options.tools, surface(options, rules)).map(|tool| (tool.scope, told(tool))).collect()
}

/// Returns what determines the available tools.
pub(crate) fn surface(Options { system, runs_commands, .. }: Options, rules: Rules) -> Surface {
    Surface { system, rules, runs_commands }
}

fn shown(tool: &'static tools::Tool) -> Tool {
    let schema = of_object(tool.input_schema());
    let hints = tool.annotations;
    let annotations = ToolAnnotations::new().read_only(hints.read_only).destructive(hints.destructive);
    let annotations = annotations.idempotent(hints.idempotent).open_world(false);
    Tool::new(tool.name, tool.description, schema).with_annotations(annotations)
}

/// Adds the schema of a tool's structured output.
fn with_output_schema(shown: Tool, tool: &tools::Tool) -> Tool {
    shown.with_raw_output_schema(of_object(tool.output_schema()))
}

fn of_object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => unreachable!("what tools take and answer are objects"),
    }
}

/// Returns an answer in the protocol's format, as text only: clients that find structured content show the model that
/// instead.
pub(crate) fn text_alone(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// Returns an answer with structured content in addition to its text.
pub(crate) fn with_structure(mut answer: Answer) -> CallToolResult {
    // The protocol allows only objects; for invalid input, the structured content is a text.
    let structured = answer.structured.take().filter(Value::is_object);
    let mut result = text_alone(answer);
    result.structured_content = structured;
    result
}

/// Inserts a text before an answer, and into its structured content if it has any, because that may be all the model
/// sees.
pub(crate) fn put_before(result: &mut CallToolResult, notifications: String) {
    if let Some(Value::Object(structured)) = &mut result.structured_content {
        structured.insert("taskNotifications".to_owned(), notifications.clone().into());
    }
    result.content.insert(0, ContentBlock::text(notifications));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{NoPrompt, all, prompt};

    #[test]
    fn a_plan_needs_a_goal() {
        let blank = json!({ "goal": " " });
        assert_eq!(prompt("plan", None), Err(NoPrompt::WithoutGoal));
        assert_eq!(prompt("plan", blank.as_object()), Err(NoPrompt::WithoutGoal));
        let goal = json!({ "goal": "Ship it" });
        let text = serde_json::to_string(&prompt("plan", goal.as_object()).unwrap()).unwrap();
        assert!(text.contains("The goal:\\nShip it"), "{text}");
    }

    #[test]
    fn every_prompt_that_is_offered_can_be_had() {
        let goal = json!({ "goal": "x" });
        for offered in all() {
            assert!(prompt(&offered.name, goal.as_object()).is_ok(), "{}", offered.name);
        }
        assert_eq!(prompt("plans", None), Err(NoPrompt::Unknown));
    }
}

#[cfg(test)]
mod tool_list_tests {
    use serde_json::{Value, json};
    use taskyard::core::tools::Answer;

    use super::{put_before, text_alone, with_structure};

    fn answer(structured: Option<Value>, is_error: bool) -> Answer {
        Answer { text: "said".to_owned(), structured, is_error }
    }

    #[test]
    fn only_an_object_is_a_structure() {
        let object = with_structure(answer(Some(json!({ "id": "1" })), false));
        assert_eq!((object.structured_content, object.is_error), (Some(json!({ "id": "1" })), Some(false)));
        let text = with_structure(answer(Some(json!("wrong input")), true));
        assert_eq!((text.structured_content, text.is_error), (None, Some(true)));
        assert_eq!(text_alone(answer(Some(json!({})), false)).structured_content, None);
    }

    #[test]
    fn notifications_come_first_and_in_the_structure_too() {
        let texts = |answer: Answer, has_structure: bool| {
            let mut result = if has_structure { with_structure(answer) } else { text_alone(answer) };
            put_before(&mut result, "a job has ended".to_owned());
            serde_json::to_value(result).unwrap()
        };
        let both = texts(answer(Some(json!({ "id": "1" })), false), true);
        assert_eq!(both["structuredContent"], json!({ "id": "1", "taskNotifications": "a job has ended" }));
        let alone = texts(answer(None, false), false);
        for told in [both, alone] {
            let content: Vec<&Value> = told["content"].as_array().unwrap().iter().map(|item| &item["text"]).collect();
            assert_eq!(content, [&json!("a job has ended"), &json!("said")]);
        }
    }
}

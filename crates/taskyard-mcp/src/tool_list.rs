//! The tools as the protocol shows them.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use taskyard::core::Rules;
use taskyard::core::tools::catalogue::Surface;
use taskyard::core::tools::{self, Answer, Scope, catalogue};

use super::options::Options;

/// Returns the tools a server offers, each with the scope it needs.
pub(crate) fn offered(options: Options, rules: Rules) -> Vec<(Scope, Tool)> {
    let told = |tool: &'static tools::Tool| match options.structured {
        true => with_output_schema(shown(tool), tool),
        false => shown(tool),
    };
    catalogue::offered(options.tools, surface(options, rules)).map(|tool| (tool.scope, told(tool))).collect()
}

/// Returns what decides which tools there are.
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

/// Adds what a tool answers for programs, to a server that answers so.
fn with_output_schema(shown: Tool, tool: &tools::Tool) -> Tool {
    shown.with_raw_output_schema(of_object(tool.output_schema()))
}

fn of_object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => unreachable!("what tools take and answer are objects"),
    }
}

/// Returns an answer as the protocol has it: the text alone, because clients that find a structure show the model that instead.
pub(crate) fn text_alone(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// Returns an answer with its structure besides its text.
pub(crate) fn with_structure(mut answer: Answer) -> CallToolResult {
    // The protocol knows objects only; what the client keeps of a wrong input is a text.
    let structured = answer.structured.take().filter(Value::is_object);
    let mut result = text_alone(answer);
    result.structured_content = structured;
    result
}

/// Puts a text of its own before an answer; into its structure, too, where it has one, since that may be all the model sees.
pub(crate) fn put_before(result: &mut CallToolResult, notifications: String) {
    if let Some(Value::Object(structured)) = &mut result.structured_content {
        structured.insert("taskNotifications".to_owned(), notifications.clone().into());
    }
    result.content.insert(0, ContentBlock::text(notifications));
}

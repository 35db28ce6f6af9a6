//! What `SendMessage` takes.

use serde_json::{Map, Value};

use super::message::{SendMessage, Unsendable, named, refuse, rejection};
use crate::Rules;
use crate::rules::hooks::gate::System;
use crate::tools::schema::{Field, Object, Shape, Unknown};
use crate::tools::{Annotations, Scope, Tool, ToolSet};

/// Writes to other members.
pub const TOOL: Tool = Tool {
    name: "SendMessage",
    description: "Write to a member of your team, or to all of them with to \"*\". What you write as plain text outside of this \
        tool reaches nobody. With a text give a summary of a few words. An object as message asks a member to end (shutdown_request), \
        answers such a request (shutdown_response), shows the lead your plan (plan_approval_request) or answers one \
        (plan_approval_response).",
    input: Object {
        fields: &[
            Field::required("to", Shape::Text),
            Field::required("message", Shape::AnyOf(&[Shape::Text, REQUEST, RESPONSE, PLAN, ANSWER])),
            Field::optional("summary", Shape::Text),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("success", Shape::Flag),
        Field::optional("message", Shape::Text),
        Field::optional("msg_id", Shape::Text),
        Field::optional("routing", Shape::Object(ROUTING)),
        Field::optional("recipients", Shape::List(&Shape::Text)),
        Field::optional("request_id", Shape::Text),
        Field::optional("target", Shape::Text),
    ]),
    annotations: Annotations::ADDS,
    scope: Scope::Work,
    set: ToolSet::Team,
    system: System::Tasks,
};

/// Writes to other members, as the newest client has it: `*` reaches none.
pub(super) const CLIENTS_TOOL: Tool = Tool {
    description: "Write to a member of your team; call once per member to reach several. What you write as plain text outside of \
        this tool reaches nobody. Give a summary of a few words. An object as message asks a member to end (shutdown_request), \
        answers such a request (shutdown_response), shows the lead your plan (plan_approval_request) or answers one \
        (plan_approval_response).",
    ..TOOL
};

/// Which way a message went.
const ROUTING: Object = Object::answer(&[
    Field::required("sender", Shape::Text),
    Field::optional("senderColor", Shape::Text),
    Field::required("target", Shape::Text),
    Field::optional("targetColor", Shape::Text),
    Field::optional("summary", Shape::Text),
    Field::required("content", Shape::Text),
]);

const REQUEST: Shape = Shape::Object(Object {
    fields: &[Field::required("type", Shape::Word("shutdown_request")), Field::optional("reason", Shape::Text)],
    unknown: Unknown::Dropped,
});
const RESPONSE: Shape = Shape::Object(Object {
    fields: &[
        Field::required("type", Shape::Word("shutdown_response")),
        Field::required("request_id", Shape::Text),
        Field::required("approve", Shape::Flag),
        Field::optional("reason", Shape::Text),
    ],
    unknown: Unknown::Dropped,
});
const ANSWER: Shape = Shape::Object(Object {
    fields: &[
        Field::required("type", Shape::Word("plan_approval_response")),
        Field::required("request_id", Shape::Text),
        Field::required("approve", Shape::Flag),
        Field::optional("feedback", Shape::Text),
    ],
    unknown: Unknown::Dropped,
});
/// Not the client's: it has another tool for this, which other agents do not have.
const PLAN: Shape = Shape::Object(Object {
    fields: &[Field::required("type", Shape::Word("plan_approval_request")), Field::required("plan", Shape::Text)],
    unknown: Unknown::Dropped,
});

/// Reads an input of the newest client.
pub(super) fn read_new(input: &Value, rules: Rules) -> Result<SendMessage, Unsendable> {
    let mut fields = TOOL.check(input, None, rules)?;
    let to = fields.required_text("to");
    if to == "*" && rules.is_client() {
        return Err(refuse("broadcast (to: \"*\") is no longer supported — send a message per recipient"));
    }
    let summary = fields.text("summary");
    let object = match fields.take("message") {
        Some(Value::String(text)) if to == "*" => return Ok(SendMessage::Broadcast { text, summary }),
        Some(Value::String(text)) => return Ok(SendMessage::Message { to: named(to)?, text, summary }),
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let request = text("request_id").unwrap_or_default();
    let is_approved = object.get("approve").and_then(Value::as_bool).unwrap_or(false);
    if !rules.is_client() {
        if summary.is_some() {
            return Err(refuse("Not sent: `summary` goes with a text as `message`, not with an object. Leave it out."));
        }
        let unheard = ["reason", "feedback"].into_iter().find(|key| is_approved && text(key).is_some());
        if let Some(key) = unheard {
            return Err(refuse(&format!(
                "Not sent: an approval carries no `{key}`. Leave it out, and send it as a message of its own."
            )));
        }
    }
    // The client sends these to the lead whatever `to` says.
    let addressed = (!rules.is_client()).then(|| to.clone());
    Ok(match object.get("type").and_then(Value::as_str) {
        Some("shutdown_request") => SendMessage::ShutdownRequest { to: named(to)?, reason: text("reason") },
        Some("shutdown_response") => {
            let rejection =
                rejection(is_approved, text("reason"), "reason is required when rejecting a shutdown request")?;
            SendMessage::ShutdownResponse { request, rejection, addressed }
        }
        Some("plan_approval_request") => {
            SendMessage::PlanApprovalRequest { plan: text("plan").unwrap_or_default(), addressed }
        }
        _ => SendMessage::PlanApprovalResponse {
            to: named(to)?,
            request,
            rejection: (!is_approved).then(|| text("feedback").unwrap_or_default()),
        },
    })
}

//! The form in which the older client took messages: its fields depend on its type.

use serde_json::{Map, Value};

use super::form::TOOL;
use super::message::{SendMessage, Unsendable, named, refuse, rejection};
use crate::Rules;
use crate::tools::schema::{Field, Issue, Object, Shape, Step, Unknown, Wrong, check};
use crate::tools::tool::Fields;
use crate::tools::{InputError, Tool};

/// Writes to other members, as the older client has it.
///
/// As in the client, its schema wants the type alone and its check other fields for every type: the description says which.
pub(super) const OLD_TOOL: Tool = Tool {
    description: "Write to a member of your team (message), or to all of them (broadcast). What you write as plain text outside of \
        this tool reaches nobody. message needs recipient, content and a summary of a few words, broadcast content and summary. \
        shutdown_request asks a recipient to end, shutdown_response answers such a request (request_id, approve), \
        plan_approval_response a plan (request_id, recipient, approve); content says why, and a rejection needs it.",
    input: Object {
        fields: &[
            Field::required(
                "type",
                Shape::Choice(&[
                    "message",
                    "broadcast",
                    "shutdown_request",
                    "shutdown_response",
                    "plan_approval_response",
                ]),
            ),
            Field::optional("recipient", Shape::Text),
            Field::optional("content", Shape::Text),
            Field::optional("summary", Shape::Text),
            Field::optional("request_id", Shape::Text),
            Field::optional("approve", Shape::Flag),
        ],
        unknown: Unknown::Refused,
    },
    ..TOOL
};

/// Reads an input of the older client.
pub(super) fn read_old(input: &Value, rules: Rules) -> Result<SendMessage, Unsendable> {
    let kind = input.get("type").and_then(Value::as_str).unwrap_or_default();
    let kind_field = |word: &'static str| Field::required("type", Shape::Word(word));
    let recipient = Field::required("recipient", Shape::Text);
    let (content, summary) = (Field::required("content", Shape::Text), Field::required("summary", Shape::Text));
    let (request, approve) = (Field::required("request_id", Shape::Text), Field::required("approve", Shape::Flag));
    let maybe = Field::optional("content", Shape::Text);
    let (word, fields): (&'static str, Vec<Field>) = match kind {
        "message" => ("message", vec![recipient, content, summary]),
        "broadcast" => ("broadcast", vec![content, summary]),
        "shutdown_request" => ("shutdown_request", vec![recipient, maybe]),
        "shutdown_response" => ("shutdown_response", vec![request, approve, maybe]),
        "plan_approval_response" => ("plan_approval_response", vec![request, recipient, approve, maybe]),
        _ => {
            let issues = vec![Issue { path: vec![Step::Key("type".to_owned())], wrong: Wrong::Discriminator("type") }];
            return Err(InputError { tool: TOOL.name, hint: None, issues, client: rules.client_version() }.into());
        }
    };
    let mut fields = old_fields(input, kind_field(word), &fields, rules)?;
    let content = fields.text("content");
    let is_approved = fields.take("approve") == Some(Value::Bool(true));
    let request = fields.text("request_id").unwrap_or_default();
    let to = fields.text("recipient");
    if !rules.is_client() && is_approved && content.is_some() {
        return Err(refuse(
            "Not sent: an approval carries no `content`. Leave it out, and send it as a message of its own.",
        ));
    }
    Ok(match word {
        "message" => SendMessage::Message {
            to: named(to.unwrap_or_default())?,
            text: content.unwrap_or_default(),
            summary: fields.text("summary"),
        },
        "broadcast" => SendMessage::Broadcast { text: content.unwrap_or_default(), summary: fields.text("summary") },
        "shutdown_request" => SendMessage::ShutdownRequest { to: named(to.unwrap_or_default())?, reason: content },
        "shutdown_response" => {
            let why = "content (reason) is required when rejecting a shutdown request";
            SendMessage::ShutdownResponse { request, rejection: rejection(is_approved, content, why)?, addressed: None }
        }
        _ => SendMessage::PlanApprovalResponse {
            to: named(to.unwrap_or_default())?,
            request,
            rejection: (!is_approved).then(|| content.unwrap_or_default()),
        },
    })
}

/// Checks an input of the older client, whose fields depend on its type.
fn old_fields(input: &Value, kind: Field, rest: &[Field], rules: Rules) -> Result<Fields, InputError> {
    let known = |name: &str| name == kind.name || rest.iter().any(|field| field.name == name);
    let mut checked = Map::new();
    let mut issues = Vec::new();
    for field in std::iter::once(&kind).chain(rest) {
        match check_one(field, input, rules) {
            Ok(value) => checked.extend(value.map(|value| (field.name.to_owned(), value))),
            Err(found) => issues.extend(found),
        }
    }
    let given = input.as_object().map(|object| object.keys().collect::<Vec<_>>()).unwrap_or_default();
    let is_passed_over = |key: &str| rules.is_client() && ALL.contains(&key);
    let keys: Vec<String> = given.into_iter().filter(|key| !known(key) && !is_passed_over(key)).cloned().collect();
    if !keys.is_empty() {
        let allowed = || std::iter::once(&kind).chain(rest).map(|field| field.name).collect();
        let allowed = (!rules.is_client()).then(allowed);
        issues.push(Issue { path: Vec::new(), wrong: Wrong::UnknownKeys { keys, allowed } });
    }
    match issues.is_empty() {
        true => Ok(Fields::from(checked)),
        false => Err(InputError { tool: TOOL.name, hint: None, issues, client: rules.client_version() }),
    }
}

/// Every key of the older client's input; the client passes over those a type does not need.
const ALL: [&str; 7] = ["type", "recipient", "content", "summary", "request_id", "approve", "feedback"];

fn check_one(field: &Field, input: &Value, rules: Rules) -> Result<Option<Value>, Vec<Issue>> {
    const TEXT: Object = Object { fields: &[Field::required("value", Shape::Text)], unknown: Unknown::Dropped };
    const FLAG: Object = Object { fields: &[Field::required("value", Shape::Flag)], unknown: Unknown::Dropped };
    let value = input.get(field.name);
    if value.is_none() && !field.is_required || matches!(field.shape, Shape::Word(_)) {
        return Ok(None);
    }
    let object = if matches!(field.shape, Shape::Flag) { &FLAG } else { &TEXT };
    let mut wrapped = Map::new();
    wrapped.extend(value.map(|value| ("value".to_owned(), value.clone())));
    let renamed = |issue: Issue| Issue { path: vec![Step::Key(field.name.to_owned())], ..issue };
    match check(object, &Value::Object(wrapped), rules) {
        Ok(mut fields) => Ok(fields.shift_remove("value")),
        Err(issues) => Err(issues.into_iter().map(renamed).collect()),
    }
}

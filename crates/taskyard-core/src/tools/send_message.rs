//! The `SendMessage` tool.

use serde_json::{Map, Value, json};

use crate::rules::hooks::System;
use crate::rules::teams::mailing::Unreachable;
use crate::tools::schema::{Field, Issue, Object, Shape, Step, Unknown, Wrong, check};
use crate::tools::tool::Fields;
use crate::tools::tool_answer::said;
use crate::tools::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::{ClientVersion, Rules};

/// A checked input of `SendMessage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendMessage {
    /// Text for one member.
    Message {
        /// The name of the recipient, as the model wrote it.
        to: String,
        /// The text for the recipient's model.
        text: String,
        /// A short summary, for displays.
        summary: Option<String>,
    },
    /// Text for all members.
    Broadcast {
        /// The text for the models of all members.
        text: String,
        /// A short summary, for displays.
        summary: Option<String>,
    },
    /// Asks a member to shut down.
    ShutdownRequest {
        /// The name of the member that should shut down.
        to: String,
        /// Why it should shut down, if the model gave a reason.
        reason: Option<String>,
    },
    /// Answers a shutdown request.
    ShutdownResponse {
        /// The id of the request that is answered.
        request: String,
        /// The reason for refusing; `None` if the request is approved.
        rejection: Option<String>,
        /// The addressee, which must be the lead; `None` if the answer goes to the lead whatever the input says.
        addressed: Option<String>,
    },
    /// Submits a plan to the lead.
    PlanApprovalRequest {
        /// The full plan, as text for the lead.
        plan: String,
        /// The addressee, which must be the lead; `None` if the plan goes to the lead whatever the input says.
        addressed: Option<String>,
    },
    /// Answers a submitted plan.
    PlanApprovalResponse {
        /// The name of the member whose plan it is.
        to: String,
        /// The id of the request that is answered.
        request: String,
        /// The requested changes; `None` if the plan is approved.
        rejection: Option<String>,
    },
}

/// Why an input cannot be sent.
#[derive(Debug)]
pub enum Unsendable {
    /// The input does not match the schema.
    Input(InputError),
    /// The input is valid but cannot be carried out; the tool returns this answer.
    Answer(Answer),
}

impl From<InputError> for Unsendable {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// Returns the recipient, or refuses an empty name.
fn named(to: String) -> Result<String, Unsendable> {
    if to.trim().is_empty() { Err(refuse("recipient must not be empty")) } else { Ok(to) }
}

/// Returns the reason for a rejection, or `None` if the request is approved. A rejection needs a reason.
fn rejection(is_approved: bool, reason: Option<String>, missing: &str) -> Result<Option<String>, Unsendable> {
    match (is_approved, reason.filter(|reason| !reason.is_empty())) {
        (true, _) => Ok(None),
        (false, Some(reason)) => Ok(Some(reason)),
        (false, None) => Err(refuse(missing)),
    }
}

fn refuse(text: &str) -> Unsendable {
    Unsendable::Answer(Answer::error(text))
}

/// The tool under strict rules.
pub const TOOL: Tool = Tool {
    name: "SendMessage",
    description: "Write to a member of your team, or to all of them with to \"*\". Plain text outside of this tool reaches \
        no one. With a text give a summary of a few words. An object as message asks a member to end (shutdown_request), \
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

/// The tool of the newest client, which has no broadcast.
const CLIENTS_TOOL: Tool = Tool {
    description: "Write to a member of your team; call once per member to reach several. Plain text outside of this tool \
        reaches no one. Give a summary of a few words. An object as message asks a member to end (shutdown_request), \
        answers such a request (shutdown_response), shows the lead your plan (plan_approval_request) or answers one \
        (plan_approval_response).",
    ..TOOL
};

/// The route of a message.
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
/// Not part of the client's schema: the client has a separate tool for this, which other agents lack.
const PLAN: Shape = Shape::Object(Object {
    fields: &[Field::required("type", Shape::Word("plan_approval_request")), Field::required("plan", Shape::Text)],
    unknown: Unknown::Dropped,
});

/// Reads an input in the format of the newest client.
fn read_new(input: &Value, rules: Rules) -> Result<SendMessage, Unsendable> {
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

/// The tool of the older client.
///
/// As in that client, the schema requires only the type, and the check requires other fields for each type. The
/// description lists them.
const OLD_TOOL: Tool = Tool {
    description: "Write to a member of your team (message), or to all of them (broadcast). Plain text outside of this tool \
        reaches no one. message needs recipient, content and a summary of a few words, broadcast content and summary. \
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

/// Reads an input in the format of the older client.
fn read_old(input: &Value, rules: Rules) -> Result<SendMessage, Unsendable> {
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

/// Checks an input of the older client, in which the fields depend on the type.
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

/// Every key of the older client's input. The client ignores those that a type does not use.
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

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(ClientVersion::V2_1_34) => &OLD_TOOL,
        Rules::Client(ClientVersion::V2_1_325) => &CLIENTS_TOOL,
    }
}

/// Reads an input of either generation. Strict rules accept the older format, too.
pub fn read(input: &Value, rules: Rules) -> Result<SendMessage, Unsendable> {
    let is_old_form = input.get("type").is_some() && input.get("to").is_none();
    match rules {
        Rules::Client(ClientVersion::V2_1_34) => read_old(input, rules),
        Rules::Strict if is_old_form => read_old(input, rules),
        Rules::Strict | Rules::Client(ClientVersion::V2_1_325) => read_new(input, rules),
    }
}

/// A message that has been delivered to an inbox.
#[derive(Clone, Copy, Debug)]
pub struct Routed<'a> {
    /// The name of the member that sent it.
    pub sender: &'a str,
    /// The colour of the sender.
    pub sender_color: Option<&'a str>,
    /// The name of the recipient.
    pub to: &'a str,
    /// The colour of the recipient.
    pub to_color: Option<&'a str>,
    /// The text for the recipient's model.
    pub text: &'a str,
    /// A short summary.
    pub summary: Option<&'a str>,
    /// The id of the message; `None` if an older client wrote it.
    pub msg_id: Option<&'a str>,
}

/// Returns the answer for a message that has been delivered to an inbox.
pub fn sent(routed: &Routed<'_>, rules: Rules) -> Answer {
    let mut value = Map::new();
    value.insert("success".into(), true.into());
    value.insert("message".into(), format!("Message sent to {}'s inbox", routed.to).into());
    value.extend(routed.msg_id.map(|id| ("msg_id".to_owned(), id.into())));
    value.insert("routing".into(), routing(routed, &format!("@{}", routed.to)));
    if rules.is_client() {
        return said(Value::Object(value), rules);
    }
    let text = format!("Sent to {}. It stays in their inbox until they have it.", routed.to);
    Answer::new(text, Value::Object(value))
}

fn routing(routed: &Routed<'_>, target: &str) -> Value {
    let mut routing = Map::new();
    routing.insert("sender".into(), routed.sender.into());
    routing.extend(routed.sender_color.map(|color| ("senderColor".to_owned(), color.into())));
    routing.insert("target".into(), target.into());
    routing.extend(routed.to_color.map(|color| ("targetColor".to_owned(), color.into())));
    routing.extend(routed.summary.map(|summary| ("summary".to_owned(), summary.into())));
    routing.insert("content".into(), routed.text.into());
    Value::Object(routing)
}

/// Returns the answer to a broadcast, with the members it reached and those it did not.
pub fn broadcast(routed: &Routed<'_>, reached: &[String], missed: &[String], rules: Rules) -> Answer {
    if reached.is_empty() && missed.is_empty() {
        let message = "No teammates to broadcast to (you are the only team member)";
        return said_or(json!({ "success": true, "message": message, "recipients": [] }), message, rules);
    }
    let message = format!("Message broadcast to {} teammate(s): {}", reached.len(), reached.join(", "));
    let value = json!({
        "success": true, "message": message, "recipients": reached, "routing": routing(routed, "@team"),
    });
    if missed.is_empty() {
        return said_or(value, &format!("Sent to {}: {}.", reached.len(), reached.join(", ")), rules);
    }
    let text = format!("Sent to {}: {}. NOT sent to {}.", reached.len(), reached.join(", "), missed.join(", "));
    Answer::error(text).with(value)
}

/// Returns the answer to a sent shutdown request.
pub fn asked_to_end(to: &str, request: &str, rules: Rules) -> Answer {
    let message = format!("Shutdown request sent to {to}. Request ID: {request}");
    let value = json!({ "success": true, "message": message, "request_id": request, "target": to });
    said_or(value, &message, rules)
}

/// Returns the answer after a shutdown request was approved or rejected.
pub fn answered_shutdown(agent: &str, request: &str, rejection: Option<&str>, rules: Rules) -> Answer {
    let message = match rejection {
        None => format!("Shutdown approved. Sent confirmation to team-lead. Agent {agent} is now exiting."),
        Some(reason) => format!("Shutdown rejected. Reason: \"{reason}\". Continuing to work."),
    };
    let ours = match rejection {
        None => "You have left the team, and your open tasks were given back. Stop here.".to_owned(),
        Some(_) => message.clone(),
    };
    said_or(json!({ "success": true, "message": message, "request_id": request }), &ours, rules)
}

/// Returns the answer after a plan was submitted.
pub fn plan_shown(lead: &str, request: &str) -> Answer {
    let text = format!(
        "Your plan was sent to {lead} (request {request}). Do not start a task until the answer is in your inbox."
    );
    Answer::new(text, json!({ "success": true, "request_id": request }))
}

/// Returns the answer after a plan was approved or rejected.
pub fn answered_plan(to: &str, request: &str, rejection: Option<&str>, rules: Rules) -> Answer {
    let message = match rejection {
        None => {
            format!("Plan approved for {to}. They will receive the approval and can proceed with implementation.")
        }
        Some(feedback) => format!("Plan rejected for {to} with feedback: \"{feedback}\""),
    };
    said_or(json!({ "success": true, "message": message, "request_id": request }), &message, rules)
}

/// Returns the answer if the recipient cannot be reached.
pub fn unreachable(unreachable: &Unreachable, rules: Rules) -> Answer {
    let (Unreachable::NoSuchMember { name, .. } | Unreachable::AnotherTeam { name, .. }) = unreachable;
    if rules.is_client() {
        let message = format!("No agent named '{name}' is reachable.\nUse ListAgents to see everyone you can message.");
        return said(json!({ "success": false, "message": message }), rules);
    }
    let reachable = match unreachable {
        Unreachable::NoSuchMember { reachable, .. } => format!(" You can reach: {}.", reachable.join(", ")),
        Unreachable::AnotherTeam { .. } => String::new(),
    };
    let text = format!("Not sent: {unreachable}.{reachable}");
    Answer::error(text.as_str()).with(json!({ "success": false, "message": text }))
}

fn said_or(value: Value, ours: &str, rules: Rules) -> Answer {
    if rules.is_client() { said(value, rules) } else { Answer::new(ours, value) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;
    use super::{SendMessage, Unsendable};
    use crate::{ClientVersion, Rules};

    const OLD: Rules = Rules::Client(ClientVersion::V2_1_34);
    const NEW: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn refused(input: Value, rules: Rules) -> String {
        match read(&input, rules) {
            Err(Unsendable::Input(error)) => error.to_string(),
            Err(Unsendable::Answer(answer)) => answer.text,
            Ok(sent) => panic!("{sent:?}"),
        }
    }

    #[test]
    fn both_generations_of_input_are_taken_in_our_rules() {
        let message = SendMessage::Message { to: "bob".into(), text: "hi".into(), summary: Some("s".into()) };
        let old = json!({"type": "message", "recipient": "bob", "content": "hi", "summary": "s"});
        let new = json!({"to": "bob", "message": "hi", "summary": "s"});
        for (input, rules) in [(&old, OLD), (&old, Rules::Strict), (&new, NEW), (&new, Rules::Strict)] {
            assert_eq!(read(input, rules).unwrap(), message);
        }
        let all = json!({"to": "*", "message": "hi"});
        assert!(matches!(read(&all, Rules::Strict), Ok(SendMessage::Broadcast { .. })));
        assert!(refused(all, NEW).contains("no longer supported"));
    }

    #[test]
    fn what_the_older_client_misses_is_named_in_its_words() {
        let missing = |name: &str| {
            format!(
                "InputValidationError: SendMessage failed due to the following issue:\nThe required parameter `{name}` is missing"
            )
        };
        assert_eq!(refused(json!({"type": "message", "recipient": "bob", "content": "x"}), OLD), missing("summary"));
        assert_eq!(refused(json!({"type": "message", "content": "x", "summary": "s"}), OLD), missing("recipient"));
        assert!(refused(json!({"type": "shout"}), OLD).contains("No matching discriminator"));
        assert_eq!(
            refused(json!({"type": "shutdown_response", "request_id": "x", "approve": false}), OLD),
            "content (reason) is required when rejecting a shutdown request"
        );
        assert_eq!(refused(json!({"to": " ", "message": "x"}), Rules::Strict), "recipient must not be empty");
    }

    #[test]
    fn strict_rules_send_nothing_that_they_would_have_to_cut() {
        let answer = json!({"type": "shutdown_response", "request_id": "r", "approve": true, "reason": "done"});
        for (input, named) in [
            (
                json!({"to": "bob", "message": {"type": "shutdown_request"}, "summary": "s"}),
                "`summary` goes with a text",
            ),
            (json!({"to": "bob", "message": {"type": "shutdown_request", "why": "x"}}), "`message.why`"),
            (json!({"to": "team-lead", "message": answer}), "an approval carries no `reason`"),
            (json!({"type": "broadcast", "recipient": "bob", "content": "x", "summary": "s"}), "`recipient`"),
        ] {
            let text = refused(input.clone(), Rules::Strict);
            assert!(text.contains(named), "{input}: {text}");
        }
    }

    #[test]
    fn requests_and_answers_come_as_objects() {
        let read = |message: Value| read(&json!({"to": "bob", "message": message}), NEW).unwrap();
        assert_eq!(
            read(json!({"type": "shutdown_request", "reason": "bye"})),
            SendMessage::ShutdownRequest { to: "bob".into(), reason: Some("bye".into()) }
        );
        assert_eq!(
            read(json!({"type": "plan_approval_response", "request_id": "r", "approve": false, "feedback": "fix"})),
            SendMessage::PlanApprovalResponse { to: "bob".into(), request: "r".into(), rejection: Some("fix".into()) }
        );
        assert_eq!(
            read(json!({"type": "shutdown_response", "request_id": "r", "approve": true})),
            SendMessage::ShutdownResponse { request: "r".into(), rejection: None, addressed: None }
        );
    }
}

//! What `SendMessage` takes.

use serde_json::{Map, Value};

use super::old_form::{OLD_TOOL, read_old};
use crate::rules::gate::System;
use crate::tools::schema::{Field, Object, Shape, Unknown};
use crate::tools::{Annotations, Answer, InputError, Tool, ToolSet};
use crate::{ClientVersion, Rules};

/// Writes to others.
pub const TOOL: Tool = Tool {
    name: "SendMessage",
    description: "Write to a member of your team, or to all of them with to \"*\". What you write as plain text outside of this \
        tool reaches nobody. Give a summary of a few words. An object as message asks a member to end (shutdown_request), \
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
    annotations: Annotations::ADDS,
    set: ToolSet::Team,
    system: System::Tasks,
};

/// Writes to others, as the newest client has it: nobody can be written to by `*`.
const CLIENTS_TOOL: Tool = Tool {
    description: "Write to a member of your team; call once per member to reach several. What you write as plain text outside of \
        this tool reaches nobody. Give a summary of a few words. An object as message asks a member to end (shutdown_request), \
        answers such a request (shutdown_response), shows the lead your plan (plan_approval_request) or answers one \
        (plan_approval_response).",
    ..TOOL
};

/// Returns the tool as it is in these rules.
pub const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(ClientVersion::V2_1_34) => &OLD_TOOL,
        Rules::Client(ClientVersion::V2_1_325) => &CLIENTS_TOOL,
    }
}

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

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendMessage {
    /// Words for one.
    Message {
        /// Who they are for.
        to: String,
        /// The words.
        text: String,
        /// The same in a few.
        summary: Option<String>,
    },
    /// Words for all.
    Broadcast {
        /// The words.
        text: String,
        /// The same in a few.
        summary: Option<String>,
    },
    /// A member is asked to end.
    ShutdownRequest {
        /// Who.
        to: String,
        /// Why.
        reason: Option<String>,
    },
    /// A request to end is answered.
    ShutdownResponse {
        /// The request.
        request: String,
        /// Why not; none where it is approved.
        rejection: Option<String>,
    },
    /// A plan is shown to the lead.
    PlanApprovalRequest {
        /// The plan.
        plan: String,
    },
    /// A plan is answered.
    PlanApprovalResponse {
        /// Whose.
        to: String,
        /// The request.
        request: String,
        /// What is to be changed; none where it is approved.
        rejection: Option<String>,
    },
}

/// Why an input cannot be sent.
#[derive(Debug)]
pub enum Unsendable {
    /// It is not as it should be.
    Input(InputError),
    /// It is, and cannot be done; this is the answer.
    Answer(Answer),
}

impl From<InputError> for Unsendable {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// Reads an input of either generation: the older client's form is taken in our rules, too.
pub fn read(input: &Value, rules: Rules) -> Result<SendMessage, Unsendable> {
    let is_old_form = input.get("type").is_some() && input.get("to").is_none();
    match rules {
        Rules::Client(ClientVersion::V2_1_34) => read_old(input, rules),
        Rules::Strict if is_old_form => read_old(input, rules),
        Rules::Strict | Rules::Client(ClientVersion::V2_1_325) => read_new(input, rules),
    }
}

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
    Ok(match object.get("type").and_then(Value::as_str) {
        Some("shutdown_request") => SendMessage::ShutdownRequest { to: named(to)?, reason: text("reason") },
        Some("shutdown_response") => {
            let rejection =
                rejection(is_approved, text("reason"), "reason is required when rejecting a shutdown request")?;
            SendMessage::ShutdownResponse { request, rejection }
        }
        Some("plan_approval_request") => SendMessage::PlanApprovalRequest { plan: text("plan").unwrap_or_default() },
        _ => SendMessage::PlanApprovalResponse {
            to: named(to)?,
            request,
            rejection: (!is_approved).then(|| text("feedback").unwrap_or_default()),
        },
    })
}

pub(super) fn named(to: String) -> Result<String, Unsendable> {
    if to.trim().is_empty() { Err(refuse("recipient must not be empty")) } else { Ok(to) }
}

pub(super) fn rejection(
    is_approved: bool,
    reason: Option<String>,
    missing: &str,
) -> Result<Option<String>, Unsendable> {
    match (is_approved, reason.filter(|reason| !reason.is_empty())) {
        (true, _) => Ok(None),
        (false, Some(reason)) => Ok(Some(reason)),
        (false, None) => Err(refuse(missing)),
    }
}

fn refuse(text: &str) -> Unsendable {
    Unsendable::Answer(Answer::error(text))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SendMessage, Unsendable, read};
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
            SendMessage::ShutdownResponse { request: "r".into(), rejection: None }
        );
    }
}

//! What `SendMessage` answers.

use serde_json::{Map, Value, json};

use crate::Rules;
use crate::rules::teams::mailing::Unreachable;
use crate::tools::Answer;
use crate::tools::said::said;

/// A message that lies in an inbox.
#[derive(Clone, Copy, Debug)]
pub struct Routed<'a> {
    /// The name of the member that sent it.
    pub sender: &'a str,
    /// The colour of who sent it.
    pub sender_color: Option<&'a str>,
    /// The name of the recipient.
    pub to: &'a str,
    /// The colour of who it is for.
    pub to_color: Option<&'a str>,
    /// The text for the recipient's model.
    pub text: &'a str,
    /// The text in a few words.
    pub summary: Option<&'a str>,
    /// The id of the message; none from older clients.
    pub msg_id: Option<&'a str>,
}

/// Returns the answer where a message lies in an inbox.
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

/// Returns the answer to a message for all: whom it reached, and whom it did not.
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

/// Returns the answer to a request to end.
pub fn asked_to_end(to: &str, request: &str, rules: Rules) -> Answer {
    let message = format!("Shutdown request sent to {to}. Request ID: {request}");
    let value = json!({ "success": true, "message": message, "request_id": request, "target": to });
    said_or(value, &message, rules)
}

/// Returns the answer where a request to end was answered.
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

/// Returns the answer where a plan was shown.
pub fn plan_shown(lead: &str, request: &str) -> Answer {
    let text =
        format!("Your plan was sent to {lead} (request {request}). Start nothing before the answer is in your inbox.");
    Answer::new(text, json!({ "success": true, "request_id": request }))
}

/// Returns the answer where a plan was answered.
pub fn answered_plan(to: &str, request: &str, rejection: Option<&str>, rules: Rules) -> Answer {
    let message = match rejection {
        None => {
            format!("Plan approved for {to}. They will receive the approval and can proceed with implementation.")
        }
        Some(feedback) => format!("Plan rejected for {to} with feedback: \"{feedback}\""),
    };
    said_or(json!({ "success": true, "message": message, "request_id": request }), &message, rules)
}

/// Returns the answer where no member of that name can be written to.
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

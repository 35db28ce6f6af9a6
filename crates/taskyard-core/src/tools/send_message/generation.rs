//! Which generation of the form is taken.

use serde_json::Value;

use super::form::{CLIENTS_TOOL, TOOL, read_new};
use super::message::{SendMessage, Unsendable};
use super::old_form::{OLD_TOOL, read_old};
use crate::tools::Tool;
use crate::{ClientVersion, Rules};

/// Returns the tool as it is in these rules.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(ClientVersion::V2_1_34) => &OLD_TOOL,
        Rules::Client(ClientVersion::V2_1_325) => &CLIENTS_TOOL,
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::message::{SendMessage, Unsendable};
    use super::read;
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

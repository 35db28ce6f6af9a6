//! Reading a message: what is a JSON-RPC message goes on, what is none is told so. Specified in `docs/formats/mcp.md`.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode};
use serde_json::{Value, json};
use taskyard::core::json_text::parseable;

/// What some programs put before their text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The keys by which an answer is known.
const ANSWERS: [&str; 2] = ["result", "error"];

/// What is said about something that is no message: one JSON-RPC error, or an array of them.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault(Value);

impl Fault {
    /// Returns the fault of a message that could not be read at all.
    pub(crate) fn unreadable(why: &str) -> Self {
        Self(error(ErrorCode::PARSE_ERROR, why, Value::Null))
    }

    /// Returns the fault of a message that is too long to be read; its id is null if it has none.
    pub(crate) fn too_long(longest: usize, id: Option<Value>) -> Self {
        let why = format!("a message may have {longest} bytes");
        match id {
            Some(id) => Self(error(ErrorCode::INVALID_REQUEST, &why, id)),
            None => Self::unreadable(&why),
        }
    }

    /// Returns the fault of a request whose id belongs to one that is still being answered.
    pub(crate) fn id_in_use(id: Value) -> Self {
        Self(error(ErrorCode::INVALID_REQUEST, "a request with this id is still being answered", id))
    }

    /// Returns it as it is sent.
    pub(crate) fn into_json(self) -> Value {
        self.0
    }
}

/// Replaces halves of surrogate pairs in a message, which are valid to the client and to no other program. What holds none is passed on.
pub(crate) fn with_whole_characters(bytes: Vec<u8>) -> Vec<u8> {
    match parseable(&bytes) {
        std::borrow::Cow::Borrowed(_) => bytes,
        std::borrow::Cow::Owned(replaced) => replaced,
    }
}

/// Reads a message of whole characters; none where there is nothing to read, or a notification that means nothing to us.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Fault> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Ok(None);
    }
    let message = serde_json::from_slice::<ClientJsonRpcMessage>(bytes);
    if let Ok(request @ ClientJsonRpcMessage::Request(_)) = message {
        return Ok(Some(request));
    }
    // A request with an id that is none would pass for a notification, and never be answered.
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) if std::str::from_utf8(bytes).is_err() => {
            return Err(Fault::unreadable(&format!("this is no UTF-8: {error}")));
        }
        Err(error) => return Err(Fault::unreadable(&format!("this is no JSON that can be read: {error}"))),
    };
    match judge(&value) {
        Shape::Notification => Ok(message.ok()),
        Shape::Answer => message.map(Some).map_err(|_| not_a_request(&value)),
        Shape::Other => Err(not_a_request(&value)),
    }
}

/// What something looks like that could not be read as a request.
enum Shape {
    Notification,
    Answer,
    Other,
}

fn judge(value: &Value) -> Shape {
    let is_answer = ANSWERS.iter().any(|key| value.get(key).is_some());
    match (value.get("jsonrpc").and_then(Value::as_str), value.get("method"), value.get("id")) {
        (Some("2.0"), Some(Value::String(_)), None) => Shape::Notification,
        (Some("2.0"), None, _) if is_answer => Shape::Answer,
        _ => Shape::Other,
    }
}

/// Says that something is no request, by its id where it has one. A batch is answered for each request in it.
fn not_a_request(value: &Value) -> Fault {
    let Some(batch) = value.as_array() else {
        return Fault(error(ErrorCode::INVALID_REQUEST, "this is no request", id_of(value)));
    };
    let refuse = |id| error(ErrorCode::INVALID_REQUEST, "batches are not answered; send one message at a time", id);
    let is_request = |value: &&Value| !matches!(judge(value), Shape::Notification | Shape::Answer);
    let refused: Vec<Value> = batch.iter().filter(is_request).map(|value| refuse(id_of(value))).collect();
    Fault(if refused.is_empty() { refuse(Value::Null) } else { Value::Array(refused) })
}

fn id_of(value: &Value) -> Value {
    value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default()
}

fn error(code: ErrorCode, message: &str, id: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": message } })
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientJsonRpcMessage;
    use serde_json::{Value, json};

    use super::{read, with_whole_characters};

    fn fault(bytes: &[u8]) -> Value {
        read(bytes).unwrap_err().into_json()
    }

    fn code_and_id(bytes: &[u8]) -> (Value, Value) {
        let fault = fault(bytes);
        (fault["error"]["code"].clone(), fault["id"].clone())
    }

    #[test]
    fn what_is_no_json_is_a_parse_error() {
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}}}"#, "[".repeat(999), "]".repeat(999));
        for bytes in [&b"x"[..], b"{", b"\xff\xfe", br#"{"jsonrpc":"2.0","id":1,"method":"pi"#, deep.as_bytes(), b"1 2"]
        {
            assert_eq!(code_and_id(bytes), (json!(-32700), Value::Null), "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(code_and_id(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\"}").0, -32700);
    }

    #[test]
    fn json_that_is_no_request_is_answered_by_its_id() {
        for (text, id) in [
            (r#"null"#, Value::Null),
            (r#"{}"#, Value::Null),
            (r#"{"id":7}"#, json!(7)),
            (r#"{"id":"a","method":"ping"}"#, json!("a")),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":1}"#, json!(7)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null),
            (r#"{"jsonrpc":"2.0"}"#, Value::Null),
        ] {
            assert_eq!(code_and_id(text.as_bytes()), (json!(-32600), id), "{text}");
        }
    }

    #[test]
    fn a_batch_is_refused_for_each_of_its_requests() {
        let request = |id: u8| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let batch =
            format!(r#"[{},{{"jsonrpc":"2.0","method":"notifications/initialized"}},{},1]"#, request(1), request(2));
        let refused = fault(batch.as_bytes());
        let ids: Vec<&Value> = refused.as_array().unwrap().iter().map(|error| &error["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!(2), &Value::Null]);
        assert_eq!(code_and_id(b"[]"), (json!(-32600), Value::Null));
    }

    #[test]
    fn messages_go_on_and_notifications_without_a_meaning_are_passed_over() {
        let is_request = |text: &str| matches!(read(text.as_bytes()), Ok(Some(ClientJsonRpcMessage::Request(_))));
        assert!(is_request(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
        assert!(is_request("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"no/such\"}\r"));
        for text in ["", " \r", r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#] {
            assert!(matches!(read(text.as_bytes()), Ok(None | Some(ClientJsonRpcMessage::Notification(_)))), "{text}");
        }
        assert!(read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap().is_some());
    }

    #[test]
    fn half_a_surrogate_pair_is_taken_as_a_replacement_mark() {
        let text = br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud83d"}}"#.to_vec();
        let whole = with_whole_characters(text);
        assert!(read(&whole).unwrap().is_some());
        assert!(String::from_utf8(whole).unwrap().contains(r"\ufffd"));
    }
}

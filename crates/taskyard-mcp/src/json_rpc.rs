//! Parses JSON-RPC messages, and finds the id of a message that is too long.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode};
use serde_json::{Value, json};
use taskyard::core::json_text::parseable;

/// A byte order mark, which some programs put before their text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The keys that identify a response.
const ANSWERS: [&str; 2] = ["result", "error"];

/// The reply to an invalid message: one JSON-RPC error, or an array of them.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault(Value);

impl Fault {
    /// Returns the fault for a message that could not be parsed.
    pub(crate) fn unreadable(why: &str) -> Self {
        Self(error(ErrorCode::PARSE_ERROR, why, Value::Null))
    }

    /// Returns the fault for a message that is too long; `id` is its id, if it has one.
    pub(crate) fn too_long(longest: usize, id: Option<Value>) -> Self {
        let why = format!("the message is too large (the limit is {longest} bytes)");
        match id {
            Some(id) => Self(error(ErrorCode::INVALID_REQUEST, &why, id)),
            None => Self::unreadable(&why),
        }
    }

    /// Returns the fault for a request whose id is already in use.
    pub(crate) fn id_in_use(id: Value) -> Self {
        Self(error(ErrorCode::INVALID_REQUEST, "a request with this id is still being answered", id))
    }

    pub(crate) fn into_json(self) -> Value {
        self.0
    }
}

/// Replaces lone surrogates in a message, which are valid for the client but for no other program. Other messages are
/// returned unchanged.
pub(crate) fn with_whole_characters(bytes: Vec<u8>) -> Vec<u8> {
    match parseable(&bytes) {
        std::borrow::Cow::Borrowed(_) => bytes,
        std::borrow::Cow::Owned(replaced) => replaced,
    }
}

/// Parses a message without lone surrogates; `None` if it is empty, or a notification that has no meaning here.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Fault> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Ok(None);
    }
    let message = serde_json::from_slice::<ClientJsonRpcMessage>(bytes);
    if let Ok(request @ ClientJsonRpcMessage::Request(_)) = message {
        return Ok(Some(request));
    }
    // A request with an invalid id would be taken for a notification, and never be answered.
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) if std::str::from_utf8(bytes).is_err() => {
            return Err(Fault::unreadable(&format!("the message is not UTF-8: {error}")));
        }
        Err(error) => return Err(Fault::unreadable(&format!("the message is not valid JSON: {error}"))),
    };
    match judge(&value) {
        Shape::Notification => Ok(message.ok()),
        Shape::Answer => message.map(Some).map_err(|_| not_a_request(&value)),
        Shape::Other => Err(not_a_request(&value)),
    }
}

/// The kind of a message that could not be parsed as a request.
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

/// Returns the fault for a message that is not a valid request. For a batch, it has an error for each request.
fn not_a_request(value: &Value) -> Fault {
    let Some(batch) = value.as_array() else {
        return Fault(error(ErrorCode::INVALID_REQUEST, "not a valid request", id_of(value)));
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

/// The maximum length of an id.
const LONGEST: usize = 256;

/// Scans a JSON object incrementally and keeps the value of its key `id`, wherever it is.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    /// The number of open objects and arrays.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// The key or scalar value of the outermost object that is being scanned, unless it is too long.
    token: Vec<u8>,
    /// Whether `token` is the value of the key `id`.
    is_of_id: bool,
    id: Option<Value>,
}

impl IdScanner {
    /// Scans the next piece.
    pub(crate) fn scan(&mut self, piece: &[u8]) {
        piece.iter().for_each(|byte| self.read(*byte));
    }

    /// Returns the id, a string or a number, if there is one.
    pub(crate) fn id(self) -> Option<Value> {
        self.id
    }

    fn read(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'{' | b'[' => {
                // Values that are objects or arrays are not kept.
                self.token.clear();
                self.depth += 1;
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_value(),
            b':' if self.depth == 1 => {
                self.is_of_id = self.token == br#""id""#;
                self.token.clear();
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                self.in_string = byte == b'"';
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= LONGEST {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        if std::mem::take(&mut self.is_of_id) {
            let id = serde_json::from_slice(&self.token).ok();
            self.id = id.filter(|id: &Value| id.is_string() || id.is_number());
        }
        self.token.clear();
    }
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
    fn messages_go_on_past_meaningless_notifications() {
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

#[cfg(test)]
mod id_scanner_tests {
    use serde_json::{Value, json};

    use super::IdScanner;

    fn id_in(text: &str) -> Option<Value> {
        // In pieces of every length.
        let ids: Vec<Option<Value>> = (1..=text.len())
            .map(|length| {
                let mut scanner = IdScanner::default();
                text.as_bytes().chunks(length).for_each(|piece| scanner.scan(piece));
                scanner.id()
            })
            .collect();
        assert!(ids.windows(2).all(|two| two[0] == two[1]), "{ids:?}");
        ids[0].clone()
    }

    #[test]
    fn id_is_found_wherever_it_stands() {
        assert_eq!(id_in(r#"{"id":7,"params":{"id":8,"text":"\"id\":9"}}"#), Some(json!(7)));
        assert_eq!(id_in(r#"{"params":{"id":8,"a":[{"id":1},"}"]}, "id" : "a\"b" }"#), Some(json!("a\"b")));
        assert_eq!(id_in(r#"{"method":"id","id":-1.5}"#), Some(json!(-1.5)));
    }

    #[test]
    fn message_without_a_plain_id_has_none() {
        for text in
            [r#"{"params":{"id":8}}"#, r#"{"id":{"id":1}}"#, r#"{"id":null}"#, r#"[{"id":1}]"#, "nonsense", "}}"]
        {
            assert_eq!(id_in(text), None, "{text}");
        }
        assert_eq!(id_in(&format!(r#"{{"id":"{}"}}"#, "x".repeat(300))), None);
    }
}

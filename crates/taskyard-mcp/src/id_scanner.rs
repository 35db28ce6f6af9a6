//! Finding the id of a message without keeping the message.

use serde_json::Value;

/// A longer id is not kept.
const LONGEST: usize = 256;

/// Reads a JSON object piece by piece and keeps the value of its key `id`, wherever it stands.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    /// How many objects and arrays are open.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// The key or the plain value of the outermost object that is being read, as far as it is short.
    token: Vec<u8>,
    /// Whether that is the value of the key `id`.
    is_of_id: bool,
    id: Option<Value>,
}

impl IdScanner {
    /// Reads the next piece.
    pub(crate) fn scan(&mut self, piece: &[u8]) {
        piece.iter().for_each(|byte| self.read(*byte));
    }

    /// Returns the id: a text or a number.
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
                // Of a value that is an object or an array nothing is kept.
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
    use serde_json::{Value, json};

    use super::IdScanner;

    fn id_in(text: &str) -> Option<Value> {
        // In pieces of every length, as they may come.
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

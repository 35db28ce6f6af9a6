//! JSON that is safe to look at.

use std::io::{self, Write};

use serde_json::ser::{CompactFormatter, Formatter};

use crate::render::escaping::is_unsafe;

/// Writes JSON on one line, with every character escaped that could steer a terminal. It reads as the same text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Careful;

impl Formatter for Careful {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Everything below 0x7f that could do harm is escaped already.
        if fragment.bytes().all(|byte| byte < 0x7f) {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
        let mut rest = fragment;
        while let Some((at, found)) = rest.char_indices().find(|(_, character)| is_unsafe(*character)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in found.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + found.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;
    use serde_json::{Serializer, Value, json};

    use super::Careful;

    #[test]
    fn what_could_steer_a_terminal_is_escaped_and_reads_as_the_same_text() {
        let value = json!({"a\u{9b}": "x\u{1b}[2J\u{7f}\u{9b}31m \u{202e}\u{e0041} Grüße 日本"});
        let mut text = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut text, Careful)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, r#"{"a\u009b":"x\u001b[2J\u007f\u009b31m \u202e\udb40\udc41 Grüße 日本"}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}

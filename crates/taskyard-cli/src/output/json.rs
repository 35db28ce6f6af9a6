//! Writing answers as JSON, specified in `docs/formats/json-output.md`.

use serde::Serialize;
use serde_json::Serializer;
use taskyard::core::answers::document::Document;

use super::careful::Careful;

/// Returns an answer as its bytes, on one line.
pub(crate) fn json_document(body: impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail, and what we write has keys of text.
    let _ = Document::new(body, None).serialize(&mut Serializer::with_formatter(&mut bytes, Careful));
    bytes
}

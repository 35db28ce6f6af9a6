//! Answers that the client gives as JSON.

use serde_json::Value;

use super::Answer;
use crate::dialect::native;
use crate::{ClientVersion, Rules};

/// Returns an answer whose text is its structure, as the client writes it: on many lines before 2.1.100, on one since.
pub(super) fn said(value: Value, rules: Rules) -> Answer {
    let text = match rules.client_version() {
        ClientVersion::V2_1_34 => native::stringify(&value),
        ClientVersion::V2_1_325 => value.to_string(),
    };
    Answer::new(text, value)
}

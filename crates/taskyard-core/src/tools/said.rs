//! What answers say as the client says it.

use std::borrow::Cow;

use serde_json::Value;

use super::Answer;
use crate::dialect::native;
use crate::{ClientVersion, Rules, Task};

/// Returns the subject of a task: as it is written in the client's rules, as it is shown in ours.
pub(super) fn subject_told(task: &Task, rules: Rules) -> Cow<'_, str> {
    if rules.is_client() { Cow::Borrowed(&task.subject) } else { task.shown_subject() }
}

/// Returns an answer whose text is its structure, as the client writes it: on many lines before 2.1.100, on one since.
pub(super) fn said(value: Value, rules: Rules) -> Answer {
    let text = match rules.client_version() {
        ClientVersion::V2_1_34 => native::stringify(&value),
        ClientVersion::V2_1_325 => value.to_string(),
    };
    Answer::new(text, value)
}

//! What answers say as the client says it, and the shapes that several of them have.

use std::borrow::Cow;

use serde_json::Value;

use super::Answer;
use super::schema::{Field, Object, Shape};
use crate::dialect::native;
use crate::{ClientVersion, Rules, Task};

/// The ids of tasks.
pub(super) const IDS: Shape = Shape::List(&Shape::Text);
/// The words for a status.
pub(super) const STATUSES: Shape = Shape::Choice(&["pending", "in_progress", "completed"]);
/// A text, or none.
pub(super) const TEXT_OR_NONE: Shape = Shape::AnyOf(&[Shape::Text, Shape::Null]);
/// A task in the client's own form.
pub(super) const NATIVE_TASK: Shape = Shape::Object(Object::answer(&[
    Field::required("id", Shape::Text),
    Field::required("subject", Shape::Text),
    Field::required("description", Shape::Text),
    Field::optional("activeForm", Shape::Text),
    Field::optional("owner", Shape::Text),
    Field::required("status", STATUSES),
    Field::required("blocks", IDS),
    Field::required("blockedBy", IDS),
    Field::optional("metadata", Shape::Record),
]));

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

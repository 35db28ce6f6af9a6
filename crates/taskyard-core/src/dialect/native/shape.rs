//! The native shape of a task in our own JSON output.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Metadata, Status, Task, TaskId};

/// Serializes a task with the client's keys in the client's order, absent ones left out, unknown ones at the end.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a>(pub &'a Task);

/// A task. It may have other keys, which are kept as they are.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskKeys<'a> {
    /// The name of its file, which commands accept
    id: &'a str,
    /// The title
    subject: &'a str,
    /// What there is to do
    description: &'a str,
    /// What is being done, while it is in progress
    #[serde(skip_serializing_if = "Option::is_none")]
    active_form: Option<&'a str>,
    /// The agent that has it; empty if none has
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    /// Its state
    status: Status,
    /// The tasks that wait for it
    blocks: Ids<'a>,
    /// The tasks it waits for
    blocked_by: Ids<'a>,
    /// What else is kept with it
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

impl Serialize for Shape<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Task {
            id,
            stated_id: _,
            subject,
            description,
            active_form,
            owner,
            status,
            blocks,
            blocked_by,
            metadata,
            extra,
        } = self.0;
        let keys = TaskKeys {
            id: id.as_str(),
            subject,
            description,
            active_form: active_form.as_deref(),
            owner: owner.as_deref(),
            status: *status,
            blocks: Ids(blocks),
            blocked_by: Ids(blocked_by),
            metadata: metadata.as_ref(),
            extra,
        };
        keys.serialize(serializer)
    }
}

impl JsonSchema for Shape<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Task".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TaskKeys::json_schema(generator)
    }
}

/// Ids as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids<'a>(pub &'a [TaskId]);

impl Ids<'_> {
    /// Tells whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(TaskId::as_str))
    }
}

impl JsonSchema for Ids<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Ids".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<String>>::json_schema(generator)
    }
}

//! The native shape of a task in our own JSON output.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::{Task, TaskId};

/// Serializes a task with the client's keys in the client's order, absent ones left out, unknown ones at the end.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a>(pub &'a Task);

impl Serialize for Shape<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", task.id.as_str())?;
        map.serialize_entry("subject", &task.subject)?;
        map.serialize_entry("description", &task.description)?;
        if let Some(active_form) = &task.active_form {
            map.serialize_entry("activeForm", active_form)?;
        }
        if let Some(owner) = &task.owner {
            map.serialize_entry("owner", owner)?;
        }
        map.serialize_entry("status", task.status.as_str())?;
        map.serialize_entry("blocks", &Ids(&task.blocks))?;
        map.serialize_entry("blockedBy", &Ids(&task.blocked_by))?;
        if let Some(metadata) = &task.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        for (key, value) in &task.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

struct Ids<'a>(&'a [TaskId]);

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
        for id in self.0 {
            seq.serialize_element(id.as_str())?;
        }
        seq.end()
    }
}

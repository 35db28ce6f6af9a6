//! The shapes of our JSON output, specified in `docs/formats/json-output.md`.

use serde::ser::{Serialize, SerializeMap, Serializer as Writer};
use serde_json::{Serializer, Value, json};
use taskyard::core::dialect::native::Shape;
use taskyard::core::rules::history::taking_back::{LostValue, lost_values};
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::{Entry, Image, Lease, ListId, Loss, Task, TaskId};

use super::careful::Careful;

/// One answer: the schema first, then what the command has to say, and the list where it has to be named.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Document<T> {
    schema: Schema,
    #[serde(flatten)]
    body: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<String>,
}

impl<T> Document<T> {
    /// Returns the answer with this body, and the list it is about where that is not the one of the directory.
    pub(crate) fn new(body: T, other_list: Option<&ListId>) -> Self {
        Self { schema: Schema, body, list: other_list.map(|list| list.as_str().to_owned()) }
    }
}

/// Returns an answer as its bytes, on one line.
pub(crate) fn json_document(body: impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail, and what we write has keys of text.
    let _ = Document::new(body, None).serialize(&mut Serializer::with_formatter(&mut bytes, Careful));
    bytes
}

/// The name and version of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema;

impl Serialize for Schema {
    fn serialize<S: Writer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("taskyard/1")
    }
}

/// Tasks in the native shape, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes<'a>(pub(crate) &'a [Task]);

impl Serialize for Shapes<'_> {
    fn serialize<S: Writer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Shape))
    }
}

/// Ids as text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids<'a>(pub(crate) &'a [TaskId]);

impl Serialize for Ids<'_> {
    fn serialize<S: Writer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(TaskId::as_str))
    }
}

/// The lease on a task, as JSON shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseShape<'a>(pub(crate) &'a (Lease, LeaseState));

impl Serialize for LeaseShape<'_> {
    fn serialize<S: Writer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (lease, state) = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("task", lease.task.as_str())?;
        map.serialize_entry("agent", lease.agent.as_str())?;
        map.serialize_entry("token", &lease.token.0)?;
        map.serialize_entry("takenAt", &lease.taken.to_string())?;
        map.serialize_entry("expiresAt", &ends_at(lease, state))?;
        map.serialize_entry("state", state_word(state))?;
        map.serialize_entry("pid", &lease.holder.as_ref().map(|holder| holder.process().pid))?;
        map.end()
    }
}

/// Returns when a lease ends unless it is renewed or its process shows life; null where neither is foreseen.
fn ends_at(lease: &Lease, state: &LeaseState) -> Option<String> {
    state.ends().map_or_else(|| expires_at(lease), |end| Some(end.wall.to_string()))
}

fn state_word(state: &LeaseState) -> &'static str {
    match state {
        LeaseState::Live => "live",
        LeaseState::Lapsing(_) => "lapsing",
        LeaseState::Unseen(_) => "unseen",
        LeaseState::TimeIsOver | LeaseState::ProcessEnded | LeaseState::Silent => "ended",
    }
}

/// Returns when time ends a lease; null where it does not.
pub(crate) fn expires_at(lease: &Lease) -> Option<String> {
    lease.ends.as_ref().map(|end| end.wall.to_string())
}

/// An entry of the journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryShape<'a>(pub(crate) &'a Entry);

impl Serialize for EntryShape<'_> {
    fn serialize<S: Writer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("revision", &entry.revision.0)?;
        map.serialize_entry("at", &entry.at.to_string())?;
        map.serialize_entry("actor", entry.actor.as_str())?;
        map.serialize_entry("op", entry.op.as_str())?;
        map.serialize_entry("task", entry.task.as_str())?;
        map.serialize_entry("before", &ImageShape(&entry.task, entry.before.as_ref()))?;
        map.serialize_entry("after", &ImageShape(&entry.task, entry.after.as_ref()))?;
        if !entry.undoes.is_empty() {
            let undoes: Vec<u64> = entry.undoes.iter().map(|revision| revision.0).collect();
            map.serialize_entry("undoes", &undoes)?;
        }
        if let Some(notice) = &entry.remark.notice {
            map.serialize_entry("notice", notice)?;
        }
        if !entry.remark.now_ready.is_empty() {
            map.serialize_entry("nowReady", &Ids(&entry.remark.now_ready))?;
        }
        if !entry.remark.taken_back.is_empty() {
            map.serialize_entry("takenBack", &lost_shapes(entry, &entry.remark.taken_back))?;
        }
        if let Some(user) = &entry.db_user {
            map.serialize_entry("dbUser", user)?;
        }
        map.end()
    }
}

/// Returns what a write of another program took away from ours, with both values.
pub(crate) fn lost_shapes(entry: &Entry, losses: &[Loss]) -> Vec<Value> {
    let shape = |value: LostValue| {
        json!({
            "field": value.loss.field.to_string(),
            "revision": value.loss.revision.0,
            "lost": value.lost,
            "now": value.now,
            "verdict": value.loss.verdict.as_str(),
        })
    };
    lost_values(entry, losses).into_iter().map(shape).collect()
}

/// A task as it stood on disk: the native shape, the bare text where no task can be read from it, null where there was none.
struct ImageShape<'a>(&'a TaskId, Option<&'a Image>);

impl Serialize for ImageShape<'_> {
    fn serialize<S: Writer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(image) = self.1 else { return serializer.serialize_none() };
        match image.task(self.0) {
            Ok(task) => Shape(&task).serialize(serializer),
            Err(_) => serializer.serialize_str(&String::from_utf8_lossy(image.bytes())),
        }
    }
}

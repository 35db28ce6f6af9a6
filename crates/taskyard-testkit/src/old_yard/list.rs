//! One list of an earlier release, and what its journal says.

use std::path::PathBuf;

use taskyard::core::{Entry, Image, ListId};

use super::rows::Copy;

/// A list of an earlier release.
#[derive(Clone, Debug)]
pub struct OldList {
    /// Its name.
    pub list: String,
    /// The address of the store it is in.
    pub store: String,
    /// Where its files are, or were.
    pub path: PathBuf,
    /// Our directory for it.
    pub sidecar: PathBuf,
}

impl OldList {
    /// Returns the flags that lead to it.
    pub fn flags(&self) -> String {
        format!("--list {} --store {}", self.list, self.store)
    }

    /// Returns its name.
    pub fn id(&self) -> ListId {
        ListId::new(&self.list).expect("the name of the list is a good one")
    }

    /// Returns what its journal says, as the earlier release wrote it, read past all of our own code.
    pub fn entries(&self) -> Vec<OldEntry> {
        let journal = Copy::of(&self.sidecar.join("journal.sqlite"));
        let sql = "SELECT id, at, actor, op, CAST(task AS TEXT), before, after FROM entries ORDER BY id";
        let mut statement = journal.connection.prepare(sql).expect("the query is good");
        let entries = statement.query_map([], |row| {
            Ok(OldEntry {
                revision: row.get::<_, i64>(0)?.unsigned_abs() >> 24,
                at: row.get(1)?,
                actor: row.get(2)?,
                op: row.get(3)?,
                task: row.get(4)?,
                before: row.get(5)?,
                after: row.get(6)?,
            })
        });
        entries.and_then(Iterator::collect).expect("the journal can be read")
    }

    /// Returns its leases, as the earlier release wrote them: task, agent and token.
    pub fn leases(&self) -> Vec<(String, String, u64)> {
        let journal = Copy::of(&self.sidecar.join("journal.sqlite"));
        let mut statement = journal
            .connection
            .prepare("SELECT CAST(task AS TEXT), agent, token FROM leases")
            .expect("the query is good");
        let leases =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs())));
        leases.and_then(Iterator::collect).expect("the leases can be read")
    }
}

/// An entry of a journal, as an earlier release wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldEntry {
    /// The commit it belongs to.
    pub revision: u64,
    /// When it was made, in milliseconds.
    pub at: i64,
    /// Who made it.
    pub actor: String,
    /// The word for what was done.
    pub op: String,
    /// The task.
    pub task: String,
    /// The bytes of the task's file before.
    pub before: Option<Vec<u8>>,
    /// The bytes of the task's file afterwards.
    pub after: Option<Vec<u8>>,
}

impl From<&Entry> for OldEntry {
    fn from(entry: &Entry) -> Self {
        let bytes = |image: &Option<Image>| image.as_ref().map(|image| image.bytes().to_vec());
        Self {
            revision: entry.revision.0,
            at: entry.at.0,
            actor: entry.actor.as_str().to_owned(),
            op: entry.op.as_str().to_owned(),
            task: entry.task.as_str().to_owned(),
            before: bytes(&entry.before),
            after: bytes(&entry.after),
        }
    }
}

//! What followers of a list are told of a commit: enough to apply it to the list as they know it, if they know exactly the commit before.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use taskyard::core::{
    AgentName, AttemptId, Entry, Holder, Image, Lease, Moment, Op, Revision, TaskId, Timestamp, Token,
};
use taskyard::store::kit::Commit;

use super::changes::{remark, remark_text};
use super::known_list::{Known, KnownList};
use super::lease_rows;
use crate::epoch::Epoch;
use crate::heartbeats::name_of;

/// PostgreSQL takes payloads of less than 8000 bytes.
const MOST_BYTES: usize = 7_900;

/// What a commit was made upon, and what came of it.
pub(super) struct Committed<'a> {
    pub(super) epoch: &'a Epoch,
    pub(super) base: (Revision, Option<AttemptId>),
    pub(super) commit: &'a Commit,
    /// The count of lease changes before the commit, if the commit raised it by one.
    pub(super) lease_base: Option<i64>,
    /// Whether the process that committed sends heartbeats for leases in it.
    pub(super) beats: bool,
}

/// What became of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoticeResult {
    /// The list has moved on by it.
    Applied,
    /// The list was that far already.
    AlreadyThere,
    /// Something else has to be read.
    Gap,
}

/// Returns the payload of a commit.
pub(super) fn payload(committed: &Committed<'_>) -> String {
    let whole = whole(committed).filter(|text| text.len() < MOST_BYTES);
    whole.unwrap_or_else(|| {
        let first = committed.commit.entries.first();
        let (revision, attempt) = first.map_or(committed.base, |entry| (entry.revision, entry.attempt));
        let attempt = attempt.map(|attempt| attempt.to_string());
        json!({ "epoch": committed.epoch.id(), "revision": revision.0, "attempt": attempt, "large": true }).to_string()
    })
}

/// Returns the payload with everything in it; `None` if a task is no text, or leases were renewed meanwhile.
fn whole(committed: &Committed<'_>) -> Option<String> {
    let Committed { epoch, base, commit, lease_base, beats } = committed;
    let first = commit.entries.first();
    let (revision, attempt) = first.map_or(*base, |entry| (entry.revision, entry.attempt));
    let mut entries = Vec::with_capacity(commit.entries.len());
    for entry in &commit.entries {
        let after = entry.after.as_ref().map(|image| std::str::from_utf8(image.bytes())).transpose().ok()?;
        entries.push(json!({ "task": entry.task.as_str(), "after": after, "remark": remark_text(entry) }));
    }
    let mut leases = Value::Null;
    if !commit.leases.is_empty() {
        let changed: Map<String, Value> = commit
            .leases
            .iter()
            .map(|(task, lease)| (task.as_str().to_owned(), lease_to_json(lease.as_ref())))
            .collect();
        leases = json!({ "base": (*lease_base)?, "changed": changed, "beats": beats });
    }
    Some(
        json!({
            "epoch": epoch.id(),
            "base": base.0.0,
            "baseAttempt": base.1.map(|attempt| attempt.to_string()),
            "revision": revision.0,
            "attempt": attempt.map(|attempt| attempt.to_string()),
            "at": first.map(|entry| entry.at.0),
            "user": first.and_then(|entry| entry.db_user.as_deref()),
            "actor": first.map(|entry| entry.actor.as_str()),
            "op": first.map(|entry| entry.op.as_stored()),
            "undoes": first.map(|entry| entry.undoes.iter().map(|revision| revision.0).collect::<Vec<_>>()),
            "entries": entries,
            "leases": leases,
            "token": commit.last_token.0,
            "mark": commit.mark,
        })
        .to_string(),
    )
}

/// Applies a notice to the list as it is known, if it is about the next commit. Returns what became of it, and the processes that hold
/// leases by it and send heartbeats, with when they were last alive at least.
pub(super) fn hear(list: &KnownList, payload: &str) -> (NoticeResult, Vec<(String, i64)>) {
    let mut known = list.known();
    let heard = serde_json::from_str::<Value>(payload).ok().and_then(|notice| {
        if !known.epoch.as_ref().is_some_and(|epoch| notice["epoch"] == epoch.id()) {
            return None;
        }
        let (revision, attempt) = (Revision(notice["revision"].as_u64()?), attempt(&notice["attempt"]));
        let has_commit = known.state.revision > revision || (known.state.revision, known.head) == (revision, attempt);
        if has_commit && known.lease_version >= lease_version(&notice) {
            return Some((NoticeResult::AlreadyThere, Vec::new()));
        }
        apply(&mut known, &notice, list.is_followed())
    });
    heard.unwrap_or((NoticeResult::Gap, Vec::new()))
}

/// Returns the count of lease changes after a commit; 0 if it changed none.
fn lease_version(notice: &Value) -> i64 {
    notice["leases"]["base"].as_i64().map_or(0, |base| base + 1)
}

/// Moves the list on; `None`, and nothing has changed, if the notice is not about the next commit.
fn apply(known: &mut Known, notice: &Value, is_followed: bool) -> Option<(NoticeResult, Vec<(String, i64)>)> {
    let base = (Revision(notice["base"].as_u64()?), attempt(&notice["baseAttempt"]));
    if (known.state.revision, known.head) != base || base.0 == Revision(0) {
        return None;
    }
    let mut leases = BTreeMap::new();
    let mut alive = Vec::new();
    if let Some(changed) = notice["leases"]["changed"].as_object() {
        if notice["leases"]["base"].as_i64()? != known.lease_version {
            return None;
        }
        for (task, lease) in changed {
            let task = TaskId::stored(task.as_str());
            let lease = if lease.is_null() { None } else { Some(lease_from_json(&task, lease)?) };
            leases.insert(task, lease);
        }
        if notice["leases"]["beats"] == true {
            let holders = leases.values().flatten().filter_map(|lease: &Lease| lease.holder.as_ref());
            let alive_at = |holder: &Holder| Some((name_of(holder.process()), notice["at"].as_i64()?));
            alive = holders.filter_map(alive_at).collect();
        }
    }
    let entries = entries(known, notice)?;
    // A commit of entries is the next one, with an attempt of its own; one of leases alone is none.
    let tip = (Revision(notice["revision"].as_u64()?), attempt(&notice["attempt"]));
    let is_next = match entries.is_empty() {
        true => tip == base,
        false => tip.0 == base.0.next() && tip.1.is_some(),
    };
    if !is_next {
        return None;
    }
    let (token, mark) = (Token(notice["token"].as_u64()?), notice["mark"].as_f64()?);
    let lease_version = known.lease_version + i64::from(!leases.is_empty());
    let commit = Commit::new(entries, leases, token, mark);
    known.hear(commit, lease_version, is_followed).then_some((NoticeResult::Applied, alive))
}

/// Reads the entries of a commit; what each task was before is known.
fn entries(known: &Known, notice: &Value) -> Option<Vec<Entry>> {
    let all = notice["entries"].as_array()?;
    let read = |(place, entry): (usize, &Value)| {
        let task = TaskId::stored(entry["task"].as_str()?);
        let (remark, marks) = entry["remark"].as_str().map(remark).unwrap_or_default();
        let undoes = notice["undoes"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(Revision);
        Some(Entry {
            revision: Revision(notice["revision"].as_u64()?),
            at: Timestamp(notice["at"].as_i64()?),
            actor: AgentName::new(notice["actor"].as_str()?).ok()?,
            op: Op::from_stored(notice["op"].as_str()?, |key| marks[key] == true)?,
            before: known.state.tasks.get(&task).map(|kept| kept.image.clone()),
            after: entry["after"].as_str().map(|text| Image::new(text.as_bytes())),
            task,
            undoes: undoes.collect(),
            remark,
            attempt: attempt(&notice["attempt"]).filter(|_| place == 0),
            db_user: notice["user"].as_str().map(str::to_owned),
        })
    };
    all.iter().enumerate().map(read).collect()
}

fn attempt(value: &Value) -> Option<AttemptId> {
    value.as_str()?.parse().ok()
}

fn lease_to_json(lease: Option<&Lease>) -> Value {
    let Some(lease) = lease else { return Value::Null };
    let ends = lease.ends.as_ref();
    let ends = ends.map(|ends| json!({ "wall": ends.wall.0, "boot": ends.boot, "sinceBoot": ends.since_boot }));
    json!({ "token": lease.token.0, "body": lease_rows::body(lease), "ends": ends })
}

fn lease_from_json(task: &TaskId, value: &Value) -> Option<Lease> {
    let ends = &value["ends"];
    let ends = match ends.is_null() {
        true => None,
        false => Some(Moment {
            wall: Timestamp(ends["wall"].as_i64()?),
            boot: ends["boot"].as_str()?.to_owned(),
            since_boot: ends["sinceBoot"].as_i64()?,
        }),
    };
    let body: Value = serde_json::from_str(value["body"].as_str()?).ok()?;
    lease_rows::read(&body, task.clone(), Token(value["token"].as_u64()?), ends)
}

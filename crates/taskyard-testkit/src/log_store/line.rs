//! A line of the log.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::core::{
    AgentName, Entry, Holder, Image, Lease, ListId, Moment, ProcessMark, Remark, Revision, TaskId, Timestamp, Token,
};
use taskyard::store::kit::Commit;

/// What one line says: what happened to one list, or to two at once.
pub(super) type Line = Vec<(ListId, Commit)>;

/// Writes a line.
pub(super) fn to_text(line: &Line) -> String {
    let line: Value = line.iter().map(|(list, commit)| commit_to_json(list, commit)).collect();
    format!("{line}\n")
}

/// Reads a line.
pub(super) fn from_text(text: &[u8]) -> io::Result<Line> {
    let line: Vec<Value> = serde_json::from_slice(text)?;
    let read = line.iter().map(commit_from_json).collect::<Option<_>>();
    read.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a line of the log says what no line says"))
}

fn commit_to_json(list: &ListId, commit: &Commit) -> Value {
    let leases: Vec<Value> =
        commit.leases.iter().map(|(task, lease)| json!([task.as_str(), lease.as_ref().map(lease_to_json)])).collect();
    let entries: Vec<Value> = commit.entries.iter().map(entry_to_json).collect();
    json!({ "list": list.as_str(), "entries": entries, "leases": leases, "token": commit.last_token.0, "mark": commit.mark })
}

fn commit_from_json(value: &Value) -> Option<(ListId, Commit)> {
    let entries = value["entries"].as_array()?.iter().map(entry_from_json).collect::<Option<Vec<_>>>()?;
    let leases = value["leases"].as_array()?.iter().map(|pair| {
        let lease = if pair[1].is_null() { None } else { Some(lease_from_json(&pair[1])?) };
        Some((TaskId::stored(pair[0].as_str()?), lease))
    });
    let (token, mark) = (Token(value["token"].as_u64()?), value["mark"].as_f64()?);
    Some((
        ListId::new(value["list"].as_str()?).ok()?,
        Commit::new(entries, leases.collect::<Option<_>>()?, token, mark),
    ))
}

fn entry_to_json(entry: &Entry) -> Value {
    let ready: Vec<&str> = entry.remark.now_ready.iter().map(TaskId::as_str).collect();
    json!({
        "revision": entry.revision.0, "at": entry.at.0, "actor": entry.actor.as_str(), "op": entry.op.as_str(),
        "task": entry.task.as_str(), "before": entry.before.as_ref().map(text_of), "after": entry.after.as_ref().map(text_of),
        "undoes": entry.undoes.iter().map(|revision| revision.0).collect::<Vec<_>>(),
        "notice": entry.remark.notice, "ready": ready, "attempt": entry.attempt.map(|attempt| attempt.to_string()),
    })
}

fn entry_from_json(value: &Value) -> Option<Entry> {
    let ready = value["ready"].as_array()?.iter().filter_map(Value::as_str).map(TaskId::stored);
    Some(Entry {
        revision: Revision(value["revision"].as_u64()?),
        at: Timestamp(value["at"].as_i64()?),
        actor: AgentName::new(value["actor"].as_str()?).ok()?,
        op: value["op"].as_str()?.parse().ok()?,
        task: TaskId::stored(value["task"].as_str()?),
        before: value["before"].as_str().map(image_of),
        after: value["after"].as_str().map(image_of),
        undoes: value["undoes"].as_array()?.iter().filter_map(Value::as_u64).map(Revision).collect(),
        remark: Remark {
            notice: value["notice"].as_str().map(str::to_owned),
            now_ready: ready.collect(),
            ..Remark::default()
        },
        attempt: value["attempt"].as_str().and_then(|attempt| attempt.parse().ok()),
        db_user: None,
    })
}

/// An image may hold any bytes, and JSON only text: each byte is the character of its number.
fn text_of(image: &Image) -> String {
    image.bytes().iter().map(|byte| char::from(*byte)).collect()
}

fn image_of(text: &str) -> Image {
    Image::new(text.chars().filter_map(|character| u8::try_from(character).ok()).collect::<Vec<u8>>())
}

fn lease_to_json(lease: &Lease) -> Value {
    let holder = lease.holder.as_ref().map(|holder| {
        let ProcessMark { machine, pid_space, boot, pid, started } = holder.process();
        let grace = match holder {
            Holder::Connection { grace, .. } => Some(grace.as_millis() as u64),
            Holder::Process(_) => None,
        };
        json!([machine, pid_space, boot, pid, started, grace])
    });
    let ends = lease.ends.as_ref().map(|ends| json!([ends.wall.0, ends.boot, ends.since_boot]));
    json!({
        "task": lease.task.as_str(), "agent": lease.agent.as_str(), "token": lease.token.0, "taken": lease.taken.0,
        "ttl": lease.ttl.map(|ttl| ttl.as_millis() as u64), "ends": ends, "holder": holder,
    })
}

fn lease_from_json(value: &Value) -> Option<Lease> {
    let ends = |ends: &Value| {
        let (wall, since_boot) = (Timestamp(ends[0].as_i64()?), ends[2].as_i64()?);
        Some(Moment { wall, boot: ends[1].as_str()?.to_owned(), since_boot })
    };
    let holder = |holder: &Value| {
        let text = |place: usize| holder[place].as_str().map(str::to_owned);
        let (pid, started) = (u32::try_from(holder[3].as_u64()?).ok()?, holder[4].as_u64()?);
        let process = ProcessMark { machine: text(0)?, pid_space: text(1)?, boot: text(2)?, pid, started };
        Some(match holder[5].as_u64() {
            Some(grace) => Holder::Connection { process, grace: Duration::from_millis(grace) },
            None => Holder::Process(process),
        })
    };
    Some(Lease {
        task: TaskId::stored(value["task"].as_str()?),
        agent: AgentName::new(value["agent"].as_str()?).ok()?,
        token: Token(value["token"].as_u64()?),
        taken: Timestamp(value["taken"].as_i64()?),
        ttl: value["ttl"].as_u64().map(Duration::from_millis),
        ends: ends(&value["ends"]),
        holder: holder(&value["holder"]),
    })
}

//! The notification of a commit: it contains enough to apply the commit, provided that the follower knows exactly the
//! commit before it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use taskyard::core::{
    AgentName, AttemptId, Entry, Holder, Image, Lease, Moment, Op, Revision, TaskId, Timestamp, Token,
};
use taskyard::store::kit::Commit;

use super::known_list::{Known, KnownList};
use super::lease_rows;
use crate::heartbeats::name_of;
use crate::server_clock::Epoch;
use crate::store::change_rows::{remark, remark_text};

/// PostgreSQL limits payloads to less than 8000 bytes.
const MOST_BYTES: usize = 7_900;

/// A commit and what it was based on.
pub(super) struct Committed<'a> {
    pub(super) epoch: &'a Epoch,
    pub(super) base: (Revision, Option<AttemptId>),
    pub(super) commit: &'a Commit,
    /// The count of lease changes before the commit; `None` unless the commit raised it by exactly one.
    pub(super) lease_base: Option<i64>,
    /// Whether the committing process sends heartbeats for leases in it.
    pub(super) beats: bool,
}

/// The result of handling a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoticeResult {
    /// The list was advanced by it.
    Applied,
    /// The list had already advanced that far.
    AlreadyThere,
    /// The database must be read.
    Gap,
}

pub(super) fn payload(committed: &Committed<'_>) -> String {
    let whole = whole(committed).filter(|text| text.len() < MOST_BYTES);
    whole.unwrap_or_else(|| {
        let first = committed.commit.entries.first();
        let (revision, attempt) = first.map_or(committed.base, |entry| (entry.revision, entry.attempt));
        let attempt = attempt.map(|attempt| attempt.to_string());
        json!({ "epoch": committed.epoch.id(), "revision": revision.0, "attempt": attempt, "large": true }).to_string()
    })
}

/// Returns the complete payload, or `None` if a task is not valid UTF-8 or leases were renewed in the meantime.
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

/// Applies a notification if it is about the next commit. Returns the result, and the processes that hold leases by
/// it and send heartbeats, each with the latest time known alive.
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

/// Returns the count of lease changes after a commit, or 0 if it changed none.
fn lease_version(notice: &Value) -> i64 {
    notice["leases"]["base"].as_i64().map_or(0, |base| base + 1)
}

/// Advances the list, or returns `None` without changing anything if the notification is not about the next commit.
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
    // A commit with entries is the next revision and has its own attempt. One with only leases keeps the revision.
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

/// Reads the entries of a commit. The previous images are taken from what is known.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::{Value, json};
    use taskyard::core::{
        AgentName, AttemptId, Entry, Holder, Image, Lease, ListId, Moment, Op, ProcessMark, Remark, Revision, TaskId,
        Timestamp, Token,
    };
    use taskyard::store::kit::{Commit, Kept, ListState};

    use super::{Committed, MOST_BYTES, NoticeResult, hear, payload};
    use crate::heartbeats::name_of;
    use crate::server_clock::Epoch;
    use crate::store::known_list::{Channels, Found, Known, KnownList, KnownLists};

    const LEASES: i64 = 3;

    fn attempt(letter: &str) -> Option<AttemptId> {
        letter.repeat(32).parse().ok()
    }

    fn image(subject: &str) -> Image {
        let task = json!({ "id": "1", "subject": subject, "description": "", "status": "pending", "blocks": [], "blockedBy": [] });
        Image::new(task.to_string().as_bytes())
    }

    /// Returns a list that was read at revision 5, with task `1`.
    fn known_list() -> Arc<KnownList> {
        let list = KnownLists::that_keeps(Duration::MAX).get(&ListId::new("L").unwrap(), "shown");
        let mut state = ListState { exists: true, revision: Revision(5), ..ListState::default() };
        state.tasks.insert(TaskId::number(1), Kept::new(TaskId::number(1), image("before")));
        let (epoch, channels) = (Epoch::named("e"), Channels::default());
        *list.known() = Known::read(Found {
            id: 7,
            state: Arc::new(state),
            head: attempt("a"),
            lease_version: LEASES,
            epoch,
            has_ties: true,
            channels,
        });
        list
    }

    fn lease() -> Lease {
        let process =
            ProcessMark { machine: "m".into(), pid_space: "p".into(), boot: "b".into(), pid: 42, started: 1_000 };
        Lease {
            task: TaskId::number(1),
            agent: AgentName::new("ana").unwrap(),
            token: Token(9),
            taken: Timestamp(1),
            ttl: Some(Duration::from_secs(60)),
            ends: Some(Moment { wall: Timestamp(2), boot: "b".into(), since_boot: 3 }),
            holder: Some(Holder::Process(process)),
        }
    }

    /// Returns the payload of revision 6, in which ana claims the task.
    fn notice(after: Image) -> String {
        let entry = Entry {
            revision: Revision(6),
            at: Timestamp(1_000),
            actor: AgentName::new("ana").unwrap(),
            op: Op::Update,
            task: TaskId::number(1),
            before: None,
            after: Some(after),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: attempt("b"),
            db_user: Some("uma".into()),
        };
        let leases = BTreeMap::from([(TaskId::number(1), Some(lease()))]);
        let commit = Commit::new(vec![entry], leases, Token(9), 4.0);
        let base = (Revision(5), attempt("a"));
        let epoch = &Epoch::named("e");
        payload(&Committed { epoch, base, commit: &commit, lease_base: Some(LEASES), beats: true })
    }

    #[test]
    fn next_commit_is_applied_as_it_was_told() {
        let (list, told) = (known_list(), notice(image("after")));
        let Some(Holder::Process(process)) = lease().holder else { unreachable!("it lives with a process") };
        assert_eq!(hear(&list, &told), (NoticeResult::Applied, vec![(name_of(&process), 1_000)]));
        let known = list.known();
        assert_eq!((known.state.revision, known.head, known.lease_version), (Revision(6), attempt("b"), LEASES + 1));
        assert_eq!(known.state.tasks[&TaskId::number(1)].image, image("after"));
        assert_eq!(known.state.leases[&TaskId::number(1)], lease());
        assert_eq!(known.extent_read().revision, Revision(5), "what was heard was not read");
        drop(known);
        assert_eq!(hear(&list, &told), (NoticeResult::AlreadyThere, Vec::new()));
    }

    #[test]
    fn what_was_heard_can_be_taken_back() {
        let list = known_list();
        hear(&list, &notice(image("after")));
        let mut known = list.known();
        known.unhear();
        assert_eq!((known.state.revision, known.head, known.lease_version), (Revision(5), attempt("a"), LEASES));
        assert_eq!(known.state.tasks[&TaskId::number(1)].image, image("before"));
        assert!(known.state.leases.is_empty() && known.heard().is_none());
    }

    #[test]
    fn notice_of_anything_but_the_next_commit_is_a_gap() {
        let told: Value = serde_json::from_str(&notice(image("after"))).unwrap();
        let with = |pointer: &str, value: Value| {
            let mut other = told.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            other.to_string()
        };
        let other_attempt = attempt("c").unwrap().to_string();
        for payload in [
            with("/epoch", json!("another")),
            with("/base", json!(4)),
            with("/baseAttempt", json!(other_attempt)),
            with("/revision", json!(7)),
            with("/attempt", Value::Null),
            with("/leases/base", json!(LEASES + 1)),
            with("/leases/changed/1/token", json!("nine")),
            with("/op", json!("frobnicate")),
            "no JSON".to_owned(),
        ] {
            let list = known_list();
            assert_eq!(hear(&list, &payload), (NoticeResult::Gap, Vec::new()), "{payload}");
            assert_eq!(list.known().extent(), known_list().known().extent(), "{payload}");
        }
    }

    #[test]
    fn list_that_was_not_read_hears_nothing() {
        let list = KnownLists::that_keeps(Duration::MAX).get(&ListId::new("L").unwrap(), "shown");
        assert_eq!(hear(&list, &notice(image("after"))).0, NoticeResult::Gap);
        let distrusted = known_list();
        distrusted.known().distrust();
        assert_eq!(hear(&distrusted, &notice(image("after"))).0, NoticeResult::Gap);
    }

    #[test]
    fn commit_too_large_for_a_notice_only_says_it_happened() {
        for after in [image(&"x".repeat(MOST_BYTES)), Image::new(&b"\xff"[..])] {
            let told = notice(after);
            assert!(told.len() < MOST_BYTES && told.contains("\"large\":true"), "{told}");
            let list = known_list();
            assert_eq!(hear(&list, &told).0, NoticeResult::Gap);
            hear(&list, &notice(image("after")));
            assert_eq!(hear(&list, &told).0, NoticeResult::AlreadyThere);
        }
    }
}

//! Leases as rows.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::core::{AgentName, Holder, Lease, Moment, ProcessMark, TaskId, Timestamp, Token};
use tokio_postgres::Row;

use crate::connecting::{Column, Failure, FailureKind, Statement};
use crate::database::Database;
use crate::heartbeats::name_of;

/// The columns of a lease, in the order they are read.
pub(super) const COLUMNS: &str =
    "l.version, l.task, l.has_ended, l.token, l.body, l.ends_wall, l.ends_boot, l.ends_since_boot,
    l.process, a.seen_at";

/// Leases, each with the last heartbeat of its holder's process.
pub(super) const TABLES: &str = "@.leases l LEFT JOIN @.alive a ON a.process = l.process AND NOT l.has_ended";

/// The index of the process column; its heartbeat is in the next one.
pub(super) const HEARTBEAT: usize = 8;

pub(super) struct LeaseRow {
    pub(super) version: i64,
    pub(super) task: TaskId,
    /// The lease; `None` if it has ended.
    pub(super) lease: Option<Lease>,
}

pub(super) fn lease(row: &Row) -> Result<LeaseRow, Failure> {
    let task = TaskId::stored(row.try_get::<_, &str>(1)?);
    let version = row.try_get(0)?;
    if row.try_get(2)? {
        return Ok(LeaseRow { version, task, lease: None });
    }
    let token = Token(row.try_get::<_, i64>(3)?.cast_unsigned());
    let ends = match (row.try_get(5)?, row.try_get(6)?, row.try_get(7)?) {
        (Some(wall), Some(boot), Some(since_boot)) => Some(Moment { wall: Timestamp(wall), boot, since_boot }),
        _ => None,
    };
    let body: Value = serde_json::from_str(row.try_get(4)?).unwrap_or_default();
    let lease = read(&body, task.clone(), token, ends);
    let damaged = || Failure::new(FailureKind::Wrong, format!("the lease of task {task} cannot be read"));
    Ok(LeaseRow { version, lease: Some(lease.ok_or_else(damaged)?), task })
}

/// Returns the statement that writes lease changes and returns their count.
pub(super) fn writing(database: &Database, list: i64, leases: &BTreeMap<TaskId, Option<Lease>>) -> Statement {
    let sql = "WITH tick AS (UPDATE @.lease_clocks SET version = version + 1 WHERE list = $1 RETURNING version)
        INSERT INTO @.leases AS l (list, version, task, has_ended, token, body, ends_wall, ends_boot, ends_since_boot,
            process)
        SELECT $1, tick.version, new.* FROM tick, ROWS AS new
        ON CONFLICT (list, task) DO UPDATE SET version = excluded.version, has_ended = excluded.has_ended,
            token = excluded.token, body = excluded.body, ends_wall = excluded.ends_wall, ends_boot = excluded.ends_boot,
            ends_since_boot = excluded.ends_since_boot, process = excluded.process
        RETURNING l.version";
    let all = || leases.values();
    database.statement(sql).number(list).rows(vec![
        Column::Texts(leases.keys().map(|task| task.as_str().to_owned()).collect()),
        Column::Bools(all().map(Option::is_none).collect()),
        Column::Numbers(all().map(|lease| lease.as_ref().map_or(0, |lease| lease.token.0.cast_signed())).collect()),
        Column::Texts(all().map(|lease| lease.as_ref().map(body).unwrap_or_default()).collect()),
        Column::SomeNumbers(all().map(|lease| ends(lease.as_ref()).map(|ends| ends.wall.0)).collect()),
        Column::SomeTexts(all().map(|lease| ends(lease.as_ref()).map(|ends| ends.boot.clone())).collect()),
        Column::SomeNumbers(all().map(|lease| ends(lease.as_ref()).map(|ends| ends.since_boot)).collect()),
        Column::SomeTexts(all().map(|lease| process(lease.as_ref())).collect()),
    ])
}

/// Returns the statement that extends leases, each provided that it still has the same token. It does not wait for
/// writers that have the list open, only for transactions that are committing.
pub(super) fn renewal(database: &Database, directory: &str, leases: &[Lease]) -> Statement {
    let sql = "WITH tick AS (
            UPDATE @.lease_clocks SET version = version + 1
            WHERE list = (SELECT id FROM @.lists WHERE directory = $1) RETURNING list, version)
        UPDATE @.leases AS l SET version = tick.version, ends_wall = new.wall, ends_boot = new.boot,
            ends_since_boot = new.since_boot
        FROM tick, ROWS AS new (task, token, wall, boot, since_boot)
        WHERE l.list = tick.list AND l.task = new.task AND l.token = new.token AND NOT l.has_ended";
    database.statement(sql).text(directory).rows(vec![
        Column::Texts(leases.iter().map(|lease| lease.task.as_str().to_owned()).collect()),
        Column::Numbers(leases.iter().map(|lease| lease.token.0.cast_signed()).collect()),
        Column::SomeNumbers(leases.iter().map(|lease| ends(Some(lease)).map(|ends| ends.wall.0)).collect()),
        Column::SomeTexts(leases.iter().map(|lease| ends(Some(lease)).map(|ends| ends.boot.clone())).collect()),
        Column::SomeNumbers(leases.iter().map(|lease| ends(Some(lease)).map(|ends| ends.since_boot)).collect()),
    ])
}

fn process(lease: Option<&Lease>) -> Option<String> {
    lease.and_then(|lease| lease.holder.as_ref()).map(|holder| name_of(holder.process()))
}

fn ends(lease: Option<&Lease>) -> Option<&Moment> {
    lease.and_then(|lease| lease.ends.as_ref())
}

/// Returns what a lease contains besides its task, token and end.
pub(super) fn body(lease: &Lease) -> String {
    json!({
        "agent": lease.agent.as_str(), "taken": lease.taken.0,
        "ttl": lease.ttl.map(milliseconds), "holder": lease.holder.as_ref().map(holder_to_json),
    })
    .to_string()
}

/// Reads a lease, or returns `None` if it is malformed.
pub(super) fn read(body: &Value, task: TaskId, token: Token, ends: Option<Moment>) -> Option<Lease> {
    Some(Lease {
        task,
        agent: AgentName::new(body["agent"].as_str()?).ok()?,
        token,
        taken: Timestamp(body["taken"].as_i64()?),
        ttl: body["ttl"].as_u64().map(Duration::from_millis),
        ends,
        holder: holder_from_json(&body["holder"]),
    })
}

pub(crate) fn holder_to_json(holder: &Holder) -> Value {
    let ProcessMark { machine, pid_space, boot, pid, started } = holder.process();
    let grace = match holder {
        Holder::Connection { grace, .. } => Some(milliseconds(*grace)),
        Holder::Process(_) => None,
    };
    json!({ "machine": machine, "pidSpace": pid_space, "boot": boot, "pid": pid, "started": started, "grace": grace })
}

pub(crate) fn holder_from_json(value: &Value) -> Option<Holder> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let process = ProcessMark {
        machine: text("machine")?,
        pid_space: text("pidSpace")?,
        boot: text("boot")?,
        pid: u32::try_from(value["pid"].as_u64()?).ok()?,
        started: value["started"].as_u64()?,
    };
    Some(match value["grace"].as_u64() {
        Some(grace) => Holder::Connection { process, grace: Duration::from_millis(grace) },
        None => Holder::Process(process),
    })
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use taskyard::core::{AgentName, Holder, Lease, ProcessMark, TaskId, Timestamp, Token};

    use super::{body, read};

    fn lease(ttl: Option<Duration>, holder: Option<Holder>) -> Lease {
        let (task, agent) = (TaskId::number(1), AgentName::new("ana").unwrap());
        Lease { task, agent, token: Token(9), taken: Timestamp(5), ttl, ends: None, holder }
    }

    fn process() -> ProcessMark {
        ProcessMark { machine: "m".into(), pid_space: "p".into(), boot: "b".into(), pid: 42, started: u64::MAX }
    }

    #[test]
    fn lease_is_read_as_it_was_written() {
        let grace = Duration::from_millis(1_500);
        for lease in [
            lease(None, None),
            lease(Some(Duration::from_secs(60)), Some(Holder::Process(process()))),
            lease(None, Some(Holder::Connection { process: process(), grace })),
        ] {
            let written: Value = serde_json::from_str(&body(&lease)).unwrap();
            assert_eq!(read(&written, TaskId::number(1), Token(9), None), Some(lease));
        }
    }

    #[test]
    fn lease_without_an_agent_or_a_start_is_damaged() {
        for body in [Value::Null, json!({ "agent": "ana" }), json!({ "taken": 5 }), json!({ "agent": "", "taken": 5 })]
        {
            assert_eq!(read(&body, TaskId::number(1), Token(9), None), None, "{body}");
        }
    }

    #[test]
    fn holder_of_which_something_is_missing_is_none() {
        let body = json!({ "agent": "ana", "taken": 5, "holder": { "machine": "m", "boot": "b", "pid": 42 } });
        assert_eq!(read(&body, TaskId::number(1), Token(9), None), Some(lease(None, None)));
    }
}

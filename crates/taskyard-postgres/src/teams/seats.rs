//! What is remembered of the seats of teams, in rows.

use std::collections::HashMap;

use serde_json::{Value, json};
use taskyard::core::{Team, Timestamp};
use taskyard::teams::{Plan, PlanState, SeatRecord, TeamError};
use tokio_postgres::Row;

use crate::connecting::Statement;
use crate::database::Database;
use crate::store::{holder_from_json, holder_to_json, storable};
use crate::versions::Kind;

/// Changes what is remembered of a seat, as [`taskyard::teams::SeatMemory::change_seat`] says.
pub(super) fn change_seat(
    database: &Database,
    team: &Team,
    member: &str,
    change: &mut dyn FnMut(&mut SeatRecord),
) -> Result<(), TeamError> {
    let lock = "SELECT 1 FROM @.teams WHERE directory = $1 AND made = $2 FOR NO KEY UPDATE";
    let seat = "SELECT body FROM @.seats WHERE team = $1 AND made = $2 AND member = $3";
    let questions = || vec![about(database, team, lock), about(database, team, seat).text(member)];
    database.transact("change a seat", questions, |rows| {
        if rows[0].is_empty() {
            return Ok((Vec::new(), ()));
        }
        let mut record = match rows[1].first() {
            Some(row) => read(row.try_get(0)?),
            None => SeatRecord::default(),
        };
        let before = (record.agent.clone(), record.holder.clone());
        change(&mut record);
        let mut all = vec![writing(database, team, member, &record)];
        // What an agent does in its seat is not remembered, and need not be told.
        if (&record.agent, &record.holder) != (&before.0, &before.1) {
            all.push(database.raise(Kind::Teams));
        }
        Ok((all, ()))
    })?;
    Ok(())
}

/// Returns what remembers a seat, or forgets it where it is as at first.
pub(super) fn writing(database: &Database, team: &Team, member: &str, record: &SeatRecord) -> Statement {
    if *record == SeatRecord::default() {
        let sql = "DELETE FROM @.seats WHERE team = $1 AND made = $2 AND member = $3";
        return about(database, team, sql).text(member);
    }
    let sql = "INSERT INTO @.seats (team, made, member, agent, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (team, made, member) DO UPDATE SET agent = excluded.agent, body = excluded.body";
    about(database, team, sql).text(member).text(storable(&record.agent)).text(body(record))
}

/// Reads the seats of a team, by member.
pub(super) fn read_all(rows: &[Row]) -> HashMap<String, SeatRecord> {
    rows.iter().map(|row| (row.get(0), read(row.get(1)))).collect()
}

fn body(record: &SeatRecord) -> String {
    let plan = |plan: &Plan| json!({ "request": plan.request, "state": word(plan.state), "at": plan.at.0 });
    json!({
        "agent": record.agent, "holder": record.holder.as_ref().map(holder_to_json),
        "seen": record.seen.map(|at| at.0), "activity": record.activity, "toolUses": record.tool_uses,
        "tokens": record.tokens, "stopRequest": record.stop_request, "plan": record.plan.as_ref().map(plan),
    })
    .to_string()
}

fn read(body: &str) -> SeatRecord {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let plan = |plan: &Value| {
        let state = state(plan["state"].as_str()?)?;
        Some(Plan { request: plan["request"].as_str()?.to_owned(), state, at: Timestamp(plan["at"].as_i64()?) })
    };
    SeatRecord {
        agent: text("agent").unwrap_or_default(),
        holder: holder_from_json(&body["holder"]),
        seen: body["seen"].as_i64().map(Timestamp),
        activity: text("activity"),
        tool_uses: body["toolUses"].as_u64().unwrap_or(0),
        tokens: body["tokens"].as_u64(),
        stop_request: text("stopRequest"),
        plan: plan(&body["plan"]),
    }
}

/// How far a plan came, and the word for it.
const STATES: [(PlanState, &str); 4] = [
    (PlanState::NotShown, "not_shown"),
    (PlanState::AwaitingApproval, "awaiting_approval"),
    (PlanState::Rejected, "rejected"),
    (PlanState::Approved, "approved"),
];

fn word(state: PlanState) -> &'static str {
    STATES.iter().find(|(known, _)| *known == state).map_or("not_shown", |(_, word)| word)
}

fn state(word: &str) -> Option<PlanState> {
    STATES.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
}

/// Returns a statement about a team whose first two parameters are its directory and when it was made.
pub(super) fn about(database: &Database, team: &Team, sql: &str) -> Statement {
    database.statement(sql).text(team.name.directory()).number(team.created_at.0)
}

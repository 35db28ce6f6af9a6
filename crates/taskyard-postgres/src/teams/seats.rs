//! What is remembered of the seats of teams.

use std::collections::HashMap;

use serde_json::{Value, json};
use taskyard::core::{AgentName, Team, Timestamp};
use taskyard::teams::{Plan, PlanState, SeatMemory, SeatRecord, SeatTaken, TeamError};
use tokio_postgres::Row;

use super::postgres_teams::PostgresTeams;
use crate::connecting::Statement;
use crate::store::{holder_from_json, holder_to_json, storable};
use crate::versions::Kind;

const SEATS_OF_AGENT: (Kind, &str) = (Kind::Teams, "read the seats of an agent");

impl SeatMemory for PostgresTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        let sql = "SELECT member, body FROM @.seats WHERE team = $1 AND made = $2";
        let rows = self.database.read("read the seats of a team", || vec![self.about(team, sql)])?;
        let seat = |row: &Row| (row.get::<_, String>(0), read(row.get(1)));
        Ok(rows.map(|rows| rows[0].iter().map(seat).collect()).unwrap_or_default())
    }

    fn seats_of(&self, agent: &AgentName) -> Result<Vec<SeatTaken>, TeamError> {
        let sql = "SELECT team, made, member FROM @.seats WHERE agent = $1";
        let question = || self.database.statement(sql).text(storable(agent.as_str()));
        let taken = |row: &Row| SeatTaken { directory: row.get(0), made: Timestamp(row.get(1)), member: row.get(2) };
        let read = |rows: &[Row]| rows.iter().map(taken).collect::<Vec<_>>();
        let seats = self.database.recall(SEATS_OF_AGENT, agent.as_str(), question, read)?;
        Ok(seats.map(|seats| seats.to_vec()).unwrap_or_default())
    }

    fn change_seat(&self, team: &Team, member: &str, change: &mut dyn FnMut(&mut SeatRecord)) -> Result<(), TeamError> {
        let lock = "SELECT 1 FROM @.teams WHERE directory = $1 AND made = $2 FOR NO KEY UPDATE";
        let seat = "SELECT body FROM @.seats WHERE team = $1 AND made = $2 AND member = $3";
        let questions = || vec![self.about(team, lock), self.about(team, seat).text(member)];
        self.database.transact("change a seat", questions, |rows| {
            if rows[0].is_empty() {
                return Ok((Vec::new(), ()));
            }
            let mut record = match rows[1].first() {
                Some(row) => read(row.try_get(0)?),
                None => SeatRecord::default(),
            };
            let before = record.agent.clone();
            change(&mut record);
            let mut all = vec![writing(self, team, member, &record)];
            // What an agent does in its seat is not remembered, and need not be told.
            if record.agent != before {
                all.push(self.database.raise(Kind::Teams));
            }
            Ok((all, ()))
        })?;
        Ok(())
    }
}

/// Returns what remembers a seat, or forgets it where it is as at first.
pub(super) fn writing(teams: &PostgresTeams, team: &Team, member: &str, record: &SeatRecord) -> Statement {
    if *record == SeatRecord::default() {
        let sql = "DELETE FROM @.seats WHERE team = $1 AND made = $2 AND member = $3";
        return teams.about(team, sql).text(member);
    }
    let sql = "INSERT INTO @.seats (team, made, member, agent, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (team, made, member) DO UPDATE SET agent = excluded.agent, body = excluded.body";
    teams.about(team, sql).text(member).text(storable(&record.agent)).text(body(record))
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

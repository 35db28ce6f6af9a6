//! Who sits where and what it lives with, and how far plans came.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::Row;
use taskyard_core::rules::teams::plan_approval::PlanState;
use taskyard_core::{Holder, ProcessMark, Timestamp};

use super::Memory;
use crate::sqlite::{Database, DatabaseError};
use crate::teams::{Plan, SeatRecord, TeamError};

const SEAT: &str = "SELECT member, agent, pid, started, boot, grace, seen, activity, tool_uses, tokens, stop_request, machine, \
    pid_space FROM seats WHERE team = ?1 AND (?2 IS NULL OR member = ?2)";
const PLAN: &str = "SELECT member, request, state, at FROM plans WHERE team = ?1 AND (?2 IS NULL OR member = ?2)";

impl Memory {
    /// Returns what is remembered of the seats of a team, by member.
    pub(in crate::teams::files) fn seats(&self, team: &str) -> Result<HashMap<String, SeatRecord>, TeamError> {
        Ok(read(&self.database, team, None)?)
    }

    /// Returns the seats that an agent acting under a name has, as team and member.
    pub(in crate::teams::files) fn seats_of(&self, agent: &str) -> Result<Vec<(String, String)>, TeamError> {
        let query = "SELECT team, member FROM seats WHERE agent = ?1";
        Ok(self.database.rows(query, [agent], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Changes what is remembered of a seat, in one transaction.
    pub(in crate::teams::files) fn change_seat(
        &mut self,
        team: &str,
        member: &str,
        change: &mut dyn FnMut(&mut SeatRecord),
    ) -> Result<(), TeamError> {
        let changed = self.database.transact(|database| {
            let before = read(database, team, Some(member))?.remove(member).unwrap_or_default();
            let mut seat = before.clone();
            change(&mut seat);
            if seat == before { Ok(()) } else { write(database, team, member, &seat) }
        });
        Ok(changed?)
    }

    /// Forgets every seat of a team.
    pub(in crate::teams::files) fn forget_seats(&mut self, team: &str) -> Result<(), TeamError> {
        for query in ["DELETE FROM seats WHERE team = ?1", "DELETE FROM plans WHERE team = ?1"] {
            self.database.execute(query, [team])?;
        }
        Ok(())
    }
}

fn read(database: &Database, team: &str, member: Option<&str>) -> Result<HashMap<String, SeatRecord>, DatabaseError> {
    let seats = database.rows(SEAT, (team, member), |row| Ok((row.get(0)?, record(row)?)))?;
    let mut found: HashMap<String, SeatRecord> = seats.into_iter().collect();
    let plans = database.rows(PLAN, (team, member), |row| {
        let state: String = row.get(2)?;
        let plan = Plan { request: row.get(1)?, state: plan_state(&state), at: Timestamp(row.get(3)?) };
        Ok((row.get::<_, String>(0)?, plan))
    })?;
    for (member, plan) in plans {
        found.entry(member).or_default().plan = Some(plan);
    }
    Ok(found)
}

fn write(database: &Database, team: &str, member: &str, seat: &SeatRecord) -> Result<(), DatabaseError> {
    match seat.seen {
        None => database.execute("DELETE FROM seats WHERE team = ?1 AND member = ?2", (team, member))?,
        Some(seen) => {
            let query = "INSERT OR REPLACE INTO seats (team, member, agent, pid, started, boot, grace, seen, activity, tool_uses,
                tokens, stop_request, machine, pid_space) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
            let process = seat.holder.as_ref().map(Holder::process);
            let grace = match &seat.holder {
                Some(Holder::Connection { grace, .. }) => i64::try_from(grace.as_millis()).ok(),
                _ => None,
            };
            let values = rusqlite::params![
                team,
                member,
                seat.agent,
                process.map(|process| process.pid),
                process.and_then(|process| i64::try_from(process.started).ok()),
                process.map(|process| process.boot.as_str()),
                grace,
                seen.0,
                seat.activity,
                i64::try_from(seat.tool_uses).unwrap_or(i64::MAX),
                seat.tokens.and_then(|tokens| i64::try_from(tokens).ok()),
                seat.stop_request,
                process.map(|process| process.machine.as_str()),
                process.map(|process| process.pid_space.as_str()),
            ];
            database.execute(query, values)?
        }
    };
    match &seat.plan {
        None => database.execute("DELETE FROM plans WHERE team = ?1 AND member = ?2", (team, member))?,
        Some(plan) => {
            let query = "INSERT OR REPLACE INTO plans (team, member, request, state, at) VALUES (?1, ?2, ?3, ?4, ?5)";
            database.execute(query, (team, member, &plan.request, plan_word(plan.state), plan.at.0))?
        }
    };
    Ok(())
}

fn record(row: &Row<'_>) -> rusqlite::Result<SeatRecord> {
    let pid: Option<u32> = row.get(2)?;
    let started: Option<i64> = row.get(3)?;
    let boot: Option<String> = row.get(4)?;
    let grace: Option<i64> = row.get(5)?;
    // Older releases wrote down neither.
    let [machine, pid_space] = [row.get::<_, Option<String>>(11)?, row.get(12)?].map(Option::unwrap_or_default);
    let holder = pid.zip(boot).map(|(pid, boot)| {
        let started = started.unwrap_or(0).unsigned_abs();
        let process = ProcessMark { machine, pid_space, boot, pid, started };
        match grace {
            Some(grace) => Holder::Connection { process, grace: Duration::from_millis(grace.unsigned_abs()) },
            None => Holder::Process(process),
        }
    });
    Ok(SeatRecord {
        agent: row.get(1)?,
        holder,
        seen: Some(Timestamp(row.get(6)?)),
        activity: row.get(7)?,
        tool_uses: row.get::<_, i64>(8)?.unsigned_abs(),
        tokens: row.get::<_, Option<i64>>(9)?.map(i64::unsigned_abs),
        stop_request: row.get(10)?,
        plan: None,
    })
}

fn plan_word(state: PlanState) -> &'static str {
    match state {
        PlanState::NotShown => "not_shown",
        PlanState::AwaitingApproval => "awaiting_approval",
        PlanState::Rejected => "rejected",
        PlanState::Approved => "approved",
    }
}

fn plan_state(word: &str) -> PlanState {
    match word {
        "awaiting_approval" => PlanState::AwaitingApproval,
        "rejected" => PlanState::Rejected,
        "approved" => PlanState::Approved,
        _ => PlanState::NotShown,
    }
}

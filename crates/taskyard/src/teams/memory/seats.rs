//! Who sits where and what it lives with, and how far plans came.

use std::time::Duration;

use rusqlite::Row;
use taskyard_core::rules::plan_approval::PlanState;
use taskyard_core::{Holder, ProcessMark, Timestamp};

use super::Memory;
use crate::teams::TeamError;

/// What we know of a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::teams) struct SeatRow {
    pub(in crate::teams) team: String,
    pub(in crate::teams) member: String,
    /// The name whoever sits there acts under.
    pub(in crate::teams) agent: String,
    /// What it lives with.
    pub(in crate::teams) holder: Option<Holder>,
    /// When it last showed a sign of life.
    pub(in crate::teams) seen: Timestamp,
    /// What it did then; empty where it sat down and has done nothing since, none where it never sat down.
    pub(in crate::teams) activity: Option<String>,
    pub(in crate::teams) tool_uses: u64,
    pub(in crate::teams) tokens: Option<u64>,
    /// The request to end that it has not answered.
    pub(in crate::teams) stop_request: Option<String>,
}

/// How far a plan came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::teams) struct PlanRow {
    pub(in crate::teams) request: String,
    pub(in crate::teams) state: PlanState,
}

const COLUMNS: &str = "team, member, agent, pid, started, boot, grace, seen, activity, tool_uses, tokens, stop_request, \
    machine, pid_space";

impl Memory {
    /// Takes a seat, or takes it again; what was counted there stays. Its activity is empty and not absent from then on: so those who
    /// sat down are told from members of the client's of whom something else was remembered.
    pub(in crate::teams) fn sit(&self, seat: &SeatRow) -> Result<(), TeamError> {
        let query = "INSERT INTO seats (team, member, agent, pid, started, boot, grace, seen, machine, pid_space, activity)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '')
            ON CONFLICT DO UPDATE SET agent = ?3, pid = ?4, started = ?5, boot = ?6, grace = ?7, seen = ?8, machine = ?9,
                pid_space = ?10, activity = coalesce(activity, '')";
        let process = seat.holder.as_ref().map(Holder::process);
        let grace = match &seat.holder {
            Some(Holder::Connection { grace, .. }) => i64::try_from(grace.as_millis()).ok(),
            _ => None,
        };
        let values = rusqlite::params![
            seat.team,
            seat.member,
            seat.agent,
            process.map(|process| process.pid),
            process.and_then(|process| i64::try_from(process.started).ok()),
            process.map(|process| process.boot.as_str()),
            grace,
            seat.seen.0,
            process.map(|process| process.machine.as_str()),
            process.map(|process| process.pid_space.as_str()),
        ];
        self.database.execute(query, values)?;
        Ok(())
    }

    /// Writes down a sign of life.
    pub(in crate::teams) fn show_life(
        &self,
        team: &str,
        member: &str,
        activity: &str,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO seats (team, member, agent, seen, activity, tool_uses) VALUES (?1, ?2, ?2, ?3, ?4, 1)
            ON CONFLICT DO UPDATE SET seen = ?3, activity = ?4, tool_uses = tool_uses + 1";
        self.database.execute(query, (team, member, now.0, activity))?;
        Ok(())
    }

    /// Remembers a request to end, or that it is answered.
    pub(in crate::teams) fn set_stop_request(
        &self,
        team: &str,
        member: &str,
        request: Option<&str>,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO seats (team, member, agent, seen, stop_request) VALUES (?1, ?2, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET stop_request = ?4";
        self.database.execute(query, (team, member, now.0, request))?;
        Ok(())
    }

    /// Gives a seat up, with the plan that was made there.
    pub(in crate::teams) fn stand_up(&self, team: &str, member: &str) -> Result<(), TeamError> {
        for query in
            ["DELETE FROM seats WHERE team = ?1 AND member = ?2", "DELETE FROM plans WHERE team = ?1 AND member = ?2"]
        {
            self.database.execute(query, (team, member))?;
        }
        Ok(())
    }

    /// Returns a seat.
    pub(in crate::teams) fn seat(&self, team: &str, member: &str) -> Result<Option<SeatRow>, TeamError> {
        let query = format!("SELECT {COLUMNS} FROM seats WHERE team = ?1 AND member = ?2");
        Ok(self.database.row(&query, (team, member), row)?)
    }

    /// Returns the seats that somebody acting under a name has, in whatever team.
    pub(in crate::teams) fn seats_of(&self, agent: &str) -> Result<Vec<SeatRow>, TeamError> {
        let query = format!("SELECT {COLUMNS} FROM seats WHERE agent = ?1");
        Ok(self.database.rows(&query, [agent], row)?)
    }

    /// Remembers how far a plan came.
    pub(in crate::teams) fn set_plan(
        &self,
        team: &str,
        member: &str,
        plan: &PlanRow,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let query = "INSERT INTO plans (team, member, request, state, at) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET request = ?3, state = ?4, at = ?5";
        let values = (team, member, &plan.request, plan_word(plan.state), now.0);
        self.database.execute(query, values)?;
        Ok(())
    }

    /// Returns how far a plan came.
    pub(in crate::teams) fn plan(&self, team: &str, member: &str) -> Result<Option<PlanRow>, TeamError> {
        let query = "SELECT request, state FROM plans WHERE team = ?1 AND member = ?2";
        let plan = self.database.row(query, (team, member), |row| {
            let state: String = row.get(1)?;
            Ok(PlanRow { request: row.get(0)?, state: plan_state(&state) })
        });
        Ok(plan?)
    }
}

fn row(row: &Row<'_>) -> rusqlite::Result<SeatRow> {
    let pid: Option<u32> = row.get(3)?;
    let started: Option<i64> = row.get(4)?;
    let boot: Option<String> = row.get(5)?;
    let grace: Option<i64> = row.get(6)?;
    // Older releases wrote down neither.
    let [machine, pid_space] = [row.get::<_, Option<String>>(12)?, row.get(13)?].map(Option::unwrap_or_default);
    let holder = pid.zip(boot).map(|(pid, boot)| {
        let started = started.unwrap_or(0).unsigned_abs();
        let process = ProcessMark { machine, pid_space, boot, pid, started };
        match grace {
            Some(grace) => Holder::Connection { process, grace: Duration::from_millis(grace.unsigned_abs()) },
            None => Holder::Process(process),
        }
    });
    Ok(SeatRow {
        team: row.get(0)?,
        member: row.get(1)?,
        agent: row.get(2)?,
        holder,
        seen: Timestamp(row.get(7)?),
        activity: row.get(8)?,
        tool_uses: row.get::<_, i64>(9)?.unsigned_abs(),
        tokens: row.get::<_, Option<i64>>(10)?.map(i64::unsigned_abs),
        stop_request: row.get(11)?,
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

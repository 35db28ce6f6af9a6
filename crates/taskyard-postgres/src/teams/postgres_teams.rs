//! The store of teams: seats, and the calls of members, which are written in batches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use serde_json::{Value, json};
use taskyard::core::{AgentName, ClientVersion, Holder, Team, TeamName, Timestamp};
use taskyard::teams::{Plan, PlanState, SeatMemory, SeatRecord, SeatTaken, TeamError, TeamStore, TeamWatch};
use tokio_postgres::Row;

use crate::connecting::Statement;
use crate::database::Database;
use crate::listening::Following;
use crate::store::{holder_from_json, holder_to_json, storable};
use crate::versions::Kind;

/// The client version whose format teams and messages are stored in.
pub(super) const FORM: ClientVersion = ClientVersion::V2_1_325;

/// The channel that announces any change of teams.
const CHANNEL: &str = "teams";

/// Keys of cached answers: the seats of a team, and the seats of an agent.
const SEATS_OF_TEAM: (Kind, &str) = (Kind::Teams, "read the seats of a team");
const SEATS_OF_AGENT: (Kind, &str) = (Kind::Teams, "read the seats of an agent");
const SEATS_IN: &str = "SELECT member, body FROM @.seats WHERE team = $1 AND made = $2";

/// Teams in a database shared by many machines.
#[derive(Debug)]
pub(crate) struct PostgresTeams {
    pub(super) database: Arc<Database>,
    /// Calls of members that are still to be written.
    pub(super) calls: Arc<NotedCalls>,
}

impl PostgresTeams {
    pub(crate) fn over(database: Arc<Database>) -> Self {
        let calls = Arc::new(NotedCalls::in_database(Arc::clone(&database)));
        Self { database, calls }
    }

    /// Returns a statement whose first two parameters identify the team: its directory and creation time, since a
    /// newer team may have the same name.
    pub(super) fn about(&self, team: &Team, sql: &str) -> Statement {
        about(&self.database, team, sql)
    }

    /// Notifies the followers that something has changed.
    pub(super) fn tell(&self, kind: Kind) {
        self.database.tell_of(kind, &self.channel());
    }

    pub(super) fn channel(&self) -> String {
        self.database.schema.channel(CHANNEL, "")
    }
}

impl TeamStore for PostgresTeams {}

impl SeatMemory for PostgresTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        let rows = self.database.read(SEATS_OF_TEAM.1, || vec![self.about(team, SEATS_IN)])?;
        let mut seats = rows.map(|rows| read_all(&rows[0])).unwrap_or_default();
        self.calls.add_to(team, &mut seats);
        Ok(seats)
    }

    fn seats_recalled(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        // A directory's name contains no `/`.
        let about = format!("{}/{}", team.name.directory(), team.created_at.0);
        let seats = self.database.recall(SEATS_OF_TEAM, &about, || self.about(team, SEATS_IN), read_all)?;
        Ok(seats.map(|seats| HashMap::clone(&seats)).unwrap_or_default())
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
        change_seat(&self.database, team, member, change)
    }

    fn note_call(&self, team: &Team, member: &str, activity: &str, now: Timestamp) -> Result<(), TeamError> {
        self.calls.note(team, member, activity, now)
    }
}

/// Changes the record of a seat; see [`taskyard::teams::SeatMemory::change_seat`].
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
        // The agent's activity is not cached, so followers need not be notified of it.
        if (&record.agent, &record.holder) != (&before.0, &before.1) {
            all.push(database.raise(Kind::Teams));
        }
        Ok((all, ()))
    })?;
    Ok(())
}

/// Returns the statement that writes the record of a seat, or deletes it if it is the default.
pub(super) fn writing(database: &Database, team: &Team, member: &str, record: &SeatRecord) -> Statement {
    if *record == SeatRecord::default() {
        let sql = "DELETE FROM @.seats WHERE team = $1 AND made = $2 AND member = $3";
        return about(database, team, sql).text(member);
    }
    let sql = "INSERT INTO @.seats (team, made, member, agent, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (team, made, member) DO UPDATE SET agent = excluded.agent, body = excluded.body";
    about(database, team, sql).text(member).text(storable(&record.agent)).text(body(record))
}

/// Reads the seats of a team, keyed by member.
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

/// The stored name of each plan state.
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

/// Returns a statement whose first two parameters are the team's directory and creation time.
pub(super) fn about(database: &Database, team: &Team, sql: &str) -> Statement {
    database.statement(sql).text(team.name.directory()).number(team.created_at.0)
}

/// Minimum interval between writes of one member's calls.
const APART: Duration = Duration::from_secs(20);

/// Calls that members made through this process and that are not yet written. Written after a delay, or on drop.
#[derive(Debug)]
pub(super) struct NotedCalls {
    database: Arc<Database>,
    /// The seats whose calls were written, keyed by team, its creation time, and member.
    seats: Mutex<HashMap<(String, Timestamp, String), NotedSeat>>,
}

/// A member that makes calls through this process.
#[derive(Debug)]
struct NotedSeat {
    team: Team,
    /// The agent in the seat when calls were last written. Calls of another agent are kept apart.
    agent: String,
    holder: Option<Holder>,
    written: Instant,
    noted: Option<Noted>,
    /// Whether a thread is scheduled to write them.
    is_due: bool,
}

/// Calls that are not yet written.
#[derive(Debug)]
struct Noted {
    activity: String,
    count: u64,
    at: Timestamp,
}

impl NotedCalls {
    pub(super) fn in_database(database: Arc<Database>) -> Self {
        Self { database, seats: Mutex::default() }
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<(String, Timestamp, String), NotedSeat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call of a member, or writes it at once if none was written recently.
    pub(super) fn note(
        self: &Arc<Self>,
        team: &Team,
        member: &str,
        activity: &str,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let key = (team.name.directory().to_owned(), team.created_at, member.to_owned());
        let mut count = 1;
        if let Some(seat) = self.seats().get_mut(&key) {
            count += seat.noted.take().map_or(0, |noted| noted.count);
            if seat.written.elapsed() < APART {
                seat.noted = Some(Noted { activity: activity.to_owned(), count, at: now });
                if !mem::replace(&mut seat.is_due, true) {
                    self.write_after(APART.saturating_sub(seat.written.elapsed()));
                }
                return Ok(());
            }
        }
        let mut seated = SeatRecord::default();
        change_seat(&self.database, team, member, &mut |seat| {
            seat.note_calls(member, activity, count, now);
            seated = seat.clone();
        })?;
        let (agent, holder, written) = (seated.agent, seated.holder, Instant::now());
        let seat = NotedSeat { team: team.clone(), agent, holder, written, noted: None, is_due: false };
        self.seats().insert(key, seat);
        Ok(())
    }

    /// Adds unwritten calls to a team's seats as read.
    pub(super) fn add_to(&self, team: &Team, seats: &mut HashMap<String, SeatRecord>) {
        for ((directory, made, member), noted) in &*self.seats() {
            let is_of_team = directory == team.name.directory() && *made == team.created_at;
            if let Some(seat) = seats.get_mut(member).filter(|_| is_of_team) {
                noted.add_to(member, seat);
            }
        }
    }

    /// Writes all noted calls.
    fn write(&self) {
        let mut seats = self.seats();
        // The next call of a member without recent calls is written at once.
        seats.retain(|_, seat| seat.noted.is_some() || seat.written.elapsed() < APART);
        let due: Vec<_> = seats.extract_if(|_, seat| seat.noted.is_some()).collect();
        drop(seats);
        for ((directory, made, member), mut noted) in due {
            let written = change_seat(&self.database, &noted.team, &member, &mut |seat| noted.add_to(&member, seat));
            if let Err(error) = written {
                tracing::warn!(%error, "what an agent does is not shown to its team");
            }
            (noted.written, noted.noted, noted.is_due) = (Instant::now(), None, false);
            self.seats().entry((directory, made, member)).or_insert(noted);
        }
    }

    fn write_after(self: &Arc<Self>, pause: Duration) {
        let calls = Arc::downgrade(self);
        let writing = thread::Builder::new().name("taskyard-calls".to_owned()).spawn(move || {
            thread::sleep(pause);
            calls.upgrade().iter().for_each(|calls| calls.write());
        });
        if let Err(error) = writing {
            tracing::warn!(%error, "what an agent does is shown to its team with its next call");
        }
    }
}

impl Drop for NotedCalls {
    fn drop(&mut self) {
        if self.seats().values().any(|seat| seat.noted.is_some()) {
            // The last owner may be a thread of another runtime, in which blocking on ours is not allowed.
            thread::scope(|scope| drop(scope.spawn(|| self.write())));
        }
    }
}

impl NotedSeat {
    /// Adds the calls to the record of the seat, unless another agent has taken the seat since.
    fn add_to(&self, member: &str, seat: &mut SeatRecord) {
        let is_same = *seat != SeatRecord::default() && seat.agent == self.agent && seat.holder == self.holder;
        if let Some(Noted { activity, count, at }) = self.noted.as_ref().filter(|_| is_same) {
            seat.note_calls(member, activity, *count, *at);
        }
    }
}

/// Calls the follower whenever something may have changed, until dropped.
pub(super) struct PostgresTeamWatch {
    pub(super) _following: [Following; 2],
}

impl TeamWatch for PostgresTeamWatch {
    fn keep_up(&mut self, _teams: &[TeamName]) -> bool {
        // The process polls for all followers and calls them.
        true
    }
}

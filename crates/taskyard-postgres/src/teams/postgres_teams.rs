//! The place of teams itself.

use std::collections::HashMap;
use std::sync::Arc;

use taskyard::core::{AgentName, ClientVersion, Team, Timestamp};
use taskyard::teams::{SeatMemory, SeatRecord, SeatTaken, TeamError, TeamStore};
use tokio_postgres::Row;

use super::noted_calls::NotedCalls;
use super::seats;
use crate::connecting::Statement;
use crate::database::Database;
use crate::store::storable;
use crate::versions::Kind;

/// The form in which teams and messages are written down for every reader.
pub(super) const FORM: ClientVersion = ClientVersion::V2_1_325;

/// What is told when something about teams has moved, whichever.
const CHANNEL: &str = "teams";

/// What is remembered of the seats of a team, and which seats an agent has.
const SEATS_OF_TEAM: (Kind, &str) = (Kind::Teams, "read the seats of a team");
const SEATS_OF_AGENT: (Kind, &str) = (Kind::Teams, "read the seats of an agent");
const SEATS_IN: &str = "SELECT member, body FROM @.seats WHERE team = $1 AND made = $2";

/// Teams in a database that many machines share.
#[derive(Debug)]
pub(crate) struct PostgresTeams {
    pub(super) database: Arc<Database>,
    /// Calls of members that are to be written down.
    pub(super) calls: Arc<NotedCalls>,
}

impl PostgresTeams {
    /// Returns the teams of a database.
    pub(crate) fn over(database: Arc<Database>) -> Self {
        let calls = Arc::new(NotedCalls::in_database(Arc::clone(&database)));
        Self { database, calls }
    }

    /// Returns a statement about a team whose first two parameters are its directory and when it was made: another may have its name
    /// since.
    pub(super) fn about(&self, team: &Team, sql: &str) -> Statement {
        seats::about(&self.database, team, sql)
    }

    /// Tells the followers that something has moved.
    pub(super) fn tell(&self, kind: Kind) {
        self.database.tell_of(kind, &self.channel());
    }

    /// Returns the channel on which that is told.
    pub(super) fn channel(&self) -> String {
        self.database.schema.channel(CHANNEL, "")
    }
}

impl TeamStore for PostgresTeams {}

impl SeatMemory for PostgresTeams {
    fn seats_in(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        let rows = self.database.read(SEATS_OF_TEAM.1, || vec![self.about(team, SEATS_IN)])?;
        let mut seats = rows.map(|rows| seats::read_all(&rows[0])).unwrap_or_default();
        self.calls.add_to(team, &mut seats);
        Ok(seats)
    }

    fn seats_recalled(&self, team: &Team) -> Result<HashMap<String, SeatRecord>, TeamError> {
        // The name of a directory has no `/`.
        let about = format!("{}/{}", team.name.directory(), team.created_at.0);
        let seats = self.database.recall(SEATS_OF_TEAM, &about, || self.about(team, SEATS_IN), seats::read_all)?;
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
        seats::change_seat(&self.database, team, member, change)
    }

    fn note_call(&self, team: &Team, member: &str, activity: &str, now: Timestamp) -> Result<(), TeamError> {
        self.calls.note(team, member, activity, now)
    }
}

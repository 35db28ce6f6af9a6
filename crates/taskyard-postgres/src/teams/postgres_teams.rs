//! The place of teams itself.

use std::sync::Arc;

use taskyard::core::{ClientVersion, Team};
use taskyard::teams::TeamStore;

use crate::connecting::Statement;
use crate::database::Database;
use crate::versions::Kind;

/// The form in which teams and messages are written down for every reader.
pub(super) const FORM: ClientVersion = ClientVersion::V2_1_325;

/// What is told when something about teams has moved, whichever.
const CHANNEL: &str = "teams";

/// Teams in a database that many machines share.
#[derive(Debug)]
pub(crate) struct PostgresTeams {
    pub(super) database: Arc<Database>,
}

impl PostgresTeams {
    /// Returns the teams of a database.
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Returns a statement about a team whose first two parameters are its directory and when it was made: another may have its name
    /// since.
    pub(super) fn about(&self, team: &Team, sql: &str) -> Statement {
        self.database.statement(sql).text(team.name.directory()).number(team.created_at.0)
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

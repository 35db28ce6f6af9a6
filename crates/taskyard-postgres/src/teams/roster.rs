//! The teams there are, and who is in each.

use std::sync::Arc;

use taskyard::core::dialect::team_file;
use taskyard::core::{LEAD, ListId, Member, Team, TeamName};
use taskyard::store::StoreError;
use taskyard::teams::{Added, Roster, SeatRecord, TeamError, TeamsFound, UnreadableTeam};
use tokio_postgres::Row;

use super::postgres_teams::{FORM, PostgresTeams};
use super::seats;
use crate::connecting::{Failure, FailureKind, Statement};
use crate::seldom::{TEAMS, TeamBodies, read_bodies};
use crate::store::{Waiting, making};
use crate::versions::Kind;

/// Locks a team against other writers. Messages to it go on.
const LOCK: &str = "SELECT body FROM @.teams WHERE directory = $1 FOR NO KEY UPDATE";

impl Roster for PostgresTeams {
    fn teams(&self) -> Result<TeamsFound, TeamError> {
        let mut found = TeamsFound::default();
        for (directory, body) in self.bodies()?.iter().flat_map(|bodies| bodies.iter()) {
            match team_file::read(body.as_bytes()) {
                Ok(team) => found.teams.push(team),
                Err(error) => {
                    let error =
                        StoreError::Failed { doing: format!("read the team `{directory}`"), source: error.into() };
                    found.unreadable.push(UnreadableTeam { directory: directory.clone(), error: error.into() });
                }
            }
        }
        found.teams.sort_by(|one, two| one.name.as_str().cmp(two.name.as_str()));
        Ok(found)
    }

    fn may_be_any(&self) -> bool {
        // A caller that goes on to ask learns what is wrong.
        self.bodies().map_or(true, |bodies| bodies.is_some_and(|bodies| !bodies.is_empty()))
    }

    fn team(&self, name: &TeamName) -> Result<Option<Team>, TeamError> {
        let doing = "read a team";
        let question =
            || vec![self.database.statement("SELECT body FROM @.teams WHERE directory = $1").text(name.directory())];
        let Some(rows) = self.database.read(doing, question)? else { return Ok(None) };
        let team = rows[0].first().map(team_in).transpose();
        Ok(team.map_err(|failure| failure.into_store_error(self.database.shown(), doing))?)
    }

    fn make_team(&self, team: &Team, lead: &SeatRecord) -> Result<bool, TeamError> {
        let body = text_of(team_file::create(team, FORM))?;
        // The list may be made first: it says which roles see the team.
        let list = ListId::new(team.name.directory());
        let list = list.map_err(|error| StoreError::Failed { doing: "make a team".into(), source: error.into() })?;
        let made = self.database.transact(
            "make a team",
            || {
                let sql = "INSERT INTO @.teams (directory, made, body) VALUES ($1, $2, $3)
                    ON CONFLICT (directory) DO NOTHING RETURNING 1";
                let mut all = making(&self.database, &list, Waiting::Wait);
                all.push(self.about(team, sql).text(body.clone()));
                all
            },
            |rows| {
                let is_made = rows.last().is_some_and(|rows| !rows.is_empty());
                let seat = is_made
                    .then(|| [seats::writing(&self.database, team, LEAD, lead), self.database.raise(Kind::Teams)]);
                Ok((seat.into_iter().flatten().collect(), is_made))
            },
        )?;
        if made {
            self.tell(Kind::Teams);
        }
        Ok(made)
    }

    fn add_member(&self, team: &TeamName, member: &Member) -> Result<Option<Added>, TeamError> {
        self.change_members(team, |body, team| {
            let member = Member { color: Some(team.colour_for(&member.name)), ..member.clone() };
            let was_there = team.members.iter().any(|other| other.name == member.name);
            let changed = team_file::with_member(body, &member, FORM).map_err(unreadable)?;
            let team = team_file::read(&changed).map_err(unreadable)?;
            Ok(Some((changed, Added { team, was_there })))
        })
    }

    fn remove_member(&self, team: &TeamName, member: &str) -> Result<bool, TeamError> {
        let removed = self.change_members(team, |body, team| {
            let was_there = team.members.iter().any(|other| other.name == member);
            let without = || team_file::without_member(body, member).map_err(unreadable);
            was_there.then(without).transpose().map(|changed| changed.map(|changed| (changed, ())))
        })?;
        Ok(removed.is_some())
    }

    fn remove_team(&self, team: &Team) -> Result<(), TeamError> {
        let tables = [("teams", "directory"), ("seats", "team"), ("messages", "team"), ("letters", "team")];
        self.database.change("remove a team", || {
            let removal = |(table, name)| format!("DELETE FROM @.{table} WHERE {name} = $1 AND made = $2");
            let mut all: Vec<Statement> = tables.map(|table| self.about(team, &removal(table))).into();
            // In the order of their names, as everybody raises several.
            all.extend([Kind::Messages, Kind::Teams].map(|kind| self.database.raise(kind)));
            all
        })?;
        self.tell(Kind::Messages);
        self.tell(Kind::Teams);
        Ok(())
    }
}

impl PostgresTeams {
    /// Returns the directory of each team and what is written of it; `None` if there is no yard yet.
    fn bodies(&self) -> Result<Option<Arc<TeamBodies>>, StoreError> {
        self.database.recall(TEAMS, "", || self.database.all_teams(), read_bodies)
    }

    /// Changes what is written of a team while no other process does; none, and nothing has happened, where there is none or nothing to
    /// change.
    fn change_members<T>(
        &self,
        name: &TeamName,
        change: impl Fn(&[u8], &Team) -> Result<Option<(Vec<u8>, T)>, Failure>,
    ) -> Result<Option<T>, TeamError> {
        let changed = self.database.transact(
            "change a team",
            || vec![self.database.statement(LOCK).text(name.directory())],
            |rows| {
                let Some(row) = rows[0].first() else { return Ok((Vec::new(), None)) };
                let body: &str = row.try_get(0)?;
                let Some((body, answer)) = change(body.as_bytes(), &team_in(row)?)? else {
                    return Ok((Vec::new(), None));
                };
                let body = String::from_utf8(body).map_err(unreadable)?;
                let update = self.database.statement("UPDATE @.teams SET body = $2 WHERE directory = $1");
                let update = update.text(name.directory()).text(body);
                Ok((vec![update, self.database.raise(Kind::Teams)], Some(answer)))
            },
        )?;
        if changed.is_some() {
            self.tell(Kind::Teams);
        }
        Ok(changed)
    }
}

fn team_in(row: &Row) -> Result<Team, Failure> {
    team_file::read(row.try_get::<_, &str>(0)?.as_bytes()).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Wrong, error.to_string())
}

fn text_of(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| StoreError::Failed { doing: "write a team".into(), source: error.into() })
}

/// Returns what makes sure that a team is there and stays until the transaction ends, without keeping other processes from it.
pub(super) fn presence(teams: &PostgresTeams, name: &TeamName) -> Statement {
    let sql = "SELECT made FROM @.teams WHERE directory = $1 FOR KEY SHARE";
    teams.database.statement(sql).text(name.directory())
}

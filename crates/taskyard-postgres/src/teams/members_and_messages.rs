//! Teams, their members and the messages to members.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use taskyard::core::dialect::{inbox, native, team_file};
use taskyard::core::{LEAD, ListId, Member, MessageKey, Op, Team, TeamName, Timestamp};
use taskyard::store::{Moved, Signature, StoreError};
use taskyard::teams::{
    Acknowledged, Added, LeadMail, Mailbox, Mailboxes, Posted, Roster, SeatRecord, SentFound, SentLetter, TeamError,
    TeamWatch, TeamsFound, Traces, UnreadableTeam,
};
use tokio_postgres::Row;

use super::postgres_teams::{FORM, PostgresTeams};
use crate::connecting::{Failure, FailureKind, Statement};
use crate::seldom::{LEAD_MAIL, SeldomFollower, TEAMS, TeamBodies, read_bodies};
use crate::store::{Waiting, making, storable};
use crate::teams::postgres_teams;
use crate::teams::postgres_teams::PostgresTeamWatch;
use crate::versions::Kind;

/// Locks a team against other writers. Messages can still be sent to it.
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
        // A caller that goes on to query gets the error.
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
        // The list may have to be created first: it determines which roles see the team.
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
                let seat = is_made.then(|| {
                    [postgres_teams::writing(&self.database, team, LEAD, lead), self.database.raise(Kind::Teams)]
                });
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
            // Sorted by name, the order in which everyone raises several counts, to avoid deadlocks.
            all.extend([Kind::Messages, Kind::Teams].map(|kind| self.database.raise(kind)));
            all
        })?;
        self.tell(Kind::Messages);
        self.tell(Kind::Teams);
        Ok(())
    }
}

impl PostgresTeams {
    /// Returns each team's directory and body, or `None` if there are no tables yet.
    fn bodies(&self) -> Result<Option<Arc<TeamBodies>>, StoreError> {
        self.database.recall(TEAMS, "", || self.database.all_teams(), read_bodies)
    }

    /// Changes a team's body with the team locked. Returns `None` without changing anything if the team does not
    /// exist or `change` has nothing to do.
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

/// Returns the query that ensures that a team exists, and keeps it from being deleted until the transaction ends.
/// Does not lock out other such transactions.
pub(super) fn presence(teams: &PostgresTeams, name: &TeamName) -> Statement {
    let sql = "SELECT made FROM @.teams WHERE directory = $1 FOR KEY SHARE";
    teams.database.statement(sql).text(name.directory())
}

const MAILBOX: (Kind, &str) = (Kind::Messages, "read a mailbox");

impl Mailboxes for PostgresTeams {
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError> {
        let message = posted.message;
        let body = native::stringify(&Value::Object(inbox::entry(message, FORM)));
        let key = storable(&message.key().as_text());
        // A retry after a lost answer is the same delivery.
        let delivery = random_name();
        let delivered = self.database.change("deliver a message", || {
            let sql = "INSERT INTO @.messages (team, made, member, key, body, delivery)
                SELECT directory, made, $2, $3, $4, $5 FROM @.teams WHERE directory = $1
                ON CONFLICT (delivery) DO NOTHING";
            let insertion = self.database.statement(sql).text(posted.team.directory()).text(posted.to);
            let insertion = insertion.text(key.clone()).text(body.clone()).text(delivery.clone());
            let mut all = vec![presence(self, posted.team), insertion];
            if let Some(trace) = posted.trace {
                let sql = "INSERT INTO @.letters (team, made, sender, recipient, key, at, summary, delivery)
                    SELECT directory, made, $3, $4, $5, $6, $7, $8 FROM @.teams WHERE directory = $1 AND made = $2
                    ON CONFLICT (delivery) DO NOTHING";
                let letter =
                    self.about(trace.team, sql).text(storable(&message.from)).text(posted.to).text(key.clone());
                all.push(letter.number(trace.at.0).text(storable(trace.summary)).text(delivery.clone()));
            }
            all.push(self.database.raise(Kind::Messages));
            all
        })?;
        let has_team = !delivered[0].is_empty();
        if has_team {
            self.tell(Kind::Messages);
        }
        Ok(has_team)
    }

    fn mailbox(&self, team: &Team, member: &str) -> Result<Mailbox, TeamError> {
        let sql = "SELECT body FROM @.messages
            WHERE team = $1 AND made = $2 AND member = $3 AND acknowledged_at IS NULL ORDER BY id";
        let about = format!("{}\0{}\0{member}", team.name.directory(), team.created_at.0);
        let bodies = |rows: &[Row]| rows.iter().map(|row| row.get(0)).collect::<Vec<String>>();
        let asked = self.database.recall(MAILBOX, &about, || self.about(team, sql).text(member), bodies)?;
        let bodies = asked.unwrap_or_default();
        let contents = inbox::read(format!("[{}]", bodies.join(",")).as_bytes());
        let contents =
            contents.map_err(|error| StoreError::Failed { doing: "read a mailbox".into(), source: error.into() })?;
        Ok(Mailbox {
            messages: contents.messages,
            // Acknowledged messages are no longer in the inbox.
            acknowledged: HashSet::new(),
            malformed: contents.malformed.len(),
        })
    }

    fn note_shown(&self, team: &Team, member: &str, keys: &[MessageKey], now: Timestamp) -> Result<(), TeamError> {
        if keys.is_empty() {
            return Ok(());
        }
        let sql = "UPDATE @.messages SET shown_at = $4
            WHERE team = $1 AND made = $2 AND member = $3 AND key = ANY($5) AND shown_at IS NULL";
        self.database.change("note that messages were shown", || {
            vec![self.about(team, sql).text(member).number(now.0).texts(texts(keys))]
        })?;
        Ok(())
    }

    fn acknowledge(
        &self,
        team: &Team,
        member: &str,
        keys: &[MessageKey],
        now: Timestamp,
    ) -> Result<Acknowledged, TeamError> {
        if keys.is_empty() {
            return Ok(Acknowledged::default());
        }
        let sql = "UPDATE @.messages SET acknowledged_at = $4
            WHERE team = $1 AND made = $2 AND member = $3 AND key = ANY($5) AND acknowledged_at IS NULL RETURNING 1";
        let taken = self.database.change("acknowledge messages", || {
            let acknowledgement = self.about(team, sql).text(member).number(now.0).texts(texts(keys));
            vec![acknowledgement, self.database.raise(Kind::Messages)]
        })?;
        Ok(Acknowledged { taken: taken[0].len(), set_aside: Vec::new() })
    }

    fn sent(&self, team: &Team, sender: &str, most: usize) -> Result<SentFound, TeamError> {
        let sql = "SELECT l.key, l.recipient, l.at, l.summary, m.id IS NOT NULL, m.shown_at IS NOT NULL,
                m.acknowledged_at IS NOT NULL
            FROM @.letters l LEFT JOIN @.messages m ON m.delivery = l.delivery
            WHERE l.team = $1 AND l.made = $2 AND l.sender = $3 ORDER BY l.id DESC LIMIT $4";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self
            .database
            .read("read what was sent", || vec![self.about(team, sql).text(storable(sender)).number(most)])?;
        let letter = |row: &Row| SentLetter {
            key: row.get(0),
            to: row.get(1),
            at: Timestamp(row.get(2)),
            summary: row.get(3),
            traces: match row.get(4) {
                true => Traces {
                    has_recipient: false,
                    in_inbox: Some(false),
                    was_delivered: row.get(5),
                    was_acknowledged: row.get(6),
                },
                false => Traces::default(),
            },
        };
        let letters = rows.map(|rows| rows[0].iter().map(letter).collect()).unwrap_or_default();
        Ok(SentFound { letters, unreadable: Vec::new() })
    }

    fn new_lead_mail(&self) -> Option<LeadMail> {
        let asked = self.database.recall(LEAD_MAIL, "", || self.database.lead_mail(), |rows| !rows.is_empty());
        // If the query fails, the next caller gets the error.
        let has_mail = asked.ok().flatten().is_some_and(|has_mail| *has_mail);
        has_mail.then(LeadMail::default)
    }

    fn watch(&self, moved: Moved) -> Box<dyn TeamWatch> {
        let follow = |kind| SeldomFollower::follow(&self.database, kind, &self.channel(), Arc::clone(&moved));
        Box::new(PostgresTeamWatch { _following: [Kind::Teams, Kind::Messages].map(follow) })
    }
}

fn texts(keys: &[MessageKey]) -> Vec<String> {
    keys.iter().map(|key| storable(&key.as_text())).collect()
}

/// Returns a unique name.
fn random_name() -> String {
    let nobody = taskyard::core::AgentName::new("nobody").expect("the name is not blank");
    Signature::new(nobody, Op::Create).attempt.to_string()
}

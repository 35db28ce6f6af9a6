//! What members write to each other.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use taskyard::core::dialect::{inbox, native};
use taskyard::core::{MessageKey, Op, Team, Timestamp};
use taskyard::store::{Moved, Signature, StoreError};
use taskyard::teams::{
    Acknowledged, LeadMail, Mailbox, Mailboxes, Posted, SentFound, SentLetter, TeamError, TeamWatch, Traces,
};
use tokio_postgres::Row;

use super::postgres_teams::{FORM, PostgresTeams};
use super::roster::presence;
use super::watch::PostgresTeamWatch;
use crate::seldom::{LEAD_MAIL, SeldomFollower};
use crate::store::storable;
use crate::versions::Kind;

const MAILBOX: (Kind, &str) = (Kind::Messages, "read a mailbox");

impl Mailboxes for PostgresTeams {
    fn deliver(&self, posted: &Posted<'_>) -> Result<bool, TeamError> {
        let message = posted.message;
        let body = native::stringify(&Value::Object(inbox::entry(message, FORM)));
        let key = storable(&message.key().as_text());
        // Sent again after a lost answer, it is the same delivery.
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
            // Those are no longer in it.
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
        // An error that keeps us from asking is told to the next caller.
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

/// Returns a name that nothing else has.
fn random_name() -> String {
    let nobody = taskyard::core::AgentName::new("nobody").expect("the name is not blank");
    Signature::new(nobody, Op::Create).attempt.to_string()
}

//! Making the tables of a yard, and bringing them to the newest version.

use super::SchemaName;
use super::rights::{giving_all, question_for_columns, question_for_roles};
use crate::connecting::{Failure, FailureKind, OWN_NAMES_ONLY, STATEMENT_TIME, Session, Statement};

/// The version of the tables that this release makes and understands.
pub(crate) const VERSION: i64 = 2;

/// What makes each version out of the one before.
const STEPS: [&str; VERSION as usize] = [include_str!("version_1.sql"), include_str!("version_2.sql")];

/// The oldest server that we know to do.
const OLDEST_SERVER: i64 = 140_000;

/// Makes the tables, or brings them to the newest version, in one transaction, and returns the version they had, 0 if there were none. If
/// several processes come at once, one does it and the others wait. `timeline` is the server's, or `None` if it has none to tell.
pub(crate) fn migrate(session: &mut Session, schema: &SchemaName, timeline: Option<i64>) -> Result<i64, Failure> {
    let begun = begin(session, schema);
    let done = begun.and_then(|from| {
        let steps =
            STEPS.iter().skip(usize::try_from(from).unwrap_or(0)).map(|step| Statement::script(schema.in_sql(step)));
        let mut statements: Vec<Statement> = steps.collect();
        if from < VERSION {
            let sql = "UPDATE @.yard SET version = $1, timeline = $2";
            statements.push(Statement::new(schema.in_sql(sql)).number(VERSION).some_number(timeline));
            let sql = "UPDATE @.epochs SET timeline = $1";
            statements.push(Statement::new(schema.in_sql(sql)).some_number(timeline));
        }
        session.ask(&statements, STATEMENT_TIME * 10)?;
        if from < VERSION {
            // The roles that worked with the older tables need rights in the new ones.
            let asked = [question_for_roles(schema), question_for_columns(schema)];
            let rows = session.ask(&asked, STATEMENT_TIME)?;
            session.ask(&giving_all(schema, &rows[0], &rows[1])?, STATEMENT_TIME)?;
        }
        session.ask(&[Statement::script("COMMIT")], STATEMENT_TIME).map(|_| from)
    });
    if done.is_err() {
        let _ = session.ask(&[Statement::script("ROLLBACK")], STATEMENT_TIME);
    }
    done.map_err(|failure| {
        let kind = failure.kind();
        Failure::new(kind, format!("the tables in schema `{}` cannot be made or upgraded: {failure}", schema.plain()))
    })
}

/// Returns the failure of a yard whose tables are there without the row that says which version they have.
pub(crate) fn lost_row() -> Failure {
    let said = "the table `yard` has lost its only row; restore the database from a backup, or insert that row again \
        (docs/formats/postgres.md)";
    Failure::new(FailureKind::Wrong, said)
}

/// Begins a transaction in which no other process makes these tables; returns the version they have, 0 where there are none.
fn begin(session: &mut Session, schema: &SchemaName) -> Result<i64, Failure> {
    let look = "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
        to_regnamespace($1) IS NOT NULL, to_regclass($2) IS NOT NULL";
    let rows = session.ask(
        &[
            Statement::script(format!("BEGIN; {OWN_NAMES_ONLY}")),
            Statement::new("SELECT pg_advisory_xact_lock($1)").number(schema.lock_number()),
            Statement::new(look).text(schema.in_sql("@")).text(schema.in_sql("@.yard")),
        ],
        STATEMENT_TIME * 10,
    )?;
    let wrong = |said: String| Err(Failure::new(FailureKind::Wrong, said));
    let row = &rows[2][0];
    let (server, encoding): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    if server < OLDEST_SERVER {
        return wrong(format!("the server is PostgreSQL {}, and 14 is the oldest that does", server / 10_000));
    }
    if encoding != "UTF8" {
        return wrong(format!("the database has the encoding {encoding}, and only UTF8 does"));
    }
    let (has_schema, has_yard): (bool, bool) = (row.try_get(2)?, row.try_get(3)?);
    if has_yard {
        let rows = session.ask(&[Statement::new(schema.in_sql("SELECT version FROM @.yard"))], STATEMENT_TIME)?;
        let row = rows[0].first().ok_or_else(lost_row)?;
        return Ok(row.try_get(0)?);
    }
    if !has_schema {
        session.ask(&[Statement::new(schema.in_sql("CREATE SCHEMA @"))], STATEMENT_TIME)?;
    }
    Ok(0)
}

//! Letting roles in.

use std::collections::BTreeMap;

use tokio_postgres::Row;

use super::{Administration, AdministrationError};
use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::schema::{quoted, rights};

const DOING: &str = "let a role in";

impl Administration {
    /// Gives a role what it needs to work, and makes the role if there is none of that name. A role that has too much is left with what it
    /// needs.
    pub fn let_in(&self, role: &str) -> Result<(), AdministrationError> {
        let database = &self.database;
        database.transact(
            DOING,
            || questions(database, role),
            |rows| {
                let asked = Asked::read(rows)?;
                if let Some(refused) = asked.refused {
                    return Ok((Vec::new(), Err(refused)));
                }
                let mut all = Vec::new();
                if !asked.has_role {
                    all.push(Statement::script(format!("CREATE ROLE {} LOGIN", quoted(role))));
                }
                all.push(Statement::script(rights(&database.schema.in_sql("@"), role, &asked.columns)));
                Ok((all, Ok(())))
            },
        )?
    }
}

/// What has to be known before a role is given anything.
struct Asked {
    /// Why the connection may not give rights.
    refused: Option<AdministrationError>,
    has_role: bool,
    /// The columns of each table.
    columns: BTreeMap<String, Vec<String>>,
}

/// Returns what asks for it. While one process changes rights or tables, others wait.
fn questions(database: &Database, role: &str) -> Vec<Statement> {
    let owner = "SELECT pg_get_userbyid(relowner)::text, current_user::text, pg_has_role(relowner, 'USAGE'),
        EXISTS (SELECT FROM pg_roles WHERE rolname = $2) FROM pg_class WHERE oid = to_regclass($1)";
    let columns = "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attnum";
    vec![
        Statement::new("SELECT pg_advisory_xact_lock($1)").number(database.schema.lock_number()),
        Statement::new(owner).text(database.schema.in_sql("@.yard")).text(role),
        Statement::new(columns).text(database.schema.in_sql("@")),
    ]
}

impl Asked {
    fn read(rows: &[Vec<Row>]) -> Result<Self, Failure> {
        let row = &rows[1][0];
        let (owner, role): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let refused = (!row.try_get::<_, bool>(2)?).then_some(AdministrationError::NotOwner { role, owner });
        let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in &rows[2] {
            columns.entry(row.try_get(0)?).or_default().push(row.try_get(1)?);
        }
        Ok(Self { refused, has_role: row.try_get(3)?, columns })
    }
}

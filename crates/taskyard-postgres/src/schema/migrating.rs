//! Creates the tables of a yard, upgrades them and grants rights on them.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use tokio_postgres::Row;

use crate::connecting::{Failure, FailureKind, OWN_NAMES_ONLY, STATEMENT_TIME, Session, Statement};

/// The version of the tables that this release creates and requires.
pub(crate) const VERSION: i64 = 2;

/// The scripts that upgrade each version to the next.
const STEPS: [&str; VERSION as usize] = [include_str!("version_1.sql"), include_str!("version_2.sql")];

/// The oldest supported server version.
const OLDEST_SERVER: i64 = 140_000;

/// Creates or upgrades the tables in one transaction, and returns the version they had; 0 if they did not exist. If
/// several processes try at once, one does it and the others wait. `timeline` is the server's, or `None` if the
/// server reports none.
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
            // Roles that used the older tables need privileges on the new ones.
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

/// The failure if the tables exist, but the row with their version does not.
pub(crate) fn lost_row() -> Failure {
    let said = "the only row of the table `yard` is missing; restore the database from a backup, or insert that row again \
        (docs/formats/postgres.md)";
    Failure::new(FailureKind::Wrong, said)
}

/// Begins a transaction that locks out other migrations, and returns the version of the tables; 0 if they do not
/// exist.
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
        return wrong(format!("the server is PostgreSQL {}, but at least 14 is required", server / 10_000));
    }
    if encoding != "UTF8" {
        return wrong(format!("the database has the encoding {encoding}, but UTF8 is required"));
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

/// The name of a schema, plain and as quoted in statements.
#[derive(Clone, Debug)]
pub(crate) struct SchemaName {
    plain: String,
    quoted: String,
}

impl SchemaName {
    /// Takes the unquoted name.
    pub(crate) fn new(plain: &str) -> Self {
        Self { plain: plain.to_owned(), quoted: format!("\"{}\"", plain.replace('"', "\"\"")) }
    }

    /// Returns the unquoted name.
    pub(crate) fn plain(&self) -> &str {
        &self.plain
    }

    /// Replaces `@` with the quoted schema.
    pub(crate) fn in_sql(&self, sql: &str) -> String {
        sql.replace('@', &self.quoted)
    }

    /// Returns the key of the advisory lock, which other programs are unlikely to use.
    pub(crate) fn lock_number(&self) -> i64 {
        let digest = Sha256::digest(format!("taskyard\0{}", self.plain));
        i64::from_be_bytes(digest[..8].try_into().expect("eight bytes are eight bytes"))
    }

    /// Returns the name of the channel for a kind of change to `name`.
    pub(crate) fn channel(&self, kind: &str, name: &str) -> String {
        let digest = Sha256::digest(format!("{}\0{kind}\0{name}", self.plain));
        let hex = taskyard::system::hexadecimal(&digest[..16]);
        format!("taskyard_{hex}")
    }
}

/// A role's privileges on the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableRights {
    None,
    /// Read only.
    Read,
    /// Change everything except the tables' structure and existing journal entries.
    Work,
}

/// The columns of each table.
pub(crate) type Columns = BTreeMap<String, Vec<String>>;

struct Privilege {
    verb: &'static str,
    of: Of,
}

/// The columns a privilege covers.
enum Of {
    All,
    AllBut(&'static [&'static str]),
    Only(&'static [&'static str]),
}

const SELECT: Privilege = Privilege { verb: "SELECT", of: Of::All };
const INSERT: Privilege = Privilege { verb: "INSERT", of: Of::All };
const UPDATE: Privilege = Privilege { verb: "UPDATE", of: Of::All };
const DELETE: Privilege = Privilege { verb: "DELETE", of: Of::All };

const fn select_but(columns: &'static [&'static str]) -> Privilege {
    Privilege { verb: "SELECT", of: Of::AllBut(columns) }
}

const fn insert_but(columns: &'static [&'static str]) -> Privilege {
    Privilege { verb: "INSERT", of: Of::AllBut(columns) }
}

/// The tables, with the privilege of a role that only reads and the additional ones of a role that works.
const TABLES: [(&str, Privilege, &[Privilege]); 20] = [
    // A process that finds the database rolled back begins a new epoch.
    ("yard", SELECT, &[Privilege { verb: "UPDATE", of: Of::AllBut(&["only_one", "version"]) }]),
    ("epochs", SELECT, &[INSERT]),
    ("grants", SELECT, &[]),
    // The server assigns a list's number, which grants refer to.
    (
        "lists",
        SELECT,
        &[
            Privilege { verb: "INSERT", of: Of::Only(&["directory", "name"]) },
            Privilege { verb: "UPDATE", of: Of::AllBut(&["id", "directory", "name", "channel"]) },
        ],
    ),
    // A row-level policy limits which rows are visible.
    ("commit_channels", SELECT, &[]),
    ("tasks", SELECT, &[INSERT, UPDATE, DELETE]),
    ("ties", SELECT, &[INSERT, DELETE]),
    // A transaction that changes counted data raises its count.
    ("versions", SELECT, &[Privilege { verb: "UPDATE", of: Of::Only(&["version"]) }]),
    // The server fills in the author of an entry; entries are never updated.
    ("changes", SELECT, &[insert_but(&["db_user"])]),
    ("lease_clocks", SELECT, &[INSERT, UPDATE]),
    ("leases", SELECT, &[INSERT, UPDATE]),
    // A role must not see the agents of other roles.
    (
        "alive",
        select_but(&["agent"]),
        &[insert_but(&["role"]), Privilege { verb: "UPDATE", of: Of::Only(&["seen_at", "agent"]) }, DELETE],
    ),
    ("teams", SELECT, &[INSERT, UPDATE, DELETE]),
    ("seats", SELECT, &[INSERT, UPDATE, DELETE]),
    ("messages", SELECT, &[INSERT, UPDATE, DELETE]),
    ("letters", SELECT, &[INSERT, DELETE]),
    ("notices", SELECT, &[INSERT, UPDATE]),
    ("jobs", SELECT, &[INSERT, UPDATE, DELETE]),
    ("output_requests", SELECT, &[INSERT, UPDATE, DELETE]),
    ("todos", SELECT, &[insert_but(&["role"]), Privilege { verb: "UPDATE", of: Of::Only(&["body"]) }]),
];

/// Stands for all roles in the table `grants`. No role can have this name.
const EVERYBODY: &str = "public";

/// Returns the script that sets a role's privileges to exactly these.
pub(crate) fn giving(schema: &SchemaName, role: &str, rights: TableRights, columns: &Columns) -> Statement {
    let (schema, role) = (schema.in_sql("@"), if role == EVERYBODY { "PUBLIC".to_owned() } else { quoted(role) });
    let mut all = vec![
        format!("REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"),
        format!("REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {role}"),
    ];
    if rights != TableRights::None {
        all.push(format!("GRANT USAGE ON SCHEMA {schema} TO {role}"));
    }
    if rights == TableRights::Work {
        all.push(format!("GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"));
    }
    for (table, looking, working) in &TABLES {
        let looking = (rights != TableRights::None).then_some(looking);
        let working: &[Privilege] = if rights == TableRights::Work { working } else { &[] };
        for Privilege { verb, of } in looking.into_iter().chain(working) {
            let named = columns.get(*table).into_iter().flatten().filter(|column| match of {
                Of::All => true,
                Of::AllBut(these) => !these.contains(&column.as_str()),
                Of::Only(these) => these.contains(&column.as_str()),
            });
            let named: Vec<String> = named.map(|column| quoted(column)).collect();
            let named = if matches!(of, Of::All) { String::new() } else { format!(" ({})", named.join(", ")) };
            all.push(format!("GRANT {verb}{named} ON {schema}.{table} TO {role}"));
        }
    }
    Statement::script(all.join("; "))
}

/// Returns the query for the columns of the tables.
pub(crate) fn question_for_columns(schema: &SchemaName) -> Statement {
    let sql = "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attnum";
    Statement::new(sql).text(schema.in_sql("@"))
}

/// Reads the result of [`question_for_columns`].
pub(crate) fn columns_in(rows: &[Row]) -> Result<Columns, Failure> {
    let mut columns = Columns::new();
    for row in rows {
        columns.entry(row.try_get(0)?).or_default().push(row.try_get(1)?);
    }
    Ok(columns)
}

/// Returns the query for the roles that may use the database, each with whether it may write.
pub(crate) fn question_for_roles(schema: &SchemaName) -> Statement {
    let sql = "SELECT g.role, bool_or(g.may_write) FROM @.grants g
        WHERE g.role = $1 OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = g.role) GROUP BY g.role ORDER BY g.role";
    Statement::new(schema.in_sql(sql)).text(EVERYBODY)
}

/// Reads both results, and returns the statements that grant all these roles their privileges.
pub(crate) fn giving_all(schema: &SchemaName, roles: &[Row], columns: &[Row]) -> Result<Vec<Statement>, Failure> {
    let columns = columns_in(columns)?;
    let mut all = Vec::new();
    for row in roles {
        let rights = if row.try_get(1)? { TableRights::Work } else { TableRights::Read };
        all.push(giving(schema, row.try_get(0)?, rights, &columns));
    }
    Ok(all)
}

/// Quotes an identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

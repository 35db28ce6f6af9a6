//! What a role gets in the tables. Which rows it sees there is decided by policies of the schema.

use std::collections::BTreeMap;

use tokio_postgres::Row;

use super::SchemaName;
use crate::connecting::{Failure, Statement};

/// How much a role may do in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableRights {
    /// Nothing.
    None,
    /// Look.
    Read,
    /// Work: change everything but tables and old entries of the journal.
    Work,
}

/// The columns of each table.
pub(crate) type Columns = BTreeMap<String, Vec<String>>;

/// A privilege on a table, or on some of its columns.
struct Privilege {
    verb: &'static str,
    of: Of,
}

/// Which columns of a table a privilege is for.
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

/// The tables, with what a role gets that only looks, and what one gets besides that works.
const TABLES: [(&str, Privilege, &[Privilege]); 20] = [
    // A process that finds that the database went back in time begins a new epoch.
    ("yard", SELECT, &[Privilege { verb: "UPDATE", of: Of::AllBut(&["only_one", "version"]) }]),
    ("epochs", SELECT, &[INSERT]),
    ("grants", SELECT, &[]),
    // The server gives a list its number, by which rights are granted.
    (
        "lists",
        SELECT,
        &[
            Privilege { verb: "INSERT", of: Of::Only(&["directory", "name"]) },
            Privilege { verb: "UPDATE", of: Of::AllBut(&["id", "directory", "name", "channel"]) },
        ],
    ),
    // Which rows are seen there is decided by a policy.
    ("commit_channels", SELECT, &[]),
    ("tasks", SELECT, &[INSERT, UPDATE, DELETE]),
    ("ties", SELECT, &[INSERT, DELETE]),
    // Whoever changes what is counted there raises the count.
    ("versions", SELECT, &[Privilege { verb: "UPDATE", of: Of::Only(&["version"]) }]),
    // The server fills in who wrote an entry, and nobody changes one.
    ("changes", SELECT, &[insert_but(&["db_user"])]),
    ("lease_clocks", SELECT, &[INSERT, UPDATE]),
    ("leases", SELECT, &[INSERT, UPDATE]),
    // The agents of other roles are nobody's business.
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

/// Everybody, in the table `grants`. No role can have that name.
const EVERYBODY: &str = "public";

/// Returns what leaves a role with these rights, and with no others.
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

/// Returns what asks for the columns of the tables.
pub(crate) fn question_for_columns(schema: &SchemaName) -> Statement {
    let sql = "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attnum";
    Statement::new(sql).text(schema.in_sql("@"))
}

/// Reads the answer.
pub(crate) fn columns_in(rows: &[Row]) -> Result<Columns, Failure> {
    let mut columns = Columns::new();
    for row in rows {
        columns.entry(row.try_get(0)?).or_default().push(row.try_get(1)?);
    }
    Ok(columns)
}

/// Returns what asks for the roles that may use the database, each with whether it may work.
pub(crate) fn question_for_roles(schema: &SchemaName) -> Statement {
    let sql = "SELECT g.role, bool_or(g.may_write) FROM @.grants g
        WHERE g.role = $1 OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = g.role) GROUP BY g.role ORDER BY g.role";
    Statement::new(schema.in_sql(sql)).text(EVERYBODY)
}

/// Reads the answers, and returns what gives all these roles their rights.
pub(crate) fn giving_all(schema: &SchemaName, roles: &[Row], columns: &[Row]) -> Result<Vec<Statement>, Failure> {
    let columns = columns_in(columns)?;
    let mut all = Vec::new();
    for row in roles {
        let rights = if row.try_get(1)? { TableRights::Work } else { TableRights::Read };
        all.push(giving(schema, row.try_get(0)?, rights, &columns));
    }
    Ok(all)
}

/// Returns a name as it is written in statements.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

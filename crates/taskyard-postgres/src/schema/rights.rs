//! What a role gets in the tables.

use std::collections::BTreeMap;

/// A privilege on a table, but not on these of its columns.
struct Privilege {
    verb: &'static str,
    but: &'static [&'static str],
}

const SELECT: Privilege = Privilege { verb: "SELECT", but: &[] };
const INSERT: Privilege = Privilege { verb: "INSERT", but: &[] };
const UPDATE: Privilege = Privilege { verb: "UPDATE", but: &[] };
const DELETE: Privilege = Privilege { verb: "DELETE", but: &[] };

/// What a role may do that works on lists. It may change neither tables nor old entries of the journal.
const WORK: [(&str, &[Privilege]); 14] = [
    // A process that finds that the database went back in time begins a new epoch.
    ("yard", &[SELECT, Privilege { verb: "UPDATE", but: &["only_one", "version"] }]),
    ("epochs", &[SELECT, INSERT]),
    ("lists", &[SELECT, INSERT, UPDATE]),
    ("tasks", &[SELECT, INSERT, UPDATE, DELETE]),
    // The server fills in who wrote an entry.
    ("changes", &[SELECT, Privilege { verb: "INSERT", but: &["db_user"] }]),
    ("lease_clocks", &[SELECT, INSERT, UPDATE]),
    ("leases", &[SELECT, INSERT, UPDATE]),
    ("alive", &[SELECT, INSERT, UPDATE, DELETE]),
    ("teams", &[SELECT, INSERT, UPDATE, DELETE]),
    ("seats", &[SELECT, INSERT, UPDATE, DELETE]),
    ("messages", &[SELECT, INSERT, UPDATE, DELETE]),
    ("letters", &[SELECT, INSERT, DELETE]),
    ("notices", &[SELECT, INSERT, UPDATE]),
    ("todos", &[SELECT, INSERT, UPDATE]),
];

/// Returns what leaves a role with its rights in a schema, and with no others. `columns` has those of each table.
pub(crate) fn rights(schema: &str, role: &str, columns: &BTreeMap<String, Vec<String>>) -> String {
    let role = quoted(role);
    let mut all = vec![
        format!("GRANT USAGE ON SCHEMA {schema} TO {role}"),
        format!("REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"),
        format!("GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"),
    ];
    for (table, privileges) in WORK {
        for Privilege { verb, but } in privileges {
            let of_columns = match but {
                [] => String::new(),
                but => {
                    let named = columns.get(table).into_iter().flatten();
                    let named = named.filter(|column| !but.contains(&column.as_str())).map(|column| quoted(column));
                    format!(" ({})", named.collect::<Vec<_>>().join(", "))
                }
            };
            all.push(format!("GRANT {verb}{of_columns} ON {schema}.{table} TO {role}"));
        }
    }
    all.join("; ")
}

/// Returns a name as it is written in statements.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{quoted, rights};

    #[test]
    fn columns_that_a_role_may_not_write_are_left_out() {
        let columns = ["list", "actor", "db_user"].map(str::to_owned).to_vec();
        let given = rights("s", "agents", &BTreeMap::from([("changes".to_owned(), columns)]));
        assert!(given.contains("GRANT INSERT (\"list\", \"actor\") ON s.changes TO \"agents\""), "{given}");
        assert!(!given.contains("UPDATE ON s.changes"), "{given}");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}

//! Moving a yard to another place than it was made at.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, params};

use super::rows::texts;

/// Returns the path of the list that a journal is of.
pub(super) fn path_in(journal: &Connection) -> String {
    journal.query_row("SELECT value FROM facts WHERE key = 'path'", [], |row| row.get(0)).expect("it has a path")
}

/// Changes what every text and every blob says. Rows with a checksum get that of what they say then.
pub(super) fn change_everywhere(database: &Connection, changes: &[(String, String)]) {
    // Nothing of it has to survive anything, and every yard is unpacked many times.
    database.execute_batch("PRAGMA synchronous = OFF; BEGIN IMMEDIATE").expect("the database can be changed");
    for table in texts(database, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
        let columns = texts(database, &format!("SELECT name FROM pragma_table_info('{table}')"));
        for column in &columns {
            for (from, to) in changes {
                let sql = format!(
                    "UPDATE {table} SET {column} = CASE typeof({column})
                        WHEN 'blob' THEN CAST(replace(CAST({column} AS TEXT), ?1, ?2) AS BLOB) ELSE replace({column}, ?1, ?2) END
                     WHERE typeof({column}) IN ('text', 'blob') AND instr({column}, CASE typeof({column}) WHEN 'blob' THEN CAST(?1 AS BLOB) ELSE ?1 END)"
                );
                let changed = database.execute(&sql, [from, to]).expect("what a row says can be changed");
                if changed > 0 && columns.iter().any(|column| column == "sum") {
                    // A row without one was written by a release that knew none, and counts as whole.
                    database
                        .execute(&format!("UPDATE {table} SET sum = NULL WHERE instr({column}, ?1)"), [to])
                        .expect("a sum goes");
                }
            }
        }
    }
    database.execute_batch("COMMIT").expect("the database can be changed");
}

/// Returns what has to be said in place of what a yard says of the run of the machine that it was made in: boot, pid namespace, machine.
pub(super) fn this_run_for(made_on: &str) -> Vec<(String, String)> {
    let text = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let boot = text("/proc/sys/kernel/random/boot_id").expect("the system tells its boot");
    let space = fs::read_link("/proc/self/ns/pid").expect("the system tells the namespace");
    let host = || text("/proc/sys/kernel/hostname").map(|name| format!("host:{name}"));
    let machine = text("/etc/machine-id").or_else(|_| text("/var/lib/dbus/machine-id")).or_else(|_| host());
    let now = [boot, space.to_string_lossy().into_owned(), machine.expect("the machine has a name")];
    let then = made_on.lines().map(str::to_owned);
    then.zip(now).filter(|(then, now)| then != now || then.len() == 36).collect()
}

/// Lets the journal know the temporary files of a commit that was broken off by the numbers that they have here.
pub(super) fn tell_temporary_files(list: &Path, journal: &Connection) {
    journal.execute_batch("PRAGMA synchronous = OFF").expect("the database can be changed");
    for entry in fs::read_dir(list).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(".taskyard-") {
            continue;
        }
        let contents = fs::read(entry.path()).expect("a file can be read");
        let inode = entry.metadata().expect("a file can be looked at").ino().cast_signed();
        let newest = "id >> 24 = (SELECT max(id) >> 24 FROM entries)";
        let sql = format!("UPDATE entries SET inode = ?1 WHERE after = ?2 AND {newest}");
        let told = journal.execute(&sql, params![inode, contents]).expect("an entry can be told");
        let has_sums = texts(journal, "SELECT name FROM pragma_table_info('entries')").iter().any(|name| name == "sum");
        if told > 0 && has_sums {
            journal.execute(&format!("UPDATE entries SET sum = NULL WHERE {newest}"), []).expect("a sum goes");
        }
    }
}

/// The sum in the names of our directories for lists.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

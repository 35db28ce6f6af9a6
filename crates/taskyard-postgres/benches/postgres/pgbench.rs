//! The statements of a claim, sent by hand.

use std::fs;
use std::process::Command;

use taskyard_testkit::{Cluster, postgres_program};

/// Has `pgbench` send the statements of a claim's transaction, in the same protocol mode, each client on the list whose turn it is. They are
/// those that a worker sends, to the letter but for values; each client asks for what is newer than its own last commit, as a
/// worker does. Returns how many transactions a second it makes. What a claim asks before it locks the list is not among them.
pub(crate) fn pgbench(cluster: &Cluster, schema: &str, lists: &[&str], clients: usize, seconds: u64) -> f64 {
    // What it leaves is there to be claimed afterwards.
    let image = r#"{"id":"1","subject":"task 1","description":"","status":"pending","blocks":[],"blockedBy":[]}"#;
    // A colon before a letter or digit would be a variable.
    let body = r#"{"agent":"ana","taken": 0,"ttl": 3600000,"holder": null}"#;
    let directory = match lists {
        [list] => format!("'{list}'"),
        _ => format!("'L' || (:client_id % {})", lists.len()),
    };
    let script = format!(
        "BEGIN;\nSET LOCAL lock_timeout = 30000;\nSET LOCAL statement_timeout = 60000;\n\
         SET LOCAL idle_in_transaction_session_timeout = 25000;\n\
         SELECT id, revision, last_token, mark, journaled, changed_at, thinned FROM {schema}.lists \
         WHERE directory = {directory} FOR UPDATE \\gset\n\
         SELECT c.revision, c.task, c.attempt, c.after, c.after_raw FROM {schema}.changes c \
         WHERE list = :id AND revision >= :known ORDER BY revision, place LIMIT 5001;\n\
         SELECT l.version, l.task, l.has_ended, l.token, l.body, l.ends_wall, l.ends_boot, l.ends_since_boot \
         FROM {schema}.leases l WHERE list = :id AND version > :version;\n\
         SELECT version AS yard, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at FROM {schema}.yard \\gset\n\
         \\set known :revision + 1\n\\set token :last_token + 1\n\
         WITH tick AS (UPDATE {schema}.lease_clocks SET version = version + 1 WHERE list = :id RETURNING version) \
         INSERT INTO {schema}.leases AS l \
         (list, version, task, has_ended, token, body, ends_wall, ends_boot, ends_since_boot) \
         SELECT :id, tick.version, new.* FROM tick, (VALUES ((1 + :client_id)::text, true, :token::bigint, '{body}', \
         NULL::bigint, NULL::text, NULL::bigint)) AS new \
         ON CONFLICT (list, task) DO UPDATE SET version = excluded.version, has_ended = excluded.has_ended, \
         token = excluded.token, body = excluded.body, ends_wall = excluded.ends_wall, ends_boot = excluded.ends_boot, \
         ends_since_boot = excluded.ends_since_boot RETURNING l.version \\gset\n\
         INSERT INTO {schema}.tasks (list, task, image, raw) \
         SELECT :id, new.* FROM (VALUES ((1 + :client_id)::text, '{image}', NULL::bytea)) AS new \
         ON CONFLICT (list, task) DO UPDATE SET image = excluded.image, raw = excluded.raw;\n\
         INSERT INTO {schema}.changes (list, revision, at, actor, op, undoes, \
         place, task, before, before_raw, after, after_raw, remark, attempt) \
         SELECT :id, :known, :at, 'ana', 'claim', NULL, new.* FROM (VALUES (0::bigint, (1 + :client_id)::text, '{image}', \
         NULL::bytea, '{image}', NULL::bytea, NULL::text, lpad(:known::text, 32, '0'))) AS new;\n\
         UPDATE {schema}.lists SET revision = :known, last_token = :token, mark = :mark, journaled = :journaled, \
         changed_at = coalesce(:at, changed_at), pending = pending + 0, in_progress = in_progress + 0, \
         completed = completed + 0 WHERE id = :id;\nCOMMIT;\n\
         BEGIN;\nSET LOCAL synchronous_commit = off;\nNOTIFY taskyard_bench;\nCOMMIT;\n"
    );
    let newest = |table: &str, column: &str| cluster.sql(&format!("SELECT max({column}) FROM {schema}.{table}"));
    let (known, version) = (newest("lists", "revision"), newest("lease_clocks", "version"));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), script).unwrap();
    let mut command = Command::new(postgres_program("pgbench"));
    command.args(["--no-vacuum", "--protocol=extended", "--jobs=2", "--client"]).arg(clients.to_string());
    command.arg(format!("--define=known={}", known.trim())).arg(format!("--define=version={}", version.trim()));
    command.arg("--time").arg(seconds.to_string()).arg("--file").arg(file.path()).arg(cluster.address());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

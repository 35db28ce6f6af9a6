//! The statements of a claim, sent by hand.

use std::fs;
use std::process::Command;

use taskyard_testkit::{Cluster, postgres_program};

/// Has `pgbench` send the statements of a claim's transaction, in the same protocol mode, each client on the list whose turn it is. Returns
/// how many transactions a second it makes. What a claim asks before it locks the list is not among them.
pub(crate) fn pgbench(cluster: &Cluster, schema: &str, lists: &[&str], clients: usize, seconds: u64) -> f64 {
    // What it leaves is there to be claimed afterwards.
    let image = r#"{"id":"1","subject":"task 1","description":"","status":"pending","blocks":[],"blockedBy":[]}"#;
    let directory = match lists {
        [list] => format!("'{list}'"),
        _ => format!("'L' || (:client_id % {})", lists.len()),
    };
    let script = format!(
        "BEGIN;\nSET LOCAL lock_timeout = 30000;\nSET LOCAL statement_timeout = 60000;\n\
         SET LOCAL idle_in_transaction_session_timeout = 25000;\n\
         SELECT id, revision + 1 AS next, last_token + 1 AS token FROM {schema}.lists WHERE directory = {directory} FOR UPDATE \\gset\n\
         SELECT count(*) FROM {schema}.changes WHERE list = :id AND revision >= :next - 17;\n\
         SELECT count(*) FROM {schema}.leases WHERE list = :id AND version > :token - 17;\n\
         SELECT version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM {schema}.yard;\n\
         WITH tick AS (UPDATE {schema}.lease_clocks SET version = version + 1 WHERE list = :id RETURNING version) \
         INSERT INTO {schema}.leases (list, version, task, has_ended, token, body) \
         SELECT :id, tick.version, (1 + :client_id)::text, true, :token, '{{}}' FROM tick \
         ON CONFLICT (list, task) DO UPDATE SET version = excluded.version, token = excluded.token;\n\
         INSERT INTO {schema}.tasks (list, task, image) VALUES (:id, (1 + :client_id)::text, '{image}') \
         ON CONFLICT (list, task) DO UPDATE SET image = excluded.image;\n\
         INSERT INTO {schema}.changes (list, revision, place, at, actor, op, task, before, after, attempt) \
         VALUES (:id, :next, 0, 0, 'ana', 'claim', (1 + :client_id)::text, '{image}', '{image}', 'x' || :next);\n\
         UPDATE {schema}.lists SET revision = :next, last_token = :token WHERE id = :id;\nCOMMIT;\n\
         BEGIN;\nSET LOCAL synchronous_commit = off;\nNOTIFY taskyard_bench;\nCOMMIT;\n"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), script).unwrap();
    let mut command = Command::new(postgres_program("pgbench"));
    command.args(["--no-vacuum", "--protocol=extended", "--jobs=2", "--client"]).arg(clients.to_string());
    command.arg("--time").arg(seconds.to_string()).arg("--file").arg(file.path()).arg(cluster.address());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

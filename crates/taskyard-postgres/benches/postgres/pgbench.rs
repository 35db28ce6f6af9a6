//! The statements of a claim, sent by hand.

use std::fs;
use std::process::Command;

use taskyard_testkit::{Cluster, postgres_program};

/// Has `pgbench` send the statements of a claim's transaction, in the same protocol mode, each client on the list whose turn it is. They are
/// those that a worker sends, to the letter but for values; each client asks for what is newer than its own last commit, as a
/// worker does, and listens. Returns how many transactions a second it makes.
pub(crate) fn pgbench(cluster: &Cluster, schema: &str, lists: &[&str], clients: usize, seconds: u64) -> f64 {
    // What it leaves is there to be claimed afterwards.
    let image = r#"{"id":"1","subject":"task 1","description":"","status":"pending","blocks":[],"blockedBy":[]}"#;
    // A colon before a letter or digit would be a variable.
    let body = r#"{"agent":"ana","taken": 0,"ttl": 3600000,"holder": null}"#;
    let directory = match lists {
        [list] => format!("'{list}'"),
        _ => format!("'L' || (:client_id % {})", lists.len()),
    };
    // What a commit of one task tells its followers.
    let told = "x".repeat(700);
    let entry = "c.revision, c.task, c.attempt, c.after, c.after_raw, c.at, c.actor, c.op, c.undoes, c.remark, \
         CASE WHEN NOT c.is_copy THEN c.db_user END";
    let script = format!(
        "\\if :is_listening\n\\else\nLISTEN taskyard_bench;\n\\set is_listening 1\n\\endif\n\
         BEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\nSET LOCAL lock_timeout = 30000;\n\
         SET LOCAL statement_timeout = 60000;\nSET LOCAL idle_in_transaction_session_timeout = 25000;\n\
         SELECT id, revision, last_token, mark, journaled, changed_at, thinned, head, \
         (SELECT c.version FROM {schema}.lease_clocks c WHERE c.list = lists.id) AS clock, moved, channel, \
         (SELECT w.channel FROM {schema}.commit_channels w WHERE w.list = lists.id) AS writers, has_ties \
         FROM {schema}.lists WHERE directory = {directory} FOR UPDATE \\gset\n\
         SELECT {entry} FROM ((SELECT * FROM {schema}.changes WHERE list = :id AND revision = :known AND place = 0) \
         UNION ALL (SELECT * FROM {schema}.changes WHERE list = :id AND revision > :known \
         ORDER BY revision, place LIMIT 5001)) c ORDER BY c.revision, c.place;\n\
         SELECT l.version, l.task, l.has_ended, l.token, l.body, l.ends_wall, l.ends_boot, l.ends_since_boot, \
         l.process, a.seen_at FROM {schema}.leases l LEFT JOIN {schema}.alive a ON a.process = l.process \
         AND NOT l.has_ended WHERE list = :id AND version > :version;\n\
         SELECT 1 / (coalesce(version, 0) = 2)::int AS yard, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at, \
         epoch, epoch_began, timeline, pg_is_in_recovery() AS standby, CASE WHEN pg_is_in_recovery() THEN NULL \
         ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END AS server, \
         (SELECT array_agg(version ORDER BY kind) FROM {schema}.versions) AS versions \
         FROM (VALUES (true)) AS always LEFT JOIN {schema}.yard ON true \\gset\n\
         \\set known :revision + 1\n\\set token :last_token + 1\n\
         WITH tick AS (UPDATE {schema}.lease_clocks SET version = version + 1 WHERE list = :id RETURNING version) \
         INSERT INTO {schema}.leases AS l \
         (list, version, task, has_ended, token, body, ends_wall, ends_boot, ends_since_boot, process) \
         SELECT :id, tick.version, new.* FROM tick, (VALUES ((1 + :client_id)::text, true, :token::bigint, '{body}', \
         NULL::bigint, NULL::text, NULL::bigint, NULL::text)) AS new \
         ON CONFLICT (list, task) DO UPDATE SET version = excluded.version, has_ended = excluded.has_ended, \
         token = excluded.token, body = excluded.body, ends_wall = excluded.ends_wall, ends_boot = excluded.ends_boot, \
         ends_since_boot = excluded.ends_since_boot, process = excluded.process RETURNING l.version \\gset\n\
         INSERT INTO {schema}.tasks (list, task, image, raw) \
         SELECT :id, new.* FROM (VALUES ((1 + :client_id)::text, '{image}', NULL::bytea)) AS new \
         ON CONFLICT (list, task) DO UPDATE SET image = excluded.image, raw = excluded.raw;\n\
         INSERT INTO {schema}.changes (list, revision, at, actor, op, undoes, \
         place, task, before, before_raw, after, after_raw, remark, attempt) \
         SELECT :id, :known, :at, 'ana', 'claim', NULL, new.* FROM (VALUES (0::bigint, (1 + :client_id)::text, '{image}', \
         NULL::bytea, '{image}', NULL::bytea, NULL::text, lpad(:known::text, 32, '0'))) AS new;\n\
         UPDATE {schema}.lists SET last_token = :token, mark = :mark, journaled = :journaled, \
         revision = CASE WHEN revision = :revision AND :epoch::text = (SELECT epoch FROM {schema}.yard) THEN :known::bigint END, \
         head = lpad(:known::text, 32, '0'), changed_at = coalesce(:at, changed_at), pending = pending + 0, \
         in_progress = in_progress + 0, completed = completed + 0, has_ties = true WHERE id = :id;\nCOMMIT;\n\
         BEGIN;\nSET LOCAL synchronous_commit = off;\nNOTIFY taskyard_bench, '{told}';\nNOTIFY taskyard_bench_readers;\nCOMMIT;\n"
    );
    let newest = |table: &str, column: &str| cluster.sql(&format!("SELECT max({column}) FROM {schema}.{table}"));
    let (known, version) = (newest("lists", "revision"), newest("lease_clocks", "version"));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), script).unwrap();
    let mut command = Command::new(postgres_program("pgbench"));
    command.args(["--no-vacuum", "--protocol=extended", "--jobs=2", "--client"]).arg(clients.to_string());
    command.arg(format!("--define=known={}", known.trim())).arg(format!("--define=version={}", version.trim()));
    command.arg("--define=is_listening=0");
    command.arg("--time").arg(seconds.to_string()).arg("--file").arg(file.path()).arg(cluster.address());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

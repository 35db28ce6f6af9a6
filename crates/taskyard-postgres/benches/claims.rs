//! How many commits a list takes, held against a `pgbench` script that sends the same statements.
//!
//! `cargo bench -p taskyard-postgres`, with `TASKYARD_BENCH_SECONDS=10` for longer runs. It starts a PostgreSQL of its own with
//! `synchronous_commit` on. The program is its own workers: `claims worker ADDRESS LIST NUMBER SECONDS WAY`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Op, Rules, Task, TaskId};
use taskyard::operations::{Claim, ClaimOutcome};
use taskyard::store::{Signature, Store};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::{Cluster, postgres_program};

const WORKERS: usize = 16;

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["worker", address, list, number, seconds, way] => worker(address, list, number, seconds, way),
        _ => measure(),
    }
}

/// Claims and gives back for so long, and tells how many commits that were.
fn worker(address: &str, list: &str, number: &str, seconds: &str, way: &str) {
    let (number, seconds): (u64, u64) = (number.parse().unwrap(), seconds.parse().unwrap());
    let yard = yard(address, list, &format!("w{number}"));
    // What is known to a process that has worked for a while.
    let count = yard.store().read(yard.list_id()).unwrap().tasks().unwrap().len() as u64;
    println!("ready");
    io::stdin().read_exact(&mut [0; 3]).unwrap();
    let (begun, mut commits) = (Instant::now(), 0u64);
    let own = TaskId::number(1 + number % count);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let claimed = match way {
            "next" => yard.claim_next(&Claim::default()),
            _ => yard.claim(&own, &Claim::default()),
        };
        let ClaimOutcome::Claimed(claimed) = claimed.unwrap() else { panic!("it is not to be had") };
        yard.release(&claimed.task.id).unwrap().done().unwrap();
        commits += 2;
    }
    println!("{commits}");
}

fn measure() {
    let seconds: u64 = env::var("TASKYARD_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().unwrap();
    let settings = ["shared_buffers = '256MB'", "synchronous_commit = on"];
    let cluster = Cluster::make(folder.path(), &settings).stop_when_dropped();
    println!("commits a second, {WORKERS} workers, {seconds} s each");
    for count in [100, 10_000, 100_000] {
        let address = format!("{}?schema=of_{count}", cluster.address());
        fill(&address, "L", count);
        let ours = ["id", "next"].map(|way| rate(&address, &["L"], seconds, way));
        let theirs = pgbench(&cluster, &format!("of_{count}"), seconds);
        println!(
            "one list of {count:>6}: claim by id {:.0} ({:.2} of pgbench), claim --next {:.0}, pgbench {theirs:.0}",
            ours[0],
            ours[0] / theirs,
            ours[1]
        );
    }
    let address = format!("{}?schema=many", cluster.address());
    let lists: Vec<String> = (0..WORKERS).map(|number| format!("L{number}")).collect();
    lists.iter().for_each(|list| fill(&address, list, 1_000));
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let (one, all) = (rate(&address, &lists[..1], seconds, "id"), rate(&address, &lists, seconds, "id"));
    println!("one list of 1,000: {one:.0}; {WORKERS} lists at once: {all:.0} ({:.1} times)", all / one);
}

/// Returns how many commits a second the workers make, each on the list whose turn it is.
fn rate(address: &str, lists: &[&str], seconds: u64, way: &str) -> f64 {
    let start = |number: usize| {
        let mut command = Command::new(env::current_exe().unwrap());
        let (list, number, seconds) = (lists[number % lists.len()], number.to_string(), seconds.to_string());
        command.args(["worker", address, list, &number, &seconds, way]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut workers: Vec<Child> = (0..WORKERS).map(start).collect();
    for worker in &mut workers {
        worker.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    }
    for worker in &mut workers {
        worker.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }
    let commits = workers.into_iter().map(|worker| {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "a worker failed");
        String::from_utf8(output.stdout).unwrap().trim().parse::<f64>().unwrap()
    });
    commits.sum::<f64>() / seconds as f64
}

/// Has `pgbench` send the statements of a claim by hand, in the same protocol mode, and returns how many transactions a second it makes.
fn pgbench(cluster: &Cluster, schema: &str, seconds: u64) -> f64 {
    let image = r#"{"id":"1","subject":"task 1","description":"","owner":"ana","status":"in_progress","blocks":[],"blockedBy":[]}"#;
    let script = format!(
        "BEGIN;\nSET LOCAL lock_timeout = 30000;\nSET LOCAL statement_timeout = 60000;\n\
         SET LOCAL idle_in_transaction_session_timeout = 25000;\n\
         SELECT id, revision + 1 AS next, last_token + 1 AS token FROM {schema}.lists WHERE directory = 'L' FOR UPDATE \\gset\n\
         SELECT count(*) FROM {schema}.changes WHERE list = :id AND revision >= :next - 17;\n\
         SELECT count(*) FROM {schema}.leases WHERE list = :id AND version > :token - 17;\n\
         SELECT version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM {schema}.yard;\n\
         WITH tick AS (UPDATE {schema}.lease_clocks SET version = version + 1 WHERE list = :id RETURNING version) \
         INSERT INTO {schema}.leases (list, version, task, has_ended, token, body) \
         SELECT :id, tick.version, (1 + :client_id)::text, false, :token, '{{}}' FROM tick \
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
    command.args(["--no-vacuum", "--protocol=extended", "--jobs=2", "--client"]).arg(WORKERS.to_string());
    command.arg("--time").arg(seconds.to_string()).arg("--file").arg(file.path()).arg(cluster.address());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

fn fill(address: &str, list: &str, count: u64) {
    let yard = yard(address, list, "filler");
    let numbers: Vec<u64> = (1..=count).collect();
    for some in numbers.chunks(2_000) {
        let mut txn = yard.store().write(yard.list_id()).unwrap();
        for number in some {
            txn.put(Task::new(TaskId::number(*number), format!("task {number}"))).unwrap();
        }
        txn.commit(&Signature::new(AgentName::new("filler").unwrap(), Op::Import)).unwrap();
    }
}

fn yard(address: &str, list: &str, agent: &str) -> Yard {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    Yard::new(store, ListId::new(list).unwrap(), AgentName::new(agent).unwrap())
}

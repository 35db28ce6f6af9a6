//! What one command costs, from its start to its end.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use taskyard_testkit::{Cluster, postgres_program};

use crate::claiming::median;
use crate::promises::Promises;
use crate::yards::fill;

const RUNS: usize = 21;
const MANY_LISTS: u64 = 100_000;
const TASKS_OF_EACH: u64 = 10;
/// The lengths of a short list and a long one.
const LENGTHS: [u64; 2] = [600, 100_000];

/// The home in which all commands run; there before the first of them.
pub(crate) static HOME: OnceLock<PathBuf> = OnceLock::new();

/// Measures commands against `psql` on the same rows.
pub(crate) fn measure(cluster: &Cluster, promises: &mut Promises) {
    let address = format!("{}?schema=one_shot", cluster.address());
    fill(&address, "L", 1_000);
    let mut psql = psql(cluster);
    psql.args([
        "--command",
        "SELECT task, image FROM one_shot.tasks WHERE list = (SELECT id FROM one_shot.lists WHERE directory = 'L')",
    ]);
    let mut list = taskyard(&address, &["list", "--list", "L"]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(milliseconds(&mut list));
        theirs.push(milliseconds(&mut psql));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let what = format!(
        "`list` of 1,000: {ours:.1} ms; psql selecting the same rows: {theirs:.1} ms; {:.2} times",
        ours / theirs
    );
    promises.hold(&what, "2 times at most", ours <= 2.0 * theirs);
    many_lists(cluster, promises);
    long_lists(cluster, promises);
}

/// Measures commands that have to do with one task, on a short list and a long one in turn.
fn long_lists(cluster: &Cluster, promises: &mut Promises) {
    let addresses = LENGTHS.map(|length| format!("{}?schema=long_{length}", cluster.address()));
    LENGTHS.iter().zip(&addresses).for_each(|(length, address)| fill(address, "L", *length));
    cluster.sql("VACUUM ANALYZE");
    for command in ["create another", "claim ID --as ana", "done ID", "show ID"] {
        let mut took = [const { Vec::new() }; LENGTHS.len()];
        for run in 0..RUNS {
            // Each task once: those that are claimed come after those that are done.
            let id = (1 + run + if command.starts_with("claim") { RUNS } else { 0 }).to_string();
            for (address, took) in addresses.iter().zip(&mut took) {
                let mut words: Vec<&str> =
                    command.split(' ').map(|word| if word == "ID" { id.as_str() } else { word }).collect();
                words.extend(["--list", "L"]);
                took.push(milliseconds(&mut taskyard(address, &words)));
            }
        }
        let [short, long] = took.map(median);
        let what = format!("`{command}` of {}: {short:.1} ms, of {}: {long:.1} ms", LENGTHS[0], LENGTHS[1]);
        promises.hold(&what, "20 % more at most", long <= 1.2 * short);
    }
}

fn many_lists(cluster: &Cluster, promises: &mut Promises) {
    let address = format!("{}?schema=many_lists", cluster.address());
    fill(&address, "first", 1);
    cluster.sql(&format!(
        "INSERT INTO many_lists.lists (directory, name, revision, changed_at, pending)
            SELECT 'list-' || n, 'list-' || n, 1, 1700000000000, {TASKS_OF_EACH} FROM generate_series(1, {MANY_LISTS}) n;
        INSERT INTO many_lists.tasks (list, task, image)
            SELECT id, task::text, format('{{\"id\":\"%s\",\"subject\":\"task %s\",\"description\":\"\",\"status\":\"pending\",\"blocks\":[],\"blockedBy\":[]}}', task, task)
            FROM many_lists.lists, generate_series(1, {TASKS_OF_EACH}) task WHERE name <> 'first';
        ANALYZE many_lists.lists"
    ));
    let mut lists = taskyard(&address, &["lists", "--limit", "50"]);
    let took = median((0..RUNS).map(|_| milliseconds(&mut lists)).collect());
    let what =
        format!("`lists --limit 50` among {MANY_LISTS} lists with {} tasks: {took:.1} ms", MANY_LISTS * TASKS_OF_EACH);
    promises.hold(&what, "100 ms at most", took <= 100.0);
}

/// Returns a command on a yard, with nothing around it that is the user's.
pub(crate) fn taskyard(address: &str, words: &[&str]) -> Command {
    let beside = || env::current_exe().unwrap().parent().unwrap().with_file_name("taskyard");
    let program = env::var_os("TASKYARD_PROGRAM").map_or_else(beside, PathBuf::from);
    assert!(program.exists(), "{} is missing: cargo build --release --package taskyard-cli", program.display());
    let home = HOME.get().expect("it is made at the start");
    let mut command = Command::new(program);
    command.args(words).env_clear().env("HOME", home).env("TASKYARD_STORE", address);
    command
}

fn psql(cluster: &Cluster) -> Command {
    let mut psql = Command::new(postgres_program("psql"));
    psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--dbname"]).arg(cluster.address());
    psql
}

fn milliseconds(command: &mut Command) -> f64 {
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    let took = begun.elapsed().as_secs_f64() * 1e3;
    assert!(status.success(), "{command:?}");
    took
}

//! How many claims a list takes. Each agent gives back what it claimed, so that a list of 100 lasts: each is a commit of its own.

use std::env;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use taskyard::Outcome;
use taskyard::core::TaskId;
use taskyard::operations::Claim;
use taskyard_testkit::Cluster;

use crate::pgbench::pgbench;
use crate::promises::Promises;
use crate::yards::{fill, yard};

const WORKERS: usize = 16;
const SIZES: [u64; 3] = [100, 10_000, 100_000];
/// How often each is measured.
const ROUNDS: usize = 5;

/// Claims and gives back for so long, and tells how many commits that were.
pub(crate) fn worker(address: &str, list: &str, number: u64, seconds: u64, way: &str) {
    let yard = yard(address, list, &format!("w{number}"));
    // What is known to a process that has worked for a while.
    let snapshot = yard.store().read(yard.list_id()).unwrap();
    let count = snapshot.live().unwrap().unwrap().len() as u64;
    drop(snapshot);
    println!("ready");
    io::stdin().read_exact(&mut [0; 3]).unwrap();
    let (begun, mut commits) = (Instant::now(), 0u64);
    let own = TaskId::number(1 + number % count);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let claimed = match way {
            "next" => yard.claim_next(&Claim::default()),
            _ => yard.claim(&own, &Claim::default()),
        };
        let Outcome::Done(claimed) = claimed.unwrap() else { panic!("it is not to be had") };
        yard.release(&claimed.task.id).unwrap().done().unwrap();
        commits += 2;
    }
    println!("{commits}");
}

/// Measures one list of each size, and many lists at once.
pub(crate) fn measure(cluster: &Cluster, seconds: u64, promises: &mut Promises) {
    println!("commits a second, {WORKERS} processes that claim and give back, median of {ROUNDS} times {seconds} s");
    for count in SIZES {
        fill(&schema(cluster, count), "L", count);
    }
    // Sizes and rivals take turns: what else the machine does falls on all of them.
    let mut rounds = [const { [const { Vec::new() }; 3] }; SIZES.len()];
    for _ in 0..ROUNDS {
        for (count, rounds) in SIZES.into_iter().zip(&mut rounds) {
            let address = schema(cluster, count);
            rounds[0].push(rate(&address, &["L"], seconds, "next"));
            rounds[1].push(rate(&address, &["L"], seconds, "id"));
            rounds[2].push(pgbench(cluster, &format!("of_{count}"), &["L"], WORKERS, seconds));
        }
    }
    let mut rates = Vec::new();
    for (count, rounds) in SIZES.into_iter().zip(rounds) {
        let [next, by_id, theirs] = rounds.map(median);
        let what = format!(
            "one list of {count:>6}: claim --next {next:.0} ({:.2} of pgbench), claim ID {by_id:.0} ({:.2}), pgbench {theirs:.0}",
            next / theirs,
            by_id / theirs
        );
        match count {
            10_000 => promises.hold(&what, "0.8 of pgbench", next.min(by_id) >= 0.8 * theirs),
            _ => println!("{what}"),
        }
        rates.push(next);
    }
    let (least, most) = (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    let what = format!("claim --next, from 100 to 100,000 tasks: {least:.0} to {most:.0}, {:.2} times", most / least);
    promises.hold(&what, "within 20 %", most <= 1.2 * least);
    many_lists(cluster, seconds, promises);
}

fn many_lists(cluster: &Cluster, seconds: u64, promises: &mut Promises) {
    let address = format!("{}?schema=many", cluster.address());
    let lists: Vec<String> = (0..WORKERS).map(|number| format!("L{number}")).collect();
    lists.iter().for_each(|list| fill(&address, list, 1_000));
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let (one, all) = (rate(&address, &lists[..1], seconds, "next"), rate(&address, &lists, seconds, "next"));
    let bench = |lists: &[&str]| pgbench(cluster, "many", lists, WORKERS, seconds);
    let (bench_one, bench_all) = (bench(&lists[..1]), bench(&lists));
    let what = format!(
        "{WORKERS} lists at once: {all:.0}, {:.1} times one list ({one:.0}); pgbench {bench_all:.0}, {:.1} times its one ({bench_one:.0})",
        all / one,
        bench_all / bench_one
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let promised = format!("4 times, or 0.8 of what pgbench gains where {cores} processors allow no more");
    promises.hold(&what, &promised, all >= 4.0 * one || all / one >= 0.8 * bench_all / bench_one);
}

fn schema(cluster: &Cluster, count: u64) -> String {
    format!("{}?schema=of_{count}", cluster.address())
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

/// Returns the middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

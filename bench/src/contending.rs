//! Many processes that create in one list at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, per_second, tell};
use crate::worker::Report;

/// How many processes contend.
pub(crate) const PROCESSES: usize = 32;

/// Measures acknowledged creates per second: the library in so many processes, as many Node processes, and as many loops of
/// one-shot commands.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let (count, rounds) = options.scale.contended;
    let [mut ours, mut bare, mut node, mut one_shot] = std::array::from_fn(|_| Tally::default());
    for round in 1..=rounds {
        tell(&format!("{}: {PROCESSES} processes creating {count} tasks each, round {round} of {rounds}", place.name));
        for (tally, word) in [(&mut ours, "create"), (&mut bare, "bare-create")] {
            tally.add(contend(&place.fresh_home()?, |home| {
                let mut command = Command::new(options.programs.join("taskyard-bench"));
                command.arg(word).arg(home.root()).arg(count.to_string());
                command
            })?);
        }
        node.add(contend(&place.fresh_home()?, |home| {
            let mut command = Command::new("node");
            command.arg(options.rivals.join("create.js")).arg(home.list()).arg(count.to_string());
            command
        })?);
        one_shot.add(loops_of_commands(options, &place.fresh_home()?, count.div_ceil(5))?);
    }
    let failed = [("ours", ours.failed), ("Node", node.failed), ("one-shot", one_shot.failed)];
    for (who, failed) in failed.into_iter().filter(|(_, failed)| *failed > 0) {
        tell(&format!("{}: {failed} creates failed ({who})", place.name));
    }
    let [ours, bare, node, one_shot] = [ours, bare, node, one_shot].map(|tally| Samples::new(tally.rates));
    let ratio = ours.median() / node.median();
    // An acknowledged create of ours is durable; where nothing is, comparing it says little.
    let target = if place.durable {
        Target::AtLeastTimesNode { ratio, target: 10.0 }
    } else {
        Target::Information(format!("{ratio:.1} x Node"))
    };
    Ok(vec![
        Row {
            measure: format!("creates, {PROCESSES} processes on one list"),
            place: place.name,
            ours: per_second(&ours),
            limit: Some(per_second(&bare)),
            node: Some(per_second(&node)),
            target,
        },
        Row {
            measure: format!("the same, {PROCESSES} loops of one-shot commands"),
            place: place.name,
            ours: per_second(&one_shot),
            limit: Some(per_second(&bare)),
            node: Some(per_second(&node)),
            target: Target::Information(format!("{:.1} x Node", one_shot.median() / node.median())),
        },
    ])
}

/// What several rounds gave.
#[derive(Debug, Default)]
struct Tally {
    rates: Vec<f64>,
    failed: usize,
}

impl Tally {
    fn add(&mut self, (rate, failed): (f64, usize)) {
        self.rates.push(rate);
        self.failed += failed;
    }
}

/// Lets processes create, and returns the acknowledged creates per second and how many failed.
fn contend(home: &Home, command: impl Fn(&Home) -> Command) -> Result<(f64, usize), Failure> {
    let (elapsed, reports) = let_go(home, PROCESSES, command)?;
    let acknowledged = reports.iter().map(|report| report.acknowledged).sum();
    expect_tasks(home, acknowledged)?;
    let failed = reports.iter().map(|report| report.failed).sum();
    Ok((acknowledged as f64 / elapsed.as_secs_f64(), failed))
}

/// Starts so many processes, lets them go all at once when all are ready, and returns how long they took and what they report.
pub(crate) fn let_go(
    home: &Home,
    processes: usize,
    command: impl Fn(&Home) -> Command,
) -> Result<(Duration, Vec<Report>), Failure> {
    let mut contestants = Vec::new();
    for _ in 0..processes {
        contestants.push(Contestant::start(command(home))?);
    }
    for contestant in &mut contestants {
        contestant.wait_until_ready()?;
    }
    let start = Instant::now();
    for contestant in &mut contestants {
        contestant.input.write_all(b"go\n")?;
    }
    let reports: Vec<Report> = contestants.into_iter().map(Contestant::finish).collect::<Result<_, _>>()?;
    Ok((start.elapsed(), reports))
}

/// Runs `taskyard create` again and again in as many loops as there are processes elsewhere.
fn loops_of_commands(options: &Options, home: &Home, count: usize) -> Result<(f64, usize), Failure> {
    let start = Instant::now();
    let acknowledged: usize = std::thread::scope(|scope| {
        let loops: Vec<_> = (0..PROCESSES)
            .map(|_| {
                scope.spawn(|| {
                    let create = || ours::command(&options.programs, home).args(["create", "x"]).status();
                    (0..count).filter(|_| create().is_ok_and(|status| status.success())).count()
                })
            })
            .collect();
        loops.into_iter().map(|running| running.join().unwrap_or(0)).sum()
    });
    let elapsed = start.elapsed();
    expect_tasks(home, acknowledged)?;
    Ok((acknowledged as f64 / elapsed.as_secs_f64(), PROCESSES * count - acknowledged))
}

/// A rate counts only when what was acknowledged is there.
fn expect_tasks(home: &Home, acknowledged: usize) -> Result<(), Failure> {
    let found = home.count()?;
    if found == acknowledged {
        Ok(())
    } else {
        Err(format!("{acknowledged} creates acknowledged, {found} tasks there").into())
    }
}

/// A process that waits for its start.
#[derive(Debug)]
struct Contestant {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Contestant {
    fn start(mut command: Command) -> Result<Self, Failure> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no pipe")?;
        let output = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        Ok(Self { child, input, output })
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line == "ready\n" {
            Ok(())
        } else {
            Err(format!("a contestant said {line:?} instead of being ready").into())
        }
    }

    fn finish(mut self) -> Result<Report, Failure> {
        let mut report = String::new();
        self.output.read_to_string(&mut report)?;
        let status = self.child.wait()?;
        if status.success() {
            Ok(serde_json::from_str(&report)?)
        } else {
            Err(format!("a contestant ended: {status}").into())
        }
    }
}

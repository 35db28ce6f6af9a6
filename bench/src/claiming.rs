//! Processes that take what comes next from one list, finish it, and take the next.

use std::process::Command;

use crate::Failure;
use crate::contending::{PROCESSES, let_go};
use crate::corpus;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, per_second, tell};

/// How many times as long as two bare changes a task may take, where many processes take and finish tasks, and where one does.
const MANY: f64 = 2.5;
const ALONE: f64 = 3.0;

/// Measures tasks taken and finished per second, by one process and by many, and how long one of many waits for a claim.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let (count, rounds) = options.scale.claimed;
    let [mut many, mut alone] = std::array::from_fn(|_| Tally::default());
    for round in 1..=rounds {
        let tasks = PROCESSES * count;
        tell(&format!("{}: claiming and finishing {tasks} tasks, round {round} of {rounds}", place.name));
        many.add(options, place, PROCESSES, count, tasks)?;
        alone.add(options, place, 1, 4 * count, tasks)?;
    }
    let latency = Samples::new(std::mem::take(&mut many.latencies));
    let mut rows: Vec<Row> = Vec::new();
    for (who, Tally { ours, bare, replacing, .. }, target) in [
        (format!("claim --next and done, {PROCESSES} processes on one list"), many, MANY),
        ("the same, one process".to_owned(), alone, ALONE),
    ] {
        let (ours, bare, replacing) = (Samples::new(ours), Samples::new(bare), Samples::new(replacing));
        let ratio = bare.median() / ours.median();
        let target = if place.durable {
            Target::AtMostTimesTheLimit { ratio, target }
        } else {
            Target::Information(format!("{ratio:.2} x limit"))
        };
        let row = |limit: &Samples, measure: String, target: Target| Row {
            measure,
            place: place.name,
            ours: per_second(&ours),
            limit: Some(per_second(limit)),
            node: None,
            target,
        };
        rows.push(row(&bare, who, target));
        // A file system writes out what takes the place of another file, and waits for it.
        let ratio = replacing.median() / ours.median();
        let target = Target::Information(format!("{ratio:.2} x limit"));
        rows.push(row(&replacing, "... against bare changes that replace files".to_owned(), target));
    }
    rows.push(Row {
        measure: format!("one claim among {PROCESSES} processes"),
        place: place.name,
        ours: format!("{:.1} ms", latency.median() / 1e3),
        limit: None,
        node: None,
        target: Target::Information(format!("p99 {:.1} ms", latency.p99() / 1e3)),
    });
    Ok(rows)
}

/// What several rounds gave.
#[derive(Debug, Default)]
struct Tally {
    /// Tasks taken and finished per second.
    ours: Vec<f64>,
    /// The same in bare system calls: two durable changes for each task.
    bare: Vec<f64>,
    /// The same where each of the changes replaces a file, as a claim and a completion do.
    replacing: Vec<f64>,
    /// How long each claim took, in microseconds.
    latencies: Vec<f64>,
}

impl Tally {
    fn add(
        &mut self,
        options: &Options,
        place: &Place,
        processes: usize,
        count: usize,
        tasks: usize,
    ) -> Result<(), Failure> {
        let program = |word: &str, home: &Home, count: usize| {
            let mut command = Command::new(options.programs.join("taskyard-bench"));
            command.arg(word).arg(home.root()).arg(count.to_string());
            command
        };
        let home = place.fresh_home()?;
        corpus::fill_with_new(&home.list(), tasks)?;
        ours::get_to_know(&home, tasks)?;
        let (elapsed, reports) = let_go(&home, processes, |home| program("claim", home, count))?;
        let acknowledged: usize = reports.iter().map(|report| report.acknowledged).sum();
        ours::expect_finished(&home, acknowledged)?;
        if acknowledged != processes * count {
            return Err(format!("{acknowledged} of {} claims succeeded", processes * count).into());
        }
        self.ours.push(acknowledged as f64 / elapsed.as_secs_f64());
        self.latencies.extend(reports.into_iter().flat_map(|report| report.microseconds));
        let barely = |home: &Home| -> Result<f64, Failure> {
            let (elapsed, reports) = let_go(home, processes, |home| program("bare-create", home, 2 * count))?;
            let changes: usize = reports.iter().map(|report| report.acknowledged).sum();
            Ok(changes as f64 / 2.0 / elapsed.as_secs_f64())
        };
        self.bare.push(barely(&place.fresh_home()?)?);
        let full = place.fresh_home()?;
        corpus::fill_with_new(&full.list(), 2 * processes * count)?;
        self.replacing.push(barely(&full)?);
        Ok(())
    }
}

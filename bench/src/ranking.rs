//! What can start now, best first, of a list that is in memory.

use std::hint::black_box;
use std::time::Instant;

use taskyard::core::rules::claims::readiness::rank;
use taskyard::core::{Rules, Timestamp};

use crate::Failure;
use crate::graphs::Shape;
use crate::options::Options;
use crate::samples::Samples;
use crate::table::{Row, Target, milliseconds, tell};

/// What is promised for this many tasks, in milliseconds.
const PROMISED: (usize, f64) = (10_000, 20.0);

/// Measures `rank`, which `ready` and every claim of the next task begin with, in all shapes.
pub(crate) fn measure(options: &Options) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for &(count, rounds) in options.scale.graphs {
        for shape in [Shape::Independent, Shape::Chain, Shape::Layered, Shape::Diamonds] {
            rows.push(measure_one(shape, count, rounds)?);
        }
    }
    Ok(rows)
}

fn measure_one(shape: Shape, count: usize, rounds: usize) -> Result<Row, Failure> {
    tell(&format!("ranking {count} tasks, {}", shape.name()));
    let tasks = shape.tasks(count);
    let free = tasks.iter().filter(|task| task.blocked_by.is_empty()).count();
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        let ranked = rank(black_box(&tasks), None, Timestamp(0), Rules::Strict);
        times.push(start.elapsed());
        if ranked.len() != free {
            return Err(format!("ranked {} of {free} free tasks", ranked.len()).into());
        }
    }
    let ours = Samples::microseconds(&times);
    let target = match PROMISED {
        (promised, target) if promised == count => Target::AtMost { milliseconds: ours.median() / 1e3, target },
        _ => Target::Information(format!("{free} free")),
    };
    Ok(Row {
        measure: format!("rank {count} tasks, {}", shape.name()),
        place: "-",
        ours: milliseconds(&ours),
        limit: None,
        node: None,
        target,
    })
}

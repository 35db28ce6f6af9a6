//! What a query chooses from a list that is in memory.

use std::hint::black_box;
use std::time::Instant;

use taskyard::core::rules::looking::query::{ListSurroundings, Query};
use taskyard::core::{Metadata, Rules, Task, Timestamp};

use crate::Failure;
use crate::graphs::Shape;
use crate::options::Options;
use crate::samples::Samples;
use crate::table::{Row, Target, milliseconds, tell};

/// What is promised for this many tasks, in milliseconds.
const PROMISED: (usize, f64) = (10_000, 5.0);

/// One query of each kind: fields, what the rest of the list decides, times, words that occur nowhere (of rare letters, of frequent ones, of
/// another alphabet), words that occur everywhere, and all of it.
const QUERIES: [&str; 9] = [
    "status:pending tag:db not tag:old",
    "ready",
    "blocked",
    "overdue or due:2d",
    "xylophone",
    "tttt",
    "überfällig",
    "month",
    "(tag:db or owner:ana) -status:completed ready 'xylophone' or blocked \"of the year\"",
];

/// Measures how long it takes to look at a list and to ask every task.
pub(crate) fn measure(options: &Options) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for &(count, rounds) in options.scale.graphs {
        for text in QUERIES {
            rows.push(measure_one(text, count, rounds)?);
        }
    }
    Ok(rows)
}

fn measure_one(text: &str, count: usize, rounds: usize) -> Result<Row, Failure> {
    tell(&format!("filtering {count} tasks, {text}"));
    let tasks: Vec<Task> = Shape::Layered.tasks(count).into_iter().enumerate().map(described).collect();
    let query = Query::parse(text)?;
    let mut times = Vec::with_capacity(rounds);
    let mut chosen = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        let around = ListSurroundings::asked(black_box(&tasks), &query, Timestamp(1_800_000_000_000), Rules::Strict);
        chosen = tasks.iter().filter(|task| query.is_true_of(task, &around)).count();
        times.push(start.elapsed());
    }
    let ours = Samples::microseconds(&times);
    let target = match PROMISED {
        (promised, target) if promised == count => Target::AtMost { milliseconds: ours.median() / 1e3, target },
        _ => Target::Information(format!("{chosen} chosen")),
    };
    Ok(Row {
        measure: format!("filter {count} tasks, `{text}`"),
        place: "-",
        ours: milliseconds(&ours),
        limit: None,
        node: None,
        target,
    })
}

/// Gives a task what people write into one.
fn described((place, task): (usize, Task)) -> Task {
    let mut metadata = Metadata::new();
    metadata.insert("tags".into(), vec![["db", "ui", "old"][place % 3]].into());
    metadata.insert("priority".into(), ["low", "medium", "high"][place % 3].into());
    metadata.insert("due".into(), "2027-03-01T12:00:00.000Z".into());
    let description =
        "Look through what was said of it, write down what is missing, and do it before the end of the month. ";
    Task { description: description.repeat(2), metadata: Some(metadata), ..task }
}

//! Completing a task of a long list, and finding out what that made ready.

use std::fs;
use std::thread::sleep;
use std::time::Instant;

use taskyard::Yard;
use taskyard::core::dialect::native;
use taskyard::core::{Rules, TaskId};
use taskyard::operations::Filter;

use crate::Failure;
use crate::graphs::Shape;
use crate::listing::SETTLED;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, milliseconds, tell};

/// How long the lists are.
const TASKS: usize = 10_000;

/// Measures `Yard::done` where it frees a task or two, and where it frees all the others.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let rounds = options.scale.completes;
    tell(&format!("{}: completing tasks of a list of {TASKS}", place.name));
    let chain = open(&place.fresh_home()?, Shape::Chain)?;
    let times = (1..=rounds).map(|number| complete(&chain, &TaskId::number(number as u64), 1));
    let chain = Samples::microseconds(&times.collect::<Result<Vec<_>, _>>()?);
    let star = open(&place.fresh_home()?, Shape::Star)?;
    let centre = TaskId::number(1);
    let mut times = Vec::new();
    for _ in 0..rounds.div_ceil(5) {
        times.push(complete(&star, &centre, TASKS - 1)?);
        star.reopen(&centre)?.done().map_err(|refusal| format!("{refusal:?}"))?;
    }
    let star = Samples::microseconds(&times);
    let row = |measure: String, ours: &Samples, freed: usize| Row {
        measure,
        place: place.name,
        ours: milliseconds(ours),
        limit: None,
        node: None,
        target: Target::Information(format!("frees {freed}")),
    };
    Ok(vec![
        row(format!("done in a list of {TASKS}"), &chain, 1),
        row(format!("done, centre of a star of {TASKS}"), &star, TASKS - 1),
    ])
}

fn complete(yard: &Yard, id: &TaskId, freed: usize) -> Result<std::time::Duration, Failure> {
    let start = Instant::now();
    let outcome = yard.done(id)?;
    let elapsed = start.elapsed();
    let now_ready = outcome.done().map_err(|refusal| format!("{refusal:?}"))?.now_ready.len();
    if now_ready == freed { Ok(elapsed) } else { Err(format!("{now_ready} tasks were freed, not {freed}").into()) }
}

/// Makes a list and lets it become known.
fn open(home: &Home, shape: Shape) -> Result<Yard, Failure> {
    fs::create_dir_all(home.list())?;
    fs::write(home.list().join(".lock"), "")?;
    for task in shape.tasks(TASKS) {
        let image = native::write(None, &task, Rules::Strict)?;
        fs::write(home.list().join(format!("{}.json", task.id)), image.bytes())?;
    }
    rustix::fs::sync();
    sleep(SETTLED);
    let yard = ours::yard(home, "bench")?;
    let listed = yard.list(&Filter::default())?.tasks.len();
    if listed == TASKS { Ok(yard) } else { Err(format!("listed {listed} of {TASKS} tasks").into()) }
}

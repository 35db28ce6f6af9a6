//! What a running process pays for the length of its list: the same verbs in a short list and in a long one.

use std::thread::sleep;
use std::time::{Duration, Instant};

use taskyard::core::{AgentName, TaskId};
use taskyard::operations::{Claim, Filter, NewTask};
use taskyard::{Outcome, Yard};

use crate::Failure;
use crate::corpus;
use crate::listing::SETTLED;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, microseconds, tell};

/// How long the lists are.
const SHORT: usize = 100;
const LONG: usize = 10_000;
/// How many times as long each verb may take in the long list.
const TARGET: f64 = 1.2;

/// The verbs, in the order in which they are measured.
const VERBS: [&str; 4] = ["claim --next", "done", "create", "adding an edge"];

/// Measures each verb in a running process, turn by turn in a short list and in a long one.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let rounds = options.scale.completes;
    tell(&format!("{}: {rounds} rounds in lists of {SHORT} and {LONG}", place.name));
    let mut lists = [Running::open(&place.fresh_home()?, SHORT)?, Running::open(&place.fresh_home()?, LONG)?];
    for round in 0..rounds {
        for list in &mut lists {
            list.go_round(round)?;
        }
    }
    let [short, long] = lists.map(|list| list.times.map(|times| Samples::microseconds(&times)));
    let rows = VERBS.iter().zip(short.iter().zip(&long)).map(|(verb, (short, long))| Row {
        measure: format!("running: {verb} among {LONG}, not {SHORT}"),
        place: place.name,
        ours: microseconds(long),
        limit: Some(microseconds(short)),
        node: None,
        target: Target::AtMostTimesTheLimit { ratio: long.median() / short.median(), target: TARGET },
    });
    Ok(rows.collect())
}

/// A process with one list, and how long each verb took in it.
struct Running {
    yard: Yard,
    times: [Vec<Duration>; VERBS.len()],
}

impl Running {
    fn open(home: &Home, tasks: usize) -> Result<Self, Failure> {
        corpus::fill_with_new(&home.list(), tasks)?;
        ours::get_to_know(home, tasks)?;
        sleep(SETTLED);
        let yard = ours::yard(home, "bench")?;
        for _ in 0..3 {
            let listed = yard.list(&Filter::default())?.tasks.len();
            if listed != tasks {
                return Err(format!("listed {listed} of {tasks} tasks").into());
            }
        }
        Ok(Self { yard, times: Default::default() })
    }

    /// Takes a task, finishes it, makes another in its place, and lets that wait for one that is there.
    fn go_round(&mut self, round: usize) -> Result<(), Failure> {
        let yard = self.yard.acting_as(AgentName::new(format!("agent{round}"))?);
        let claimed = timed(&mut self.times[0], || yard.claim_next(&Claim::default()))?;
        let Outcome::Done(claimed) = claimed else { return Err(format!("{claimed:?}").into()) };
        timed(&mut self.times[1], || yard.done(&claimed.task.id))?.done().map_err(refused)?;
        let new = NewTask { subject: "the next one".into(), ..NewTask::default() };
        let made = timed(&mut self.times[2], || yard.create(new))?.done().map_err(refused)?.task.id;
        let before = TaskId::number(made.as_number().ok_or("no number")? - 1);
        timed(&mut self.times[3], || yard.depend(&made, std::slice::from_ref(&before)))?.done().map_err(refused)?;
        Ok(())
    }
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let answer = work();
    times.push(started.elapsed());
    answer
}

fn refused(refusal: impl std::fmt::Debug) -> Failure {
    format!("{refusal:?}").into()
}

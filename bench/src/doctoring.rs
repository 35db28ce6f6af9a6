//! A long sound list, looked over by a fresh process that has seen it before.

use std::process::Stdio;
use std::thread::sleep;

use crate::Failure;
use crate::corpus;
use crate::listing::{SETTLED, become_known};
use crate::options::Options;
use crate::ours;
use crate::places::Place;
use crate::table::{Row, Target, milliseconds, tell};
use crate::timing::alternate;

const COUNT: usize = 10_000;
const ROUNDS: usize = 15;

/// Measures `taskyard doctor` against `taskyard list`.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    tell(&format!("{}: looking {COUNT} tasks over", place.name));
    let home = place.fresh_home()?;
    corpus::fill(&home.list(), COUNT)?;
    sleep(SETTLED);
    become_known(options, &home, COUNT)?;
    sleep(SETTLED);
    let run = |word: &str| {
        let mut command = ours::command(&options.programs, &home);
        command.arg(word).stdout(Stdio::null());
        command
    };
    // It exits 3 when it finds something, and then it does not count.
    let [doctor, list] = alternate(ROUNDS, &mut [run("doctor"), run("list")])?;
    Ok(vec![Row {
        measure: format!("doctor, {COUNT} sound tasks"),
        place: place.name,
        ours: milliseconds(&doctor),
        limit: Some(milliseconds(&list)),
        node: None,
        target: Target::AtMostTimesTheLimit { ratio: doctor.median() / list.median(), target: 3.0 },
    }])
}

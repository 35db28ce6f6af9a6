//! A long list, listed by a fresh process that has seen it before.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::Failure;
use crate::corpus;
use crate::options::Options;
use crate::ours;
use crate::places::{Home, Place};
use crate::table::{Row, Target, milliseconds, tell};
use crate::timing::alternate;

/// What was changed this recently is read again by a program that keeps a cache by time stamps.
pub(crate) const SETTLED: Duration = Duration::from_millis(1500);

/// Measures `taskyard list --json` against reading and parsing every file.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    options.scale.lists.iter().map(|&(count, rounds)| measure_one(options, place, count, rounds)).collect()
}

fn measure_one(options: &Options, place: &Place, count: usize, rounds: usize) -> Result<Row, Failure> {
    tell(&format!("{}: listing {count} tasks", place.name));
    let home = place.fresh_home()?;
    corpus::fill(&home.list(), count)?;
    sleep(SETTLED);
    become_known(options, &home, count)?;
    sleep(SETTLED);
    let mut ours = ours::command(&options.programs, &home);
    ours.args(["list", "--json"]);
    let mut bare = Command::new(options.programs.join("taskyard-bench"));
    bare.arg("bare-list").arg(home.list());
    let mut node = Command::new("node");
    node.arg(options.rivals.join("list.js")).arg(home.list()).stdout(Stdio::null());
    let [ours, bare, node] = alternate(rounds, &mut [ours, bare, node])?;
    Ok(Row {
        measure: format!("list --json, {count} known tasks"),
        place: place.name,
        ours: milliseconds(&ours),
        limit: Some(milliseconds(&bare)),
        node: Some(milliseconds(&node)),
        target: Target::AtMostTimesTheLimit { ratio: ours.median() / bare.median(), target: 1.5 },
    })
}

/// Lists once, so that the tasks are known, and looks that all of them are there.
pub(crate) fn become_known(options: &Options, home: &Home, count: usize) -> Result<(), Failure> {
    let mut command = ours::command(&options.programs, home);
    let output = command.args(["list", "--json"]).stdout(Stdio::piped()).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let listed = answer["tasks"].as_array().map_or(0, Vec::len);
    if listed == count { Ok(()) } else { Err(format!("listed {listed} of {count} tasks").into()) }
}

//! Durable creates in a running process, in a list that grows from nothing.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::Failure;
use crate::bare::BareCreator;
use crate::options::Options;
use crate::ours::LibraryCreator;
use crate::places::{Home, Place};
use crate::samples::Samples;
use crate::table::{Row, Target, mean_microseconds, microseconds, tell};
use crate::worker::{Creator, Report};

/// So many creates of one contestant, then as many of the other.
const BLOCK: usize = 50;

/// Measures `Yard::create` against the system calls a durable create cannot do without.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let (count, rounds) = options.scale.creates;
    let (mut ours, mut bare, mut node) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        tell(&format!("{}: creating {count} tasks, round {round} of {rounds}", place.name));
        grow(place, count, &mut ours, &mut bare)?;
        node.extend(node_creates(options, &place.fresh_home()?, count)?);
    }
    let (ours, bare, node) = (Samples::new(ours), Samples::new(bare), Samples::new(node));
    // Without a disk there is nothing to wait for but the program: the ratio is told, and no target holds.
    let ratio = ours.median() / bare.median();
    let target = if place.durable {
        Target::AtMostTimesTheLimit { ratio, target: 1.5 }
    } else {
        Target::Information(format!("{ratio:.2} x limit"))
    };
    Ok(vec![
        Row {
            measure: format!("durable create, list of 0 to {count}"),
            place: place.name,
            ours: microseconds(&ours),
            limit: Some(microseconds(&bare)),
            node: Some(microseconds(&node)),
            target,
        },
        Row {
            measure: "the same, mean".to_owned(),
            place: place.name,
            ours: mean_microseconds(&ours),
            limit: Some(mean_microseconds(&bare)),
            node: Some(mean_microseconds(&node)),
            target: Target::Information(format!("{:.2} x limit", ours.mean() / bare.mean())),
        },
    ])
}

fn grow(place: &Place, count: usize, ours: &mut Vec<f64>, bare: &mut Vec<f64>) -> Result<(), Failure> {
    let home = place.fresh_home()?;
    let mut creator = LibraryCreator::open(&home)?;
    let mut bare_creator = BareCreator::open(&place.fresh_home()?)?;
    for _ in 0..count / BLOCK {
        for _ in 0..BLOCK {
            ours.push(creator.create()?.as_secs_f64() * 1e6);
        }
        for _ in 0..BLOCK {
            bare.push(bare_creator.create()?.as_secs_f64() * 1e6);
        }
    }
    let created = home.count()?;
    if created == count / BLOCK * BLOCK { Ok(()) } else { Err(format!("{created} of {count} tasks are there").into()) }
}

/// Lets one Node process create, the client's way, which waits for no disk.
fn node_creates(options: &Options, home: &Home, count: usize) -> Result<Vec<f64>, Failure> {
    let mut child = Command::new("node")
        .arg(options.rivals.join("create.js"))
        .arg(home.list())
        .arg(count.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("no pipe")?.write_all(b"go\n")?;
    let output = child.wait_with_output()?;
    let report = output.stdout.strip_prefix(b"ready\n").ok_or("the Node rival did not say it was ready")?;
    Ok(serde_json::from_slice::<Report>(report)?.microseconds)
}

//! One-shot commands: what starting a process of ours costs beyond starting any process.

use std::process::{Command, Stdio};

use crate::Failure;
use crate::corpus;
use crate::options::Options;
use crate::ours;
use crate::places::Place;
use crate::samples::Samples;
use crate::table::{Cell, Row, Target, milliseconds, tell};
use crate::timing::alternate;

/// How long a list is when one command is run on it.
const TASKS: usize = 10;

/// How long a list is when the client asks for its status line.
const MANY: usize = 1000;

/// Measures fresh processes: one that prints the version, one that lists a little, one that creates.
pub(crate) fn measure(options: &Options, place: &Place) -> Result<Vec<Row>, Failure> {
    let rounds = options.scale.starts;
    tell(&format!("{}: starting processes {rounds} times", place.name));
    let home = place.fresh_home()?;
    corpus::fill(&home.list(), TASKS)?;
    let ours = |words: &[&str]| {
        let mut command = ours::command(&options.programs, &home);
        command.args(words);
        command
    };
    let bare = || Command::new(options.programs.join("bare-exit"));
    let [version, nothing] = alternate(rounds, &mut [ours(&["--version"]), bare()])?;
    let [list, nothing_beside_list] = alternate(rounds, &mut [ours(&["list"]), bare()])?;
    let [create, nothing_beside_create] = alternate(rounds, &mut [ours(&["create", "x"]), bare()])?;
    let [node, node_list] = alternate(rounds / 10, &mut node_commands(options, &home.list()))?;
    let [line, version_beside_line] = status_lines(options, place)?;
    let more = |ours: &Samples, bare: &Samples| (ours.median() - bare.median()) / 1e3;
    let row = |measure: String, ours: &Samples, bare: &Samples, node: Option<Cell>, target| Row {
        measure,
        place: place.name,
        ours: milliseconds(ours),
        limit: Some(milliseconds(bare)),
        node,
        target,
    };
    let over = |list: &Samples, nothing: &Samples| Target::Information(format!("{:+.2} ms", more(list, nothing)));
    let version_target = Target::AtMostMore { milliseconds: more(&version, &nothing), target: 2.0 };
    let line_target = Target::AtMostMore { milliseconds: more(&line, &version_beside_line), target: 3.0 };
    Ok(vec![
        row("fresh process: --version".to_owned(), &version, &nothing, Some(milliseconds(&node)), version_target),
        row(
            format!("fresh process: list of {TASKS}"),
            &list,
            &nothing_beside_list,
            Some(milliseconds(&node_list)),
            over(&list, &nothing_beside_list),
        ),
        row(
            "fresh process: create".to_owned(),
            &create,
            &nothing_beside_create,
            None,
            over(&create, &nothing_beside_create),
        ),
        row(format!("fresh process: statusline, {MANY} tasks"), &line, &version_beside_line, None, line_target),
    ])
}

/// Measures the client's status line of a long list, beside a process that starts and does nothing for it.
fn status_lines(options: &Options, place: &Place) -> Result<[Samples; 2], Failure> {
    let home = place.fresh_home()?;
    corpus::fill(&home.list(), MANY)?;
    let ours = |word: &str| {
        let mut command = ours::command(&options.programs, &home);
        command.arg(word).stdin(Stdio::null());
        command
    };
    // Twice: the first look at a list makes our memory of it.
    for _ in 0..2 {
        ours("statusline").output()?;
    }
    alternate(options.scale.starts, &mut [ours("statusline"), ours("--version")])
}

fn node_commands(options: &Options, list: &std::path::Path) -> [Command; 2] {
    let mut nothing = Command::new("node");
    nothing.args(["-e", "0"]);
    let mut listing = Command::new("node");
    listing.arg(options.rivals.join("list.js")).arg(list).stdout(Stdio::null());
    [nothing, listing]
}

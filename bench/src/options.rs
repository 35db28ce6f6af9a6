//! What is to be measured, where, and how thoroughly.

use std::path::PathBuf;

use crate::Failure;

/// The programs, places and measurements of one run.
#[derive(Debug)]
pub(crate) struct Options {
    /// A fresh directory on a real disk.
    pub(crate) disk: PathBuf,
    /// A fresh directory in memory, where the platform has such.
    pub(crate) memory: Option<PathBuf>,
    /// Where `taskyard`, `taskyard-bench` and `bare-exit` were built.
    pub(crate) programs: PathBuf,
    /// Where the Node programs are.
    pub(crate) rivals: PathBuf,
    /// Which measurements; none named means all.
    pub(crate) measures: Vec<String>,
    /// How thoroughly.
    pub(crate) scale: Scale,
}

/// How much work each measurement does.
#[derive(Debug)]
pub(crate) struct Scale {
    /// Lists of how many tasks are listed, and how often each.
    pub(crate) lists: &'static [(usize, usize)],
    /// How many tasks one list grows to when creating, and how many such lists.
    pub(crate) creates: (usize, usize),
    /// How often a process is started.
    pub(crate) starts: usize,
    /// How many tasks each of the contending processes creates, and how often all of that.
    pub(crate) contended: (usize, usize),
    /// Lists of how many tasks are ranked, and how often each.
    pub(crate) graphs: &'static [(usize, usize)],
    /// How many tasks of a long list are completed.
    pub(crate) completes: usize,
    /// How many tasks each of the contending processes claims, and how often all of that.
    pub(crate) claimed: (usize, usize),
    /// How many calls are made to a server, and how often one is started.
    pub(crate) served: (usize, usize),
    /// For how many seconds a job writes, and how often.
    pub(crate) jobs: (u64, usize),
}

const FULL: Scale = Scale {
    lists: &[(10_000, 21), (100_000, 7)],
    creates: (2_000, 3),
    starts: 200,
    contended: (50, 5),
    graphs: &[(10_000, 51), (100_000, 11)],
    completes: 100,
    claimed: (50, 3),
    served: (2_000, 50),
    jobs: (10, 3),
};
const QUICK: Scale = Scale {
    lists: &[(10_000, 7)],
    creates: (500, 1),
    starts: 50,
    contended: (20, 1),
    graphs: &[(10_000, 11)],
    completes: 20,
    claimed: (20, 1),
    served: (500, 10),
    jobs: (3, 1),
};

/// Reads the words after `suite`.
pub(crate) fn parse(words: &[&str]) -> Result<Options, Failure> {
    let (mut disk, mut memory, mut programs, mut rivals) = (None, None, None, None);
    let (mut measures, mut scale) = (Vec::new(), FULL);
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let place = match word {
            "--quick" => {
                scale = QUICK;
                continue;
            }
            "--disk" => &mut disk,
            "--memory" => &mut memory,
            "--programs" => &mut programs,
            "--rivals" => &mut rivals,
            measure => {
                measures.push(measure.to_owned());
                continue;
            }
        };
        *place = Some(PathBuf::from(words.next().ok_or_else(|| format!("{word} wants a directory"))?).canonicalize()?);
    }
    Ok(Options {
        disk: disk.ok_or("--disk is missing")?,
        memory,
        programs: programs.ok_or("--programs is missing")?,
        rivals: rivals.ok_or("--rivals is missing")?,
        measures,
        scale,
    })
}

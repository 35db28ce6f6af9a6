//! What is known while the tasks of a list are looked over, and what was found so far.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::FindingCode;
use super::mending::Mend;
use crate::TaskId;
use crate::rules::graph::order::Order;
use crate::rules::graph::part_tree::Tree;

/// Something that is wrong with a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// What kind of defect it is.
    pub code: FindingCode,
    /// The task it is about.
    pub task: TaskId,
    /// What is wrong, in words.
    pub message: String,
    /// How it can be mended; none where only a person can decide.
    pub mend: Option<Mend>,
}

/// The tasks that name a task which does not exist.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// Those that wait for it.
    pub(crate) waiting: Vec<TaskId>,
    /// Those that say that it waits for them.
    pub(crate) awaited: Vec<TaskId>,
}

/// The tasks as they name each other, and what was found.
#[derive(Debug)]
pub(crate) struct Examination<'a> {
    /// The index of each task.
    pub(crate) there: HashMap<&'a TaskId, usize>,
    pub(crate) unreadable: &'a HashSet<TaskId>,
    /// For each task, the tasks it says it waits for.
    pub(crate) waits: HashSet<(&'a TaskId, &'a TaskId)>,
    /// For each task, the tasks it says it blocks.
    pub(crate) blocks: HashSet<(&'a TaskId, &'a TaskId)>,
    /// The tasks that are named and not there, and have not been told of.
    pub(crate) missing: HashMap<TaskId, Missing>,
    /// How many files say that they are the task of an id, where one says so that is not called so.
    pub(crate) claimants: HashMap<&'a str, usize>,
    /// For each part, the task it belongs to.
    pub(crate) tree: Option<Tree>,
    /// An order in which everything could be begun and finished when all mends are made.
    pub(crate) order: Order,
    pub(crate) defects: Vec<Defect>,
}

impl Examination<'_> {
    /// Notes a defect.
    pub(crate) fn tell(&mut self, code: FindingCode, task: &TaskId, message: String, mend: Option<Mend>) {
        self.defects.push(Defect { code, task: task.clone(), message, mend });
    }
}

/// An id in a foreign file may hold anything; what a person reads holds no control characters.
pub(crate) fn shown(id: &TaskId) -> impl fmt::Display {
    id.as_str().escape_debug()
}

//! Lists of tasks that wait for each other, as plans have them and as strangers leave them, and a naive account of what can
//! start in them.

use std::collections::{BTreeSet, HashMap};

use serde_json::json;
use taskyard::core::{Status, Task, TaskId};

use crate::Random;

/// How the tasks of a list wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each waits for the one before it.
    Chain,
    /// One, two that wait for it, one that waits for both, and so on.
    Diamonds,
    /// Layers of ten; each task waits for some of the layer before its own.
    Layers,
    /// All wait for the first.
    Star,
    /// Any task waits for any other: circles, itself, and tasks that are not there.
    Tangle,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 5] = [Self::Chain, Self::Diamonds, Self::Layers, Self::Star, Self::Tangle];

    /// Returns pending tasks in this shape, numbered from 1, with every edge on both sides.
    pub fn tasks(self, count: usize, random: &mut Random) -> Vec<Task> {
        let mut tasks: Vec<Task> = (1..=count).map(|number| Task::new(id(number), format!("task {number}"))).collect();
        for place in 0..count {
            for blocker in self.blockers(place, count, random) {
                tasks[place].blocked_by.push(id(blocker + 1));
                if let Some(blocker) = tasks.get_mut(blocker) {
                    blocker.blocks.push(id(place + 1));
                }
            }
        }
        tasks
    }

    fn blockers(self, place: usize, count: usize, random: &mut Random) -> BTreeSet<usize> {
        match self {
            Self::Chain => place.checked_sub(1).into_iter().collect(),
            Self::Diamonds => match place % 3 {
                0 => [1, 2].iter().filter_map(|step| place.checked_sub(*step)).collect(),
                step => BTreeSet::from([place - step]),
            },
            Self::Layers if place < 10 => BTreeSet::new(),
            Self::Layers => (0..3).map(|_| place / 10 * 10 - 10 + random.below(10)).collect(),
            Self::Star => (place > 0).then_some(0).into_iter().collect(),
            // One number beyond the last: a task that is not there.
            Self::Tangle => (0..random.below(4)).map(|_| random.below(count + 1)).collect(),
        }
    }
}

/// Makes of sound tasks what a list in the middle of its life holds, other programs having written to it: all states, owners,
/// internal tasks, and edges that only one of their ends knows of.
pub fn weather(tasks: &mut [Task], random: &mut Random) {
    for task in tasks {
        match random.below(12) {
            0 => task.status = Status::Completed,
            1 => {
                task.status = Status::Completed;
                task.metadata = json!({ "cancelled": true }).as_object().cloned();
            }
            2 => task.status = Status::InProgress,
            3 => task.metadata = json!({ "_internal": true }).as_object().cloned(),
            4 => task.owner = Some("bob".to_owned()),
            _ => {}
        }
        task.blocks.retain(|_| random.below(4) > 0);
        task.blocked_by.retain(|_| random.below(10) > 0);
    }
}

/// Returns the tasks that can start by the plainest reading of the rule: pending, visible, and none of those it names is there
/// and open. Whose they are does not matter.
pub fn startable(tasks: &[Task]) -> BTreeSet<TaskId> {
    let states: HashMap<&TaskId, Status> = tasks.iter().map(|task| (&task.id, task.status)).collect();
    let is_open = |id: &TaskId| matches!(states.get(id), Some(Status::Pending | Status::InProgress));
    let can_start =
        |task: &&Task| task.status == Status::Pending && !task.is_internal() && !task.blocked_by.iter().any(is_open);
    tasks.iter().filter(can_start).map(|task| task.id.clone()).collect()
}

fn id(number: usize) -> TaskId {
    TaskId::number(number as u64)
}

//! Moving tasks from one list to another.

use taskyard_core::rules::moving::merging::{MergeWhich, plan_move};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{ListId, Op, Status, Task, TaskId};

use super::create::made;
use super::exact_texts::{origin_of, put_exact_texts};
use crate::store::Lookup;
use crate::{Error, Outcome, Yard};

/// Tasks that moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Each task's old and new id.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// The tasks as they are now, in the list they came to.
    pub tasks: Vec<Task>,
    /// The edges that could not come along, each from the task that waited to the one it waited for, by their old ids.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The tasks that are no longer a part of another, because only one of the two moved, by their old ids.
    pub dropped_parents: Vec<TaskId>,
}

impl Yard {
    /// Moves tasks between two lists with new numbers and rewritten edges, on both lists or on neither.
    pub fn merge(&self, from: &ListId, into: &ListId, which: MergeWhich) -> Result<Outcome<Merged>, Error> {
        if from == into {
            return Ok(Outcome::Refused(Refusal::MergeIntoItself));
        }
        let leaving = self.store().read(from)?;
        if !leaving.exists()? {
            return Ok(Outcome::Refused(Refusal::NoSuchList { list: from.as_str().to_owned() }));
        }
        if !leaving.tasks()?.iter().any(|task| which.moves(task)) {
            return Ok(Outcome::Done(Merged::default()));
        }
        drop(leaving);
        let source = self.on(from.clone());
        source.return_ended_leases()?;
        // Nobody works on these any more, and their new files do not tell that.
        let abandoned = if which == MergeWhich::Open { source.abandoned_tasks()? } else { Vec::new() };
        let outcome = self.transact_both(Op::Merge, from, into, |pair| {
            let tasks = pair.source().tasks()?;
            // Numbers change with the list: no agent's work is moved away under its hands.
            let moving: Vec<Task> = tasks.iter().filter(|task| which.moves(task)).cloned().collect();
            self.respect_leases(pair.source(), &moving)?;
            let new_ids = pair.target().new_ids(moving.len())?;
            let plan = plan_move(&tasks, which, new_ids.into_iter(), self.rules());
            let mut arrived = Vec::with_capacity(plan.arriving.len());
            for (mut task, (old, new)) in plan.arriving.into_iter().zip(&plan.mapping) {
                if abandoned.contains(old) {
                    task.status = Status::Pending;
                }
                pair.target().put_new(task.clone())?;
                let Lookup::Found(found, image) = pair.target().find(new)? else {
                    arrived.push(task);
                    continue;
                };
                if let Some(origin) = origin_of(pair.source(), old, &image)? {
                    put_exact_texts(pair.target(), new, &origin)?;
                }
                arrived.push(*found);
            }
            for (old, _) in &plan.mapping {
                pair.source().remove(old)?;
            }
            for task in plan.staying {
                pair.source().put(task)?;
            }
            Ok(Merged {
                mapping: plan.mapping,
                tasks: arrived,
                dropped_edges: plan.dropped_edges.into_iter().map(|edge| (edge.task, edge.on)).collect(),
                dropped_parents: plan.dropped_parents,
            })
        })?;
        Ok(outcome.map(|(merged, [_, came])| match came {
            Some(came) => merged.with_tasks(made(&came).collect()),
            None => merged,
        }))
    }
}

impl Merged {
    /// Puts in the tasks that came, which may have got other numbers than they were put under.
    fn with_tasks(mut self, tasks: Vec<Task>) -> Self {
        if tasks.len() != self.tasks.len() || tasks.len() != self.mapping.len() {
            return self;
        }
        let mut places: Vec<usize> = (0..self.tasks.len()).collect();
        places.sort_by(|one, two| self.tasks[*one].id.cmp(&self.tasks[*two].id));
        for (place, task) in places.into_iter().zip(tasks) {
            self.mapping[place].1 = task.id.clone();
            self.tasks[place] = task;
        }
        self
    }
}

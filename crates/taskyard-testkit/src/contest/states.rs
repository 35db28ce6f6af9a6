//! A list at each of its revisions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use taskyard::core::{Entry, Revision, Task, TaskId};

/// The tasks of a list after one revision.
pub(super) type ListContents = Arc<BTreeMap<TaskId, Arc<Task>>>;

/// Plays a journal forward, and keeps the states that are still asked for.
#[derive(Debug)]
pub(super) struct States {
    coming: std::iter::Peekable<std::vec::IntoIter<Entry>>,
    kept: VecDeque<ListContents>,
    /// The revision of the first that is kept.
    first: u64,
}

impl States {
    /// Begins before the first entry of a whole journal.
    pub(super) fn of(journal: Vec<Entry>) -> Self {
        Self { coming: journal.into_iter().peekable(), kept: VecDeque::from([ListContents::default()]), first: 0 }
    }

    /// Returns the states from one revision to another, both included; all before the first are forgotten.
    pub(super) fn between(&mut self, since: Revision, until: Revision, forget_before: Revision) -> Vec<&ListContents> {
        while self.first + (self.kept.len() as u64) <= until.0 {
            self.step();
        }
        while self.first < forget_before.0 {
            self.kept.pop_front();
            self.first += 1;
        }
        let place = |revision: Revision| usize::try_from(revision.0 - self.first).unwrap();
        self.kept.range(place(since)..=place(until)).collect()
    }

    fn step(&mut self) {
        let revision = Revision(self.first + self.kept.len() as u64);
        let mut state = self.kept.back().unwrap().clone();
        let tasks = Arc::make_mut(&mut state);
        let mut is_there = false;
        while let Some(entry) = self.coming.next_if(|entry| entry.revision == revision) {
            is_there = true;
            match &entry.after {
                Some(image) => drop(tasks.insert(entry.task.clone(), Arc::new(image.task(&entry.task).unwrap()))),
                None => drop(tasks.remove(&entry.task)),
            }
        }
        assert!(is_there, "revision {revision} was seen and is not in the journal");
        self.kept.push_back(state);
    }
}

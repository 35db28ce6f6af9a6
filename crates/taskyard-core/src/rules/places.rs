//! Where each task stands in a list, found by its id.

use std::collections::HashMap;

use crate::{Task, TaskId};

/// Finds places by id. Nearly every id is a number and lists come sorted, so that there is nothing to hash.
#[derive(Debug, Default)]
pub(super) struct Places {
    numbers: Vec<(u64, usize)>,
    names: HashMap<String, usize>,
}

impl Places {
    /// Notes where the wanted tasks of a list stand.
    pub(super) fn of(tasks: &[Task], wanted: impl Fn(&Task) -> bool) -> Self {
        let mut places = Self { numbers: Vec::with_capacity(tasks.len()), names: HashMap::new() };
        for (place, task) in tasks.iter().enumerate().filter(|(_, task)| wanted(task)) {
            match task.id.as_number() {
                Some(number) => places.numbers.push((number, place)),
                None => drop(places.names.insert(task.id.as_str().to_owned(), place)),
            }
        }
        if !places.numbers.is_sorted() {
            places.numbers.sort_unstable();
        }
        places
    }

    /// Returns where a task stands, where it was wanted.
    pub(super) fn get(&self, id: &TaskId) -> Option<usize> {
        match id.as_number() {
            Some(number) => {
                let found = self.numbers.binary_search_by_key(&number, |(number, _)| *number).ok()?;
                Some(self.numbers[found].1)
            }
            None => self.names.get(id.as_str()).copied(),
        }
    }

    /// Tells whether a task was wanted.
    pub(super) fn contains(&self, id: &TaskId) -> bool {
        self.get(id).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use crate::{Task, TaskId};

    #[test]
    fn numbers_and_names_are_found_where_they_stand() {
        let list: Vec<Task> = ["7", "abc", "2", "07", "9"].map(|id| Task::new(TaskId::stored(id), "x")).to_vec();
        let places = Places::of(&list, |task| task.id.as_str() != "9");
        for (id, place) in [("7", Some(0)), ("abc", Some(1)), ("2", Some(2)), ("07", Some(3)), ("9", None), ("x", None)]
        {
            assert_eq!(places.get(&TaskId::stored(id)), place, "{id}");
        }
    }
}

//! Where each task stands in a list, found by its id.

use std::collections::HashMap;

use crate::{Task, TaskId};

/// Finds positions by id. Nearly every id is a number, and hardly a number is missing, so that there is nothing to hash.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// Where the tasks with numbers stand, from the first number on; `NOWHERE` for numbers that are missing.
    near: Vec<usize>,
    first: u64,
    /// The numbers that are far from those.
    far: Vec<(u64, usize)>,
    names: HashMap<String, usize>,
}

const NOWHERE: usize = usize::MAX;

impl Positions {
    /// Notes where the wanted tasks of a list stand.
    pub(crate) fn of(tasks: &[Task], wanted: impl Fn(&Task) -> bool) -> Self {
        let mut positions = Self::default();
        let mut numbers: Vec<(u64, usize)> = Vec::with_capacity(tasks.len());
        for (position, task) in tasks.iter().enumerate().filter(|(_, task)| wanted(task)) {
            match task.id.as_number() {
                Some(number) => numbers.push((number, position)),
                None => drop(positions.names.insert(task.id.as_str().to_owned(), position)),
            }
        }
        if !numbers.is_sorted() {
            numbers.sort_unstable();
        }
        positions.first = numbers.first().map_or(0, |(number, _)| *number);
        // At most so many of the numbers may be missing that the rest is worth the room.
        let room = 4 * tasks.len() as u64;
        let is_near = |(number, _): &(u64, usize)| *number - positions.first < room;
        positions.far = numbers.split_off(numbers.partition_point(is_near));
        let length = numbers.last().map_or(0, |(number, _)| *number - positions.first + 1);
        positions.near = vec![NOWHERE; usize::try_from(length).unwrap_or(0)];
        for (number, position) in numbers {
            positions.near[(number - positions.first) as usize] = position;
        }
        positions
    }

    /// Returns where a task stands, where it was wanted.
    pub(crate) fn get(&self, id: &TaskId) -> Option<usize> {
        let Some(number) = id.as_number() else { return self.names.get(id.as_str()).copied() };
        let near = number.checked_sub(self.first).and_then(|steps| self.near.get(usize::try_from(steps).ok()?));
        match near {
            Some(position) => Some(*position).filter(|position| *position != NOWHERE),
            None => {
                let found = self.far.binary_search_by_key(&number, |(number, _)| *number).ok()?;
                Some(self.far[found].1)
            }
        }
    }

    /// Tells whether a task was wanted.
    pub(crate) fn contains(&self, id: &TaskId) -> bool {
        self.get(id).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;
    use crate::{Task, TaskId};

    #[test]
    fn numbers_and_names_are_found_where_they_stand() {
        let list: Vec<Task> = ["7", "abc", "2", "07", "9"].map(|id| Task::new(TaskId::stored(id), "x")).to_vec();
        let positions = Positions::of(&list, |task| task.id.as_str() != "9");
        for (id, position) in
            [("7", Some(0)), ("abc", Some(1)), ("2", Some(2)), ("07", Some(3)), ("9", None), ("x", None)]
        {
            assert_eq!(positions.get(&TaskId::stored(id)), position, "{id}");
        }
    }

    #[test]
    fn numbers_far_from_the_others_take_no_room_and_are_found() {
        let numbers = [3, 4, 6, 1_000, u64::MAX];
        let list: Vec<Task> = numbers.iter().map(|number| Task::new(TaskId::number(*number), "x")).collect();
        let positions = Positions::of(&list, |_| true);
        assert!(positions.near.len() <= 20);
        for (position, number) in numbers.iter().enumerate() {
            assert_eq!(positions.get(&TaskId::number(*number)), Some(position), "{number}");
        }
        for number in [0, 2, 5, 7, 999, 1_001, u64::MAX - 1] {
            assert_eq!(positions.get(&TaskId::number(number)), None, "{number}");
        }
    }
}

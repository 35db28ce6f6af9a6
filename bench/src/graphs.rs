//! Lists of tasks that wait for each other, in the shapes that plans have.

use taskyard::core::{Task, TaskId};

use crate::corpus;

/// How the tasks of a list wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// No task waits.
    Independent,
    /// Each waits for the one before it.
    Chain,
    /// A hundred layers; each task waits for three of the layer before its own.
    Layered,
    /// One, two that wait for it, one that waits for both, and so on.
    Diamonds,
    /// All wait for the first.
    Star,
}

impl Shape {
    /// Returns the word in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Chain => "a chain",
            Self::Layered => "layers",
            Self::Diamonds => "diamonds",
            Self::Star => "a star",
        }
    }

    /// Returns pending tasks in this shape, numbered from 1, with edges on both sides.
    pub(crate) fn tasks(self, count: usize) -> Vec<Task> {
        let mut tasks: Vec<Task> = (1..=count).map(task).collect();
        for place in 0..count {
            for blocker in self.blockers(place, count) {
                let (waiting, on) = (tasks[place].id.clone(), tasks[blocker].id.clone());
                tasks[place].blocked_by.push(on);
                tasks[blocker].blocks.push(waiting);
            }
        }
        tasks
    }

    fn blockers(self, place: usize, count: usize) -> Vec<usize> {
        let width = (count / 100).max(3);
        match self {
            Self::Independent => Vec::new(),
            Self::Chain => place.checked_sub(1).into_iter().collect(),
            Self::Layered if place < width => Vec::new(),
            Self::Layered => {
                let layer = place / width * width - width;
                [0, 1, 2].map(|step| layer + (place * 7 + step) % width).into()
            }
            Self::Diamonds => match place % 3 {
                0 => [2, 1].iter().filter_map(|step| place.checked_sub(*step)).collect(),
                step => vec![place - step],
            },
            Self::Star => (place > 0).then_some(0).into_iter().collect(),
        }
    }
}

fn task(number: usize) -> Task {
    Task {
        description: corpus::DESCRIPTION.to_owned(),
        active_form: Some(corpus::active_form(number)),
        ..Task::new(TaskId::number(number as u64), corpus::subject(number))
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    fn blocked_by(shape: Shape) -> Vec<String> {
        let tasks = shape.tasks(7);
        let ids =
            |task: &taskyard::core::Task| task.blocked_by.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" ");
        tasks.iter().map(ids).collect()
    }

    #[test]
    fn each_shape_is_what_it_says() {
        assert_eq!(blocked_by(Shape::Independent), [""; 7]);
        assert_eq!(blocked_by(Shape::Chain), ["", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(blocked_by(Shape::Diamonds), ["", "1", "1", "2 3", "4", "4", "5 6"]);
        assert_eq!(blocked_by(Shape::Star), ["", "1", "1", "1", "1", "1", "1"]);
        assert_eq!(blocked_by(Shape::Layered)[3..6], ["1 2 3", "2 3 1", "3 1 2"]);
    }
}

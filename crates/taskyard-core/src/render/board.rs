//! A whole list, for people.

use std::collections::{HashMap, HashSet};

use crate::rules::graph::parts::Progress;
use crate::{Status, Task, TaskId};

use super::task_line::task_line;
use super::{Line, Look, Tone};

/// How deep the tree is indented; parts of parts beyond it stay where they are.
const DEEPEST: usize = 16;

/// How many cells the bar of progress has.
const BAR: usize = 16;

/// A list as it is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    /// The list's name.
    pub title: &'a str,
    /// The tasks to show, in display order.
    pub tasks: &'a [Task],
    /// What each of them waits for.
    pub blockers: &'a HashMap<TaskId, Vec<TaskId>>,
    /// How far the parts are of each that has some.
    pub progress: &'a HashMap<TaskId, Progress>,
    /// How many the whole list has: pending, in progress, completed.
    pub counts: [usize; 3],
    /// How many completed tasks are shown before the rest becomes `+N completed`; none shows all.
    pub completed_after: Option<usize>,
}

impl Board<'_> {
    /// Returns the list with subtasks below their parents.
    pub fn tree(&self, look: &Look) -> Vec<Line> {
        let children = children(self.tasks);
        let hidden = self.hidden(&children);
        let mut lines = vec![self.header(look), Line::new()];
        let width = self.id_width(&hidden);
        for (place, guides) in walk(self.tasks, &children, &hidden, look) {
            lines.push(self.task(place, &guides, width, look));
        }
        self.add_fold(&mut lines, &hidden);
        lines
    }

    /// Returns the list with one task after the other.
    pub fn flat(&self, look: &Look) -> Vec<Line> {
        let hidden = self.hidden(&vec![Vec::new(); self.tasks.len()]);
        let mut lines = vec![self.header(look), Line::new()];
        let width = self.id_width(&hidden);
        for place in (0..self.tasks.len()).filter(|place| !hidden.contains(place)) {
            lines.push(self.task(place, "  ", width, look));
        }
        self.add_fold(&mut lines, &hidden);
        lines
    }

    /// Returns the line above the tasks: the name, a bar, and the counts.
    pub fn header(&self, look: &Look) -> Line {
        let mut line = Line::new().with(Tone::Plain, "  ").with(Tone::Strong, self.title).with(Tone::Plain, "  ");
        line.append(bar(self.counts, look));
        line.push(Tone::Plain, " ");
        line.append(counts_in_words(self.counts, look));
        look.fitted(line)
    }

    fn task(&self, place: usize, guides: &str, id_width: usize, look: &Look) -> Line {
        let task = &self.tasks[place];
        let blockers = self.blockers.get(&task.id).map(Vec::as_slice).unwrap_or_default();
        let Some(progress) = self.progress.get(&task.id) else {
            return task_line(guides, id_width, task, blockers, look);
        };
        let progress = Line::new().with(Tone::Dim, &format!(" {progress}"));
        let narrower = Look { width: look.width.map(|width| width.saturating_sub(progress.width())), ..*look };
        let mut line = task_line(guides, id_width, task, blockers, &narrower);
        line.append(progress);
        line
    }

    fn id_width(&self, hidden: &HashSet<usize>) -> usize {
        let shown = self.tasks.iter().enumerate().filter(|(place, _)| !hidden.contains(place));
        shown.map(|(_, task)| task.id.as_str().len() + 1).max().unwrap_or(0)
    }

    fn add_fold(&self, lines: &mut Vec<Line>, hidden: &HashSet<usize>) {
        if !hidden.is_empty() {
            lines.push(Line::new().with(Tone::Dim, &format!("    +{} completed", hidden.len())));
        }
    }

    /// Returns the places of the completed tasks that become `+N completed`: the oldest, except where an open subtask would
    /// lose its parent.
    fn hidden(&self, children: &[Vec<usize>]) -> HashSet<usize> {
        let Some(limit) = self.completed_after else { return HashSet::new() };
        let completed = (0..self.tasks.len()).filter(|place| self.tasks[*place].status == Status::Completed);
        let mut hidden: HashSet<usize> = completed.collect();
        if hidden.len() <= limit {
            return HashSet::new();
        }
        let mut newest: Vec<usize> = hidden.iter().copied().collect();
        newest.sort_unstable_by(|one, two| self.tasks[*two].id.cmp(&self.tasks[*one].id));
        for place in newest.into_iter().take(limit) {
            hidden.remove(&place);
        }
        let mut parent = vec![None; self.tasks.len()];
        for (place, below) in children.iter().enumerate() {
            below.iter().for_each(|child| parent[*child] = Some(place));
        }
        for place in (0..self.tasks.len()).filter(|place| self.tasks[*place].status.is_open()) {
            let mut above = parent[place];
            while let Some(place) = above {
                above = if hidden.remove(&place) { parent[place] } else { None };
            }
        }
        hidden
    }
}

/// Returns counts as people say them: `4 of 9 done · 1 in progress · 4 pending`.
pub fn counts_in_words([pending, in_progress, completed]: [usize; 3], look: &Look) -> Line {
    let total = pending + in_progress + completed;
    let mut line = Line::new().with(Tone::Done, &format!("{completed} of {total} done"));
    if in_progress > 0 {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Active, &format!("{in_progress} in progress"));
    }
    if pending > 0 {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Plain, &format!("{pending} pending"));
    }
    line
}

pub(super) fn bar([pending, in_progress, completed]: [usize; 3], look: &Look) -> Line {
    let total = pending + in_progress + completed;
    let part = |count: usize| (count * BAR).checked_div(total).unwrap_or(0);
    let done = part(completed);
    // Work in progress is never too little to be seen.
    let active = part(in_progress).max(usize::from(in_progress > 0)).min(BAR - done);
    let rest = BAR - done - active;
    Line::new()
        .with(Tone::Done, &look.either("━", "=").repeat(done))
        .with(Tone::Active, &look.either("╍", ">").repeat(active))
        .with(Tone::Dim, &look.either("─", "-").repeat(rest))
}

/// Returns, for each task, the places of its subtasks among the shown, in display order. A task whose parents lead back to itself is the
/// subtask of no task.
fn children(tasks: &[Task]) -> Vec<Vec<usize>> {
    let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let parents: Vec<Option<usize>> =
        tasks.iter().map(|task| task.parent().and_then(|parent| places.get(&parent).copied())).collect();
    let mut children = vec![Vec::new(); tasks.len()];
    for place in 0..tasks.len() {
        if let Some(parent) = parents[place]
            && !in_circle(place, &parents)
        {
            children[parent].push(place);
        }
    }
    children
}

fn in_circle(start: usize, parents: &[Option<usize>]) -> bool {
    let mut place = parents[start];
    let mut steps = 0;
    while let Some(above) = place {
        if above == start {
            return true;
        }
        steps += 1;
        if steps > parents.len() {
            return false;
        }
        place = parents[above];
    }
    false
}

/// Returns the places to show, depth first, each with the branches that lead to it.
fn walk(tasks: &[Task], children: &[Vec<usize>], hidden: &HashSet<usize>, look: &Look) -> Vec<(usize, String)> {
    let (through, last, bar) = (look.either("├ ", "|-"), look.either("└ ", "`-"), look.either("│ ", "| "));
    let is_child: HashSet<usize> = children.iter().flatten().copied().collect();
    let shown =
        |places: &[usize]| -> Vec<usize> { places.iter().copied().filter(|place| !hidden.contains(place)).collect() };
    let roots: Vec<usize> =
        (0..tasks.len()).filter(|place| !is_child.contains(place) && !hidden.contains(place)).collect();
    let mut pending: Vec<(usize, String, String, usize)> =
        roots.into_iter().rev().map(|place| (place, "  ".to_owned(), "  ".to_owned(), 0)).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some((place, guides, below, depth)) = pending.pop() {
        order.push((place, guides));
        let inner = shown(&children[place]);
        let count = inner.len();
        for (number, child) in inner.into_iter().enumerate().rev() {
            let is_last = number + 1 == count;
            let guides = format!("{below}{}", if is_last { last } else { through });
            let deeper = match depth {
                DEEPEST.. => below.clone(),
                _ => format!("{below}{}", if is_last { "  " } else { bar }),
            };
            pending.push((child, guides, deeper, depth + 1));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::Board;
    use crate::render::Look;
    use crate::rules::graph::parts::progress;
    use crate::{Rules, Status, Task, TaskId};

    fn task(number: u64, status: Status, parent: Option<u64>) -> Task {
        let mut task = Task::new(TaskId::number(number), format!("t{number}"));
        task.status = status;
        task.metadata = parent.and_then(|parent| json!({"parent": parent.to_string()}).as_object().cloned());
        task
    }

    fn tree(tasks: &[Task], completed_after: Option<usize>) -> Vec<String> {
        let progress = progress(tasks, Rules::Strict);
        let board = Board {
            title: "L",
            tasks,
            blockers: &HashMap::new(),
            progress: &progress,
            counts: [0, 0, 0],
            completed_after,
        };
        board.tree(&Look::PIPE).iter().skip(2).map(ToString::to_string).collect()
    }

    #[test]
    fn subtasks_stand_below_their_parents() {
        let tasks = [
            task(2, Status::InProgress, Some(1)),
            task(1, Status::Pending, None),
            task(3, Status::Pending, Some(1)),
            task(4, Status::Pending, Some(2)),
        ];
        assert_eq!(tree(&tasks, None), ["  ◻ #1 t1 0/2", "  ├ ◼ #2 t2 0/1", "  │ └ ◻ #4 t4", "  └ ◻ #3 t3"]);
    }

    #[test]
    fn tasks_that_are_each_others_parents_are_still_shown() {
        let tasks =
            [task(1, Status::Pending, Some(2)), task(2, Status::Pending, Some(1)), task(3, Status::Pending, Some(1))];
        assert_eq!(tree(&tasks, None), ["  ◻ #1 t1 0/1", "  └ ◻ #3 t3", "  ◻ #2 t2"]);
    }

    #[test]
    fn parts_of_parts_without_end_stay_on_the_page() {
        let tasks: Vec<Task> =
            (1..=5000).map(|number| task(number, Status::Pending, (number > 1).then(|| number - 1))).collect();
        let lines = tree(&tasks, None);
        assert_eq!(lines.len(), 5000);
        assert!(lines.iter().all(|line| line.chars().count() < 60));
    }

    #[test]
    fn older_completed_tasks_become_a_number() {
        let tasks: Vec<Task> = (1..=4).map(|number| task(number, Status::Completed, None)).collect();
        assert_eq!(tree(&tasks, Some(1)), ["  ✔ #4 t4", "    +3 completed"]);
        assert_eq!(tree(&tasks, Some(4)).len(), 4);
    }

    #[test]
    fn a_completed_parent_of_open_work_is_never_folded_away() {
        let tasks =
            [task(9, Status::Pending, Some(1)), task(1, Status::Completed, None), task(2, Status::Completed, None)];
        assert_eq!(tree(&tasks, Some(0)), ["  ✔ #1 t1 0/1", "  └ ◻ #9 t9", "    +1 completed"]);
    }
}

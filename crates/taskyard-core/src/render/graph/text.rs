//! The graph as a tree of lines, each task drawn once.

use crate::render::task_line::{numbered, task_line};
use crate::render::{Line, Look, Tone};
use crate::{Rules, Task};

use super::network::Network;

/// How deep a branch goes before it is continued from the margin.
const DEEPEST: usize = 12;

/// Returns the tasks as lines: below each task its parts, and with an arrow those that wait for it. A task that waits for several stands
/// below the last of them to be drawn, with the others named; a part stands with its parent. Every task is drawn once.
pub fn text(tasks: &[Task], look: &Look, rules: Rules) -> Vec<Line> {
    let network = Network::new(tasks, rules);
    let id_width = tasks.iter().map(|task| task.id.as_str().len() + 1).max().unwrap_or(0);
    let mut drawing = Drawing { tasks, network: &network, look, id_width, lines: Vec::new() };
    drawing.draw();
    drawing.lines
}

struct Drawing<'a> {
    tasks: &'a [Task],
    network: &'a Network,
    look: &'a Look,
    id_width: usize,
    lines: Vec<Line>,
}

/// A task that is to be drawn.
struct Next {
    place: usize,
    guides: String,
    below: String,
    depth: usize,
    continues: bool,
    /// Whether it stands below what it is a part of.
    is_with_parent: bool,
}

impl Drawing<'_> {
    fn draw(&mut self) {
        let count = self.tasks.len();
        let home = homes(self.network);
        let is_with_parent = |place: usize| home[place].is_some() && home[place] == self.network.parent[place];
        let mut below = vec![Vec::new(); count];
        for (place, above) in home.iter().enumerate() {
            if let Some(above) = above {
                below[*above].push(place);
            }
        }
        // The parts of a task come before what waits for it.
        below.iter_mut().for_each(|places| places.sort_by_key(|place| !is_with_parent(*place)));
        let root = |place, continues| Next {
            place,
            guides: String::new(),
            below: String::new(),
            depth: 0,
            continues,
            is_with_parent: is_with_parent(place),
        };
        let mut roots: Vec<Next> =
            (0..count).filter(|place| home[*place].is_none()).rev().map(|place| root(place, false)).collect();
        while let Some(start) = roots.pop() {
            let mut pending = vec![start];
            let mut deeper = Vec::new();
            while let Some(next) = pending.pop() {
                self.task(&next);
                let children = &below[next.place];
                if next.depth >= DEEPEST && !children.is_empty() {
                    deeper.extend(children.iter().rev().map(|child| root(*child, true)));
                    let more = format!("{}{}", next.below, self.look.either("⋮ continued below", ": continued below"));
                    self.lines.push(Line::new().with(Tone::Dim, &more));
                    continue;
                }
                for (number, child) in children.iter().enumerate().rev() {
                    let last = number + 1 == children.len();
                    let branch = match (last, is_with_parent(*child)) {
                        (true, false) => self.look.either("└─▸ ", "`-> "),
                        (true, true) => self.look.either("└── ", "`-- "),
                        (false, false) => self.look.either("├─▸ ", "|-> "),
                        (false, true) => self.look.either("├── ", "|-- "),
                    };
                    let bar = if last { "    " } else { self.look.either("│   ", "|   ") };
                    pending.push(Next {
                        place: *child,
                        guides: format!("{}{branch}", next.below),
                        below: format!("{}{bar}", next.below),
                        depth: next.depth + 1,
                        continues: false,
                        is_with_parent: is_with_parent(*child),
                    });
                }
            }
            roots.extend(deeper);
        }
    }

    fn task(&mut self, next: &Next) {
        let task = &self.tasks[next.place];
        let guides = if next.continues { self.look.either("⋮ ", ": ") } else { next.guides.as_str() };
        let mut others = Vec::new();
        let mut circle = Vec::new();
        let edges = self.network.into[next.place].iter().map(|number| self.network.edges[*number]);
        for edge in edges.filter(|edge| !edge.is_part) {
            let id = self.tasks[edge.from].id.clone();
            if edge.closes_circle { circle.push(id) } else { others.push(id) }
        }
        let mut after = Line::new();
        if others.len() > usize::from(!next.is_with_parent) {
            after.push(Tone::Dim, &format!("  waits for {}", numbered(&others)));
        }
        if !circle.is_empty() {
            after.push(Tone::Error, &format!("  circle: waits for {}", numbered(&circle)));
        }
        let narrower = Look { width: self.look.width.map(|width| width.saturating_sub(after.width())), ..*self.look };
        let mut line = task_line(guides, if guides.is_empty() { self.id_width } else { 0 }, task, &[], &narrower);
        line.append(after);
        self.lines.push(self.look.fitted(line));
    }
}

/// Returns the task each one is drawn below: of those it waits for the one furthest from the beginning, so that it stands
/// after all of them wherever the tree allows. A part is drawn below its parent, or below another part of it that it waits for.
fn homes(network: &Network) -> Vec<Option<usize>> {
    let mut home: Vec<Option<usize>> = vec![None; network.out.len()];
    let onward = || network.edges.iter().filter(|edge| !edge.closes_circle);
    onward().filter(|edge| edge.is_part).for_each(|edge| home[edge.to] = Some(edge.from));
    for edge in onward().filter(|edge| !edge.is_part) {
        let is_in_family = network.parent[edge.to].is_none_or(|parent| network.parent[edge.from] == Some(parent));
        let is_better = home[edge.to].is_none_or(|other| network.layer[edge.from] >= network.layer[other]);
        if is_in_family && is_better {
            home[edge.to] = Some(edge.from);
        }
    }
    home
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::render::Look;
    use crate::{Rules, Task, TaskId};

    fn waiting(number: u64, on: &[u64]) -> Task {
        let mut task = Task::new(TaskId::number(number), format!("t{number}"));
        task.blocked_by = on.iter().copied().map(TaskId::number).collect();
        task
    }

    fn drawn(tasks: &[Task]) -> Vec<String> {
        text(tasks, &Look::PIPE, Rules::Strict).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_task_stands_below_what_it_waits_for_and_names_the_rest() {
        let tasks = [waiting(1, &[]), waiting(2, &[1]), waiting(3, &[1]), waiting(4, &[2, 3]), waiting(5, &[])];
        assert_eq!(
            drawn(&tasks),
            ["◻ #1 t1", "├─▸ ◻ #2 t2", "└─▸ ◻ #3 t3", "    └─▸ ◻ #4 t4  waits for #2, #3", "◻ #5 t5",]
        );
    }

    #[test]
    fn parts_stand_below_their_parent_and_before_what_waits() {
        let part = |number: u64, parent: u64, on: &[u64]| Task {
            metadata: serde_json::json!({ "parent": parent.to_string() }).as_object().cloned(),
            ..waiting(number, on)
        };
        let tasks = [
            waiting(1, &[]),
            waiting(2, &[1]),
            part(3, 1, &[]),
            part(4, 1, &[3]),
            part(5, 2, &[]),
            part(6, 2, &[7]),
            waiting(7, &[]),
        ];
        let expected = [
            "◻ #1 t1",
            "├── ◻ #3 t3",
            "│   └─▸ ◻ #4 t4",
            "└─▸ ◻ #2 t2",
            "    ├── ◻ #5 t5",
            "    └── ◻ #6 t6  waits for #7",
            "◻ #7 t7",
        ];
        assert_eq!(drawn(&tasks), expected);
    }

    #[test]
    fn a_circle_is_drawn_and_named() {
        let lines = drawn(&[waiting(1, &[2]), waiting(2, &[1])]);
        assert_eq!(lines, ["◻ #1 t1  circle: waits for #2", "└─▸ ◻ #2 t2"]);
    }

    #[test]
    fn a_chain_of_thousands_is_drawn_without_running_off_the_page() {
        let tasks: Vec<Task> = (1..=5000)
            .map(|number| if number == 1 { waiting(1, &[]) } else { waiting(number, &[number - 1]) })
            .collect();
        let lines = drawn(&tasks);
        assert_eq!(lines.iter().filter(|line| line.contains('◻')).count(), 5000);
        assert!(lines.iter().all(|line| line.chars().count() < 90));
    }
}

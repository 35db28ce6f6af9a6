//! The graph as text: a tree of lines, Graphviz and Mermaid.

use std::fmt::Write as _;

use crate::render::escaping::one_line;
use crate::render::graph::graph_network::Network;
use crate::render::task_line::{numbered, task_line};
use crate::render::{Line, Look, Tone};
use crate::{Rules, Status, Task};

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

/// Returns the graph for `dot`.
pub fn dot(tasks: &[Task], rules: Rules) -> String {
    let network = Network::new(tasks, rules);
    let mut text = String::from(
        "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n",
    );
    for task in tasks {
        let id = quoted(task.id.as_str());
        let label = quoted(&format!("#{} {}", task.id, task.shown_subject()));
        let (fill, border) = colours(task);
        let _ = writeln!(text, "  {id} [label={label}, fillcolor=\"{fill}\", color=\"{border}\"];");
    }
    for edge in &network.edges {
        let (from, to) = (&tasks[edge.from].id, &tasks[edge.to].id);
        let style = if edge.is_part { " [style=dashed, arrowhead=none]" } else { "" };
        let _ = writeln!(text, "  {} -> {}{style};", quoted(from.as_str()), quoted(to.as_str()));
    }
    text.push_str("}\n");
    text
}

fn colours(task: &Task) -> (&'static str, &'static str) {
    match task.status {
        Status::Pending => ("#f6f8fa", "#8c959f"),
        Status::InProgress => ("#fff8c5", "#bf8700"),
        Status::Completed if task.is_cancelled() => ("#eaeef2", "#afb8c1"),
        Status::Completed => ("#dafbe1", "#1a7f37"),
    }
}

fn quoted(text: &str) -> String {
    let safe = one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{safe}\"")
}

/// Returns the graph as a Mermaid flowchart.
pub fn mermaid(tasks: &[Task], rules: Rules) -> String {
    let network = Network::new(tasks, rules);
    let mut text = String::from("flowchart LR\n");
    for (place, task) in tasks.iter().enumerate() {
        let (open, close) = if task.status == Status::InProgress { ("([", "])") } else { ("[", "]") };
        let label = format!("#{} {}", task.id, task.shown_subject());
        let _ = writeln!(text, "    {}{open}\"{}\"{close}:::{}", name(task, place), escape(&label), class(task));
    }
    for edge in &network.edges {
        let line = if edge.is_part { "-.-" } else { "-->" };
        let _ = writeln!(text, "    {} {line} {}", name(&tasks[edge.from], edge.from), name(&tasks[edge.to], edge.to));
    }
    text.push_str("    classDef pending fill:#f6f8fa,stroke:#8c959f,color:#1f2328\n");
    text.push_str("    classDef in_progress fill:#fff8c5,stroke:#bf8700,color:#1f2328\n");
    text.push_str("    classDef completed fill:#dafbe1,stroke:#1a7f37,color:#1f2328\n");
    text.push_str("    classDef cancelled fill:#eaeef2,stroke:#afb8c1,color:#656d76\n");
    text
}

/// Returns a name no word of Mermaid's collides with.
fn name(task: &Task, place: usize) -> String {
    task.id.as_number().map_or_else(|| format!("n{place}"), |number| format!("t{number}"))
}

fn class(task: &Task) -> &'static str {
    if task.is_cancelled() { "cancelled" } else { task.status.as_str() }
}

/// Writes the characters Mermaid reads something into as its own entities.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => safe.push_str("#quot;"),
            '#' => safe.push_str("#35;"),
            '<' => safe.push_str("#lt;"),
            '>' => safe.push_str("#gt;"),
            '&' => safe.push_str("#amp;"),
            '`' => safe.push_str("#96;"),
            '\\' => safe.push_str("#92;"),
            character => safe.push(character),
        }
    }
    safe
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

#[cfg(test)]
mod dot_tests {
    use super::dot;
    use crate::{Rules, Task, TaskId};

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let text = dot(&[Task::new(TaskId::number(1), "a \\\" -> \"b\"")], Rules::Strict);
        assert!(text.contains(r##"label="#1 a \\\" -> \"b\"""##), "{text}");
    }
}

#[cfg(test)]
mod mermaid_tests {
    use super::mermaid;
    use crate::{Rules, Task, TaskId};

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let mut second = Task::new(TaskId::number(2), "say \"hi\"; <b>");
        second.blocked_by = vec![TaskId::stored("odd name")];
        let text = mermaid(&[Task::new(TaskId::stored("odd name"), "end"), second], Rules::Strict);
        let lines: Vec<&str> = text.lines().take(4).collect();
        assert_eq!(
            lines,
            [
                "flowchart LR",
                "    n0[\"#35;odd name end\"]:::pending",
                "    t2[\"#35;2 say #quot;hi#quot;; #lt;b#gt;\"]:::pending",
                "    n0 --> t2",
            ]
        );
    }
}

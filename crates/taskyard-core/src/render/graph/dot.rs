//! The graph in Graphviz' language.

use std::fmt::Write as _;

use crate::render::escaping::one_line;
use crate::{Rules, Status, Task};

use super::network::Network;

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

#[cfg(test)]
mod tests {
    use super::dot;
    use crate::{Rules, Task, TaskId};

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let text = dot(&[Task::new(TaskId::number(1), "a \\\" -> \"b\"")], Rules::Strict);
        assert!(text.contains(r##"label="#1 a \\\" -> \"b\"""##), "{text}");
    }
}

//! The graph in Mermaid's language.

use std::fmt::Write as _;

use crate::{Rules, Status, Task};

use super::network::Network;

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

//! One task in full.

use serde_json::Value;

use crate::{Entry, Task};

use super::line::cut_text;
use super::task_line::task_line;
use super::{Line, Look, Tone, escaping, op_in_words, state_in_words};

/// A task and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct TaskPage<'a> {
    /// The task.
    pub task: &'a Task,
    /// The open tasks it waits for.
    pub open_blockers: &'a [Task],
    /// The tasks that wait for it.
    pub dependents: &'a [Task],
    /// The tasks that are parts of it.
    pub subtasks: &'a [Task],
    /// The newest entry of its journal.
    pub changed: Option<&'a Entry>,
}

/// The metadata that has lines of its own.
const KNOWN: [&str; 5] = ["priority", "tags", "parent", "cancelled", "_internal"];

/// Returns everything there is to say of one task.
pub fn task_page(page: &TaskPage<'_>, look: &Look) -> Vec<Line> {
    let task = page.task;
    let mut lines = title(task, look);
    let mut facts: Vec<(&str, Line)> = Vec::new();
    if let Some(owner) = task.owner() {
        facts.push(("owner", Line::new().with(Tone::Owner, owner)));
    }
    if let Some(priority) = task.stated_priority() {
        facts.push(("priority", Line::plain(priority.as_str())));
    }
    let tags: Vec<&str> = task.tags().collect();
    if !tags.is_empty() {
        facts.push(("tags", Line::plain(&tags.join(", "))));
    }
    if let Some(parent) = task.parent() {
        facts.push(("part of", Line::new().with(Tone::Id, &format!("#{parent}"))));
    }
    if let Some(stated) = &task.stated_id {
        let text = format!("the file says #{stated}; its name says #{}, and the name counts", task.id);
        facts.push(("id", Line::new().with(Tone::Warning, &text)));
    }
    for (key, value) in task.metadata.iter().flatten().filter(|(key, _)| !KNOWN.contains(&key.as_str())) {
        facts.push((key, Line::plain(&value_in_words(value))));
    }
    for (key, value) in &task.extra {
        facts.push((key, Line::new().with(Tone::Dim, &value_in_words(value))));
    }
    let names: Vec<String> = facts.iter().map(|(name, _)| escaping::one_line(name).into_owned()).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(20);
    for (name, (_, fact)) in names.iter().zip(facts) {
        let mut line = Line::new().with(Tone::Dim, &format!("  {name:widest$}  "));
        line.append(fact);
        lines.push(fitted(line, look));
    }
    description(task, look, &mut lines);
    section("Waits for", page.open_blockers, look, &mut lines);
    section("Waiting for it", page.dependents, look, &mut lines);
    section("Parts", page.subtasks, look, &mut lines);
    if let Some(entry) = page.changed {
        let who = if entry.op.is_elsewhere() { String::new() } else { format!(" by {}", entry.actor) };
        let text = format!("  {}{who}, {} (revision {})", op_in_words(entry.op), look.time(entry.at), entry.revision);
        lines.push(Line::new());
        lines.push(fitted(Line::new().with(Tone::Dim, &text), look));
    }
    lines
}

fn title(task: &Task, look: &Look) -> Vec<Line> {
    let (tone, mark) = look.mark(task);
    let mut line = Line::new().with(tone, mark).with(Tone::Plain, " ");
    line.push(Tone::Id, &format!("#{} ", task.id));
    line.push(Tone::Strong, &task.subject);
    line.push(Tone::Plain, "  ");
    line.push(tone, state_in_words(task));
    if task.is_internal() {
        line.push(Tone::Dim, &format!("{}internal", look.dot()));
    }
    let mut lines = vec![fitted(line, look)];
    if let Some(doing) = task.active_form.as_deref().filter(|text| !text.is_empty()) {
        let text = format!("  {}{}", doing.trim_end_matches('…'), look.ellipsis());
        lines.push(fitted(Line::new().with(Tone::Active, &text), look));
    }
    lines
}

fn description(task: &Task, look: &Look, lines: &mut Vec<Line>) {
    let text = escaping::many_lines(task.description.trim_end());
    if text.is_empty() {
        return;
    }
    lines.push(Line::new());
    for paragraph in text.lines() {
        match look.width {
            Some(width) => lines.extend(wrapped(paragraph, width.saturating_sub(4).clamp(20, 100))),
            None => lines.push(Line::plain(&format!("  {paragraph}"))),
        }
    }
}

fn wrapped(paragraph: &str, columns: usize) -> Vec<Line> {
    use unicode_width::UnicodeWidthStr as _;
    let indent = paragraph.len() - paragraph.trim_start().len();
    let lead = " ".repeat(indent.min(columns / 2));
    let mut lines = Vec::new();
    let mut current = lead.clone();
    for word in paragraph.split_whitespace() {
        let joint = if current.trim().is_empty() { "" } else { " " };
        if !current.trim().is_empty() && current.width() + 1 + word.width() > columns {
            lines.push(Line::plain(&format!("  {current}")));
            current = format!("{lead}{word}");
        } else {
            current.push_str(joint);
            current.push_str(word);
        }
    }
    lines.push(Line::plain(&format!("  {current}")));
    lines
}

fn section(name: &str, tasks: &[Task], look: &Look, lines: &mut Vec<Line>) {
    if tasks.is_empty() {
        return;
    }
    lines.push(Line::new());
    lines.push(Line::new().with(Tone::Dim, &format!("  {name}")));
    let width = tasks.iter().map(|task| task.id.as_str().len() + 1).max().unwrap_or(0);
    lines.extend(tasks.iter().map(|task| task_line("    ", width, task, &[], look)));
}

fn value_in_words(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    cut_text(&escaping::one_line(&text), 400, "…")
}

fn fitted(line: Line, look: &Look) -> Line {
    match look.width {
        Some(width) => line.cut(width, look.ellipsis()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TaskPage, task_page};
    use crate::render::Look;
    use crate::{Status, Task, TaskId};

    #[test]
    fn a_task_is_told_in_full() {
        let mut task = Task::new(TaskId::number(7), "Write the parser");
        task.status = Status::InProgress;
        task.owner = Some("ana".into());
        task.active_form = Some("Writing the parser".into());
        task.description = "First line\n\nand a \x1b[31msecond".into();
        task.metadata = json!({"priority": "high", "tags": ["core", "x"], "kind": "feature"}).as_object().cloned();
        let blocker = Task::new(TaskId::number(3), "Design");
        let page = TaskPage { task: &task, open_blockers: &[blocker], dependents: &[], subtasks: &[], changed: None };
        let text: Vec<String> = task_page(&page, &Look::PIPE).iter().map(|line| line.to_string()).collect();
        assert_eq!(
            text,
            [
                "◼ #7 Write the parser  in progress",
                "  Writing the parser…",
                "  owner     ana",
                "  priority  high",
                "  tags      core, x",
                "  kind      feature",
                "",
                "  First line",
                "  ",
                "  and a \\x1b[31msecond",
                "",
                "  Waits for",
                "    ◻ #3 Design",
            ]
        );
    }

    #[test]
    fn a_long_description_is_wrapped_to_the_display() {
        let mut task = Task::new(TaskId::number(1), "x");
        task.description = "word ".repeat(40);
        let page = TaskPage { task: &task, open_blockers: &[], dependents: &[], subtasks: &[], changed: None };
        let lines = task_page(&page, &Look { width: Some(40), ..Look::PIPE });
        assert!(lines.iter().all(|line| line.width() <= 40));
    }
}

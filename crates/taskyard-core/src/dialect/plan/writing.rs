//! Writes tasks as a plan. Each field is written in readable form, or as JSON if that would be parsed differently.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value};

use super::reading::{Form, Item, MORE, NOTE, Plan, escaped};
use crate::task::{NOTES, NoteRead, notes_of, read_note};
use crate::timing::{Clock, PartOfDay, moment_in_days_after, moment_in_words, work_in_full};
use crate::{DEFER, DUE, ESTIMATE, Priority, Status, Task, TaskId, Timestamp};

/// How due dates are written, and how much of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Times<'a> {
    /// Everything, with exact moments, for use elsewhere or later.
    Exact,
    /// Only what people edit, with moments in the zone of the clock.
    By(&'a Clock),
    /// Everything, with moments as days after this one, in the zone of the clock.
    After(Timestamp, &'a Clock),
}

/// Writes tasks without loss, parts below their parents.
pub(crate) fn write_all(tasks: &[Task]) -> String {
    write(tasks, Times::Exact)
}

/// Writes tasks, parts below their parents.
pub(crate) fn write(tasks: &[Task], times: Times<'_>) -> String {
    let ids: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut parts: HashMap<Option<TaskId>, Vec<&Task>> = HashMap::new();
    let awaited: HashSet<(&TaskId, &TaskId)> =
        tasks.iter().flat_map(|task| task.blocked_by.iter().map(move |on| (on, &task.id))).collect();
    for task in tasks {
        let parent = stated_parent(task).filter(|parent| *parent != task.id && ids.contains(parent));
        parts.entry(parent).or_default().push(task);
    }
    let mut writer = Writer { times, awaited, parts, text: String::new() };
    writer.write_parts(None, 0);
    // Tasks in a cycle of parents have no root; write them, too.
    let mut left: Vec<&Task> = std::mem::take(&mut writer.parts).into_values().flatten().collect();
    left.sort_by(|one, two| one.id.cmp(&two.id));
    left.into_iter().for_each(|task| writer.write_item(task, 0, false));
    writer.text
}

/// Returns the parent if it is written as the form writes it.
fn stated_parent(task: &Task) -> Option<TaskId> {
    task.meta("parent")
        .and_then(Value::as_str)
        .and_then(|id| id.parse().ok())
        .filter(|id| task.parent().as_ref() == Some(id))
}

struct Writer<'a> {
    times: Times<'a>,
    /// The dependencies among the tasks written.
    awaited: HashSet<(&'a TaskId, &'a TaskId)>,
    /// The tasks not written yet, by parent.
    parts: HashMap<Option<TaskId>, Vec<&'a Task>>,
    text: String,
}

impl<'a> Writer<'a> {
    fn write_parts(&mut self, of: Option<TaskId>, depth: usize) {
        for task in self.parts.remove(&of).unwrap_or_default() {
            self.write_item(task, depth, of.is_some());
            self.write_parts(Some(task.id.clone()), depth + 1);
        }
    }

    fn write_item(&mut self, task: &'a Task, depth: usize, is_below_parent: bool) {
        let indent = "  ".repeat(depth);
        let mark = match task.status {
            Status::Completed if task.is_cancelled() => '-',
            Status::Completed => 'x',
            Status::InProgress => '/',
            Status::Pending => ' ',
        };
        let _ = writeln!(self.text, "{indent}- [{mark}] {}", head(task));
        let mut fields = Vec::new();
        let mut rest = task.metadata.clone().unwrap_or_default();
        if task.status == Status::Completed && rest.get("cancelled") == Some(&Value::Bool(true)) {
            rest.shift_remove("cancelled");
        }
        take_metadata(&mut rest, &mut fields, self.times);
        fields.extend(task.owner.as_deref().map(|owner| ("owner", in_line(owner))));
        fields.extend(task.active_form.as_deref().map(|form| ("activeForm", in_line(form))));
        if let Some(parent) = stated_parent(task) {
            rest.shift_remove("parent");
            fields.extend((!is_below_parent).then(|| ("parent", format!("#{parent}"))));
        }
        let blocks = task.blocks.iter().filter(|id| !self.awaited.contains(&(&task.id, *id)));
        let blocks: Vec<String> = blocks.map(|id| format!("#{id}")).collect();
        fields.extend((!blocks.is_empty()).then(|| ("blocks", blocks.join(", "))));
        let notes = notes_as_lines(task);
        if notes.is_some() {
            rest.shift_remove(NOTES);
        }
        let description = description_as_lines(&task.description);
        if description.is_none() {
            fields.push(("description", Value::from(task.description.as_str()).to_string()));
        }
        let is_whole = !matches!(self.times, Times::By(_));
        if is_whole && !rest.is_empty() {
            fields.push(("meta", Value::Object(rest).to_string()));
        }
        for (name, value) in fields {
            let _ = writeln!(self.text, "{indent}  {name}: {value}");
        }
        let notes = notes.filter(|_| is_whole).unwrap_or_default();
        for line in description.unwrap_or_default().into_iter().chain(notes) {
            let _ = if line.is_empty() { writeln!(self.text) } else { writeln!(self.text, "{indent}  {line}") };
        }
    }
}

/// Returns an item's line after the box: id, title and blockers.
fn head(task: &Task) -> String {
    let on: Vec<String> = task.blocked_by.iter().map(|id| format!("#{id}")).collect();
    let after = if on.is_empty() { String::new() } else { format!(" (after {})", on.join(", ")) };
    let plain = format!("#{} {}{after}", task.id, task.subject);
    let is_read = |form: Form| {
        let plan = Plan::read(&format!("- [ ] {plain}"), form);
        matches!(plan.items.as_slice(), [item] if item.title == task.subject && item.fields.len() == usize::from(!on.is_empty()))
    };
    let is_one_line = !task.subject.chars().any(char::is_control);
    if is_one_line && is_read(Form::Checklist) && is_read(Form::Batch) {
        return plain;
    }
    format!("#{} {}{after}", task.id, Value::from(task.subject.as_str()))
}

/// Moves metadata that has its own fields out of `rest`.
fn take_metadata(rest: &mut Map<String, Value>, fields: &mut Vec<(&'static str, String)>, times: Times<'_>) {
    let priority = |value: &Value| value.as_str()?.parse::<Priority>().ok().map(|priority| priority.to_string());
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(in_line);
    let moment = |value: &Value, part: PartOfDay| {
        let text = value.as_str()?;
        let moment = Timestamp::parse(text).filter(|moment| moment.to_string() == text)?;
        Some(match times {
            Times::Exact => text.to_owned(),
            Times::By(clock) => moment_in_words(moment, part, clock),
            Times::After(start, clock) => moment_in_days_after(start, moment, part, clock),
        })
    };
    let estimate = |value: &Value| Some(work_in_full(Duration::from_secs(value.as_u64().filter(|_| value.is_u64())?)));
    type InWords<'a> = &'a dyn Fn(&Value) -> Option<String>;
    let taking: [(&'static str, InWords<'_>); 8] = [
        ("priority", &priority),
        ("tags", &tags),
        ("kind", &text),
        ("project", &text),
        (DUE, &|value| moment(value, PartOfDay::End)),
        (DEFER, &|value| moment(value, PartOfDay::Start)),
        (ESTIMATE, &estimate),
        ("every", &text),
    ];
    for (key, written) in taking {
        if let Some(text) = rest.get(key).and_then(written) {
            rest.shift_remove(key);
            fields.push((key, text));
        }
    }
}

fn tags(value: &Value) -> Option<String> {
    let tags: Vec<&str> = value.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let is_plain = |tag: &&str| {
        !tag.is_empty() && tag.trim() == *tag && !tag.contains(['"', ',']) && !tag.chars().any(char::is_control)
    };
    (!tags.is_empty() && tags.iter().all(is_plain)).then(|| tags.join(", "))
}

/// Returns a text on one line, as a JSON string if it would otherwise be parsed differently.
fn in_line(text: &str) -> String {
    let is_plain =
        !text.is_empty() && !text.starts_with('"') && text.trim() == text && !text.chars().any(char::is_control);
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Returns the lines of a description, or `None` if they would be parsed as another text.
fn description_as_lines(description: &str) -> Option<Vec<String>> {
    if description.is_empty() {
        return Some(Vec::new());
    }
    let mut lines: Vec<String> = Vec::new();
    let mut is_in_code = false;
    for line in description.split('\n') {
        let is_fence = line.trim().starts_with("```");
        lines.push(if is_in_code || is_fence { line.to_owned() } else { escaped(line) });
        is_in_code ^= is_fence;
    }
    let item = read_below(&lines)?;
    (item.description == description && item.fields.is_empty() && item.notes.is_empty() && !is_in_code).then_some(lines)
}

/// Returns the lines of a task's notes, or `None` if they would be parsed as other notes.
fn notes_as_lines(task: &Task) -> Option<Vec<String>> {
    let notes = task.meta(NOTES).and_then(Value::as_array).filter(|notes| !notes.is_empty())?;
    let mut lines = Vec::new();
    for note in notes_of(task) {
        let NoteRead { at, author, text } = read_note(note);
        let head: Vec<&str> = at.into_iter().chain(author).collect();
        let head = if head.is_empty() { String::new() } else { format!(" ({})", head.join(" ")) };
        for (number, line) in text.split('\n').enumerate() {
            lines.push(if number == 0 { format!("{NOTE}{head}: {line}") } else { format!("{MORE}{line}") });
        }
    }
    let item = read_below(&lines)?;
    (item.notes == *notes && item.description.is_empty() && item.fields.is_empty()).then_some(lines)
}

/// Parses an item with these lines below it.
fn read_below(lines: &[String]) -> Option<Item> {
    let below: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    // The second item shows whether anything is left open.
    let mut plan = Plan::read(&format!("- [ ] #1 x\n{below}  - [ ] #2 y\n"), Form::Checklist);
    let is_whole = plan.items.len() == 2 && plan.items[1].parent == Some(0);
    is_whole.then(|| plan.items.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use super::super::reading::{Form, Plan};
    use super::write_all;
    use crate::{Task, TaskId};

    #[test]
    fn text_that_looks_like_structure_stays_text() {
        let descriptions = [
            "due: tomorrow",
            "- [ ] not a task\n- bullet\n\\- [x] with a backslash",
            "> note (ana): not one\n> a quote",
            "```\n- [ ] code\n```\nafter",
            "```\nopen",
            "\n leading",
            "trailing ",
            "a\r\nb",
            "# heading\n\n    code",
        ];
        for description in descriptions {
            let task = Task { description: description.into(), ..Task::new(TaskId::number(1), "x") };
            let text = write_all(&[task]);
            let item = &Plan::read(&text, Form::Batch).items[0];
            let read = item.field("description").map_or(&item.description, |field| &field.value);
            assert_eq!(read, description, "{text}");
        }
    }

    #[test]
    fn titles_are_read_as_they_were() {
        for subject in [
            "\"x\" (after #2)",
            " x",
            "x\ny",
            "a after: b",
            "a name: b",
            "",
            "#3 x",
            "[x] y",
            "say \"hi\"",
            "x (after #9)",
        ] {
            let task = Task { blocked_by: vec![TaskId::number(7)], ..Task::new(TaskId::number(1), subject) };
            for form in [Form::Checklist, Form::Batch] {
                let text = write_all(std::slice::from_ref(&task));
                let plan = Plan::read(&text, form);
                assert_eq!(
                    (plan.items[0].title.as_str(), plan.items[0].words("after")),
                    (subject, vec!["#7".to_owned()]),
                    "{text}"
                );
            }
        }
    }
}

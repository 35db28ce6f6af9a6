//! Task files of Backlog.md: Markdown with YAML front matter.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde_json::Value;

use super::imported::Imported;
use crate::dialect::foreign::imported::{Rest, carried, put_moment, set, set_priority};
use crate::dialect::hook_input::Times;
use crate::task::{NoteRead, notes_of, read_note};
use crate::{DUE, Priority, Status, Task, TaskId, Timestamp, json_text};

const FORMAT: &str = "backlog";

/// Reads task files, each given by its name and its text.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Imported {
    let mut imported = Imported::default();
    for (name, text) in files {
        match divide(text) {
            Some((fields, body)) => take(fields, body, name, &mut imported),
            None => imported.lose(name, "it has no front matter between two `---` lines"),
        }
    }
    imported.without_doubles()
}

fn take(fields: Vec<(String, Field)>, body: &str, name: &str, imported: &mut Imported) {
    let mut rest = Rest(fields.into_iter().map(|(key, field)| (key, value(field))).collect());
    let (Some(id), Some(title)) = (rest.text("id"), rest.text("title")) else {
        return imported.lose(name, "a task without id or title");
    };
    let mut task = Task::new(reference(&id), title);
    only_description(body).clone_into(&mut task.description);
    let word = rest.text("status").unwrap_or_else(|| "To Do".to_owned());
    task.status = match word.to_lowercase().as_str() {
        "done" | "completed" | "complete" => Status::Completed,
        "in progress" => Status::InProgress,
        _ => Status::Pending,
    };
    imported.map("status", &word, task.status.as_str());
    // A project may define its own states.
    if !["to do", "in progress", "done"].contains(&word.to_lowercase().as_str()) {
        rest.0.insert("status".to_owned(), word.into());
    }
    take_assignees(&mut rest, &mut task);
    let labels = rest.array("labels");
    if !labels.is_empty() {
        set(&mut task, "tags", labels);
    }
    let on = rest.array("dependencies");
    task.blocked_by = on.iter().filter_map(Value::as_str).map(reference).collect();
    if let Some(on) = rest.text("dependencies") {
        task.blocked_by.push(reference(&on));
    }
    if let Some(parent) = rest.text("parent_task_id") {
        set(&mut task, "parent", reference(&parent).as_str());
    }
    if let Some(word) = rest.text("priority") {
        match word.parse::<Priority>() {
            Ok(priority) => set_priority(&mut task, priority),
            Err(_) => drop(rest.0.insert("priority".to_owned(), word.into())),
        }
    }
    let mut times = Rest(rest.0.clone());
    times.moment("due_date", &mut task, DUE, true);
    times.moment("due", &mut task, DUE, true);
    rest.0.retain(|_, value| value.as_str() != Some("") && value.as_array().is_none_or(|items| !items.is_empty()));
    rest.carry(&mut task, FORMAT);
    imported.tasks.push(task);
}

/// Uses the first assignee as the owner; if there are several, all are carried.
fn take_assignees(rest: &mut Rest, task: &mut Task) {
    let assignees = match rest.text("assignee") {
        Some(one) => vec![Value::String(one)],
        None => rest.array("assignee"),
    };
    let first = assignees.first().and_then(Value::as_str);
    task.owner = first.map(|name| name.strip_prefix('@').unwrap_or(name).to_owned()).filter(|name| !name.is_empty());
    if assignees.len() > 1 {
        rest.0.insert("assignee".to_owned(), assignees.into());
    }
}

/// Returns an id in the form in which tasks refer to each other, ignoring case.
fn reference(id: &str) -> TaskId {
    TaskId::stored(id.trim().to_lowercase())
}

fn value(field: Field) -> Value {
    match field {
        Field::Text(text) => text.into(),
        Field::List(items) => items.into(),
    }
}

const DESCRIPTION: &str = "## Description";
const BEGIN: &str = "<!-- SECTION:DESCRIPTION:BEGIN -->";
const END: &str = "<!-- SECTION:DESCRIPTION:END -->";

/// Returns the text of a body that consists only of a description, or else the whole body.
fn only_description(body: &str) -> &str {
    let body = body.trim();
    let Some(text) = body.strip_prefix(DESCRIPTION).map(str::trim) else { return body };
    let text = text.strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END)).unwrap_or(text).trim();
    let has_more = text.contains(END) || text.lines().any(|line| line.starts_with("## "));
    if has_more || text.is_empty() { body } else { text }
}

/// Writes a file for each task, keyed by file name.
pub fn write(tasks: &[Task], times: &HashMap<TaskId, Times>, now: Timestamp) -> BTreeMap<String, String> {
    let file = |task: &Task| {
        let words: String =
            task.subject.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' }).collect();
        let words: Vec<&str> = words.split_whitespace().collect();
        let title: String = words.join("-").chars().take(60).collect();
        (format!("{} - {title}.md", backlog_id(&task.id)), text_of(task, times, now))
    };
    tasks.iter().map(file).collect()
}

fn text_of(task: &Task, times: &HashMap<TaskId, Times>, now: Timestamp) -> String {
    let mut more = carried(task, FORMAT);
    let was = more.shift_remove("status");
    let status = match (task.status, was.as_ref().and_then(Value::as_str)) {
        (Status::Completed, _) => "Done",
        (Status::InProgress, _) => "In Progress",
        (Status::Pending, Some(word)) => word,
        (Status::Pending, None) => "To Do",
    };
    let assignees = match more.shift_remove("assignee") {
        Some(Value::Array(all)) if task.owner().is_some() => all,
        _ => task.owner().map(|owner| Value::from(format!("@{owner}"))).into_iter().collect(),
    };
    let created = times.get(&task.id).map_or(now, |times| times.created).to_string();
    more.entry("created_date").or_insert_with(|| created[..16].replacen('T', " ", 1).into());
    put_moment(&mut more, "due_date", task.due(), true, |moment| moment.to_string());
    let mut text = String::from("---\n");
    let mut field = |key: &str, value: &Value| {
        let _ = match value {
            Value::Array(items) if items.is_empty() => writeln!(text, "{key}: []"),
            Value::Array(items) => {
                let items: String = items.iter().map(|item| format!("  - {}\n", write_scalar(item))).collect();
                write!(text, "{key}:\n{items}")
            }
            other => writeln!(text, "{key}: {}", write_scalar(other)),
        };
    };
    let tags: Vec<&str> = task.tags().collect();
    let on: Vec<String> = task.blocked_by.iter().map(backlog_id).collect();
    field("id", &backlog_id(&task.id).into());
    field("title", &task.subject.split_whitespace().collect::<Vec<_>>().join(" ").into());
    field("status", &status.into());
    field("assignee", &assignees.into());
    field("labels", &tags.into());
    field("dependencies", &on.into());
    if let Some(parent) = task.parent() {
        field("parent_task_id", &backlog_id(&parent).into());
    }
    if let Some(priority) = task.stated_priority() {
        field("priority", &priority.as_str().into());
    }
    more.iter().filter(|(key, _)| *key != "priority").for_each(|(key, value)| field(key, value));
    text.push_str("---\n\n");
    match task.description.trim_start().starts_with(DESCRIPTION) {
        _ if task.description.is_empty() => {}
        true => text.push_str(&format!("{}\n", task.description)),
        false => text.push_str(&format!("{DESCRIPTION}\n\n{BEGIN}\n{}\n{END}\n", task.description)),
    }
    let notes: Vec<String> = notes_of(task).iter().map(|note| said(&read_note(note))).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\n## Implementation Notes\n\n{}\n", notes.join("\n\n")));
    }
    text
}

fn said(note: &NoteRead<'_>) -> String {
    let head: Vec<&str> = note.at.into_iter().chain(note.author).collect();
    if head.is_empty() { note.text.clone().into_owned() } else { format!("{}: {}", head.join(" "), note.text) }
}

fn backlog_id(id: &TaskId) -> String {
    if id.as_number().is_some() { format!("task-{id}") } else { id.as_str().to_owned() }
}

/// Returns a value in quotes, which every YAML reader takes as a string.
fn write_scalar(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.as_str(),
        // Numbers and the like come as texts.
        other => return other.to_string(),
    };
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    match text.chars().any(char::is_control) {
        true => Value::from(text).to_string(),
        false if is_number => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// What a key is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    List(Vec<String>),
}

/// Splits a file into the fields of its front matter and the body, or returns `None` if it has no front matter.
pub(super) fn divide(file: &str) -> Option<(Vec<(String, Field)>, &str)> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let rest = file.strip_prefix("---\n").or_else(|| file.strip_prefix("---\r\n"))?;
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((fields(&rest[..length]), &rest[length + line.len()..]));
        }
        length += line.len();
    }
    None
}

fn fields(head: &str) -> Vec<(String, Field)> {
    let mut fields: Vec<(String, Field)> = Vec::new();
    let mut lines = head.lines().map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        let is_key = !line.starts_with([' ', '-', '#']);
        let Some((key, value)) = line.split_once(':').filter(|_| is_key) else { continue };
        let mut below = Vec::new();
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with([' ', '-'])) {
            below.push(line);
        }
        fields.push((key.trim().to_owned(), field(value.trim(), &below)));
    }
    fields
}

fn field(value: &str, below: &[&str]) -> Field {
    match value {
        "" => {
            let items = below.iter().filter_map(|line| line.trim_start().strip_prefix('-'));
            let items: Vec<String> = items.map(|item| read_scalar(item.trim())).collect();
            if items.is_empty() && below.is_empty() { Field::Text(String::new()) } else { Field::List(items) }
        }
        ">" | ">-" | ">+" => Field::Text(below.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")),
        "|" | "|-" | "|+" => Field::Text(unindented(below)),
        _ if value.starts_with('[') && value.ends_with(']') => {
            let inner = value[1..value.len() - 1].trim();
            Field::List(items(inner).into_iter().map(|item| read_scalar(item.trim())).collect())
        }
        // A long text continues on the next lines.
        _ => {
            let whole = below.iter().fold(value.to_owned(), |whole, line| format!("{whole} {}", line.trim()));
            Field::Text(read_scalar(whole.trim()))
        }
    }
}

/// Splits `a, 'b, c'` at the commas outside of quotes.
fn items(inner: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, character) in inner.char_indices() {
        match (quote, character) {
            (Some(open), character) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, ',') => {
                items.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&inner[start..]);
    items.retain(|item| !item.trim().is_empty());
    items
}

fn read_scalar(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        // Programs use the escapes of JSON here, too.
        return json_text::from_str(text).unwrap_or_else(|_| text[1..text.len() - 1].to_owned());
    }
    if text == "null" || text == "~" { String::new() } else { text.to_owned() }
}

fn unindented(lines: &[&str]) -> String {
    let filled = lines.iter().filter(|line| !line.is_empty());
    let indent = filled.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::{Priority, Status, TaskId};

    const FIRST: &str = "---\nid: task-1\ntitle: Design the schema\nstatus: Done\nassignee:\n  - '@ana'\n  - '@bob'\ncreated_date: '2025-06-08 10:00'\nlabels:\n  - db\ndependencies: []\npriority: high\nordinal: 1000\n---\n\n## Description\n\nAll tables.\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [x] #1 It migrates\n<!-- AC:END -->\n";
    const SECOND: &str = "---\nid: TASK-1.1\ntitle: Write the API\nstatus: In Review\nassignee: []\ncreated_date: '2025-06-09'\nlabels: []\ndependencies:\n  - TASK-1\nparent_task_id: task-1\n---\n";

    #[test]
    fn files_come_with_their_states_edges_and_parents() {
        let imported = read([("task-1 - Design.md", FIRST), ("task-1.1 - API.md", SECOND), ("readme.md", "# Hello\n")]);
        let [first, second] = imported.tasks.as_slice() else { panic!("{:?}", imported.tasks) };
        assert_eq!((first.status, second.status), (Status::Completed, Status::Pending));
        assert_eq!((first.owner(), first.priority()), (Some("ana"), Priority::High));
        assert!(first.description.starts_with("## Description\n\nAll tables."));
        assert_eq!(second.blocked_by, [TaskId::stored("task-1")]);
        assert_eq!(second.parent(), Some(first.id.clone()));
        let carried = json!({"created_date": "2025-06-08 10:00", "ordinal": "1000", "assignee": ["@ana", "@bob"]});
        assert_eq!(first.meta("backlog"), Some(&carried));
        assert_eq!(second.meta("backlog").unwrap()["status"], "In Review");
        assert_eq!(imported.losses[0].of, "readme.md");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let tasks = read([("task-1 - Design.md", FIRST), ("task-1.1 - API.md", SECOND)]).tasks;
        let files = super::write(&tasks, &std::collections::HashMap::new(), crate::Timestamp(0));
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["task-1 - Design-the-schema.md", "task-1.1 - Write-the-API.md"]);
        let again = read(files.iter().map(|(name, text)| (name.as_str(), text.as_str()))).tasks;
        assert_eq!(again, tasks, "{files:?}");
    }

    #[test]
    fn own_description_goes_and_comes_as_it_is() {
        let task = crate::Task {
            description: "One\n\n- two: 'x'".into(),
            ..crate::Task::new(TaskId::number(7), "It's: a \"title\"")
        };
        let files = super::write(std::slice::from_ref(&task), &std::collections::HashMap::new(), crate::Timestamp(0));
        let again = read(files.iter().map(|(name, text)| (name.as_str(), text.as_str()))).tasks.remove(0);
        assert_eq!((again.id.as_str(), again.subject, again.description), ("task-7", task.subject, task.description));
    }

    #[test]
    fn a_due_date_is_taken_at_the_end_of_its_day() {
        let file = "---\nid: task-1\ntitle: t\nstatus: To Do\ndue_date: '2026-11-20'\n---\n";
        let task = read([("task-1.md", file)]).tasks.remove(0);
        assert_eq!(task.meta("due").unwrap(), "2026-11-20T23:59:59.999Z");
        assert_eq!(task.meta("backlog").unwrap()["due_date"], "2026-11-20");
    }
}

#[cfg(test)]
mod front_matter_tests {
    use super::{Field, divide};

    #[test]
    fn texts_and_lists_are_read_in_every_way_they_are_written() {
        let file = "---\nid: task-1\ntitle: 'It''s: here'\nlong: >-\n  one\n  two\nempty: []\nflow: [a, 'b, c']\nlist:\n  - '@ana'\n  - \"x\\ty\"\nflat:\n- z\nnone:\n---\n\nBody\n---\n";
        let (fields, body) = divide(file).unwrap();
        let text = |text: &str| Field::Text(text.to_owned());
        let list = |items: &[&str]| Field::List(items.iter().map(|item| (*item).to_owned()).collect());
        let expected = [
            ("id", text("task-1")),
            ("title", text("It's: here")),
            ("long", text("one two")),
            ("empty", list(&[])),
            ("flow", list(&["a", "b, c"])),
            ("list", list(&["@ana", "x\ty"])),
            ("flat", list(&["z"])),
            ("none", text("")),
        ];
        assert_eq!(fields, expected.map(|(key, field)| (key.to_owned(), field)));
        assert_eq!(body, "\nBody\n---\n");
        assert_eq!(divide("# No head\n"), None);
    }
}
